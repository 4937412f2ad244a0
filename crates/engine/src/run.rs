//! The loop that works on one task: asking a model, making the calls it asks for, and checking what
//! comes of it.
//!
//! [`machine`] decides and does nothing; [`drive`] does and decides nothing. What happens at any
//! point of a task can so be tried at every point of it.

mod drive;
mod entry;
mod guard;
mod hands;
mod journal;
mod lenient;
mod machine;
mod plain_calls;
mod prompt;
mod repair;
mod seam;
mod think;
mod toolset;
mod veil;

use std::sync::Arc;

use legation_core::SharedClock;
use legation_gate::Gate;
use legation_models::Models;

use crate::book::Book;
use crate::control::Control;
use crate::{AgentServers, EngineSettings, Turns};
use legation_config::agents::AgentFiles;

pub(crate) use drive::drive;
pub use hands::CLIENT;
pub(crate) use hands::let_go;

/// What a run works with.
pub(crate) struct RunParts {
    /// The way to tools.
    pub(crate) gate: Arc<Gate>,
    /// The way to models.
    pub(crate) models: Arc<Models>,
    /// Custom agents, and what folders want.
    pub(crate) agents: Arc<AgentFiles>,
    /// What starts the servers that those bring along.
    pub(crate) servers: Arc<dyn AgentServers>,
    /// Who wants to know of turns.
    pub(crate) turns: Arc<[Arc<dyn Turns>]>,
    /// Where everything is written down and told.
    pub(crate) book: Arc<Book>,
    /// What it is told.
    pub(crate) control: Control,
    /// How the engine was set when it began.
    pub(crate) settings: Arc<EngineSettings>,
    /// The time.
    pub(crate) clock: SharedClock,
}
