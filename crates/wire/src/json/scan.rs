//! The checking scanner: one pass over the bytes, an explicit stack, no recursion.
//!
//! A general parser would do most of this, but none that was at hand refuses duplicate
//! members at every depth without building a tree of the whole value.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::hash::RandomState;
use std::ops::Range;

use super::Limits;
use super::error::{JsonError, JsonFault};
use super::text::unescape;

mod scalar;

/// From this many members on an object's names are hashed instead of compared one by one.
const LINEAR_KEYS: usize = 16;
/// How much of a duplicate name an error repeats, in characters.
const SHOWN_KEY: usize = 64;
/// Room for notes that a thread keeps for its next scan, in open containers and in names.
const SCRATCH_MAX: usize = 256;

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
    // Most messages are ASCII, which is found out many bytes at a time.
    if !text.is_ascii()
        && let Err(error) = std::str::from_utf8(text)
    {
        return Err(JsonError {
            offset: error.valid_up_to(),
            fault: JsonFault::NotUtf8,
        });
    }
    let mut scratch = SCRATCH.take();
    let scanned = Scanner {
        text,
        at: 0,
        depth_limit: limits.depth,
        frames: &mut scratch.frames,
        keys: &mut scratch.keys,
        many: Vec::new(),
        members: Vec::with_capacity(4),
    }
    .run();
    if scratch.keys.capacity() <= SCRATCH_MAX && scratch.frames.capacity() <= SCRATCH_MAX {
        scratch.frames.clear();
        scratch.keys.clear();
        drop(SCRATCH.replace(scratch));
    }
    scanned
}

thread_local! {
    /// What the scans of a thread take notes on, one after the other: most texts are small,
    /// and finding room for the notes would cost as much as the scan.
    static SCRATCH: Cell<Scratch> = const {
        Cell::new(Scratch {
            frames: Vec::new(),
            keys: Vec::new(),
        })
    };
}

/// See [`SCRATCH`].
#[derive(Default)]
struct Scratch {
    frames: Vec<Frame>,
    keys: Vec<Key>,
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    depth_limit: usize,
    frames: &'a mut Vec<Frame>,
    /// Names seen in the open objects, outermost first.
    keys: &'a mut Vec<Key>,
    /// Names of the open objects with many of them, outermost first. `RandomState` is keyed per
    /// process, so a sender cannot choose names that collide.
    many: Vec<HashSet<Cow<'a, [u8]>, RandomState>>,
    members: Vec<Member>,
}

/// One open container.
struct Frame {
    object: bool,
    /// Whether its names are hashed.
    many: bool,
    first_key: usize,
}

/// A name of an open object, by where it stands in the text.
struct Key {
    /// The last eight characters: equal names have equal tags, different ones mostly not.
    tag: u64,
    start: usize,
    end: usize,
    escaped: bool,
}

// === impl Key ===

impl Key {
    fn name<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let body = &text[self.start..self.end];
        if self.escaped {
            unescape(body)
        } else {
            Cow::Borrowed(body)
        }
    }
}

/// The last eight bytes of a name, fewer when it is shorter.
fn tag(name: &[u8]) -> u64 {
    match name.last_chunk::<8>() {
        Some(last) => u64::from_le_bytes(*last),
        None => name
            .iter()
            .fold(0, |tag, byte| (tag << 8) | u64::from(*byte)),
    }
}

// === impl Scanner ===

impl<'a> Scanner<'a> {
    fn run(mut self) -> Result<Scanned, JsonError> {
        self.skip_space();
        let start = self.at;
        'values: loop {
            self.skip_space();
            if self.begin()? {
                continue;
            }
            // A value has ended here, and with it perhaps what it is in.
            loop {
                let Some(frame) = self.frames.last() else {
                    break 'values;
                };
                let object = frame.object;
                if self.frames.len() == 1 {
                    self.end_member();
                }
                self.skip_space();
                match (self.peek()?, object) {
                    (b',', true) => {
                        self.at += 1;
                        self.skip_space();
                        self.key()?;
                        continue 'values;
                    }
                    (b',', false) => {
                        self.at += 1;
                        continue 'values;
                    }
                    (b'}', true) | (b']', false) => self.close(),
                    _ => return Err(self.unexpected()),
                }
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

    /// Reads the value that begins here, or of one that holds others what comes before the first
    /// of them. Whether one follows.
    fn begin(&mut self) -> Result<bool, JsonError> {
        match self.peek()? {
            b'"' => {
                self.at += 1;
                self.string(false)?;
            }
            b'{' => {
                self.open(true)?;
                self.skip_space();
                if self.peek()? != b'}' {
                    self.key()?;
                    return Ok(true);
                }
                self.close();
            }
            b'[' => {
                self.open(false)?;
                self.skip_space();
                if self.peek()? != b']' {
                    return Ok(true);
                }
                self.close();
            }
            b'-' | b'0'..=b'9' => self.number()?,
            b't' => self.word(b"true")?,
            b'f' => self.word(b"false")?,
            b'n' => self.word(b"null")?,
            _ => return Err(self.unexpected()),
        }
        Ok(false)
    }

    fn open(&mut self, object: bool) -> Result<(), JsonError> {
        if self.frames.len() >= self.depth_limit {
            return Err(self.fault(JsonFault::TooDeep {
                limit: self.depth_limit,
            }));
        }
        self.at += 1;
        self.frames.push(Frame {
            object,
            many: false,
            first_key: self.keys.len(),
        });
        Ok(())
    }

    #[inline]
    fn close(&mut self) {
        self.at += 1;
        if let Some(frame) = self.frames.pop() {
            self.keys.truncate(frame.first_key);
            if frame.many {
                self.many.pop();
            }
        }
    }

    /// Reads a member name and its colon.
    fn key(&mut self) -> Result<(), JsonError> {
        if self.peek()? != b'"' {
            return Err(self.unexpected());
        }
        let quote = self.at;
        self.at += 1;
        let escaped = self.string(true)?;
        let range = quote + 1..self.at - 1;
        if !self.remember(range.clone(), escaped) {
            let shown = unescape(&self.text[range]);
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
        Ok(())
    }

    /// Notes a name of the innermost object; false if it was there already.
    fn remember(&mut self, range: Range<usize>, escaped: bool) -> bool {
        let Some(frame) = self.frames.last_mut() else {
            return true;
        };
        let body = &self.text[range.clone()];
        let key = Key {
            tag: if escaped {
                tag(&unescape(body))
            } else {
                tag(body)
            },
            start: range.start,
            end: range.end,
            escaped,
        };
        if frame.many {
            let many = self.many.last_mut();
            return many.is_none_or(|many| many.insert(key.name(self.text)));
        }
        let seen = &self.keys[frame.first_key..];
        let same =
            |other: &Key| other.tag == key.tag && other.name(self.text) == key.name(self.text);
        if seen.iter().any(same) {
            return false;
        }
        if seen.len() >= LINEAR_KEYS {
            let text = self.text;
            let names = self.keys.drain(frame.first_key..).map(|key| key.name(text));
            let mut many: HashSet<_> = names.collect();
            many.insert(key.name(text));
            self.many.push(many);
            frame.many = true;
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

    #[inline]
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
