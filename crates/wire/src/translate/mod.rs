//! Pure functions between the eras, on raw payloads. They change what the revisions define
//! differently and leave everything else as it was sent, vendor members included: a client
//! ignores members it does not know, and dropping them would lose what it does know.

mod elicit;
mod errors;
mod input;
mod params;
mod result;
mod task;

#[cfg(test)]
mod tests;

pub use self::elicit::{
    ElicitMode, UrlElicitation, elicit_for_legacy, elicit_for_modern, elicit_mode, url_elicitations,
};
pub use self::errors::{error_for_legacy, error_for_modern};
pub(crate) use self::input::has_rounds;
pub use self::input::{
    InputAnswers, InputRequest, InputRequired, put_input_answers, take_input_answers,
};
pub(crate) use self::params::drop_other_era;
pub use self::params::{
    LegacyLeftovers, ModernLeftovers, params_for_legacy, params_for_modern, take_progress_token,
    take_senders,
};
pub use self::result::{
    CacheHint, CacheScope, ResultKind, complete_result_for_modern, is_cacheable, result_kind,
    strip_result_for_legacy,
};
pub use self::task::{Task, TaskOutcome, TaskStatus, task_outcome};

/// A payload that is not of the shape its method calls for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed {what}: {problem}")]
pub struct ShapeError {
    /// The payload, in the specification's words.
    pub what: &'static str,
    /// What is wrong with it.
    pub problem: &'static str,
}

// === impl ShapeError ===

impl ShapeError {
    /// What the sender can do about it.
    pub fn hint(&self) -> &'static str {
        "the server's author should compare the answer with the schema of the revision it speaks"
    }
}
