//! From text to values that know where they come from.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;

use legation_core::Secret;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::accounts::{self, ACCOUNT_KEYS, AccountKey, Hidden};
use super::delegate::HINT_KEYS;
use super::keys::{KEYS, Key, Kind, VIEW_KEYS, nearest};
use super::{Place, SettingsError, StoreUrl, TraceHeader, oauth};
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

/// One TOML text on its way into [`Values`].
struct Reader<'a> {
    text: &'a str,
    /// `None` for the embedded defaults.
    file: Option<&'a Path>,
    values: &'a mut Values,
}

pub(super) fn add_toml(
    values: &mut Values,
    text: &str,
    file: Option<&Path>,
) -> Result<(), SettingsError> {
    let mut reader = Reader { text, file, values };
    let table = DeTable::parse(text).map_err(|error| SettingsError::Syntax {
        place: reader.place(&error.span().unwrap_or_default()),
        message: error.message().to_owned(),
    })?;
    reader.root(table.get_ref())
}

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
        | Kind::Patterns
        | Kind::Words(_)
        | Kind::Folders
        | Kind::Subjects
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
    let fits = match (&key.kind, &value) {
        (Kind::Database, Value::Database(url)) => url.is_empty() || url.is_postgres(),
        (Kind::Number { min, max }, Value::Number(number)) => (min..=max).contains(&number),
        (Kind::Switch, Value::Switch(_)) => true,
        (Kind::Word(words), Value::Text(text)) => words.contains(&text.as_str()),
        (Kind::Address, Value::Text(text)) => text.parse::<std::net::SocketAddr>().is_ok(),
        (Kind::AddressOrNone, Value::Text(text)) => {
            text.is_empty() || text.parse::<std::net::SocketAddr>().is_ok()
        }
        (Kind::Folder, Value::Text(text)) => text.is_empty() || Path::new(text).is_absolute(),
        (Kind::Remote, Value::Text(text)) => !text.starts_with('-') && !has_password(text),
        (Kind::Command | Kind::Hosts | Kind::Patterns, Value::Texts(_)) => true,
        (Kind::Line, Value::Text(text)) => !text.contains(char::is_control),
        (Kind::Folders, Value::Texts(texts)) => {
            texts.iter().all(|text| Path::new(text).is_absolute())
        }
        (Kind::Servers, Value::Texts(texts)) => texts.iter().all(|text| text.contains(": ")),
        (Kind::Headers, Value::Texts(texts)) => {
            texts.iter().all(|text| TraceHeader::parse(text).is_some())
        }
        (Kind::Names, Value::Texts(texts)) => texts.iter().all(|text| is_variable(text)),
        (Kind::Words(words), Value::Texts(texts)) => {
            texts.iter().all(|text| words.contains(&text.as_str()))
        }
        (Kind::Name, Value::Text(text)) => {
            !text.contains(|c: char| c.is_whitespace() || c.is_control())
        }
        (Kind::Https, Value::Text(text)) => text.is_empty() || is_address(text, &["https://"]),
        (Kind::Proxy, Value::Text(text)) => {
            text.is_empty() || is_address(text, &["https://", "http://"])
        }
        (Kind::Scopes, Value::Texts(texts)) => {
            texts.iter().all(|text| oauth::scope(text).is_some())
        }
        (Kind::Subjects, Value::Texts(texts)) => texts.iter().all(|text| oauth::is_subject(text)),
        (Kind::Secret, Value::Hidden(_)) => true,
        _ => false,
    };
    if !fits {
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

/// Whether a variable of the environment can be called so.
pub(super) fn is_variable(text: &str) -> bool {
    let starts = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// An address of a host with nothing secret in it.
fn is_address(text: &str, schemes: &[&str]) -> bool {
    let rest = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
    rest.is_some_and(|rest| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let plain = |c: char| c.is_ascii_graphic() && c != '@' && c != '\\';
        !host.is_empty() && text.chars().all(plain) && !text.contains(['?', '#'])
    })
}

/// Whether an address has a password before its host.
fn has_password(remote: &str) -> bool {
    let rest = remote.split_once("://").map_or("", |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or_default();
    host.rsplit_once('@')
        .is_some_and(|(user, _)| user.contains(':'))
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

// === impl Reader ===

impl Reader<'_> {
    fn place(&self, span: &Range<usize>) -> Place {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        match self.file {
            Some(file) => Place::File {
                file: file.to_path_buf(),
                line,
            },
            None => Place::Default { line },
        }
    }

    fn root(&mut self, table: &DeTable<'_>) -> Result<(), SettingsError> {
        for (key, value) in table {
            match (key.get_ref().as_ref(), value.get_ref()) {
                (
                    name @ ("copilot" | "delegate" | "desk" | "events" | "external" | "inbox"
                    | "ledger" | "limits" | "log" | "oauth" | "rate" | "secrets" | "store"
                    | "tls" | "traces" | "workspace"),
                    DeValue::Table(members),
                ) => {
                    let prefix = format!("{name}.");
                    for (key, value) in members {
                        if let ("delegate", "hints") = (name, key.get_ref().as_ref()) {
                            self.hints(value)?;
                            continue;
                        }
                        self.setting(&prefix, key.get_ref(), &key.span(), value)?;
                    }
                }
                ("views", DeValue::Table(views)) => {
                    for (name, view) in views {
                        self.view(name.get_ref(), &name.span(), view)?;
                    }
                }
                ("accounts", DeValue::Table(accounts)) => {
                    for (name, account) in accounts {
                        self.account(name.get_ref(), &name.span(), account)?;
                    }
                }
                (
                    name @ ("accounts" | "copilot" | "delegate" | "desk" | "events" | "external"
                    | "inbox" | "ledger" | "limits" | "log" | "oauth" | "rate" | "secrets"
                    | "store" | "tls" | "traces" | "views" | "workspace"),
                    _,
                ) => {
                    return Err(SettingsError::BadValue {
                        place: self.place(&value.span()),
                        key: name.to_owned(),
                        found: "a single value".to_owned(),
                        wanted: format!("a table: [{name}]"),
                    });
                }
                (name, _) => self.setting("", name, &key.span(), value)?,
            }
        }
        Ok(())
    }

    fn setting(
        &mut self,
        prefix: &str,
        name: &str,
        span: &Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), SettingsError> {
        let place = self.place(span);
        let Some(key) = Key::find(&format!("{prefix}{name}")) else {
            return Err(unknown(place, name, prefix));
        };
        match plain(value.get_ref()) {
            Ok(value) => add_checked(self.values, key, key.name, value, place),
            Err(found) => Err(SettingsError::BadValue {
                place,
                key: key.name.to_owned(),
                found: found.to_owned(),
                wanted: key.kind.wanted(),
            }),
        }
    }

    fn account(
        &mut self,
        name: &str,
        span: &Range<usize>,
        account: &Spanned<DeValue<'_>>,
    ) -> Result<(), SettingsError> {
        let place = self.place(span);
        if !accounts::is_account_name(name) {
            return Err(SettingsError::BadAccountName {
                place,
                name: name.chars().take(80).collect(),
            });
        }
        let DeValue::Table(members) = account.get_ref() else {
            return Err(SettingsError::BadValue {
                place,
                key: format!("accounts.{name}"),
                found: "a single value".to_owned(),
                wanted: "a table with `entity` and `tenant_id`".to_owned(),
            });
        };
        accounts::begin(self.values, name, &place);
        for (key, value) in members {
            let place = self.place(&key.span());
            let full = format!("accounts.{name}.{}", key.get_ref());
            let Some(known) = AccountKey::find(key.get_ref()) else {
                let known = ACCOUNT_KEYS.iter().map(|known| known.key.name);
                let near = nearest(key.get_ref(), known);
                return Err(SettingsError::UnknownKey {
                    place,
                    nearest: near.map(|near| format!("accounts.{name}.{near}")),
                    key: full,
                });
            };
            if matches!(known.key.kind, Kind::Secret) {
                let variable = accounts::variable(name, known.key.name);
                return Err(SettingsError::SecretInFile {
                    place,
                    key: full,
                    variable,
                });
            }
            match plain(value.get_ref()) {
                Ok(value) => add_checked(self.values, &known.key, &full, value, place)?,
                Err(found) => {
                    return Err(SettingsError::BadValue {
                        place,
                        key: full,
                        found: found.to_owned(),
                        wanted: known.key.kind.wanted(),
                    });
                }
            }
        }
        Ok(())
    }

    fn hints(&mut self, hints: &Spanned<DeValue<'_>>) -> Result<(), SettingsError> {
        let bad = |place, key: &str, found: &str, wanted: String| SettingsError::BadValue {
            place,
            key: key.to_owned(),
            found: found.to_owned(),
            wanted,
        };
        let DeValue::Table(hints) = hints.get_ref() else {
            let place = self.place(&hints.span());
            let wanted = "tables: [delegate.hints.NAME]".to_owned();
            return Err(bad(place, "delegate.hints", "a single value", wanted));
        };
        for (name, hint) in hints {
            let at = format!("delegate.hints.{}", name.get_ref());
            let DeValue::Table(members) = hint.get_ref() else {
                let place = self.place(&hint.span());
                let wanted = format!("a table: [{at}]");
                return Err(bad(place, &at, "a single value", wanted));
            };
            for (key, value) in members {
                let place = self.place(&key.span());
                let full = format!("{at}.{}", key.get_ref());
                let known = HINT_KEYS.iter().find(|known| known.name == key.get_ref());
                let Some(known) = known else {
                    let known = HINT_KEYS.iter().map(|known| known.name);
                    let near = nearest(key.get_ref(), known);
                    return Err(SettingsError::UnknownKey {
                        place,
                        nearest: near.map(|near| format!("{at}.{near}")),
                        key: full,
                    });
                };
                match plain(value.get_ref()) {
                    Ok(value) => add_checked(self.values, known, &full, value, place)?,
                    Err(found) => return Err(bad(place, &full, found, known.kind.wanted())),
                }
            }
        }
        Ok(())
    }

    fn view(
        &mut self,
        name: &str,
        span: &Range<usize>,
        view: &Spanned<DeValue<'_>>,
    ) -> Result<(), SettingsError> {
        let place = self.place(span);
        if !super::is_view_name(name) {
            return Err(SettingsError::BadViewName {
                place,
                name: name.chars().take(80).collect(),
            });
        }
        let bad = |place, key: String, found: &str, wanted: &str| SettingsError::BadValue {
            place,
            key,
            found: found.to_owned(),
            wanted: wanted.to_owned(),
        };
        let DeValue::Table(members) = view.get_ref() else {
            let key = format!("views.{name}");
            return Err(bad(
                place,
                key,
                "a single value",
                "a table with `servers` or `tools`",
            ));
        };
        for known in VIEW_KEYS {
            // Both keys of every view have a value, so that the view exists.
            self.values.insert(
                format!("views.{name}.{known}"),
                Placed {
                    value: Value::Texts(vec!["*".to_owned()]),
                    place: place.clone(),
                },
            );
        }
        for (key, value) in members {
            let place = self.place(&key.span());
            let full = format!("views.{name}.{}", key.get_ref());
            if !VIEW_KEYS.contains(&key.get_ref().as_ref()) {
                let near = nearest(key.get_ref(), VIEW_KEYS.into_iter());
                return Err(SettingsError::UnknownKey {
                    place,
                    nearest: near.map(|near| format!("views.{name}.{near}")),
                    key: full,
                });
            }
            match plain(value.get_ref()) {
                Ok(value @ Value::Texts(_)) => {
                    self.values.insert(full, Placed { value, place });
                }
                Ok(other) => {
                    return Err(bad(place, full, &other.to_string(), "a list of names"));
                }
                Err(found) => return Err(bad(place, full, found, "a list of names")),
            }
        }
        Ok(())
    }
}

fn plain(value: &DeValue<'_>) -> Result<Value, &'static str> {
    match value {
        DeValue::String(text) => Ok(Value::Text(text.to_string())),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(Value::Number)
            .map_err(|_| "a number beyond all bounds"),
        DeValue::Array(items) => items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::String(text) => Ok(text.to_string()),
                _ => Err("a list of something else"),
            })
            .collect::<Result<_, _>>()
            .map(Value::Texts),
        DeValue::Float(_) => Err("a fraction"),
        DeValue::Boolean(on) => Ok(Value::Switch(*on)),
        DeValue::Datetime(_) => Err("a date"),
        DeValue::Table(_) => Err("a table"),
    }
}

// === impl Kind ===

impl Kind {
    fn wanted(self) -> String {
        match self {
            Self::Number { min, max } => format!("a whole number from {min} to {max}"),
            Self::Switch => "true or false".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Words(words) => format!("a list of any of {}", words.join(", ")),
            Self::Address => "an address and a port, like 127.0.0.1:48080".to_owned(),
            Self::AddressOrNone => {
                "an address and a port, like 0.0.0.0:48443, or nothing".to_owned()
            }
            Self::Folder => "an absolute path, or nothing".to_owned(),
            Self::Folders => "a list of absolute paths".to_owned(),
            Self::Servers => {
                "a list like \"*.ts *.tsx: typescript-language-server --stdio\"".to_owned()
            }
            Self::Headers => {
                "a list like \"authorization: Bearer ${COLLECTOR_TOKEN}\", each value in a variable"
                    .to_owned()
            }
            Self::Names => "a list of names of variables".to_owned(),
            Self::Remote => {
                "a Git remote without a password in it: use a key or a credential helper".to_owned()
            }
            Self::Command => "a list: a program and its arguments".to_owned(),
            Self::Hosts => "a list of hosts, each with its port or without".to_owned(),
            Self::Patterns => "a list of names, with * and ?".to_owned(),
            Self::Line => "a text in one line".to_owned(),
            Self::Name => "one word".to_owned(),
            Self::Https => {
                "an https address of a host, without user name, password and query".to_owned()
            }
            Self::Proxy => {
                "an http or https address, without user name, password and query".to_owned()
            }
            Self::Scopes => {
                "a list like \"mcp:read: reader\": a scope, and the client whose rules hold"
                    .to_owned()
            }
            Self::Subjects => "a list of names, each one word".to_owned(),
            Self::Secret => "a secret".to_owned(),
            Self::Database => {
                "empty, or an address like postgres://legation@db.example.com/legation".to_owned()
            }
        }
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
