//! A request as it was read, and the answer to it.
//!
//! Handlers are plain functions from a request and the state to an answer: nothing in between
//! waits, so two requests never see each other half done.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;

/// One request, whole. It holds whatever secrets a client sends, so it cannot be printed.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    /// `https://host[:port]` as the client wrote it: links in answers begin with it.
    pub(crate) origin: String,
    /// The path as it was written.
    pub(crate) path: String,
    /// Its parts, decoded; empty ones are left out, as Graph does.
    pub(crate) parts: Vec<String>,
    pub(crate) query: Pairs,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Names and values of a query or a form, in order.
#[derive(Clone, Default)]
pub(crate) struct Pairs(pub(crate) Vec<(String, String)>);

/// One answer, whole.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Bytes,
    /// The connection ends instead of an answer.
    pub(crate) cut: bool,
}

// === impl Ask ===

impl Ask {
    /// Takes a request apart. `target` is the path with its query.
    pub(crate) fn new(
        method: Method,
        origin: String,
        target: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parts = path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| decoded(part, false))
            .collect();
        Self {
            method,
            origin,
            path: path.to_owned(),
            parts,
            query: Pairs::parse(query),
            headers,
            body,
        }
    }

    /// A header as text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as a form.
    pub(crate) fn form(&self) -> Pairs {
        Pairs::parse(&String::from_utf8_lossy(&self.body))
    }

    /// The body as JSON; `None` when it is none.
    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The bearer token it shows.
    pub(crate) fn bearer(&self) -> Option<&str> {
        let value = self.header("authorization")?;
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    }

    /// The parts as slices, for matching.
    pub(crate) fn route(&self) -> Vec<&str> {
        self.parts.iter().map(String::as_str).collect()
    }
}

// === impl Pairs ===

impl Pairs {
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decoded(name, true), decoded(value, true))
                })
                .collect(),
        )
    }

    /// The first value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let pair = self.0.iter().find(|(key, _)| key == name)?;
        Some(&pair.1)
    }

    /// The first value, unless it is empty.
    pub(crate) fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }
}

// === impl Answer ===

impl Answer {
    pub(crate) fn json(status: u16, value: &Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json; charset=utf-8".to_owned())],
            body: Bytes::from(value.to_string()),
            cut: false,
        }
    }

    pub(crate) fn text(status: u16, kind: &str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: vec![("content-type", kind.to_owned())],
            body: body.into(),
            cut: false,
        }
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Bytes::new(),
            cut: false,
        }
    }

    /// No answer at all: the connection ends.
    pub(crate) fn cut() -> Self {
        Self {
            cut: true,
            ..Self::empty(500)
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// Percent-decoding; what is not an escape stays as it is. In forms `+` is a space.
pub(crate) fn decoded(text: &str, form: bool) -> String {
    let raw = text.as_bytes();
    let mut out = Vec::with_capacity(raw.len());
    let mut at = 0;
    while at < raw.len() {
        let escape = (raw[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match escape {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(if form && raw[at] == b'+' {
                    b' '
                } else {
                    raw[at]
                });
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Percent-encoding for a query's value.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

/// Base64 as it comes: either alphabet, padded or not. MSAL pads where RFC 7515 does not.
pub(crate) fn base64_any(text: &str) -> Option<Vec<u8>> {
    let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    STANDARD
        .decode(&bare)
        .or_else(|_| URL_SAFE.decode(&bare))
        .or_else(|_| URL_SAFE_NO_PAD.decode(bare.trim_end_matches('=')))
        .ok()
}

/// Base64 for JSON and tokens.
pub(crate) fn base64_url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Base64 with padding.
pub(crate) fn base64_std(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Text for HTML, attribute values included.
pub(crate) fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Pairs, base64_any, decoded, encoded};

    #[test]
    fn what_clients_escape_is_read_back() {
        assert_eq!(decoded("19%3Aa_b%40unq", false), "19:a_b@unq");
        assert_eq!(decoded("a+b%zz%4", false), "a+b%zz%4");
        let form = Pairs::parse("a=1+2&b=%2B&c&a=3");
        assert_eq!(form.get("a"), Some("1 2"));
        assert_eq!(form.get("b"), Some("+"));
        assert_eq!(form.filled("c"), None);
        assert_eq!(decoded(&encoded("ä/b c"), true), "ä/b c");
    }

    #[test]
    fn base64_of_either_alphabet_is_read() {
        for text in ["-_8=", "-_8", "+/8=", "+/8"] {
            let read = base64_any(text);
            if text == "+/8" {
                assert_eq!(read, None, "no alphabet has this without padding");
            } else {
                assert_eq!(read.as_deref(), Some(&[0xfb, 0xff][..]), "{text}");
            }
        }
    }
}
