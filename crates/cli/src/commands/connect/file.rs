//! Changing one entry of an agent's configuration file and nothing else.

use serde_json::{Map, Value};

use super::client::{Client, Format};

/// The hub's name in every agent's configuration.
pub(crate) const ENTRY: &str = "legation";

/// The file is not what the agent documents.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("it is no JSON the hub can rewrite (comments, perhaps)")]
    Json(#[source] serde_json::Error),
    #[error("it is no TOML")]
    Toml(#[source] toml_edit::TomlError),
    #[error("its member `{member}` is no table of servers")]
    Shape { member: &'static str },
    #[error("the new text cannot be written")]
    Write(#[source] serde_json::Error),
}

/// The text with the hub's entry set (`Some`) or taken out (`None`), and the
/// entry that stood there before.
pub(crate) fn with_entry(
    client: Client,
    before: &str,
    entry: Option<&Value>,
) -> Result<(String, Option<Value>), FileError> {
    match client.format() {
        Format::Json => json(client.member(), before, entry),
        Format::Toml => toml(client.member(), before, entry),
    }
}

fn json(
    member: &'static str,
    before: &str,
    entry: Option<&Value>,
) -> Result<(String, Option<Value>), FileError> {
    let mut root: Map<String, Value> = if before.trim().is_empty() {
        Map::new()
    } else {
        serde_json::from_str(before).map_err(FileError::Json)?
    };
    let servers = root
        .entry(member)
        .or_insert_with(|| Value::Object(Map::new()));
    let servers = servers.as_object_mut().ok_or(FileError::Shape { member })?;
    let old = match entry {
        Some(entry) => servers.insert(ENTRY.to_owned(), entry.clone()),
        None => servers.shift_remove(ENTRY),
    };
    if servers.is_empty() && entry.is_none() {
        root.shift_remove(member);
    }
    let indent = indentation(before);
    let mut text = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, formatter);
    serde::Serialize::serialize(&root, &mut serializer).map_err(FileError::Write)?;
    text.push(b'\n');
    Ok((String::from_utf8_lossy(&text).into_owned(), old))
}

/// The white space that the file's first indented line starts with.
fn indentation(text: &str) -> &str {
    text.lines()
        .skip(1)
        .find_map(|line| {
            let rest = line.trim_start_matches([' ', '\t']);
            let indent = &line[..line.len() - rest.len()];
            (!indent.is_empty() && !rest.is_empty()).then_some(indent)
        })
        .unwrap_or("  ")
}

fn toml(
    member: &'static str,
    before: &str,
    entry: Option<&Value>,
) -> Result<(String, Option<Value>), FileError> {
    let mut document: toml_edit::DocumentMut = before.parse().map_err(FileError::Toml)?;
    let root = document.as_table_mut();
    if !root.contains_key(member) {
        let mut servers = toml_edit::Table::new();
        servers.set_implicit(true);
        root.insert(member, toml_edit::Item::Table(servers));
    }
    let servers = root
        .get_mut(member)
        .and_then(toml_edit::Item::as_table_like_mut)
        .ok_or(FileError::Shape { member })?;
    let old = servers.remove(ENTRY).map(|item| to_json(&item));
    if let Some(entry) = entry {
        let mut table = toml_edit::Table::new();
        for (key, value) in entry.as_object().into_iter().flatten() {
            if let Some(value) = from_json(value) {
                table.insert(key, toml_edit::Item::Value(value));
            }
        }
        servers.insert(ENTRY, toml_edit::Item::Table(table));
    } else if servers.is_empty() {
        root.remove(member);
    }
    Ok((document.to_string(), old))
}

fn from_json(value: &Value) -> Option<toml_edit::Value> {
    match value {
        Value::String(text) => Some(text.as_str().into()),
        Value::Bool(flag) => Some((*flag).into()),
        Value::Number(number) => number
            .as_i64()
            .map(toml_edit::Value::from)
            .or_else(|| number.as_f64().map(toml_edit::Value::from)),
        Value::Array(items) => Some(toml_edit::Value::Array(
            items.iter().filter_map(from_json).collect(),
        )),
        Value::Object(members) => {
            let mut table = toml_edit::InlineTable::new();
            for (key, value) in members {
                table.insert(key, from_json(value)?);
            }
            Some(toml_edit::Value::InlineTable(table))
        }
        Value::Null => None,
    }
}

fn to_json(item: &toml_edit::Item) -> Value {
    fn value(value: &toml_edit::Value) -> Value {
        match value {
            toml_edit::Value::String(text) => Value::from(text.value().as_str()),
            toml_edit::Value::Integer(number) => Value::from(*number.value()),
            toml_edit::Value::Float(number) => Value::from(*number.value()),
            toml_edit::Value::Boolean(flag) => Value::from(*flag.value()),
            toml_edit::Value::Datetime(time) => Value::from(time.value().to_string()),
            toml_edit::Value::Array(items) => items.iter().map(self::to_json_value).collect(),
            toml_edit::Value::InlineTable(table) => Value::Object(
                table
                    .iter()
                    .map(|(key, inner)| (key.to_owned(), self::to_json_value(inner)))
                    .collect(),
            ),
        }
    }
    match item {
        toml_edit::Item::Value(inner) => value(inner),
        toml_edit::Item::Table(table) => Value::Object(
            table
                .iter()
                .map(|(key, inner)| (key.to_owned(), to_json(inner)))
                .collect(),
        ),
        toml_edit::Item::ArrayOfTables(_) | toml_edit::Item::None => Value::Null,
    }
}

fn to_json_value(value: &toml_edit::Value) -> Value {
    to_json(&toml_edit::Item::Value(value.clone()))
}

#[cfg(test)]
mod tests;
