//! Several requests in one.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Map, Value, json};

use super::error::Failure;
use super::{Call, Outcome};
use crate::web::{Answer, Ask, base64_std};

const MANY: usize = 20;

fn bad(message: impl Into<String>) -> Failure {
    Failure::new(400, "BadRequest", message)
}

/// `POST /$batch`.
pub(super) fn batch(call: Call<'_>) -> Outcome {
    let body = call.body()?;
    let requests = body["requests"]
        .as_array()
        .ok_or_else(|| bad("Batch request body must have the member 'requests'."))?;
    if requests.is_empty() || requests.len() > MANY {
        return Err(bad(format!(
            "The number of batch request steps must be between 1 and the maximum value of {MANY}."
        )));
    }
    let mut seen: Vec<&str> = Vec::new();
    for request in requests {
        let id = request["id"]
            .as_str()
            .ok_or_else(|| bad("A batch request step has no id."))?;
        if seen.iter().any(|known| known.eq_ignore_ascii_case(id)) {
            return Err(bad(format!("Request id '{id}' is not unique.")));
        }
        for on in request["dependsOn"].as_array().into_iter().flatten() {
            if !seen.contains(&on.as_str().unwrap_or_default()) {
                return Err(bad(format!(
                    "Request '{id}' depends on a later or unknown request."
                )));
            }
        }
        seen.push(id);
    }
    let (shared, outer) = (call.shared, call.ask);
    let mut failed: Vec<String> = Vec::new();
    let mut responses = Vec::new();
    for request in requests {
        let id = request["id"].as_str().unwrap_or_default();
        let waits = request["dependsOn"].as_array().into_iter().flatten();
        let broken = waits
            .filter_map(Value::as_str)
            .any(|on| failed.iter().any(|known| known == on));
        let answer = if broken {
            let why = Failure::new(424, "FailedDependency", "A request it depends on failed.");
            why.answer(outer, shared.now(), &crate::random::guid())
        } else {
            let ask = inner(outer, request)?;
            let what = format!("{} {}", ask.method, ask.path);
            match call.world.interrupt(shared, &what, &ask) {
                Some(answer) => answer,
                None => super::answer(shared, call.world, &ask),
            }
        };
        if answer.status >= 400 {
            failed.push(id.to_owned());
        }
        responses.push(shown(id, &answer));
    }
    // The order of answers is the service's own; clients must go by the ids.
    responses.reverse();
    Ok(Answer::json(200, &json!({"responses": responses})))
}

/// One step as a request of its own, with the batch's token.
fn inner(outer: &Ask, request: &Value) -> Result<Ask, Failure> {
    let method = request["method"]
        .as_str()
        .and_then(|method| Method::from_bytes(method.to_uppercase().as_bytes()).ok())
        .ok_or_else(|| bad("A batch request step has no method."))?;
    let url = request["url"]
        .as_str()
        .ok_or_else(|| bad("A batch request step has no url."))?;
    if url.contains("$batch") {
        return Err(bad("A batch cannot hold a batch."));
    }
    // msgraph-sdk for Python writes whole addresses.
    let bare = [outer.origin.as_str(), "https://graph.microsoft.com"]
        .iter()
        .find_map(|origin| url.strip_prefix(*origin)?.strip_prefix("/v1.0"))
        .unwrap_or(url);
    let version = outer.parts.first().map_or("v1.0", String::as_str);
    let target = format!("/{version}/{}", bare.trim_start_matches('/'));
    let mut headers = HeaderMap::new();
    for (name, value) in request["headers"].as_object().into_iter().flatten() {
        let name = HeaderName::from_bytes(name.to_lowercase().as_bytes());
        let value = HeaderValue::from_str(value.as_str().unwrap_or_default());
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    if let Some(token) = outer.headers.get("authorization") {
        headers.insert("authorization", token.clone());
    }
    let body = match &request["body"] {
        Value::Null => Bytes::new(),
        body => Bytes::from(body.to_string()),
    };
    if !body.is_empty() && !headers.contains_key("content-type") {
        return Err(bad(
            "Write request with a body must have the header 'Content-Type' in its step.",
        ));
    }
    Ok(Ask::new(
        method,
        outer.origin.clone(),
        &target,
        headers,
        body,
    ))
}

fn shown(id: &str, answer: &Answer) -> Value {
    let mut headers = Map::new();
    for (name, value) in &answer.headers {
        let name = match *name {
            "retry-after" => "Retry-After",
            "content-type" => "Content-Type",
            "location" => "Location",
            "www-authenticate" => "WWW-Authenticate",
            _ => continue,
        };
        headers.insert(name.to_owned(), value.as_str().into());
    }
    let mut out = json!({"id": id, "status": answer.status, "headers": headers});
    if !answer.body.is_empty() {
        out["body"] = serde_json::from_slice(&answer.body)
            .unwrap_or_else(|_| base64_std(&answer.body).into());
    }
    out
}
