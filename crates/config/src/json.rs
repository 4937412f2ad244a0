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

/// Parses JSON as editors write it: with comments, and commas after the last
/// member. What is not JSON even so is refused as by [`parse`]; places in an
/// error are those of the text.
pub(crate) fn parse_lenient(text: &str) -> Result<Value, JsonError> {
    let mut plain = without_mark(text).as_bytes().to_vec();
    blank_comments(&mut plain);
    blank_commas(&mut plain);
    // Only whole characters were replaced, by spaces.
    let plain = String::from_utf8(plain).unwrap_or_default();
    Ok(json::parse(&plain)?)
}

/// The end of the text in quotes that begins at `at`, behind its last quote.
fn end_of_string(text: &[u8], at: usize) -> usize {
    let mut index = at + 1;
    while index < text.len() {
        match text[index] {
            b'\\' => index += 2,
            b'"' => return index + 1,
            _ => index += 1,
        }
    }
    text.len()
}

fn blank_comments(text: &mut [u8]) {
    let mut at = 0;
    while at < text.len() {
        let end = match &text[at..] {
            [b'"', ..] => {
                at = end_of_string(text, at);
                continue;
            }
            [b'/', b'/', rest @ ..] => {
                let length = rest.iter().position(|byte| *byte == b'\n');
                at + 2 + length.unwrap_or(rest.len())
            }
            [b'/', b'*', rest @ ..] => {
                let length = rest.windows(2).position(|pair| pair == b"*/");
                at + 2 + length.map_or(rest.len(), |length| length + 2)
            }
            _ => {
                at += 1;
                continue;
            }
        };
        for byte in &mut text[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
}

fn blank_commas(text: &mut [u8]) {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => {
                at = end_of_string(text, at);
                continue;
            }
            b',' => {
                let is_there = |byte: &&u8| !byte.is_ascii_whitespace();
                let next = text[at + 1..].iter().find(is_there);
                let before = text[..at].iter().rev().find(is_there);
                let is_last = matches!(next, Some(b'}' | b']'));
                if is_last && !matches!(before, Some(b'{' | b'[' | b',') | None) {
                    text[at] = b' ';
                }
            }
            _ => {}
        }
        at += 1;
    }
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
