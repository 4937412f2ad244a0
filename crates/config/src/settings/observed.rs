//! `[log]` and `[traces]`: what a hub tells of itself.

use legation_core::Secret;

use super::layers::{Value, Values};
use crate::environment::Environment;

/// How much is kept of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogKeeping {
    /// `format` is `json`.
    pub is_json: bool,
    /// `file_bytes`.
    pub file_bytes: u64,
    /// `files`.
    pub files: u32,
    /// `days`; `None` keeps files until they are too many.
    pub days: Option<u32>,
}

/// Where spans go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSettings {
    /// `endpoint`.
    pub endpoint: Box<str>,
    /// `headers`.
    pub headers: Vec<TraceHeader>,
    /// `percent`, at least one.
    pub percent: u32,
}

/// A header for the collector. What it says is in a variable and nowhere else: this file is copied
/// and shown, and a credential in it would be too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceHeader {
    /// Its name.
    pub name: Box<str>,
    /// The word before the credential, such as `Bearer`; may be empty.
    pub scheme: Box<str>,
    /// The variable that holds the rest.
    pub variable: Box<str>,
}

/// A header whose variable holds nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the variable {variable} is not set, which the header {name} of `traces.headers` is taken from"
)]
pub struct NoHeaderValue {
    /// The header.
    pub name: Box<str>,
    /// The variable.
    pub variable: Box<str>,
}

pub(super) fn read_log(values: &Values) -> LogKeeping {
    let format = &values["log.format"].value;
    LogKeeping {
        is_json: matches!(format, Value::Text(word) if word == "json"),
        file_bytes: super::number(values, "log.file_bytes"),
        files: super::small(values, "log.files"),
        days: Some(super::small(values, "log.days")).filter(|days| *days > 0),
    }
}

pub(super) fn read_traces(values: &Values) -> Option<TraceSettings> {
    let percent = super::small(values, "traces.percent");
    match &values["traces.endpoint"].value {
        Value::Text(endpoint) if !endpoint.is_empty() && percent > 0 => Some(TraceSettings {
            endpoint: endpoint.as_str().into(),
            headers: match &values["traces.headers"].value {
                Value::Texts(texts) => texts
                    .iter()
                    .filter_map(|text| TraceHeader::parse(text))
                    .collect(),
                _ => Vec::new(),
            },
            percent,
        }),
        _ => None,
    }
}

// === impl TraceHeader ===

impl TraceHeader {
    /// Reads `authorization: Bearer ${NAME}` or `x-key: ${NAME}`. Anything else beside the reference
    /// could be a piece of what the variable should hold.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (name, value) = text.split_once(':')?;
        let is_word = |text: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            !text.is_empty() && text.len() <= 64 && text.chars().all(plain)
        };
        let (scheme, reference) = match value.trim().split_once(' ') {
            Some((scheme, reference)) => (scheme, reference.trim_start()),
            None => ("", value.trim()),
        };
        let variable = reference.strip_prefix("${")?.strip_suffix('}')?;
        let is_scheme =
            scheme.len() <= 16 && scheme.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
        let fits = is_word(name) && is_scheme && super::layers::is_variable(variable);
        fits.then(|| Self {
            name: name.into(),
            scheme: scheme.into(),
            variable: variable.into(),
        })
    }

    /// What is sent.
    ///
    /// # Errors
    /// When its variable is not set, or empty: a collector that wants a credential takes nothing
    /// without.
    pub fn value(&self, environment: &Environment) -> Result<Secret, NoHeaderValue> {
        let value = environment.get(&self.variable).map(str::trim);
        let value = value.filter(|value| !value.is_empty());
        let value = value.ok_or_else(|| NoHeaderValue {
            name: self.name.clone(),
            variable: self.variable.clone(),
        })?;
        Ok(match &*self.scheme {
            "" => Secret::new(value),
            scheme => Secret::new(format!("{scheme} {value}")),
        })
    }
}

// === impl NoHeaderValue ===

impl NoHeaderValue {
    /// What to do next.
    pub fn hint(&self) -> String {
        format!(
            "Set {} where the hub is started, or take the header out of `traces.headers`.",
            self.variable
        )
    }
}
