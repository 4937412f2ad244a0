//! What an entry would do: as a hash for the record, as lines for the owner.

use legation_core::id::hex;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::servers::quoted;

/// The fields that decide what runs or is reached, in a fixed order. A field
/// that only changes how a server is listed does not ask again.
const DECIDING: [&str; 8] = [
    "type", "command", "args", "cwd", "env", "envMode", "url", "headers",
];

pub(super) fn hash(entry: &Value) -> String {
    let deciding: Vec<(&str, Option<&Value>)> =
        DECIDING.iter().map(|key| (*key, entry.get(key))).collect();
    let text = serde_json::to_vec(&deciding).expect("JSON values always serialise");
    hex(&Sha256::digest(&text))
}

pub(super) fn shown(entry: &Value) -> Vec<String> {
    let words = |value: &Value| match value {
        Value::String(text) => quoted(text),
        other => other.to_string(),
    };
    let list = |key: &str| {
        entry
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let members = |key: &str| {
        entry
            .get(key)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
    };
    let mut lines = Vec::new();
    if let Some(command) = entry.get("command") {
        let line: Vec<String> = std::iter::once(command)
            .chain(list("args"))
            .map(words)
            .collect();
        lines.push(format!("runs {}", line.join(" ")));
    }
    if let Some(url) = entry.get("url") {
        lines.push(format!("reaches {}", words(url)));
    }
    if let Some(cwd) = entry.get("cwd") {
        lines.push(format!("in {}", words(cwd)));
    }
    for (name, value) in members("env") {
        lines.push(format!("with {}={}", quoted(name), words(value)));
    }
    for (name, value) in members("headers") {
        lines.push(format!("sending {}: {}", quoted(name), words(value)));
    }
    lines
}
