//! OpenAI's chat completions, and what others make of them.

mod decode;

use serde_json::{Value, json};

use crate::request::{ChatRequest, Message, ToolChoice, Turn};
use crate::resume::GoOn;
use crate::target::{Dialect, Target};

pub(super) use decode::Decoder;

/// The version of Azure's interface from which on it takes what OpenAI's does.
const NEWER: &str = "2024-09";

/// The body of a request.
pub(super) fn body(target: &Target, request: &ChatRequest) -> Value {
    let messages: Vec<Value> = request.messages.iter().map(message).collect();
    let mut body = json!({
        "model": target.model,
        "messages": messages,
        "stream": true,
    });
    // Its newer models refuse the word that all others know.
    let longest = match &target.dialect {
        Dialect::OpenAi | Dialect::AzureV1 => "max_completion_tokens",
        Dialect::AzureDated { api_version } if api_version.as_str() >= NEWER => {
            "max_completion_tokens"
        }
        Dialect::Compatible
        | Dialect::Copilot
        | Dialect::AzureDated { .. }
        | Dialect::Anthropic => "max_tokens",
    };
    let mut set = |name: &str, value: Value| body[name] = value;
    let is_old = matches!(&target.dialect, Dialect::AzureDated { api_version } if api_version.as_str() < NEWER);
    if !is_old {
        set("stream_options", json!({ "include_usage": true }));
    }
    if let Some(most) = request.tokens_max {
        set(longest, json!(most));
    }
    if let Some(temperature) = request.temperature {
        set("temperature", json!(temperature));
    }
    if let Some(seed) = request.seed {
        set("seed", json!(seed));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            })
        });
        set("tools", tools.collect());
        set("tool_choice", choice(&request.tool_choice));
        set("parallel_tool_calls", json!(request.parallel_calls));
    }
    if let Some(answer) = &request.answer {
        set(
            "response_format",
            json!({
                "type": "json_schema",
                "json_schema": { "name": answer.name, "schema": answer.schema, "strict": true },
            }),
        );
    }
    if request.goes_on() && target.go_on == GoOn::Flag {
        set("continue_final_message", json!(true));
        set("add_generation_prompt", json!(false));
    }
    body
}

/// One turn, as a conversation holds it.
pub(crate) fn message(message: &Message) -> Value {
    match message {
        Message::System(text) => json!({ "role": "system", "content": text }),
        Message::User(text) => json!({ "role": "user", "content": text }),
        Message::Assistant(turn) => assistant(turn),
        Message::Result(result) => json!({
            "role": "tool",
            "tool_call_id": result.call_id,
            "content": result.text,
        }),
    }
}

fn assistant(turn: &Turn) -> Value {
    let mut message = json!({ "role": "assistant", "content": turn.text });
    if !turn.calls.is_empty() {
        let calls = turn.calls.iter().map(|call| {
            json!({
                "id": call.id,
                "type": "function",
                "function": { "name": call.name, "arguments": arguments(&call.arguments) },
            })
        });
        message["tool_calls"] = calls.collect();
        if turn.text.is_empty() {
            message["content"] = Value::Null;
        }
    }
    message
}

/// A model that has nothing to say to a tool says nothing; servers want an object.
fn arguments(text: &str) -> &str {
    match text.trim() {
        "" => "{}",
        _ => text,
    }
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => json!({ "type": "function", "function": { "name": name } }),
    }
}
