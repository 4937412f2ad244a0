//! What stands beside the engine: servers that agents bring along, and servers of the hub that want
//! to know of turns.
//!
//! The engine sees neither host nor servers, so whoever puts the hub together says here how the
//! first are started and who the second are.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_config::agents::Agent;
use legation_core::{ClientId, EntityLabels, SeatId, SessionId, TaskId};

/// Starts what agents bring along.
pub trait AgentServers: Send + Sync + fmt::Debug {
    /// Starts an agent's own servers for the seat of one task, and waits until they are connected
    /// or will not be. Nothing of them enters the owner's configuration.
    fn start(&self, seat: &SeatId, agent: &Agent) -> BoxFuture<'static, Started>;
}

/// Servers that run for one task.
pub struct Started {
    /// Keeps them running: they end when it is dropped.
    pub held: Box<dyn Send + Sync>,
    /// Why some do not run, a sentence each.
    pub problems: Vec<String>,
}

/// Hears when turns begin and end. Neither method may block.
pub trait Turns: Send + Sync + fmt::Debug {
    /// A model is about to be asked for a turn.
    fn began(&self, turn: &Turn);

    /// A turn is over with its calls, or was broken off.
    fn ended(&self, turn: &Turn);
}

/// A turn of a task: what a model says at once, and the calls it makes with it.
#[derive(Clone)]
pub struct Turn {
    /// The task.
    pub task: TaskId,
    /// Its conversation.
    pub session: SessionId,
    /// Who delegated it.
    pub client: ClientId,
    /// The folder it is done in.
    pub workspace: Option<PathBuf>,
    /// Whose data it holds by now.
    pub labels: EntityLabels,
    /// Which turn, counted from 1; one that is gone on with later keeps its number.
    pub number: u32,
    /// What whoever hears of it can do.
    pub handle: Arc<dyn TurnHandle>,
}

/// What whoever hears of a turn can do. Neither method blocks.
pub trait TurnHandle: Send + Sync {
    /// Stops the turn, and with it the task, as a person at the terminal would: the model stops at
    /// once, and calls that run are called off. `reason` is what people read.
    fn abort(&self, reason: &str);

    /// Adds to the files that the task is said to have changed, relative to its folder.
    fn changed(&self, files: Vec<String>);
}

// === impl Started ===

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started")
            .field("problems", &self.problems)
            .finish_non_exhaustive()
    }
}

// === impl Turn ===

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("task", &self.task)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}
