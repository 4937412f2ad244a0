//! Changing one entry of an agent's configuration file and nothing else.

pub(crate) mod toml;

use serde_json::{Map, Value};

use super::client::{Client, Format};
use super::jsonc;

/// The hub's name in every agent's configuration.
pub(super) const ENTRY: &str = "legation";

/// What an entry says about the way to the hub. Whatever else stands in it is
/// the user's: approvals, time limits, lists of tools.
const ROAD: [&str; 7] = [
    "type",
    "command",
    "args",
    "url",
    "httpUrl",
    "headers",
    "http_headers",
];

/// The file is not what the agent documents.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error(transparent)]
    Json(#[from] jsonc::EditError),
    #[error("it is not TOML")]
    Toml(#[source] Box<toml_edit::TomlError>),
    #[error("its member `{0}` is not a table of servers")]
    Shape(&'static str),
}

/// The hub's entry in the file, if there is one.
pub(super) fn entry(client: Client, text: &str) -> Result<Option<Value>, FileError> {
    match client.format() {
        Format::Json => Ok(jsonc::entry(text, client.member(), ENTRY)?),
        Format::Toml => toml::entry(text, client.member(), ENTRY),
    }
}

/// The text with the hub's entry set (`Some`) or taken out (`None`).
pub(super) fn with_entry(
    client: Client,
    text: &str,
    entry: Option<&Value>,
) -> Result<String, FileError> {
    match client.format() {
        Format::Json => Ok(jsonc::with_entry(text, client.member(), ENTRY, entry)?),
        Format::Toml => toml::with_entry(text, client.member(), ENTRY, entry),
    }
}

/// The new entry with what the user added to the old one.
pub(super) fn merged(old: Option<&Value>, new: &Value) -> Value {
    let (Some(old), Some(new)) = (old.and_then(Value::as_object), new.as_object()) else {
        return new.clone();
    };
    let mut all: Map<String, Value> = new.clone();
    for (key, value) in old {
        if key == "tools" || !(ROAD.contains(&key.as_str()) || new.contains_key(key)) {
            all.insert(key.clone(), value.clone());
        }
    }
    Value::Object(all)
}

/// What changes, line by line, with every value hidden that is not the hub's:
/// a configuration file is full of other people's tokens.
pub(super) fn diff(client: Client, before: &str, after: &str) -> String {
    let masked = |text: &str| match client.format() {
        Format::Json => jsonc::masked(text, client.member(), ENTRY).ok(),
        Format::Toml => toml::masked(text, client.member(), ENTRY),
    };
    let (Some(before), Some(after)) = (masked(before), masked(after)) else {
        return "the change cannot be shown without the secrets in the file\n".to_owned();
    };
    // Comments of a TOML file are not hidden, so only lines that change are shown.
    let context = match client.format() {
        Format::Json => 3,
        Format::Toml => 0,
    };
    similar::TextDiff::from_lines(&before, &after)
        .unified_diff()
        .context_radius(context)
        .to_string()
}

#[cfg(test)]
mod tests;
