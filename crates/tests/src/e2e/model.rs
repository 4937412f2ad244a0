//! A model server with one trick, for whole turns of agents without a network:
//! told the magic word it calls a tool, given the tool's result it repeats it.
//!
//! It speaks the Anthropic messages, the OpenAI responses and the OpenAI chat
//! completions interfaces as far as agents use them, streaming and not.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use anyhow::Context;
use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::fixture::lock;

/// The word in the prompt that makes the model call the tool.
pub const MAGIC: &str = "GOTEST";

/// A running model server; stopped when dropped.
#[derive(Debug)]
pub struct Model {
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// Every request body, in order.
    pub requests: Arc<Mutex<Vec<Value>>>,
    task: AbortHandle,
}

/// What a model is told to do: given the results so far, a tool's name and its arguments,
/// or nothing more to call.
pub type Plan = dyn Fn(&[String]) -> Option<(&'static str, Value)> + Send + Sync;

/// What the model goes by.
enum Script {
    /// One call.
    Once(String, Value),
    /// As many as the plan wants; only agents that ask as Claude Code does.
    Plan(Box<Plan>),
}

/// What the model does next.
#[derive(Debug, PartialEq)]
enum Step {
    Call {
        name: String,
        namespace: Option<String>,
    },
    Say(String),
}

/// What the model knows after reading a request.
#[derive(Debug, Default)]
struct Heard {
    magic: bool,
    result: Option<String>,
    /// Every result, in order.
    results: Vec<String>,
    /// (namespace, name) of every tool offered.
    tools: Vec<(Option<String>, String)>,
}

// === impl Model ===

impl Model {
    /// Starts a model that calls the tool whose name ends in `tool` with `arguments`.
    pub async fn start(tool: &str, arguments: Value) -> anyhow::Result<Self> {
        Self::with(Script::Once(tool.to_owned(), arguments)).await
    }

    /// Starts a model that calls what the plan says, and repeats the last result at its end.
    pub async fn planned(plan: Box<Plan>) -> anyhow::Result<Self> {
        Self::with(Script::Plan(plan)).await
    }

    async fn with(script: Script) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .context("cannot listen")?;
        let port = listener.local_addr()?.port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new((script, Arc::clone(&requests)));
        let task = Handle::current().spawn(async move {
            while let Ok((stream, _peer)) = listener.accept().await {
                let script = Arc::clone(&script);
                Handle::current().spawn(async move {
                    let service = service_fn(move |request| {
                        let script = Arc::clone(&script);
                        async move {
                            let (script, requests) = &*script;
                            Ok::<_, Infallible>(answer(request, script, requests).await)
                        }
                    });
                    let connection = hyper::server::conn::http1::Builder::new();
                    let _closed = connection
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Ok(Self {
            port,
            requests,
            task: task.abort_handle(),
        })
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    request: Request<Incoming>,
    script: &Script,
    requests: &Mutex<Vec<Value>>,
) -> Response<Full<Bytes>> {
    let path = request.uri().path().to_owned();
    let body = request
        .into_body()
        .collect()
        .await
        .map(|body| body.to_bytes())
        .unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    lock(requests).push(body.clone());
    let stream = body["stream"] == true;
    if path.ends_with("/count_tokens") {
        return whole(&json!({"input_tokens": 10}));
    }
    if path.ends_with("/messages") {
        let (step, arguments) = script.next(&hear_anthropic(&body));
        let (message, events) = anthropic(&body, &step, &arguments);
        return if stream {
            streamed(&events)
        } else {
            whole(&message)
        };
    }
    if path.ends_with("/chat/completions") {
        return completion(&body, stream);
    }
    if path.ends_with("/responses") {
        let (step, arguments) = script.next(&hear_openai(&body));
        let (response, events) = openai(&body, &step, &arguments);
        return if stream {
            streamed(&events)
        } else {
            whole(&response)
        };
    }
    whole(&json!({"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []}))
}

// === impl Script ===

impl Script {
    /// The next step, and what a call is made with.
    fn next(&self, heard: &Heard) -> (Step, Value) {
        let (tool, arguments) = match self {
            Self::Once(tool, arguments) => (tool.as_str(), arguments.clone()),
            Self::Plan(plan) => match plan(&heard.results) {
                Some((tool, arguments)) => (tool, arguments),
                None => return (decide(heard, ""), Value::Null),
            },
        };
        let heard = match self {
            Self::Once(..) => heard,
            // What was called before is no reason to stop.
            Self::Plan(_) => &Heard {
                magic: heard.magic,
                result: None,
                results: Vec::new(),
                tools: heard.tools.clone(),
            },
        };
        (decide(heard, tool), arguments)
    }
}

fn decide(heard: &Heard, tool: &str) -> Step {
    // Codex shows its model underscores where a tool's name has hyphens.
    let wanted = |name: &str| name.replace('-', "_").ends_with(&tool.replace('-', "_"));
    let offered = heard.tools.iter().find(|(_, name)| wanted(name));
    match (&heard.result, offered) {
        (Some(result), _) if heard.magic => Step::Say(format!("FINAL[{result}]")),
        (None, Some((namespace, name))) if heard.magic => Step::Call {
            name: name.clone(),
            namespace: namespace.clone(),
        },
        _ => Step::Say("ok".to_owned()),
    }
}

/// The text anywhere inside a content value.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => ["text", "content", "output"]
            .iter()
            .find_map(|field| part.get(*field))
            .map(text)
            .unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

fn hear_anthropic(body: &Value) -> Heard {
    let mut heard = Heard::default();
    for message in body["messages"].as_array().into_iter().flatten() {
        heard.magic |= text(&message["content"]).contains(MAGIC);
        for part in message["content"].as_array().into_iter().flatten() {
            if part["type"] == "tool_result" {
                let result = text(&part["content"]);
                heard.results.push(result.clone());
                heard.result = Some(result);
            }
        }
    }
    let tools = body["tools"].as_array().into_iter().flatten();
    heard.tools = tools
        .filter_map(|tool| Some((None, tool["name"].as_str()?.to_owned())))
        .collect();
    heard
}

fn hear_openai(body: &Value) -> Heard {
    let mut heard = Heard::default();
    for item in body["input"].as_array().into_iter().flatten() {
        let kind = item["type"].as_str().unwrap_or("message");
        if kind == "message" {
            heard.magic |= text(&item["content"]).contains(MAGIC);
        } else if kind.ends_with("_output") {
            heard.result = Some(text(&item["output"]));
        }
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        let Some(name) = tool["name"].as_str() else {
            continue;
        };
        if tool["type"] != "namespace" {
            heard.tools.push((None, name.to_owned()));
        }
        for inner in tool["tools"].as_array().into_iter().flatten() {
            let inner = inner["name"].as_str().unwrap_or_default().to_owned();
            heard.tools.push((Some(name.to_owned()), inner));
        }
    }
    heard
}

fn anthropic(body: &Value, step: &Step, arguments: &Value) -> (Value, Vec<Value>) {
    let usage = json!({"input_tokens": 10, "output_tokens": 5});
    let (block, opening, delta, stop) = match step {
        Step::Say(text) => (
            json!({"type": "text", "text": text}),
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": text}),
            "end_turn",
        ),
        Step::Call { name, .. } => {
            let block = |input: Value| json!({"type": "tool_use", "id": format!("toolu_{}", called(body)), "name": name, "input": input});
            let delta = json!({"type": "input_json_delta", "partial_json": arguments.to_string()});
            (
                block(arguments.clone()),
                block(json!({})),
                delta,
                "tool_use",
            )
        }
    };
    let mut message = json!({
        "id": "msg_scripted", "type": "message", "role": "assistant", "model": body["model"],
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    let events = vec![
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": opening}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ];
    message["content"] = json!([block]);
    message["stop_reason"] = stop.into();
    (message, events)
}

/// How many calls came before: every call has an id of its own.
fn called(body: &Value) -> usize {
    hear_anthropic(body).results.len()
}

fn openai(body: &Value, step: &Step, arguments: &Value) -> (Value, Vec<Value>) {
    let mut item = match step {
        Step::Say(text) => json!({
            "type": "message", "id": "msg_scripted", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        Step::Call { name, .. } => json!({
            "type": "function_call", "id": "fc_scripted", "call_id": "call_scripted", "status": "completed",
            "name": name, "arguments": arguments.to_string(),
        }),
    };
    if let Step::Call {
        namespace: Some(namespace),
        ..
    } = step
    {
        item["namespace"] = namespace.clone().into();
    }
    let mut response = json!({
        "id": "resp_scripted", "object": "response", "created_at": 1, "status": "in_progress",
        "model": body["model"], "output": [], "tools": [], "parallel_tool_calls": false,
    });
    let created = json!({"type": "response.created", "response": response});
    response["status"] = "completed".into();
    response["output"] = json!([item]);
    response["usage"] = json!({
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
    });
    let mut events = vec![
        created,
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response}),
    ];
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    (response, events)
}

/// A chat completion. No agent that asks this way is told to call a tool.
fn completion(body: &Value, stream: bool) -> Response<Full<Bytes>> {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    let of = |object: &str, choices: Value| {
        json!({
            "id": "chatcmpl_scripted", "created": 1, "model": body["model"], "object": object,
            "choices": choices,
        })
    };
    let said = json!({"role": "assistant", "content": "ok"});
    if !stream {
        let choice = json!([{"index": 0, "message": said, "finish_reason": "stop"}]);
        let mut answer = of("chat.completion", choice);
        answer["usage"] = usage;
        return whole(&answer);
    }
    let chunk = |choices: Value| of("chat.completion.chunk", choices);
    let mut last = chunk(json!([]));
    last["usage"] = usage;
    let events = [
        chunk(json!([{"index": 0, "delta": said, "finish_reason": null}])),
        chunk(json!([{"index": 0, "delta": {}, "finish_reason": "stop"}])),
        last,
    ];
    let mut text: String = events
        .iter()
        .map(|one| format!("data: {one}\n\n"))
        .collect();
    text.push_str("data: [DONE]\n\n");
    typed(text, "text/event-stream")
}

fn whole(value: &Value) -> Response<Full<Bytes>> {
    typed(value.to_string(), "application/json")
}

fn streamed(events: &[Value]) -> Response<Full<Bytes>> {
    let mut text = String::new();
    for event in events {
        text.push_str(&format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap_or_default()
        ));
    }
    typed(text, "text/event-stream")
}

fn typed(text: String, kind: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    response
        .headers_mut()
        .insert("content-type", HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Step, decide, hear_anthropic, hear_openai};

    #[test]
    fn calls_then_repeats() {
        let tools = json!([{"name": "mcp__legation__fixture-echo"}]);
        let first =
            json!({"messages": [{"role": "user", "content": "GOTEST please"}], "tools": tools});
        let call = Step::Call {
            name: "mcp__legation__fixture-echo".to_owned(),
            namespace: None,
        };
        assert_eq!(decide(&hear_anthropic(&first), "echo"), call);
        let result = json!({"type": "tool_result", "content": [{"type": "text", "text": "hi"}]});
        let second = json!({"messages": [{"role": "user", "content": "GOTEST"}, {"role": "user", "content": [result]}], "tools": tools});
        assert_eq!(
            decide(&hear_anthropic(&second), "echo"),
            Step::Say("FINAL[hi]".to_owned())
        );
    }

    #[test]
    fn finds_tools_in_namespaces() {
        let body = json!({
            "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "GOTEST"}]}],
            "tools": [{"type": "namespace", "name": "mcp__legation", "tools": [{"name": "fixture-echo"}]}],
        });
        let call = Step::Call {
            name: "fixture-echo".to_owned(),
            namespace: Some("mcp__legation".to_owned()),
        };
        assert_eq!(decide(&hear_openai(&body), "echo"), call);
    }
}
