//! A tool call of a person's in GitHub Copilot's chat.

use legation_copilot::{Answered, Called, Reference, Refused, ToolCall};
use legation_core::error::chain;
use legation_core::{OpContext, ServerName};
use legation_gate::{Outcome, Refusal};
use legation_wire::json::{Limits, Raw};
use serde_json::Value;

use crate::serve::hub::Inner;
use crate::serve::mute;

/// Most references of an answer, and how deep they are looked for.
const REFERENCES_MAX: usize = 20;
const DEPTH_MAX: usize = 6;

pub(super) async fn call(hub: &Inner, context: &OpContext, call: ToolCall) -> Called {
    let failed = |message: &str| Called::Failed {
        message: message.to_owned(),
    };
    let Ok(server) = ServerName::parse(&call.server) else {
        return failed("there is no such server; nothing was called");
    };
    let arguments = Value::Object(call.arguments).to_string();
    let Ok(arguments) = Raw::parse(arguments.into(), &Limits::CLIENT) else {
        return failed("the arguments are too large or too deep; nothing was called");
    };
    let request = mute::request(server, &call.tool, arguments, "in a chat");
    match hub.gate.call(context, request).await {
        Ok(Outcome::Complete(result)) => Called::Answered(answered(&result)),
        Ok(Outcome::Error(error)) => failed(&error.message),
        Ok(Outcome::Failed(failure)) => failed(&format!("{failure}. {}", failure.hint())),
        Ok(Outcome::InputRequired(_) | Outcome::Task(_)) => {
            failed("the tool wants something that cannot be given in a chat")
        }
        Err(refusal) => Called::Refused(refused(&refusal)),
    }
}

fn refused(refusal: &Refusal) -> Refused {
    let approval = match refusal {
        Refusal::Unapproved(unapproved) => match &**unapproved {
            // A proposal takes a proof of a person, which a button here is not.
            legation_gate::stage::Unapproved::Pending { id, .. } => Some(id.to_string()),
            _ => None,
        },
        _ => None,
    };
    Refused {
        code: refusal.reason_code().as_str().to_owned(),
        message: chain(refusal),
        hint: refusal.hint(),
        approval,
    }
}

fn answered(result: &Raw) -> Answered {
    let mut references = Vec::new();
    let structured = result.get("structuredContent");
    if let Some(structured) = structured.and_then(|raw| raw.deserialize::<Value>().ok()) {
        collect(&structured, 0, &mut references);
    }
    Answered {
        text: mute::text(result),
        references,
        is_error: mute::is_error(result),
    }
}

/// The deals that an answer names.
fn collect(value: &Value, depth: usize, found: &mut Vec<Reference>) {
    if depth > DEPTH_MAX || found.len() >= REFERENCES_MAX {
        return;
    }
    match value {
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect(item, depth + 1, found)),
        Value::Object(members) => {
            let text = |name: &str| members.get(name).and_then(Value::as_str);
            if let Some(id) = text("deal_id")
                && !found.iter().any(|one| one.id == id)
            {
                let name = text("deal_name").or_else(|| text("name")).unwrap_or(id);
                found.push(Reference {
                    kind: "legation.deal".to_owned(),
                    id: id.to_owned(),
                    name: name.to_owned(),
                });
            }
            members
                .values()
                .for_each(|item| collect(item, depth + 1, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
