//! What tools of the hub's own take and answer, held against what they say of it.
//!
//! A tool reads its arguments into types of its own, which are looser than its schema in places
//! and stricter in others; the schema is what clients were promised, so it is what holds. A schema
//! is compiled when its tool is first called: most are not in the life of a hub.

use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use legation_gate::Outcome;
use legation_wire::codes;
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;
use serde_json::Value;

use crate::{Native, Tool};

/// Most faults that are told at once.
const TOLD_MAX: usize = 5;

/// The schemas of one tool.
#[derive(Debug)]
pub(crate) struct Fit {
    /// `server/tool`.
    name: String,
    input: Schema,
    output: Option<Schema>,
}

/// One schema.
#[derive(Debug)]
struct Schema {
    text: &'static str,
    /// `None` where the text is no schema.
    compiled: OnceLock<Option<Validator>>,
}

// === impl Fit ===

impl Fit {
    pub(crate) fn of(native: &dyn Native, tool: &Tool) -> Arc<Self> {
        Arc::new(Self {
            name: format!("{}/{}", native.name(), tool.name),
            input: Schema::new(tool.input),
            output: native.output(tool.name).map(Schema::new),
        })
    }

    /// Whether there is something to hold its answers against.
    pub(crate) fn has_output(&self) -> bool {
        self.output.is_some()
    }

    /// Holds arguments against the schema; what is refused was not called.
    pub(crate) fn takes(&self, arguments: Option<&Raw>) -> Result<(), ErrorObject> {
        let value: Option<Value> = match arguments {
            None => Some(Value::Object(serde_json::Map::new())),
            Some(raw) => raw.deserialize().ok(),
        };
        let faults = match value {
            Some(value) => self.input.faults(&value),
            None => Some("they are no JSON".to_owned()),
        };
        let Some(faults) = faults else {
            return Ok(());
        };
        let message = format!(
            "the arguments do not fit the inputSchema of {}: {faults}; nothing was done",
            self.name
        );
        Err(ErrorObject::new(codes::INVALID_PARAMS, &message))
    }

    /// An answer, or that it is none that may be sent.
    pub(crate) fn answers(&self, outcome: Outcome) -> Outcome {
        let (Some(schema), Outcome::Complete(result)) = (&self.output, &outcome) else {
            return outcome;
        };
        // What failed says so in words.
        if result.get("isError").and_then(|raw| raw.to_bool()) == Some(true) {
            return outcome;
        }
        let content = result.get("structuredContent");
        let value: Option<Value> = content.and_then(|raw| raw.deserialize().ok());
        let faults = match value {
            Some(value) => schema.faults(&value),
            None => Some("it has no structured content".to_owned()),
        };
        let Some(faults) = faults else {
            return outcome;
        };
        tracing::error!(
            tool = self.name,
            faults,
            "a tool of the hub's own answered what its outputSchema does not allow; the answer is not sent"
        );
        let message = format!(
            "{} answered what its outputSchema does not allow, a fault of the hub's; the answer is not sent, and what was done is done",
            self.name
        );
        Outcome::Error(ErrorObject::new(codes::INTERNAL_ERROR, &message))
    }
}

// === impl Schema ===

impl Schema {
    fn new(text: &'static str) -> Self {
        Self {
            text,
            compiled: OnceLock::new(),
        }
    }

    /// What a value breaks, with the place and without the value: nothing where it fits.
    fn faults(&self, value: &Value) -> Option<String> {
        let compiled = self.compiled.get_or_init(|| {
            let schema: Value = serde_json::from_str(self.text).ok()?;
            jsonschema::validator_for(&schema).ok()
        });
        let Some(validator) = compiled else {
            return Some("the schema itself cannot be read".to_owned());
        };
        if validator.is_valid(value) {
            return None;
        }
        let faults = validator.iter_errors(value).take(TOLD_MAX).map(|fault| {
            let (place, what) = (fault.instance_path().to_string(), fault.masked());
            match place.strip_prefix('/') {
                Some(place) => format!("at `{place}`: {what}"),
                None => what.to_string(),
            }
        });
        Some(faults.collect::<Vec<_>>().join("; "))
    }
}

#[cfg(test)]
mod tests;
