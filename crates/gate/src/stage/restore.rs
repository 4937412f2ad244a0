//! Fourth stage: tokens in arguments, and data that leaves its entity.
//!
//! It stands before the decision, so that rules, digests and the ledger see what
//! the server would get: the real values towards the entity they are of, and
//! tokens towards anybody else.

use legation_core::Caller;
use legation_policy::{Arguments, Policy, Target};
use legation_wire::json::Raw;

use super::NotRedacted;
use crate::Refusal;
use crate::conversation::{Conversations, holder};
use crate::redaction::Redaction;

/// The arguments as the server would get them; `None` when they stay as they are.
pub(crate) fn prepared(
    redaction: &Redaction,
    (policy, conversations): (&Policy, &Conversations),
    caller: &Caller,
    target: &Target,
    arguments: &Raw,
) -> Result<Option<Raw>, Refusal> {
    if redaction.is_idle() {
        return Ok(None);
    }
    let stopped = |error| Refusal::NotRedacted(NotRedacted::new(error, target));
    let home = |raw: &Raw| policy.home_of(target, Some(&Arguments::new(raw.as_text())));
    let entity = home(arguments);
    let conversation = holder(caller);
    let mut restored = None;
    if let Some(entity) = &entity {
        // A value that names another entity must not take the others along.
        restored = redaction
            .restore(entity, conversation, arguments)
            .map_err(stopped)?
            .filter(|restored| home(restored).as_ref() == Some(entity));
    }
    let labels = conversations.labels(caller).map_err(Refusal::NoLabels)?;
    let leaving = redaction.leaving(&labels, entity.as_ref());
    if leaving.is_empty() {
        return Ok(restored);
    }
    let arguments = restored.as_ref().unwrap_or(arguments);
    let redacted = redaction.redact(&leaving, conversation, arguments);
    redacted.map(Some).map_err(stopped)
}
