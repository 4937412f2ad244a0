//! Small things many files need.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use legation_core::Secret;
use serde::{Deserialize, Deserializer};

/// A member of an answer that is a secret: taken as it is, wiped when dropped.
pub(crate) struct Private(pub(crate) Secret);

impl<'de> Deserialize<'de> for Private {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(Secret::new(text)))
    }
}

impl Private {
    /// The secret, unless there is nothing in it.
    pub(crate) fn some(self) -> Option<Secret> {
        (!self.0.reveal().trim().is_empty()).then_some(self.0)
    }
}

/// Base64 for URLs without padding (RFC 4648 section 5), as JWTs have it.
pub(crate) fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Either alphabet, with or without padding: services disagree.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim().trim_end_matches('=');
    STANDARD_NO_PAD
        .decode(text)
        .or_else(|_| URL_SAFE_NO_PAD.decode(text))
        .ok()
}

/// The usual alphabet with padding (RFC 4648 section 4).
#[cfg(test)]
pub(crate) fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// A value of `application/x-www-form-urlencoded`, or of a query.
pub(crate) fn form_encode(text: &str, into: &mut String) {
    encode(text, into, b"-_.~");
}

/// One segment of a path; what Graph's ids hold stays readable.
pub(crate) fn segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() + 8);
    encode(text, &mut encoded, b"-_.~@:");
    encoded
}

/// A value of a query.
pub(crate) fn query_value(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() + 8);
    encode(text, &mut encoded, b"-_.~,:'()$/");
    encoded
}

fn encode(text: &str, into: &mut String, plain: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            into.push(char::from(byte));
        } else {
            into.push('%');
            into.push(char::from(DIGITS[usize::from(byte >> 4)]));
            into.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

/// A random UUID (RFC 9562 version 4).
///
/// # Errors
/// When the system has no randomness to give.
pub(crate) fn uuid() -> Result<String, getrandom::Error> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)?;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = legation_core::id::hex(&bytes);
    let (a, b, c, d, e) = (
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    );
    Ok(format!("{a}-{b}-{c}-{d}-{e}"))
}

/// At most `most` characters of a text from elsewhere, without what a terminal
/// could take for a command.
pub(crate) fn plain(text: &str, most: usize) -> String {
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    printable.take(most).collect::<String>().trim().to_owned()
}

/// An address that a person can open; empty where it is none.
pub(crate) fn link(text: Option<String>) -> String {
    const LINK_MAX: usize = 2000;
    let is_link = |text: &String| {
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || "<>\"'`".contains(c);
        text.len() <= LINK_MAX && text.starts_with("https://") && !text.contains(is_odd)
    };
    text.filter(is_link).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded_and_read_back() {
        let mut form = String::new();
        form_encode("a b&c=ü/", &mut form);
        assert_eq!(form, "a%20b%26c%3D%C3%BC%2F");
        assert_eq!(
            segment("19:a_b@unq.gbl.spaces/x?"),
            "19:a_b@unq.gbl.spaces%2Fx%3F"
        );
        assert_eq!(from_base64("_-8=").as_deref(), Some(&[0xff, 0xef][..]));
        assert_eq!(from_base64("/+8").as_deref(), Some(&[0xff, 0xef][..]));
        let id = uuid().unwrap();
        assert_eq!((id.len(), &id[14..15]), (36, "4"), "{id}");
        assert_eq!(plain("a\u{1b}[31mb\n", 10), "a [31mb");
    }
}
