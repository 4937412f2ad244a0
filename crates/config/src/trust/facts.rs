//! What an entry would do: as a hash for the record, as lines for the owner.

use std::collections::BTreeSet;
use std::path::Path;

use legation_core::id::hex;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::environment::keyring_names;
use crate::servers::{env_file_digest, quoted};

/// The fields that decide what runs or is reached, in a fixed order. A field
/// that only changes how a server is listed does not ask again.
const DECIDING: [&str; 8] = [
    "type", "command", "args", "cwd", "env", "envMode", "url", "headers",
];

/// As whom and where the hub signs in, how the server is reached, and what it reaches,
/// with the words for each. They count where they are there, so that what was agreed to
/// before they were known is still agreed to.
const FURTHER: [(&str, &str); 10] = [
    ("oauth", "signing in with oauth"),
    ("oauthClientId", "signing in with oauthClientId"),
    ("oauthGrantType", "signing in with oauthGrantType"),
    ("oauthPublicClient", "signing in with oauthPublicClient"),
    ("proxy", "through the proxy"),
    ("tls", "by TLS with"),
    ("sandbox", "in the sandbox"),
    ("oidc", "given a token of this machine's identity:"),
    ("server", "another name for the hub's own"),
    ("headersHelper", "sending the headers that this prints:"),
];

/// The field that names a file of variables.
const ENV_FILE: &str = "envFile";

pub(super) fn hash(folder: &Path, entry: &Value) -> String {
    let mut deciding: Vec<(&str, Option<&Value>)> =
        DECIDING.iter().map(|key| (*key, entry.get(key))).collect();
    let further = FURTHER.iter().map(|(key, _)| (*key, entry.get(key)));
    deciding.extend(further.filter(|(_, value)| value.is_some()));
    let text = serde_json::to_vec(&deciding).expect("JSON values always serialise");
    let mut hash = Sha256::new_with_prefix(&text);
    // Variables of a file decide as much as those of the entry.
    if let Some(path) = entry.get(ENV_FILE).and_then(Value::as_str) {
        hash.update(path);
        hash.update(env_file_digest(folder, path));
    }
    hex(&hash.finalize())
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
    if let Some(path) = entry.get(ENV_FILE) {
        lines.push(format!(
            "with the variables of {}, as they are now",
            words(path)
        ));
    }
    for (name, value) in members("env") {
        lines.push(format!("with {}={}", quoted(name), words(value)));
    }
    for (name, value) in members("headers") {
        lines.push(format!("sending {}: {}", quoted(name), words(value)));
    }
    for (key, say) in FURTHER {
        if let Some(value) = entry.get(key) {
            lines.push(format!("{say} {}", words(value)));
        }
    }
    let mut secrets = BTreeSet::new();
    add_secrets(entry, &mut secrets);
    lines.extend(
        secrets
            .iter()
            .map(|name| format!("given your secret {name}")),
    );
    lines
}

/// The names of the owner's secrets that an entry refers to.
fn add_secrets(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => names.extend(keyring_names(text).map(str::to_owned)),
        Value::Array(items) => items.iter().for_each(|item| add_secrets(item, names)),
        Value::Object(members) => members.values().for_each(|value| add_secrets(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
