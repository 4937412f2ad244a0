//! The session API: JSON-RPC 2.0 over POST, for programs that know servers by it.

use std::sync::Arc;

use http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::input;
use crate::web::{Answer, Request};
use crate::{AdminFault, Hub};

/// JSON-RPC 2.0, section 5.1.
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
/// How the session API begins a sign-in.
const LOGIN: &str = "mcp.oauth.login";

/// A response.
#[derive(Debug, Serialize)]
struct Response {
    jsonrpc: &'static str,
    id: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

/// JSON Schema of what is taken.
pub(super) fn request_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "jsonrpc": { "const": "2.0" },
            "id": { "type": ["string", "integer"] },
            "method": {
                "type": "string",
                "description": "mcp.list, mcp.enable, mcp.disable, mcp.reload, mcp.oauth.login, or another method of servers.",
            },
            "params": { "type": "object" },
        },
        "required": ["jsonrpc", "id", "method"],
    })
}

/// JSON Schema of what is answered.
pub(super) fn response_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "jsonrpc": { "const": "2.0" },
            "id": { "type": ["string", "integer", "null"] },
            "result": {},
            "error": {
                "type": "object",
                "properties": { "code": { "type": "integer" }, "message": { "type": "string" }, "data": {} },
                "required": ["code", "message"],
            },
        },
        "required": ["jsonrpc", "id"],
    })
}

/// Answers one request. Errors of JSON-RPC are answers like any other, but for what is no
/// request at all.
pub(super) async fn answer(hub: &Arc<dyn Hub>, request: &Request) -> Answer {
    let Ok(mut object) = input::read_body(&request.body) else {
        return refused(Value::Null, PARSE_ERROR, "the body is no JSON object");
    };
    let id = match object.remove("id") {
        Some(id @ Value::String(_)) => id,
        Some(Value::Number(id)) if id.is_i64() || id.is_u64() => id.into(),
        _ => return refused(Value::Null, INVALID_REQUEST, "a request needs an id"),
    };
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refused(id, INVALID_REQUEST, "jsonrpc must be 2.0");
    }
    let Some(Value::String(method)) = object.remove("method") else {
        return refused(id, INVALID_REQUEST, "a request needs a method");
    };
    let params = match object.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return refused(id, INVALID_REQUEST, "params must be an object"),
    };
    // The rest of the administration has routes, or is for the owner's own machine.
    if !method.starts_with("mcp.") {
        let error = error(METHOD_NOT_FOUND, "there is no such method", None);
        return respond(StatusCode::OK, id, Err(error));
    }
    let params = session_params(params);
    let own = if method == LOGIN {
        "mcp.auth"
    } else {
        &*method
    };
    let answered = super::ask(hub, own, &Value::Object(params)).await;
    let answered = answered
        .and_then(|answer| serde_json::from_str(answer.get()).map_err(|_| AdminFault::stopping()));
    let answered = answered.map(|mut answer| {
        match &*method {
            "mcp.list" => name_errors(&mut answer),
            LOGIN => name_url(&mut answer),
            _ => {}
        }
        answer
    });
    respond(
        StatusCode::OK,
        id,
        answered.map_err(|fault| of_fault(&fault)),
    )
}

/// The session API calls a server's name `serverName`, and says of which session it speaks;
/// here is one.
fn session_params(mut params: Map<String, Value>) -> Map<String, Value> {
    params.shift_remove("sessionId");
    for (theirs, own) in [("serverName", "name"), ("forceReauth", "force")] {
        if let Some(value) = params.shift_remove(theirs) {
            params.entry(own).or_insert(value);
        }
    }
    params
}

/// The session API calls the reason why a server failed its error.
fn name_errors(answer: &mut Value) {
    let servers = answer.get_mut("servers").and_then(Value::as_array_mut);
    for server in servers.into_iter().flatten() {
        if let Some(reason) = server.get("reason").cloned() {
            server["error"] = reason;
        }
    }
}

/// The session API names the page to open, where one is to be opened, and says no more.
fn name_url(answer: &mut Value) {
    let url = answer.get("url").cloned().unwrap_or_default();
    *answer = match url {
        Value::String(url) => json!({ "authorizationUrl": url }),
        _ => json!({}),
    };
}

fn of_fault(fault: &AdminFault) -> Value {
    let mut data = Map::new();
    if let Some(hint) = &fault.hint {
        data.insert("hint".to_owned(), hint.as_str().into());
    }
    if let Some(rule) = &fault.rule {
        data.insert("rule".to_owned(), rule.as_str().into());
    }
    error(
        fault.code,
        &fault.message,
        Some(data).filter(|data| !data.is_empty()),
    )
}

fn error(code: i64, message: &str, data: Option<Map<String, Value>>) -> Value {
    let mut error = json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data.into();
    }
    error
}

fn refused(id: Value, code: i64, what: &str) -> Answer {
    let error = error(code, &format!("{what}; nothing was done"), None);
    respond(StatusCode::BAD_REQUEST, id, Err(error))
}

fn respond(status: StatusCode, id: Value, answered: Result<Value, Value>) -> Answer {
    let (result, error) = match answered {
        Ok(result) => (Some(result), None),
        Err(error) => (None, Some(error)),
    };
    let response = Response {
        jsonrpc: "2.0",
        id,
        result,
        error,
    };
    Answer::json(status, &response)
}
