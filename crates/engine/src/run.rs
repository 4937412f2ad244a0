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
mod prompt;
mod repair;
mod seam;
mod think;
mod toolset;

use std::sync::Arc;

use legation_core::SharedClock;
use legation_gate::Gate;
use legation_models::Models;

use crate::EngineSettings;
use crate::agents::AgentFiles;
use crate::book::Book;
use crate::control::Control;

pub(crate) use drive::drive;
pub use hands::CLIENT;

/// What a run works with.
pub(crate) struct RunParts {
    /// The way to tools.
    pub(crate) gate: Arc<Gate>,
    /// The way to models.
    pub(crate) models: Arc<Models>,
    /// Custom agents, and what folders want.
    pub(crate) agents: Arc<AgentFiles>,
    /// Where everything is written down and told.
    pub(crate) book: Arc<Book>,
    /// What it is told.
    pub(crate) control: Control,
    /// How the engine was set when it began.
    pub(crate) settings: Arc<EngineSettings>,
    /// The time.
    pub(crate) clock: SharedClock,
}

/// JSON as people and models write it, and how many bytes it took; `None` where it was cut.
pub(crate) fn read_json(text: &str) -> Option<(serde_json::Value, usize)> {
    let read = lenient::read(text)?;
    let is_closed = text[..read.length].trim_end().ends_with([']', '}']);
    (!read.is_cut && is_closed).then_some((read.value, read.length))
}
