//! From text to values that know where they stand.

use std::ops::Range;

use serde_json::{Map, Value};

/// How deep values may nest.
const DEPTH_MAX: usize = 128;

/// The text is not JSON with comments.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {what}")]
pub(crate) struct SyntaxError {
    line: usize,
    what: &'static str,
}

/// Where an object and its members stand.
pub(super) struct Object {
    /// The opening brace.
    pub(super) open: usize,
    /// The closing brace.
    pub(super) close: usize,
    pub(super) members: Vec<Member>,
}

pub(super) struct Member {
    key: String,
    /// Where its key begins.
    pub(super) start: usize,
    pub(super) value: Range<usize>,
    /// The comma behind it.
    pub(super) comma: Option<usize>,
    /// The value's members where it is an object.
    pub(super) object: Option<Object>,
}

pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
    path: Vec<String>,
    /// Every text value with the names of the members around it.
    pub(super) texts: Vec<(Vec<String>, Range<usize>)>,
    pub(super) comments: Vec<Range<usize>>,
}

type Scanned = Result<(Value, Option<Object>), SyntaxError>;

// === impl Object ===

impl Object {
    pub(super) fn find(&self, key: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.key == key)
    }

    pub(super) fn position(&self, key: &str) -> Option<usize> {
        self.members.iter().position(|member| member.key == key)
    }
}

// === impl Scanner ===

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            at: if text.starts_with('\u{feff}') { 3 } else { 0 },
            path: Vec::new(),
            texts: Vec::new(),
            comments: Vec::new(),
        }
    }

    /// The whole text: one value and nothing behind it.
    pub(super) fn root(&mut self) -> Scanned {
        self.blank()?;
        let found = self.value()?;
        self.blank()?;
        if self.at < self.text.len() {
            return Err(self.error("something follows the value"));
        }
        Ok(found)
    }

    fn value(&mut self) -> Scanned {
        if self.path.len() > DEPTH_MAX {
            return Err(self.error("it is nested too deeply"));
        }
        match self.peek() {
            Some(b'{') => {
                let (value, object) = self.object()?;
                Ok((Value::Object(value), Some(object)))
            }
            Some(b'[') => Ok((Value::Array(self.array()?), None)),
            Some(b'"') => {
                let start = self.at;
                let text = self.string()?;
                self.texts.push((self.path.clone(), start..self.at));
                Ok((Value::String(text), None))
            }
            _ => Ok((self.word()?, None)),
        }
    }

    fn object(&mut self) -> Result<(Map<String, Value>, Object), SyntaxError> {
        let mut object = Object {
            open: self.at,
            close: 0,
            members: Vec::new(),
        };
        let mut values = Map::new();
        self.at += 1;
        loop {
            self.blank()?;
            if self.eat(b'}') {
                object.close = self.at - 1;
                return Ok((values, object));
            }
            if object
                .members
                .last()
                .is_some_and(|last| last.comma.is_none())
            {
                return Err(self.error("a comma is missing"));
            }
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.error("the name of a member is missing"));
            }
            let key = self.string()?;
            self.blank()?;
            if !self.eat(b':') {
                return Err(self.error("a colon is missing"));
            }
            self.blank()?;
            let value_start = self.at;
            self.path.push(key.clone());
            let (value, inner) = self.value()?;
            self.path.pop();
            let value_end = self.at;
            // Which of two equal names counts is for every reader to choose.
            if values.insert(key.clone(), value).is_some() {
                return Err(self.error("two members have the same name"));
            }
            self.blank()?;
            let comma = self.eat(b',').then(|| self.at - 1);
            object.members.push(Member {
                key,
                start,
                value: value_start..value_end,
                comma,
                object: inner,
            });
        }
    }

    fn array(&mut self) -> Result<Vec<Value>, SyntaxError> {
        let mut items = Vec::new();
        let mut separated = true;
        self.at += 1;
        self.path.push(String::new());
        loop {
            self.blank()?;
            if self.eat(b']') {
                self.path.pop();
                return Ok(items);
            }
            if !separated {
                return Err(self.error("a comma is missing"));
            }
            items.push(self.value()?.0);
            self.blank()?;
            separated = self.eat(b',');
        }
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        let start = self.at;
        let mut escaped = false;
        for (offset, byte) in self.text.as_bytes()[start..].iter().enumerate().skip(1) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    self.at = start + offset + 1;
                    return serde_json::from_str(&self.text[start..self.at])
                        .map_err(|_| self.error("a text is malformed"));
                }
                _ => {}
            }
        }
        Err(self.error("a text does not end"))
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<Value, SyntaxError> {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| c.is_whitespace() || matches!(c, ',' | '}' | ']' | '/' | ':' | '"'))
            .unwrap_or(rest.len());
        let value = serde_json::from_str(&rest[..end])
            .map_err(|_| self.error("a value is missing or malformed"))?;
        self.at += end;
        Ok(value)
    }

    /// White space and comments.
    fn blank(&mut self) -> Result<(), SyntaxError> {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r']);
            self.at += rest.len() - trimmed.len();
            let length = if trimmed.starts_with("//") {
                trimmed.find(['\n', '\r']).unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                let end = trimmed.find("*/");
                end.ok_or_else(|| self.error("a comment does not end"))? + 2
            } else {
                return Ok(());
            };
            self.comments.push(self.at..self.at + length);
            self.at += length;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn error(&self, what: &'static str) -> SyntaxError {
        let end = self.at.min(self.text.len());
        SyntaxError {
            line: self.text.as_bytes()[..end]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count()
                + 1,
            what,
        }
    }
}
