//! Writes one record as compact JSON, member by member, in a fixed order.
//!
//! The order and the escaping are the record's canonical form, so they are
//! written out here instead of being left to a map or a derive.

use legation_core::{EntityId, Wall};

/// An object under construction, without its opening brace.
#[derive(Debug, Default)]
pub(crate) struct Line(Vec<u8>);

// === impl Line ===

impl Line {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    fn name(&mut self, name: &'static str) {
        if !self.0.is_empty() {
            self.0.push(b',');
        }
        self.0.push(b'"');
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }

    /// A string of at most `limit` bytes; a longer one is cut and ends in `…`.
    pub(crate) fn text(&mut self, name: &'static str, text: &str, limit: usize) -> &mut Self {
        self.name(name);
        if text.len() <= limit {
            self.string(text);
        } else {
            self.string(&format!("{}…", &text[..text.floor_char_boundary(limit)]));
        }
        self
    }

    pub(crate) fn int(&mut self, name: &'static str, value: i64) -> &mut Self {
        self.name(name);
        self.0.extend_from_slice(value.to_string().as_bytes());
        self
    }

    /// Members written before.
    pub(crate) fn members(&mut self, members: &[u8]) -> &mut Self {
        if !self.0.is_empty() {
            self.0.push(b',');
        }
        self.0.extend_from_slice(members);
        self
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn since(&self, start: usize) -> &[u8] {
        &self.0[start..]
    }

    pub(crate) fn into_members(self) -> Vec<u8> {
        self.0
    }

    fn string(&mut self, text: &str) {
        serde_json::to_writer(&mut self.0, text).expect("a string is JSON, and a Vec takes it");
    }
}

/// The whole record: what is known only at the commit, then `members`.
pub(crate) fn complete(entity: &EntityId, seq: i64, at_ms: i64, members: &[u8]) -> Vec<u8> {
    let mut line = Line::with_capacity(members.len() + 96);
    line.0.push(b'{');
    line.0.extend_from_slice(b"\"v\":1");
    line.text("entity", entity.as_str(), usize::MAX)
        .int("seq", seq)
        .text("at", &Wall(at_ms).to_string(), usize::MAX)
        .members(members);
    line.0.push(b'}');
    line.0
}
