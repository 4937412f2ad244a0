//! The built-in example server: a small MCP server on standard input and
//! output, in both eras, so that the hub can be tried where neither Node nor
//! Python is installed.

use std::io::{self, BufRead as _, Write as _};

use bytes::Bytes;
use legation_wire::codes;
use legation_wire::json::{Limits, Object, Raw};
use legation_wire::message::{ErrorObject, Message, Parsed, Request};
use legation_wire::meta;
use legation_wire::revision::Revision;
use serde_json::{Value, json};

/// Answers until its input ends.
pub(crate) fn run() -> io::Result<()> {
    let mut notes = Vec::new();
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let answer = match Message::parse(&Bytes::from(line?), &Limits::CLIENT) {
            Ok(Parsed::One(Message::Request(request))) => answer(&request, &mut notes),
            Ok(Parsed::One(_) | Parsed::Batch(_)) => continue,
            Err(error) => error.to_response(),
        };
        output.write_all(&answer.to_bytes())?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

fn answer(request: &Request, notes: &mut Vec<String>) -> Message {
    let params = request.params_object();
    let modern = params
        .get("_meta")
        .and_then(|meta| meta.get(meta::PROTOCOL_VERSION))
        .is_some();
    let body = match &*request.method {
        "server/discover" => Ok(json!({
            "supportedVersions": [Revision::V2026_07_28.as_str()],
            "capabilities": capabilities(),
            "_meta": {meta::SERVER_INFO: info()},
        })),
        "initialize" => Ok(json!({
            "protocolVersion": Revision::V2025_11_25.as_str(),
            "capabilities": capabilities(),
            "serverInfo": info(),
        })),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": tools()})),
        "resources/list" => Ok(json!({"resources": [{
            "uri": "example://notes", "name": "notes", "mimeType": "text/plain",
            "description": "Everything noted so far",
        }]})),
        "resources/templates/list" => Ok(json!({"resourceTemplates": []})),
        "prompts/list" => Ok(json!({"prompts": [{
            "name": "greeting", "description": "Say hello to somebody",
            "arguments": [{"name": "who", "required": true}],
        }]})),
        "prompts/get" => Ok(json!({"messages": [{"role": "user", "content": {
            "type": "text", "text": format!("Say hello to {}.", argument(&params, "who")),
        }}]})),
        "resources/read" => Ok(json!({"contents": [{
            "uri": "example://notes", "mimeType": "text/plain", "text": notes.join("\n"),
        }]})),
        "tools/call" => call(&params, notes),
        _ => Err(ErrorObject::new(
            codes::METHOD_NOT_FOUND,
            "Method not found",
        )),
    };
    let body = body.map(|mut value| {
        if modern && let Some(object) = value.as_object_mut() {
            object.insert("resultType".to_owned(), json!("complete"));
            if is_cacheable(&request.method) {
                object.insert("ttlMs".to_owned(), json!(0));
                object.insert("cacheScope".to_owned(), json!("private"));
            }
        }
        Raw::from_serialize(&value)
    });
    Message::response(request.id.clone(), body)
}

/// The results that must say how long they keep (2026-07-28, server/utilities/caching).
fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    )
}

fn capabilities() -> Value {
    json!({"tools": {}, "resources": {}, "prompts": {}})
}

fn info() -> Value {
    json!({"name": "legation-example", "version": crate::VERSION})
}

fn tools() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    json!([
        {
            "name": "echo", "description": "Give a text back",
            "inputSchema": {"type": "object", "properties": {"text": text("what to say")}, "required": ["text"]},
            "annotations": {"readOnlyHint": true},
        },
        {
            "name": "add", "description": "Add two numbers",
            "inputSchema": {
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
                "required": ["a", "b"],
            },
            "annotations": {"readOnlyHint": true},
        },
        {
            "name": "note", "description": "Note a text for this run of the server",
            "inputSchema": {"type": "object", "properties": {"text": text("what to note")}, "required": ["text"]},
            "annotations": {"readOnlyHint": false, "destructiveHint": false},
        },
        {
            "name": "erase", "description": "Erase every note",
            "inputSchema": {"type": "object", "properties": {}},
            "annotations": {"readOnlyHint": false, "destructiveHint": true},
        },
    ])
}

fn call(params: &Object, notes: &mut Vec<String>) -> Result<Value, ErrorObject> {
    let name = params
        .get("name")
        .and_then(|name| name.to_str().map(|name| name.into_owned()));
    let text = match name.as_deref() {
        Some("echo") => argument(params, "text"),
        Some("add") => {
            let number = |key| {
                arguments(params)
                    .get(key)
                    .and_then(|value: &Raw| value.deserialize::<f64>().ok())
                    .ok_or_else(|| {
                        ErrorObject::new(codes::INVALID_PARAMS, &format!("`{key}` is no number"))
                    })
            };
            (number("a")? + number("b")?).to_string()
        }
        Some("note") => {
            notes.push(argument(params, "text"));
            format!("{} noted", notes.len())
        }
        Some("erase") => {
            notes.clear();
            "erased".to_owned()
        }
        _ => {
            return Err(ErrorObject::new(
                codes::INVALID_PARAMS,
                "there is no such tool",
            ));
        }
    };
    Ok(json!({"content": [{"type": "text", "text": text}]}))
}

fn arguments(params: &Object) -> Object {
    params
        .get("arguments")
        .and_then(Raw::to_object)
        .unwrap_or_default()
}

fn argument(params: &Object, key: &str) -> String {
    let value = arguments(params).get(key).cloned();
    value
        .and_then(|value| value.to_str().map(|text| text.into_owned()))
        .unwrap_or_default()
}
