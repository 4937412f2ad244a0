//! The same for TOML, whose library keeps what it does not touch.

use serde_json::{Map, Value};
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike};

use super::FileError;

pub(crate) fn entry(
    text: &str,
    member: &'static str,
    key: &str,
) -> Result<Option<Value>, FileError> {
    let document = parse(text)?;
    let Some(servers) = document.get(member) else {
        return Ok(None);
    };
    let servers = servers.as_table_like().ok_or(FileError::Shape(member))?;
    Ok(servers.get(key).map(to_json))
}

pub(crate) fn with_entry(
    text: &str,
    member: &'static str,
    key: &str,
    entry: Option<&Value>,
) -> Result<String, FileError> {
    let mut document = parse(text)?;
    let root = document.as_table_mut();
    if entry.is_some() && !root.contains_key(member) {
        let mut servers = Table::new();
        servers.set_implicit(true);
        root.insert(member, Item::Table(servers));
    }
    let Some(servers) = root.get_mut(member) else {
        return Ok(text.to_owned());
    };
    let servers = servers
        .as_table_like_mut()
        .ok_or(FileError::Shape(member))?;
    match entry {
        None => {
            let taken = servers.remove(key).is_some();
            if taken && servers.is_empty() {
                root.remove(member);
            }
        }
        Some(entry) => {
            let wanted = entry.as_object().cloned().unwrap_or_default();
            match servers.get_mut(key).and_then(Item::as_table_like_mut) {
                Some(table) => update(table, &wanted),
                None => {
                    let mut table = Table::new();
                    update(&mut table, &wanted);
                    servers.insert(key, Item::Table(table));
                }
            }
        }
    }
    Ok(document.to_string())
}

/// Brings a table to what is wanted, and leaves alone what is so already.
fn update(table: &mut dyn TableLike, wanted: &Map<String, Value>) {
    let gone: Vec<String> = table
        .iter()
        .map(|(key, _)| key.to_owned())
        .filter(|key| !wanted.contains_key(key))
        .collect();
    for key in gone {
        table.remove(&key);
    }
    for (key, value) in wanted {
        if table.get(key).map(to_json).as_ref() != Some(value)
            && let Some(value) = from_json(value)
        {
            table.insert(key, Item::Value(value));
        }
    }
}

/// The text with every text value hidden but the entry's own.
pub(super) fn masked(text: &str, member: &str, key: &str) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    for (name, item) in document.as_table_mut().iter_mut() {
        if name.get() != member {
            hide(item);
            continue;
        }
        for (name, item) in item.as_table_like_mut()?.iter_mut() {
            if name.get() != key {
                hide(item);
                continue;
            }
            for (name, item) in item.as_table_like_mut()?.iter_mut() {
                if matches!(name.get(), "http_headers" | "headers" | "env") {
                    hide(item);
                }
            }
        }
    }
    Some(document.to_string())
}

fn hide(item: &mut Item) {
    match item {
        Item::None => {}
        Item::Value(value) => hide_value(value),
        Item::Table(table) => table.iter_mut().for_each(|(_, item)| hide(item)),
        Item::ArrayOfTables(tables) => tables
            .iter_mut()
            .flat_map(Table::iter_mut)
            .for_each(|(_, item)| hide(item)),
    }
}

fn hide_value(value: &mut toml_edit::Value) {
    match value {
        toml_edit::Value::Array(items) => items.iter_mut().for_each(hide_value),
        toml_edit::Value::InlineTable(table) => {
            table.iter_mut().for_each(|(_, value)| hide_value(value));
        }
        toml_edit::Value::String(_) => {
            let decor = value.decor().clone();
            *value = "****".into();
            *value.decor_mut() = decor;
        }
        toml_edit::Value::Integer(_)
        | toml_edit::Value::Float(_)
        | toml_edit::Value::Boolean(_)
        | toml_edit::Value::Datetime(_) => {}
    }
}

fn parse(text: &str) -> Result<DocumentMut, FileError> {
    text.parse()
        .map_err(|error| FileError::Toml(Box::new(error)))
}

fn from_json(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::String(text) => text.as_str().into(),
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Value::Array(items) => {
            toml_edit::Value::Array(items.iter().filter_map(from_json).collect())
        }
        Value::Object(members) => {
            let mut table = InlineTable::new();
            for (key, value) in members {
                table.insert(key, from_json(value)?);
            }
            toml_edit::Value::InlineTable(table)
        }
        Value::Null => return None,
    })
}

fn to_json(item: &Item) -> Value {
    match item {
        Item::Value(value) => value_to_json(value),
        Item::Table(table) => table
            .iter()
            .map(|(key, inner)| (key.to_owned(), to_json(inner)))
            .collect(),
        Item::ArrayOfTables(tables) => tables
            .iter()
            .map(|table| {
                table
                    .iter()
                    .map(|(key, inner)| (key.to_owned(), to_json(inner)))
                    .collect::<Value>()
            })
            .collect(),
        Item::None => Value::Null,
    }
}

fn value_to_json(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(flag) => (*flag.value()).into(),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(items) => items.iter().map(value_to_json).collect(),
        toml_edit::Value::InlineTable(table) => table
            .iter()
            .map(|(key, inner)| (key.to_owned(), value_to_json(inner)))
            .collect(),
    }
}
