//! The stage behind the call: what came back, before anybody reads it.
//!
//! It stands before the record of the outcome, so that the record is of what the
//! client got, and judges before it cleans, so that no filter hides from a ban
//! what the server really said.

use std::collections::HashMap;

use legation_core::{Caller, EntityId, ServerName};
use legation_filter::{Cleaner, FilterMapping, Masked, SecretMasker};
use legation_policy::registry::ReasonCode;
use legation_policy::{Clearance, Policy, Receipt, ResultFacts, Target};
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;

use crate::conversation::holder;
use crate::redaction::{Redaction, RedactionError};
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

/// Members of a task that hold nothing but how it stands.
const TASK: [&str; 7] = [
    "taskId",
    "status",
    "createdAt",
    "lastUpdatedAt",
    "ttlMs",
    "ttl",
    "pollIntervalMs",
];

/// What is redacted for a client that may not see health information.
#[derive(Debug)]
struct Redacting<'a> {
    redaction: Option<&'a Redaction>,
    entities: Vec<EntityId>,
    conversation: &'a str,
    target: &'a Target,
}

// === impl Redacting ===

impl Redacting<'_> {
    fn redaction(&self) -> Result<&Redaction, Refusal> {
        self.redaction
            .ok_or_else(|| Refusal::Withheld(closed(self.action())))
    }

    fn action(&self) -> Box<str> {
        format!("{}/{}", self.target.server, self.target.item).into()
    }

    fn withheld(&self, error: RedactionError) -> Refusal {
        Refusal::Withheld(Withheld {
            action: self.action(),
            code: error.code(),
            rule: error.rule(),
            reason: error.reason(),
        })
    }

    fn result(&self, raw: &Raw) -> Result<Raw, Refusal> {
        let redaction = self.redaction()?;
        redaction
            .redact_result(&self.entities, self.conversation, raw)
            .map_err(|error| self.withheld(error))
    }

    fn value(&self, raw: &Raw) -> Result<Raw, Refusal> {
        let redaction = self.redaction()?;
        redaction
            .redact(&self.entities, self.conversation, raw)
            .map_err(|error| self.withheld(error))
    }

    /// A task, whose words are a server's own where its place in the protocol
    /// does not say otherwise. Its questions are not redacted, so they stop it.
    fn task(&self, task: &Object) -> Result<Object, Refusal> {
        let mut redacted = Object::new();
        for (member, value) in task.iter() {
            let value = match member {
                "inputRequests" => match value.to_object() {
                    Some(questions) if questions.is_empty() => value.clone(),
                    _ => return Err(Refusal::Withheld(closed(self.action()))),
                },
                "result" => self.result(value)?,
                "error" => match ErrorObject::from_raw(value) {
                    Some(error) => self.error(error)?.to_object().to_raw(),
                    None => self.value(value)?,
                },
                member if TASK.contains(&member) => value.clone(),
                _ => self.value(value)?,
            };
            redacted.set(member, value);
        }
        Ok(redacted)
    }

    fn error(&self, mut error: ErrorObject) -> Result<ErrorObject, Refusal> {
        let message = self.value(&Raw::str(&error.message))?;
        error.message = message.to_str().unwrap_or_default().as_ref().into();
        if let Some(data) = &error.data {
            error.data = Some(self.value(data)?);
        }
        error.rest = Object::new();
        Ok(error)
    }
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

    /// Most bytes of a result that go out in one message.
    pub(crate) fn limit(&self, server: &ServerName, item: &str) -> usize {
        let mapping = self.mappings.get(server).unwrap_or(&self.default);
        mapping.limit(item)
    }

    /// An object of a server's own, cleaned.
    pub(crate) fn object(&self, server: &ServerName, item: &str, object: Object) -> Object {
        cleaned(&self.of(server, item), object)
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
    (redaction, caller): (Option<&Redaction>, &Caller),
    receipt: &Receipt,
    outcome: Outcome,
) -> Result<Outcome, Refusal> {
    if matches!(outcome, Outcome::InputRequired(_) | Outcome::Failed(_)) {
        // Neither is redacted, so it goes only to who may read it as it is.
        return match clear(policy, receipt)? {
            None => Ok(outcome),
            Some(_) => Err(Refusal::Withheld(closed(action(receipt)))),
        };
    }
    let target = receipt.target();
    let redacting = clear(policy, receipt)?.map(|entities| Redacting {
        redaction,
        entities,
        conversation: holder(caller),
        target,
    });
    let cleaner = cleaning.of(&target.server, &target.item);
    match outcome {
        Outcome::Complete(raw) => {
            judge(policy, receipt, &raw, redacting.is_some())?;
            let raw = match &redacting {
                Some(redacting) => redacting.result(&raw)?,
                None => raw,
            };
            Ok(Outcome::Complete(cleaner.result(&raw).result))
        }
        Outcome::Error(mut error) => {
            if let Some(redacting) = &redacting {
                error = redacting.error(error)?;
            }
            Ok(Outcome::Error(clean_error(&cleaner, error)))
        }
        Outcome::Task(mut task) => {
            if let Some(redacting) = &redacting {
                task = redacting.task(&task)?;
            }
            Ok(Outcome::Task(cleaned(&cleaner, task)))
        }
        outcome @ (Outcome::InputRequired(_) | Outcome::Failed(_)) => Ok(outcome),
    }
}

fn judge(policy: &Policy, receipt: &Receipt, raw: &Raw, redacts: bool) -> Result<(), Refusal> {
    if !policy.judges_results() {
        return Ok(());
    }
    let facts = ResultFacts {
        text: raw.as_text(),
        labels: receipt.labels(),
        unredacted_phi: redacts.then_some(false),
    };
    Ok(policy.judge_receipt(receipt, &facts)?)
}

/// The entities whose data has to be redacted for the client, if it may read
/// data of the call's entities at all.
fn clear(policy: &Policy, receipt: &Receipt) -> Result<Option<Vec<EntityId>>, Refusal> {
    if receipt.labels().is_empty() {
        return Ok(None);
    }
    match policy.clearance(&receipt.principal().client, receipt.labels()) {
        Clearance::Cleared => Ok(None),
        Clearance::Redact(entities) => Ok(Some(entities)),
        Clearance::Refused => Err(Refusal::Withheld(Withheld {
            action: action(receipt),
            code: ReasonCode::ClientNotCleared,
            rule: "clearance.client",
            reason: "this client is not cleared for the data it holds",
        })),
    }
}

/// What is said of what does not pass to a client that may not read it as it is.
fn closed(action: Box<str>) -> Withheld {
    Withheld {
        action,
        code: ReasonCode::UnredactedPhi,
        rule: "clearance.phi",
        reason: "this client may not see health information as it is",
    }
}

fn cleaned(cleaner: &Cleaner<'_>, object: Object) -> Object {
    match cleaner.value(&object.to_raw(), &mut Masked::default()) {
        Some(clean) => clean.to_object().unwrap_or(object),
        None => object,
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
    if !error.rest.is_empty() {
        error.rest = cleaned(cleaner, error.rest);
    }
    error
}

/// What was called, for the words of a refusal.
fn action(receipt: &Receipt) -> Box<str> {
    let target = receipt.target();
    format!("{}/{}", target.server, target.item).into()
}
