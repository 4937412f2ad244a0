//! The stage behind the call: what came back, before anybody reads it.
//!
//! It stands before the record of the outcome, so that the record is of what the
//! client got, and judges before it cleans, so that no filter hides from a ban
//! what the server really said.

use std::collections::HashMap;

use legation_core::ServerName;
use legation_filter::{Cleaner, FilterMapping, Masked, SecretMasker};
use legation_policy::registry::ReasonCode;
use legation_policy::{Clearance, Policy, Receipt, ResultFacts};
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;

use crate::{Outcome, Refusal};

/// What results may carry, by server.
#[derive(Debug, Default)]
pub struct Cleaning {
    masker: SecretMasker,
    mappings: HashMap<ServerName, FilterMapping>,
    default: FilterMapping,
}

/// A result that was not handed on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the call was made, and its result is withheld: {reason}")]
pub struct Withheld {
    /// `server/item` of the call.
    pub action: Box<str>,
    /// Why, as a word.
    pub code: ReasonCode,
    /// Which rule.
    pub rule: &'static str,
    /// Why, in words that name nobody else's data.
    pub reason: &'static str,
}

// === impl Cleaning ===

impl Cleaning {
    /// The masker of the hub, and a mapping for each server that has one.
    #[must_use]
    pub fn new(
        masker: SecretMasker,
        mappings: impl IntoIterator<Item = (ServerName, FilterMapping)>,
    ) -> Self {
        Self {
            masker,
            mappings: mappings.into_iter().collect(),
            default: FilterMapping::default(),
        }
    }

    fn of(&self, server: &ServerName, item: &str) -> Cleaner<'_> {
        let mapping = self.mappings.get(server).unwrap_or(&self.default);
        Cleaner {
            filter: mapping.of(item),
            masker: Some(&self.masker),
        }
    }
}

/// Judges and cleans what a call brought.
pub(crate) fn handed_on(
    policy: &Policy,
    cleaning: &Cleaning,
    receipt: &Receipt,
    outcome: Outcome,
) -> Result<Outcome, Refusal> {
    let target = receipt.target();
    let cleaner = cleaning.of(&target.server, &target.item);
    match outcome {
        Outcome::Complete(raw) => {
            judge(policy, receipt, &raw)?;
            Ok(Outcome::Complete(cleaner.result(&raw).result))
        }
        Outcome::Error(error) => Ok(Outcome::Error(clean_error(&cleaner, error))),
        Outcome::Task(mut task) => {
            clear(policy, receipt)?;
            if let Some(clean) = cleaner.value(&task.to_raw(), &mut Masked::default()) {
                task = clean.to_object().unwrap_or(task);
            }
            Ok(Outcome::Task(task))
        }
        outcome @ (Outcome::InputRequired(_) | Outcome::Failed(_)) => Ok(outcome),
    }
}

fn judge(policy: &Policy, receipt: &Receipt, raw: &Raw) -> Result<(), Refusal> {
    clear(policy, receipt)?;
    if !policy.judges_results() {
        return Ok(());
    }
    let facts = ResultFacts {
        text: raw.as_text(),
        labels: receipt.labels(),
        unredacted_phi: None,
    };
    Ok(policy.judge_receipt(receipt, &facts)?)
}

/// Whether the client may read data of the call's entities at all.
fn clear(policy: &Policy, receipt: &Receipt) -> Result<(), Refusal> {
    if receipt.labels().is_empty() {
        return Ok(());
    }
    let action = || {
        let target = receipt.target();
        format!("{}/{}", target.server, target.item).into()
    };
    match policy.clearance(&receipt.principal().client, receipt.labels()) {
        Clearance::Cleared => Ok(()),
        Clearance::Redact(_) => Err(Refusal::Withheld(Withheld {
            action: action(),
            code: ReasonCode::UnredactedPhi,
            rule: "clearance.phi",
            reason: "this client may not see health information as it is",
        })),
        Clearance::Refused => Err(Refusal::Withheld(Withheld {
            action: action(),
            code: ReasonCode::ClientNotCleared,
            rule: "clearance.client",
            reason: "this client is not cleared for the data it holds",
        })),
    }
}

fn clean_error(cleaner: &Cleaner<'_>, mut error: ErrorObject) -> ErrorObject {
    let mut masked = Masked::default();
    let message = cleaner.text(&error.message, &mut masked);
    if *message != *error.message {
        error.message = message.into_owned().into();
    }
    if let Some(data) = &error.data
        && let Some(clean) = cleaner.value(data, &mut masked)
    {
        error.data = Some(clean);
    }
    error
}
