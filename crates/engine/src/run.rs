//! The run: what works on a task.

#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "the shell that uses it comes with the way to models"
    )
)]
mod entry;
#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "the shell that uses it comes with the way to models"
    )
)]
mod guard;
mod lenient;
#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "the shell that uses it comes with the way to models"
    )
)]
mod machine;
#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "the shell that uses it comes with the way to models"
    )
)]
mod repair;
#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "the shell that uses it comes with the way to models"
    )
)]
mod seam;
#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "the shell that uses it comes with the way to models"
    )
)]
mod think;
#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "the shell that uses it comes with the way to models"
    )
)]
mod toolset;

use std::sync::Arc;

use legation_api::tasks::Failure;
use legation_core::TaskId;
use legation_gate::Gate;
use legation_models::Models;

use crate::EngineSettings;
use crate::book::Book;
use crate::control::Control;
use crate::record::RunEnd;

/// What a run works with.
pub(crate) struct RunParts {
    /// The way to tools.
    pub(crate) gate: Arc<Gate>,
    /// The way to models.
    pub(crate) models: Arc<Models>,
    /// Where everything is written down and told.
    pub(crate) book: Arc<Book>,
    /// What it is told.
    pub(crate) control: Control,
    /// How the engine was set when it began.
    pub(crate) settings: Arc<EngineSettings>,
}

/// Works on a task until it is over.
pub(crate) async fn drive(parts: RunParts, task: TaskId) -> RunEnd {
    let RunParts {
        gate: _gate,
        models: _models,
        book,
        control: _control,
        settings: _settings,
    } = parts;
    match book.load(&task).await {
        Ok(loaded) => RunEnd::Failed {
            failure: Failure::NoModel,
            error: format!("no model is there for {}", loaded.task),
            hint: None,
        },
        Err(error) => RunEnd::Failed {
            failure: Failure::Other,
            error: error.to_string(),
            hint: Some(error.hint()),
        },
    }
}

/// JSON as people and models write it, and how many bytes it took; `None` where it was cut.
pub(crate) fn read_json(text: &str) -> Option<(serde_json::Value, usize)> {
    let read = lenient::read(text)?;
    let is_closed = text[..read.length].trim_end().ends_with([']', '}']);
    (!read.is_cut && is_closed).then_some((read.value, read.length))
}
