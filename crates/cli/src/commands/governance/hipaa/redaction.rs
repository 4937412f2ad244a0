//! Whether redaction takes out what it should, tried on an entity's own names
//! and numbers, before anything of them is sent anywhere.

use legation_core::EntityId;
use legation_policy::governance::{Governance, RedactionPlan};
use legation_policy::hipaa;
use legation_redact::{Class, MemoryVault, Redactor, RedactorSpec, RosterEntry};

use crate::{CliError, Exit};

/// How much was tried.
#[derive(Debug, Default)]
pub(super) struct Tried {
    pub(super) tried: u64,
    /// What was still there afterwards.
    pub(super) missed: u64,
}

/// What people write around a name or number; `{}` stands for it.
const SENTENCES: [&str; 4] = [
    "{} was seen this morning and slept well.",
    "Please call the family of {} before noon.",
    "Note to the night shift: {}, stable, eats without help.",
    "The plan of care names {} twice.",
];

/// Numbers and addresses of the usual forms, of nobody's.
const FORMS: [&str; 8] = [
    "123-45-6789",
    "(555) 010-0199",
    "sample.person@example.org",
    "03/05/1941",
    "MRN 00123456",
    "192.0.2.17",
    "https://chart.example.org/p/1234",
    "12 Sample Street, Springfield 12345",
];

/// What stands in a tagged field.
const FIELD_VALUE: &str = "zqx-field-value-7731";

/// Tries every entity with health information.
pub(super) fn test(governance: &Governance) -> Result<Tried, CliError> {
    let mut tried = Tried::default();
    for entity in hipaa::protected(governance) {
        let plan = governance.redaction(&entity).map_err(|broken| {
            let why = format!("{} {}; nothing was tried", broken.file, broken.reason);
            CliError::new(Exit::Failed, why).with_hint("`legation governance check` says where")
        })?;
        test_one(&entity, &plan, &mut tried)?;
    }
    Ok(tried)
}

fn test_one(entity: &EntityId, plan: &RedactionPlan, tried: &mut Tried) -> Result<(), CliError> {
    let redactor = Redactor::build(&spec(plan)).map_err(|error| {
        let hint = error.hint();
        let mut failed = CliError::failed(&error).with_hint(hint);
        failed.message = format!("entity {entity}: {}", failed.message);
        failed
    })?;
    let mut vault = MemoryVault::new();
    let births: Vec<String> = plan.births.iter().map(ToString::to_string).collect();
    let secrets = plan.names.iter().chain(&plan.identifiers).chain(&births);
    for secret in secrets.map(String::as_str).chain(FORMS) {
        for sentence in SENTENCES {
            let redacted = redactor.redact_text(&sentence.replace("{}", secret), &mut vault);
            tried.count(&redacted.text, secret);
        }
    }
    for field in &plan.fields {
        let document = serde_json::json!({ "id": 1, field.as_str(): FIELD_VALUE }).to_string();
        let redacted = redactor.redact_json(&document, &mut vault);
        tried.count(&redacted.json, FIELD_VALUE);
    }
    Ok(())
}

fn spec(plan: &RedactionPlan) -> RedactorSpec {
    let names = plan.names.iter().map(RosterEntry::person);
    let births = plan
        .births
        .iter()
        .map(|day| RosterEntry::value(Class::Date, day.to_string()));
    let identifiers = plan
        .identifiers
        .iter()
        .map(|text| RosterEntry::value(Class::Other, text));
    RedactorSpec {
        fields: plan.fields.clone(),
        roster: names.chain(births).chain(identifiers).collect(),
        safe_words: plan.safe_words.clone(),
        patterns: plan.patterns.clone(),
        ..RedactorSpec::default()
    }
}

// === impl Tried ===

impl Tried {
    fn count(&mut self, text: &str, secret: &str) {
        self.tried += 1;
        if holds(text, secret) {
            self.missed += 1;
        }
    }
}

/// Whether `secret` stands in `text` as a whole: a short name can well be part
/// of another word.
fn holds(text: &str, secret: &str) -> bool {
    let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    text.match_indices(secret).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        !is_word(before) && !is_word(after)
    })
}
