//! Records in the forms other programs read.

mod ocsf;
mod otel;

use std::fmt;
use std::str::FromStr;

use serde_json::json;
use serde_json::value::RawValue;

use crate::read::Entry;

/// Forms of an export; each record is a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The record as it is stored, with its place and hash.
    Jsonl,
    /// An event of the Open Cybersecurity Schema Framework, class 6003.
    Ocsf,
    /// An OpenTelemetry log record, as an OTLP/JSON request.
    Otel,
}

/// There is no such form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the formats are jsonl, ocsf and otel")]
pub struct FormatError;

// === impl Format ===

impl Format {
    /// The record as one line, without its end. `version` is the product's.
    #[must_use]
    pub fn line(self, entry: &Entry, version: &str) -> String {
        match self {
            Self::Jsonl => jsonl(entry),
            Self::Ocsf => ocsf::event(entry, version).to_string(),
            Self::Otel => otel::request(entry, version).to_string(),
        }
    }

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Ocsf => "ocsf",
            Self::Otel => "otel",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        [Self::Jsonl, Self::Ocsf, Self::Otel]
            .into_iter()
            .find(|format| format.as_str() == text)
            .ok_or(FormatError)
    }
}

/// The record keeps its very bytes, so that its hash can be checked.
fn jsonl(entry: &Entry) -> String {
    let record = RawValue::from_string(entry.text.clone());
    match record {
        Ok(record) => format!(
            r#"{{"position":{},"hash":"{}","record":{record}}}"#,
            entry.position, entry.hash
        ),
        Err(_) => json!({
            "position": entry.position,
            "hash": entry.hash,
            "damaged": entry.text,
        })
        .to_string(),
    }
}
