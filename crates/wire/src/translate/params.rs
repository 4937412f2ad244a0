//! Parameters of a client's requests.

use crate::json::{Object, Raw};
use crate::meta::{self, EraMeta};

/// What a legacy server must not see, taken out of a request's parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LegacyLeftovers {
    /// The modern request's era metadata.
    pub era: EraMeta,
    /// Answers to an earlier `input_required` result.
    pub input_responses: Option<Raw>,
    /// State of an earlier `input_required` result.
    pub request_state: Option<Raw>,
}

/// What a modern server must not see, taken out of a request's parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModernLeftovers {
    /// The request to run the call as a task (2025-11-25); modern servers decide that
    /// themselves.
    pub task: Option<Raw>,
}

/// Makes parameters fit a legacy server: takes out the era metadata and, from the methods that
/// can have them, the members of a multi-round-trip retry.
pub fn params_for_legacy(method: &str, params: &mut Object) -> LegacyLeftovers {
    let retries = super::input::has_rounds(method);
    LegacyLeftovers {
        era: EraMeta::take(params),
        input_responses: retries.then(|| params.remove("inputResponses")).flatten(),
        request_state: retries.then(|| params.remove("requestState")).flatten(),
    }
}

/// Makes parameters fit a modern server: takes out the wish for a task and puts in the era
/// metadata.
pub fn params_for_modern(method: &str, params: &mut Object, era: &EraMeta) -> ModernLeftovers {
    let task = (method == "tools/call")
        .then(|| params.remove("task"))
        .flatten();
    era.insert(params);
    ModernLeftovers { task }
}

/// Takes the progress token out of a request: the hub's own goes to the server instead.
pub fn take_progress_token(params: &mut Object) -> Option<Raw> {
    meta::remove(params, meta::PROGRESS_TOKEN)
}
