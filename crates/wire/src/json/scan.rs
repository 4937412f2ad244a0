//! The checking scanner: one pass over the bytes, an explicit stack, no recursion.
//!
//! A general parser would do most of this, but none that was at hand refuses duplicate
//! members at every depth without building a tree of the whole value.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::RandomState;
use std::ops::Range;

use super::Limits;
use super::error::{JsonError, JsonFault};
use super::text::{find_special, hex4, unescape};

/// From this many members on an object's names are hashed instead of compared one by one.
const LINEAR_KEYS: usize = 16;
/// How much of a duplicate name an error repeats, in characters.
const SHOWN_KEY: usize = 64;

/// Where the checked value lies in the text, and its members when it is an object.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) value: Range<usize>,
    pub(crate) members: Vec<Member>,
}

/// One member of the outermost object: the name without its quotes, and the value.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) key: Range<usize>,
    /// Whether the name has escapes.
    pub(crate) escaped: bool,
    pub(crate) value: Range<usize>,
}

impl Member {
    /// The member's name, in the text it is a member of.
    pub(crate) fn name<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let body = &text[self.key.clone()];
        if self.escaped {
            unescape(body)
        } else {
            Cow::Borrowed(body)
        }
    }
}

/// Checks that `text` is exactly one JSON value within `limits`.
pub(crate) fn scan(text: &[u8], limits: &Limits) -> Result<Scanned, JsonError> {
    if text.len() > limits.bytes {
        return Err(JsonError {
            offset: limits.bytes,
            fault: JsonFault::TooLarge {
                limit: limits.bytes,
            },
        });
    }
    if let Err(error) = std::str::from_utf8(text) {
        return Err(JsonError {
            offset: error.valid_up_to(),
            fault: JsonFault::NotUtf8,
        });
    }
    Scanner {
        text,
        at: 0,
        depth_limit: limits.depth,
        frames: Vec::with_capacity(8),
        keys: Vec::with_capacity(16),
        members: Vec::with_capacity(4),
    }
    .run()
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    depth_limit: usize,
    frames: Vec<Frame<'a>>,
    /// Names seen in the open objects, outermost first.
    keys: Vec<Cow<'a, [u8]>>,
    members: Vec<Member>,
}

/// One open container.
struct Frame<'a> {
    object: bool,
    first_key: usize,
    /// Names once there are many. `RandomState` is keyed per process, so a sender cannot
    /// choose names that collide.
    many: Option<HashSet<Cow<'a, [u8]>, RandomState>>,
}

/// What the grammar allows next.
#[derive(Clone, Copy)]
enum Expect {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    CommaOrEnd,
}

// === impl Scanner ===

impl<'a> Scanner<'a> {
    fn run(mut self) -> Result<Scanned, JsonError> {
        self.skip_space();
        let start = self.at;
        let mut expect = Expect::Value;
        loop {
            self.skip_space();
            let byte = self.peek()?;
            expect = match (expect, byte) {
                (Expect::ValueOrEnd, b']') | (Expect::KeyOrEnd, b'}') => self.close(),
                (Expect::Value | Expect::ValueOrEnd, _) => self.value(byte)?,
                (Expect::Key | Expect::KeyOrEnd, b'"') => self.key()?,
                (Expect::CommaOrEnd, b',') => {
                    self.at += 1;
                    if self.in_object() {
                        Expect::Key
                    } else {
                        Expect::Value
                    }
                }
                (Expect::CommaOrEnd, b'}') if self.in_object() => self.close(),
                (Expect::CommaOrEnd, b']') if !self.in_object() => self.close(),
                _ => return Err(self.unexpected()),
            };
            if self.frames.len() <= 1 && matches!(expect, Expect::CommaOrEnd) {
                if self.frames.is_empty() {
                    break;
                }
                self.end_member();
            }
        }
        let value = start..self.at;
        self.skip_space();
        if self.at < self.text.len() {
            return Err(self.fault(JsonFault::TrailingData));
        }
        Ok(Scanned {
            value,
            members: self.members,
        })
    }

    /// A value begins here: a container is opened, anything else is read whole.
    fn value(&mut self, byte: u8) -> Result<Expect, JsonError> {
        match byte {
            b'{' => return self.open(true),
            b'[' => return self.open(false),
            b'"' => {
                self.at += 1;
                self.string(false)?;
            }
            b'-' | b'0'..=b'9' => self.number()?,
            b't' => self.word(b"true")?,
            b'f' => self.word(b"false")?,
            b'n' => self.word(b"null")?,
            _ => return Err(self.unexpected()),
        }
        Ok(Expect::CommaOrEnd)
    }

    fn open(&mut self, object: bool) -> Result<Expect, JsonError> {
        if self.frames.len() >= self.depth_limit {
            return Err(self.fault(JsonFault::TooDeep {
                limit: self.depth_limit,
            }));
        }
        self.at += 1;
        self.frames.push(Frame {
            object,
            first_key: self.keys.len(),
            many: None,
        });
        Ok(if object {
            Expect::KeyOrEnd
        } else {
            Expect::ValueOrEnd
        })
    }

    fn close(&mut self) -> Expect {
        self.at += 1;
        if let Some(frame) = self.frames.pop() {
            self.keys.truncate(frame.first_key);
        }
        Expect::CommaOrEnd
    }

    fn in_object(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.object)
    }

    /// Reads a member name and its colon.
    fn key(&mut self) -> Result<Expect, JsonError> {
        let quote = self.at;
        self.at += 1;
        let escaped = self.string(true)?;
        let range = quote + 1..self.at - 1;
        let body = &self.text[range.clone()];
        let key = if escaped {
            unescape(body)
        } else {
            Cow::Borrowed(body)
        };
        if !self.remember(key) {
            let shown = unescape(body);
            let key = String::from_utf8_lossy(&shown)
                .chars()
                .take(SHOWN_KEY)
                .collect::<String>();
            return Err(JsonError {
                offset: quote,
                fault: JsonFault::DuplicateKey { key: key.into() },
            });
        }
        self.skip_space();
        if self.peek()? != b':' {
            return Err(self.unexpected());
        }
        self.at += 1;
        if self.frames.len() == 1 {
            self.skip_space();
            self.members.push(Member {
                key: range,
                escaped,
                value: self.at..self.at,
            });
        }
        Ok(Expect::Value)
    }

    /// Notes a name of the innermost object; false if it was there already.
    fn remember(&mut self, key: Cow<'a, [u8]>) -> bool {
        let Some(frame) = self.frames.last_mut() else {
            return true;
        };
        if let Some(many) = &mut frame.many {
            return many.insert(key);
        }
        let seen = &self.keys[frame.first_key..];
        if seen.contains(&key) {
            return false;
        }
        if seen.len() >= LINEAR_KEYS {
            let mut many: HashSet<_> = self.keys.drain(frame.first_key..).collect();
            many.insert(key);
            frame.many = Some(many);
        } else {
            self.keys.push(key);
        }
        true
    }

    /// A value of the outermost object ended here, unless its name has not been read yet.
    fn end_member(&mut self) {
        if let Some(member) = self.members.last_mut()
            && member.value.end == member.value.start
        {
            member.value.end = self.at;
        }
    }

    /// Reads up to and including the closing quote; whether anything was escaped.
    fn string(&mut self, key: bool) -> Result<bool, JsonError> {
        let mut escaped = false;
        loop {
            self.at = find_special(self.text, self.at);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Ok(escaped);
                }
                b'\\' => {
                    escaped = true;
                    self.escape(key)?;
                }
                _ => return Err(self.fault(JsonFault::ControlCharacter)),
            }
        }
    }

    fn escape(&mut self, key: bool) -> Result<(), JsonError> {
        let Some(&kind) = self.text.get(self.at + 1) else {
            self.at = self.text.len();
            return Err(self.fault(JsonFault::UnexpectedEnd));
        };
        match kind {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                self.at += 2;
                Ok(())
            }
            b'u' => {
                let code = self.hex(self.at + 2)?;
                match code {
                    0 if key => return Err(self.fault(JsonFault::NulInKey)),
                    0xdc00..=0xdfff => return Err(self.fault(JsonFault::LoneSurrogate)),
                    0xd800..=0xdbff => {
                        let low = self.text.get(self.at + 6..self.at + 8) == Some(b"\\u");
                        if !low || !matches!(self.hex(self.at + 8)?, 0xdc00..=0xdfff) {
                            return Err(self.fault(JsonFault::LoneSurrogate));
                        }
                        self.at += 12;
                    }
                    _ => self.at += 6,
                }
                Ok(())
            }
            _ => Err(self.fault(JsonFault::BadEscape)),
        }
    }

    fn hex(&self, at: usize) -> Result<u32, JsonError> {
        hex4(self.text, at).ok_or_else(|| self.fault(JsonFault::BadEscape))
    }

    fn number(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        let bad = JsonError {
            offset: start,
            fault: JsonFault::BadNumber,
        };
        if self.text[self.at] == b'-' {
            self.at += 1;
        }
        let leading_zero = self.text.get(self.at) == Some(&b'0');
        let whole = self.digits();
        if whole == 0 || (leading_zero && whole > 1) {
            return Err(bad);
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return Err(bad);
            }
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.text.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(bad);
            }
        }
        Ok(())
    }

    /// Skips decimal digits; how many there were.
    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        self.at - start
    }

    fn word(&mut self, word: &[u8]) -> Result<(), JsonError> {
        for expected in word {
            if self.text.get(self.at) != Some(expected) {
                return Err(self.unexpected());
            }
            self.at += 1;
        }
        Ok(())
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Result<u8, JsonError> {
        self.text
            .get(self.at)
            .copied()
            .ok_or_else(|| self.fault(JsonFault::UnexpectedEnd))
    }

    fn unexpected(&self) -> JsonError {
        let fault = match self.text.get(self.at) {
            Some(&found) => JsonFault::UnexpectedByte { found },
            None => JsonFault::UnexpectedEnd,
        };
        self.fault(fault)
    }

    fn fault(&self, fault: JsonFault) -> JsonError {
        JsonError {
            offset: self.at,
            fault,
        }
    }
}
