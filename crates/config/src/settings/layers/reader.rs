//! A settings file's tables and keys.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::accounts::{self, ACCOUNT_KEYS, AccountKey};
use super::super::delegate::HINT_KEYS;
use super::super::keys::{Key, Kind, VIEW_KEYS, nearest};
use super::super::{Place, SettingsError};
use super::{Placed, Value, Values, add_checked, unknown};

/// The tables whose keys all have a name of their own in [`super::KEYS`].
const TABLES: [&str; 20] = [
    "copilot",
    "delegate",
    "desk",
    "discovery",
    "events",
    "external",
    "github",
    "inbox",
    "instructions",
    "ledger",
    "limits",
    "log",
    "oauth",
    "rate",
    "registry",
    "secrets",
    "store",
    "tls",
    "traces",
    "workspace",
];

/// One TOML text on its way into [`Values`].
struct Reader<'a> {
    text: &'a str,
    /// `None` for the embedded defaults.
    file: Option<&'a Path>,
    values: &'a mut Values,
}
pub(in crate::settings) fn add_toml(
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
                (name, DeValue::Table(members)) if TABLES.contains(&name) => {
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
                (name, _) if TABLES.contains(&name) || ["accounts", "views"].contains(&name) => {
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
        if !super::super::is_view_name(name) {
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
