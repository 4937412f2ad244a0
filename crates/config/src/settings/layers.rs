//! From text to values that know where they come from.

mod kinds;
mod reader;

use std::collections::BTreeMap;
use std::fmt;

use legation_core::Secret;

pub(super) use self::kinds::is_variable;
pub(super) use self::reader::add_toml;

use super::accounts::{self, Hidden};
use super::keys::{KEYS, Key, Kind, nearest};
use super::{Place, SettingsError, StoreUrl};
use crate::environment::Environment;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Number(i64),
    Switch(bool),
    Text(String),
    Texts(Vec<String>),
    Database(StoreUrl),
    Hidden(Hidden),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) value: Value,
    pub(super) place: Place,
}

/// Values by key; later layers replace what earlier ones set.
pub(super) type Values = BTreeMap<String, Placed>;
pub(super) fn add_environment(
    values: &mut Values,
    environment: &Environment,
) -> Result<(), SettingsError> {
    for key in &KEYS {
        let variable = key.variable();
        if let Some(text) = environment.get(&variable) {
            let place = Place::Environment { variable };
            add_text(values, key, key.name, text, place)?;
        }
    }
    accounts::add_environment(values, environment)
}

pub(super) fn add_flags(
    values: &mut Values,
    flags: &[(&str, String)],
) -> Result<(), SettingsError> {
    for (name, text) in flags {
        let place = Place::Flag {
            flag: format!("--{}", name.replace(['.', '_'], "-")),
        };
        let Some(key) = Key::find(name) else {
            return Err(unknown(place, name, ""));
        };
        add_text(values, key, key.name, text, place)?;
    }
    Ok(())
}

/// A variable that looks like a misspelt setting. Others that begin alike
/// are left alone: they may be meant for another part of the program.
pub(super) fn misspelt_variables(environment: &Environment) -> Vec<(String, String)> {
    let known: Vec<String> = KEYS.iter().map(Key::variable).collect();
    environment
        .iter()
        .filter_map(|(name, _)| name.to_str())
        .filter(|name| name.starts_with("LEGATION_") && *name != "LEGATION_HOME")
        .filter(|name| !known.iter().any(|variable| variable == name))
        .filter(|name| accounts::split(name).is_none())
        .filter_map(|name| {
            let tail = |text: &str| text["LEGATION_".len()..].to_owned();
            let tails: Vec<String> = known.iter().map(|variable| tail(variable)).collect();
            let near = nearest(&tail(name), tails.iter().map(String::as_str))?;
            Some((name.to_owned(), format!("LEGATION_{near}")))
        })
        .collect()
}

/// Adds a text, under the name `at`, as what the key takes.
pub(super) fn add_text(
    values: &mut Values,
    key: &Key,
    at: &str,
    text: &str,
    place: Place,
) -> Result<(), SettingsError> {
    let value = match key.kind {
        Kind::Number { .. } => match text.trim().parse() {
            Ok(number) => Value::Number(number),
            Err(_) => Value::Text(text.to_owned()),
        },
        Kind::Switch => match text.trim().parse() {
            Ok(on) => Value::Switch(on),
            Err(_) => Value::Text(text.to_owned()),
        },
        Kind::Command
        | Kind::Hosts
        | Kind::Destinations
        | Kind::Patterns
        | Kind::Words(_)
        | Kind::Folders
        | Kind::Subjects
        | Kind::Plain
        | Kind::Names => Value::Texts(text.split_whitespace().map(str::to_owned).collect()),
        Kind::Servers | Kind::Headers | Kind::Scopes => {
            let lines = text
                .split(';')
                .map(str::trim)
                .filter(|line| !line.is_empty());
            Value::Texts(lines.map(str::to_owned).collect())
        }
        Kind::Secret => Value::Hidden(Hidden(Secret::new(text.trim()))),
        Kind::Word(_)
        | Kind::Address
        | Kind::AddressOrNone
        | Kind::Database
        | Kind::Folder
        | Kind::Remote
        | Kind::Name
        | Kind::Line
        | Kind::Model
        | Kind::Https
        | Kind::Proxy => Value::Text(text.trim().to_owned()),
    };
    add_checked(values, key, at, value, place)
}

fn add_checked(
    values: &mut Values,
    key: &Key,
    at: &str,
    value: Value,
    place: Place,
) -> Result<(), SettingsError> {
    let value = match (key.kind, value) {
        (Kind::Database, Value::Text(text)) => Value::Database(StoreUrl::new(text)),
        (_, value) => value,
    };
    if !key.kind.takes(&value) {
        return Err(SettingsError::BadValue {
            place,
            key: at.to_owned(),
            found: match key.kind {
                // It may be the password that is wrong with it.
                Kind::Remote | Kind::Https | Kind::Proxy | Kind::Secret | Kind::Headers => {
                    "something else".to_owned()
                }
                _ => value.to_string(),
            },
            wanted: key.kind.wanted(),
        });
    }
    values.insert(at.to_owned(), Placed { value, place });
    Ok(())
}

fn unknown(place: Place, key: &str, prefix: &str) -> SettingsError {
    let full = format!("{prefix}{key}");
    let known = KEYS
        .iter()
        .map(|known| known.name)
        .chain(["accounts", "views"]);
    let near = nearest(&full, known.clone())
        // The right key in the wrong table is as likely as a wrong letter.
        .or_else(|| {
            known
                .clone()
                .find(|known| known.rsplit('.').next() == Some(key))
        })
        .map(str::to_owned);
    SettingsError::UnknownKey {
        place,
        key: full.chars().take(80).collect(),
        nearest: near,
    }
}

// === impl Value ===

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Switch(on) => write!(f, "{on}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Texts(texts) => write!(f, "{texts:?}"),
            Self::Database(url) => write!(f, "{url:?}"),
            Self::Hidden(secret) => write!(f, "{}", secret.0),
        }
    }
}
