//! Anthropic's messages.

mod decode;

use serde_json::{Map, Value, json};

use crate::error::ModelError;
use crate::request::{ChatRequest, Message, ToolChoice, Turn};
use crate::target::Target;

pub(super) use decode::Decoder;

/// The longest answer where nobody says; the interface demands a number.
const TOKENS_MAX: u32 = 8192;

/// The body of a request.
pub(super) fn body(target: &Target, request: &ChatRequest) -> Result<Value, ModelError> {
    if request.goes_on() {
        return Err(ModelError::Unsayable {
            what: "this provider does not go on with a turn that was begun",
        });
    }
    let mut system = Vec::new();
    let mut messages: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let (role, blocks) = match message {
            Message::System(text) => {
                system.push(text.as_str());
                continue;
            }
            Message::User(text) => ("user", vec![text_block(text)]),
            Message::Assistant(turn) => ("assistant", assistant(turn)?),
            Message::Result(result) => (
                "user",
                vec![json!({
                    "type": "tool_result",
                    "tool_use_id": result.call_id,
                    "content": result.text,
                    "is_error": result.is_error,
                })],
            ),
        };
        // Turns alternate there, and an empty one is refused.
        match messages.last_mut() {
            Some((last, all)) if *last == role => all.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => messages.push((role, blocks)),
        }
    }
    let messages = messages
        .into_iter()
        .map(|(role, blocks)| json!({ "role": role, "content": blocks }));
    let mut body = json!({
        "model": target.model,
        "max_tokens": request.tokens_max.unwrap_or(TOKENS_MAX),
        "messages": messages.collect::<Vec<_>>(),
        "stream": true,
    });
    let mut set = |name: &str, value: Value| body[name] = value;
    if !system.is_empty() {
        set("system", json!(system.join("\n\n")));
    }
    if let Some(temperature) = request.temperature {
        set("temperature", json!(temperature));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.parameters,
            })
        });
        set("tools", tools.collect());
        set("tool_choice", choice(request));
    }
    if let Some(answer) = &request.answer {
        let format = json!({ "type": "json_schema", "schema": answer.schema });
        set("output_config", json!({ "format": format }));
    }
    Ok(body)
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn assistant(turn: &Turn) -> Result<Vec<Value>, ModelError> {
    let mut blocks = Vec::new();
    // Thoughts are taken back with their seal only.
    if let Some(seal) = &turn.reasoning_seal {
        blocks.push(json!({
            "type": "thinking",
            "thinking": turn.reasoning,
            "signature": seal,
        }));
    }
    if !turn.text.is_empty() {
        blocks.push(text_block(&turn.text));
    }
    for call in &turn.calls {
        let arguments = match call.arguments.trim() {
            "" => Map::new(),
            text => serde_json::from_str(text).map_err(|_| ModelError::Unsayable {
                what: "the arguments of an earlier call are no JSON object",
            })?,
        };
        blocks.push(json!({
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": arguments,
        }));
    }
    Ok(blocks)
}

fn choice(request: &ChatRequest) -> Value {
    let mut choice = match &request.tool_choice {
        ToolChoice::Auto => json!({ "type": "auto" }),
        ToolChoice::None => return json!({ "type": "none" }),
        ToolChoice::Required => json!({ "type": "any" }),
        ToolChoice::Named(name) => json!({ "type": "tool", "name": name }),
    };
    if !request.parallel_calls {
        choice["disable_parallel_tool_use"] = json!(true);
    }
    choice
}
