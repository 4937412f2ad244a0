//! What the queue hears and what it says.

use legation_core::{SessionId, TaskId};

use super::Ticket;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A task that was accepted is stored.
    Submitted(Ticket, TaskId),
    /// A run stands still, as it was told to.
    Yielded(TaskId),
    /// A run has nothing to do until something is there that runs elsewhere.
    Rests(TaskId),
    /// That is there: it would go on.
    Ready(TaskId),
    /// A run is over, or a task that has none was called off.
    Ended(TaskId),
    /// Somebody presses keys.
    Typing(SessionId),
    /// Somebody calls off everything of a session that was accepted so far.
    CancelAll(SessionId),
    /// Time has passed.
    Tick,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// A run begins.
    Start(TaskId),
    /// A run stands still.
    Hold(TaskId, Hold),
    /// A run rests, as it said: it stands still at once.
    Rest(TaskId),
    /// A run goes on.
    Resume(TaskId),
    /// A run is called off; it ends by itself.
    Cancel(TaskId),
    /// A task that had not begun is over.
    Drop(TaskId),
}

/// How a run is to stand still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hold {
    /// Before the next step.
    Soft,
    /// At once.
    Hard,
}

// === impl Effect ===

impl Effect {
    /// The task it is about.
    pub(crate) fn task(&self) -> &TaskId {
        match self {
            Self::Start(id)
            | Self::Hold(id, _)
            | Self::Rest(id)
            | Self::Resume(id)
            | Self::Cancel(id)
            | Self::Drop(id) => id,
        }
    }
}
