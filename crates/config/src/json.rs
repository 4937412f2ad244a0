//! Plain JSON files, read strictly.
//!
//! Comments and trailing commas are not accepted, because the clients that
//! share these files do not accept them.

use legation_core::json;
use serde_json::Value;
use thiserror::Error;

/// Text that is not the JSON this crate reads.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {message}")]
pub struct JsonError {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in bytes.
    pub column: usize,
    /// What the reader says.
    pub message: String,
}

/// Parses `text`; a byte-order mark in front, which some editors write, is
/// skipped.
pub(crate) fn parse(text: &str) -> Result<Value, JsonError> {
    Ok(json::parse(without_mark(text))?)
}

/// `text` without the byte-order mark in front of it.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

// === impl JsonError ===

impl JsonError {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        "The file is plain JSON: no comments, no comma after the last entry, no key twice."
    }
}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        let message = text
            .rfind(" at line ")
            .map_or(text.as_str(), |at| &text[..at])
            .to_owned();
        Self {
            line: error.line(),
            column: error.column(),
            message,
        }
    }
}

#[cfg(test)]
mod tests;
