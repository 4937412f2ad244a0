//! Parameters of a client's requests.

use crate::json::{Object, Raw};
use crate::meta::{self, EraMeta};
use crate::revision::Revision;

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
    let era = EraMeta::take(params);
    let (input_responses, request_state) = drop_retry(method, params);
    LegacyLeftovers {
        era,
        input_responses,
        request_state,
    }
}

/// Takes out of a request's parameters what is its sender's and not the call's: its progress
/// token, and what [`params_for_legacy`] takes. The metadata is taken apart once for both.
pub fn take_senders(method: &str, params: &mut Object) -> (Option<Raw>, LegacyLeftovers) {
    let mut token = None;
    let mut era = EraMeta::default();
    meta::take_out(params, |meta| {
        token = meta.remove(meta::PROGRESS_TOKEN);
        era = EraMeta::take_from(meta);
    });
    let (input_responses, request_state) = drop_retry(method, params);
    let left = LegacyLeftovers {
        era,
        input_responses,
        request_state,
    };
    (token, left)
}

/// Makes parameters fit a modern server: takes out the wish for a task and puts in the era
/// metadata.
pub fn params_for_modern(method: &str, params: &mut Object, era: &EraMeta) -> ModernLeftovers {
    let task = drop_task(method, params);
    era.insert(params);
    ModernLeftovers { task }
}

/// Takes out of a request's parameters the members that the target's era does not have, era
/// metadata aside.
pub(crate) fn drop_other_era(method: &str, params: &mut Object, revision: Revision) {
    if revision.is_modern() {
        drop_task(method, params);
    } else {
        drop_retry(method, params);
    }
}

fn drop_task(method: &str, params: &mut Object) -> Option<Raw> {
    (method == "tools/call")
        .then(|| params.remove("task"))
        .flatten()
}

fn drop_retry(method: &str, params: &mut Object) -> (Option<Raw>, Option<Raw>) {
    if super::input::has_rounds(method) {
        (
            params.remove("inputResponses"),
            params.remove("requestState"),
        )
    } else {
        (None, None)
    }
}

/// Takes the progress token out of a request: the hub's own goes to the server instead.
pub fn take_progress_token(params: &mut Object) -> Option<Raw> {
    meta::remove(params, meta::PROGRESS_TOKEN)
}
