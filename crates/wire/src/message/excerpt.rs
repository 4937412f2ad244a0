//! What can still be known of a message that was too long to be read.

use bytes::Bytes;

use super::Id;
use crate::json::{Limits, Raw};

/// The members before the payload, or behind it, that an excerpt shows at most.
const MEMBERS_MAX: usize = 8;

/// The beginning and the end of a text that was not kept: whoever waits for an answer to it can
/// be told, where the id stands before or behind the payload. Libraries write it in either place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The first bytes.
    pub head: Bytes,
    /// The last bytes; they may overlap the first.
    pub tail: Bytes,
}

/// What a text was that was too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cut {
    /// A request, whose sender waits for an answer.
    Request(Id),
    /// The answer to a request.
    Response(Id),
    /// Something that nobody waits for, or that shows no id.
    Other,
}

/// The outermost members that were found.
#[derive(Debug, Default)]
struct Found {
    ids: Vec<Id>,
    is_request: bool,
    is_response: bool,
}

// === impl Excerpt ===

impl Excerpt {
    /// Reads what there is to read. A text that is no JSON may pass for a message here: it was
    /// refused already, and only the answer's addressee is chosen.
    pub fn read(&self) -> Cut {
        let mut found = Found::default();
        found.forwards(&self.head);
        found.backwards(&self.tail);
        let [id] = &*found.ids else {
            return Cut::Other;
        };
        match (found.is_request, found.is_response) {
            (true, false) => Cut::Request(id.clone()),
            (false, true) => Cut::Response(id.clone()),
            _ => Cut::Other,
        }
    }
}

// === impl Found ===

impl Found {
    /// Reads members from the first on, up to the one that is too long.
    fn forwards(&mut self, head: &[u8]) {
        let Some(mut at) = expect(head, 0, b'{') else {
            return;
        };
        for _ in 0..MEMBERS_MAX {
            let Some(end) = string_end(head, at) else {
                return;
            };
            let key = &head[at + 1..end - 1];
            let Some(value) = expect(head, end, b':') else {
                return;
            };
            let end = value_end(head, value);
            self.take(key, end.map(|end| &head[value..end]));
            let Some(next) = end.and_then(|end| expect(head, end, b',')) else {
                return;
            };
            at = next;
        }
    }

    /// Reads members from the last on, up to the first that is no scalar. The last brace of a
    /// text is the outermost, and a quote in a string has a backslash before it.
    fn backwards(&mut self, tail: &[u8]) {
        let mut rest = tail.trim_ascii_end();
        for round in 0..MEMBERS_MAX {
            let behind = if round == 0 { b'}' } else { b',' };
            let Some(value_end) = rest.strip_suffix(&[behind]) else {
                return;
            };
            let value_end = value_end.trim_ascii_end();
            let Some(start) = scalar_start(value_end) else {
                return;
            };
            let before = value_end[..start].trim_ascii_end();
            let Some(key_end) = before.strip_suffix(b":") else {
                return;
            };
            let key_end = key_end.trim_ascii_end();
            let Some(key) = string_start(key_end) else {
                return;
            };
            self.take(
                &key_end[key + 1..key_end.len() - 1],
                Some(&value_end[start..]),
            );
            rest = key_end[..key].trim_ascii_end();
        }
    }

    fn take(&mut self, key: &[u8], value: Option<&[u8]>) {
        match key {
            b"method" | b"params" => self.is_request = true,
            b"result" | b"error" => self.is_response = true,
            b"id" => {
                let raw = value.and_then(|value| {
                    Raw::parse(Bytes::copy_from_slice(value), &Limits::CLIENT).ok()
                });
                if let Some(id) = raw.as_ref().and_then(Id::from_raw)
                    && !self.ids.contains(&id)
                {
                    self.ids.push(id);
                }
            }
            _ => {}
        }
    }
}

/// The offset of what follows `wanted`, white space around it left out.
fn expect(text: &[u8], at: usize, wanted: u8) -> Option<usize> {
    let at = skip_space(text, at);
    (text.get(at) == Some(&wanted)).then(|| skip_space(text, at + 1))
}

fn skip_space(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    text.len() - rest.trim_ascii_start().len()
}

/// Behind the closing quote of the string that begins here.
fn string_end(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Behind the value that begins here; `None` when it goes on.
fn value_end(text: &[u8], at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = at;
    loop {
        match text.get(at)? {
            b'"' => at = string_end(text, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' | b',' if depth == 0 => return Some(at),
            b'}' | b']' => {
                depth -= 1;
                at += 1;
            }
            _ => at += 1,
        }
        if depth == 0 && matches!(text.get(at - 1), Some(b'"' | b'}' | b']')) {
            return Some(at);
        }
    }
}

/// Where the scalar begins that ends this text.
fn scalar_start(text: &[u8]) -> Option<usize> {
    match text.last()? {
        b'"' => string_start(text),
        b'}' | b']' => None,
        _ => {
            let scalar = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
            let before = text.iter().rposition(|byte| !scalar(byte))?;
            (before + 1 < text.len()).then_some(before + 1)
        }
    }
}

/// The opening quote of the string that ends this text.
fn string_start(text: &[u8]) -> Option<usize> {
    let mut body = text.strip_suffix(b"\"")?;
    loop {
        let quote = memchr::memrchr(b'"', body)?;
        let before = &body[..quote];
        let escapes = before.iter().rev().take_while(|byte| **byte == b'\\');
        if escapes.count() % 2 == 0 {
            return Some(quote);
        }
        body = before;
    }
}
