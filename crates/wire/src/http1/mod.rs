//! HTTP/1.1 as far as both sides of the hub need it: where a body ends (RFC 9112), and headers
//! however they are kept.
//!
//! The front reads requests and the host reads answers with parsers of their own, because what
//! makes a request ambiguous is harmless in an answer and the other way round; bodies are the
//! same.

mod again;
mod body;
mod fields;

use std::ops::Range;

use crate::json;

pub use self::again::Again;
pub use self::body::{BadFraming, Body, Framing, Step};
pub use self::fields::{Fields, NotSole, sole, text};

/// Where a part of `text` stands in it.
pub fn place(text: &[u8], part: &[u8]) -> Range<usize> {
    let start = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
    // An empty part may stand anywhere.
    let start = start.min(text.len());
    start..(start + part.len()).min(text.len())
}

/// Reads digits, as lengths are written; `None` where anything else stands there, or more than fits.
pub fn digits(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(text)?.parse().ok()
}

/// Appends a number in decimal digits, as lengths are written.
pub fn number(out: &mut Vec<u8>, number: usize) {
    json::write_int(out, i64::try_from(number).unwrap_or(i64::MAX));
}
