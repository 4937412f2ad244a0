//! Header values: plain ASCII where it will do, base64 between markers where not
//! (2026-07-28, Streamable HTTP, "Value Encoding").

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::json::{Kind, Raw};

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// A text as a header value.
pub fn encode(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let at_edge = |byte: Option<&u8>| matches!(byte, Some(b' '));
    let unsafe_byte = bytes.iter().any(|byte| !(0x20..=0x7e).contains(byte));
    let marked = text.starts_with(PREFIX) && text.ends_with(SUFFIX);
    if unsafe_byte || marked || at_edge(bytes.first()) || at_edge(bytes.last()) {
        Cow::Owned(format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(bytes)))
    } else {
        Cow::Borrowed(text)
    }
}

/// The text a header value stands for; `None` when it is marked as base64 and is not, padding
/// included.
pub fn decode(value: &str) -> Option<Cow<'_, str>> {
    let Some(inner) = value
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_suffix(SUFFIX))
    else {
        return Some(Cow::Borrowed(value));
    };
    let bytes = STANDARD.decode(inner).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// An argument's value as text: `None` for null and for what is not a scalar.
pub(super) fn plain(raw: &Raw) -> Option<Cow<'_, str>> {
    match raw.kind() {
        Kind::String => raw.to_str(),
        Kind::Bool => Some(Cow::Borrowed(raw.as_text())),
        Kind::Number => Some(integer_text(raw.as_text())),
        Kind::Null | Kind::Array | Kind::Object => None,
    }
}

/// A number in decimal notation: `4.2e1` and `42.0` become `42`. What is no safe integer stays
/// as it was written.
fn integer_text(text: &str) -> Cow<'_, str> {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    if text
        .bytes()
        .all(|byte| byte == b'-' || byte.is_ascii_digit())
    {
        return Cow::Borrowed(text);
    }
    match text.parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && number.abs() <= SAFE => {
            Cow::Owned(format!("{number:.0}"))
        }
        _ => Cow::Borrowed(text),
    }
}

/// Whether two texts are the same number; integers are compared exactly.
pub(super) fn same_number(a: &str, b: &str) -> bool {
    match (
        integer_text(a).parse::<i128>(),
        integer_text(b).parse::<i128>(),
    ) {
        (Ok(a), Ok(b)) => a == b,
        _ => matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a == b),
    }
}
