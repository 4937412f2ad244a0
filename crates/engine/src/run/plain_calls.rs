//! Calls for models that cannot make any: tools are described to them in words, and what they write
//! of calls is found in theirs.
//!
//! The conversation the machine holds is the same as for every other model; only what is sent
//! differs. So a task can go on with either kind, and what a model wrote is checked like any call.

use std::collections::HashMap;

use legation_models::{Message, Tool, Turn};
use serde_json::{Value, json};

/// How a call is written; one of the marks that are looked for.
const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

/// The messages as such a model reads them.
pub(crate) fn told(messages: &[Message], tools: &[Tool]) -> Vec<Message> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut plain = Vec::with_capacity(messages.len() + 1);
    if !matches!(messages.first(), Some(Message::System(_))) {
        plain.push(Message::System(described(tools)));
    }
    for message in messages {
        plain.push(match message {
            Message::System(text) if plain.is_empty() => {
                Message::System(format!("{text}\n\n{}", described(tools)))
            }
            Message::System(text) => Message::System(text.clone()),
            Message::User(text) => Message::User(text.clone()),
            Message::Assistant(turn) => {
                for call in &turn.calls {
                    names.insert(&call.id, &call.name);
                }
                Message::Assistant(written(turn))
            }
            Message::Result(result) => {
                let name = names.get(result.call_id.as_str()).copied();
                let how = match result.is_error {
                    true => "failed",
                    false => "answered",
                };
                let name = name.unwrap_or("The tool");
                Message::User(format!("{name} {how}:\n{}", result.text))
            }
        });
    }
    plain
}

/// A turn with its calls as words.
fn written(turn: &Turn) -> Turn {
    let mut text = turn.text.clone();
    for call in &turn.calls {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
        let call = json!({ "name": call.name, "arguments": arguments });
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("{OPEN}\n{call}\n{CLOSE}"));
    }
    Turn {
        text,
        calls: Vec::new(),
        ..turn.clone()
    }
}

/// What such a model is told of tools.
fn described(tools: &[Tool]) -> String {
    let mut text = format!(
        "You can call tools. To call one, write this and nothing after it, with the tool's name and \
         its arguments:\n{OPEN}\n{{\"name\": \"NAME\", \"arguments\": {{}}}}\n{CLOSE}\n\
         You are then told what it answered. Never write an answer of a tool yourself. When nothing \
         is left to be called, give your answer in words.\n\nTools:"
    );
    for tool in tools {
        let Tool {
            name,
            description,
            parameters,
        } = tool;
        text.push_str(&format!(
            "\n\n{name}: {description}\nArguments (JSON Schema): {parameters}"
        ));
    }
    text
}

#[cfg(test)]
mod tests;
