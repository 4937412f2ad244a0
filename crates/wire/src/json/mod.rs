//! JSON values as text that was checked once and never retyped.
//!
//! A hub that turns payloads into its own types and back loses what those types do not
//! know: member order, vendor fields, 64-bit integers, the spelling of numbers. Here a value
//! is a slice of the message it came in; only the level somebody has to look at is taken apart.

mod error;
mod object;
pub(crate) mod scan;
mod strings;
mod text;
mod walk;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::error::{JsonError, JsonFault};
pub use self::object::Object;
pub use self::strings::{Path, Place, Step};

/// How much of a value `Debug` shows, in characters.
const SHOWN: usize = 200;

/// One JSON value as text that was checked once: UTF-8, RFC 8259 grammar, bounded depth, no
/// duplicate members at any depth, no lone surrogates, no NUL in member names. Cheap to clone.
///
/// Equality is equality of the text, not of the value it stands for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Raw(Bytes);

/// What a text may cost before it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest text, in bytes.
    pub bytes: usize,
    /// Most containers open at once; a scalar needs none.
    pub depth: usize,
}

/// The kind of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// Any number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// Appends a JSON string.
pub(crate) fn write_string(out: &mut Vec<u8>, s: &str) {
    text::write_string(out, s.as_bytes());
}

/// Appends an integer.
pub(crate) fn write_int(out: &mut Vec<u8>, i: i64) {
    text::write_int(out, i);
}

/// What [`Raw::to_str`] says of a checked text that is not kept.
pub(crate) fn str_of(text: &[u8]) -> Option<Cow<'_, str>> {
    if Kind::of(text) != Kind::String {
        return None;
    }
    let body = &text[1..text.len() - 1];
    Some(match text::unescape(body) {
        Cow::Borrowed(body) => Cow::Borrowed(std::str::from_utf8(body).expect("checked UTF-8")),
        Cow::Owned(body) => {
            Cow::Owned(String::from_utf8(body).expect("escapes stand for characters"))
        }
    })
}

/// What [`Raw::to_i64`] says of a checked text that is not kept.
pub(crate) fn i64_of(text: &[u8]) -> Option<i64> {
    if Kind::of(text) != Kind::Number {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

// === impl Kind ===

impl Kind {
    /// The kind of a checked text.
    pub(crate) fn of(text: &[u8]) -> Self {
        match text.first() {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Bool,
            Some(b'n') | None => Self::Null,
            Some(_) => Self::Number,
        }
    }
}

// === impl Limits ===

impl Limits {
    /// For what a client sends: 4 MiB and 128 levels.
    pub const CLIENT: Self = Self {
        bytes: 4 << 20,
        depth: 128,
    };
    /// For what a server of the user's own sends: large results are legitimate.
    pub const UPSTREAM: Self = Self {
        bytes: 256 << 20,
        depth: 512,
    };
}

// === impl Raw ===

impl Raw {
    /// Checks one JSON value; white space around it is dropped.
    ///
    /// # Errors
    /// Where and why the text is not the JSON described at [`Raw`].
    pub fn parse(text: Bytes, limits: &Limits) -> Result<Self, JsonError> {
        let scanned = scan::scan(&text, limits)?;
        Ok(Self(text.slice(scanned.value)))
    }

    /// Text that is known to be checked.
    pub(crate) fn from_checked(text: Bytes) -> Self {
        debug_assert!(
            scan::scan(
                &text,
                &Limits {
                    bytes: usize::MAX,
                    depth: usize::MAX
                }
            )
            .is_ok(),
            "composed text is JSON"
        );
        Self(text)
    }

    /// The whole of a text that was scanned.
    pub(crate) fn from_scanned(text: &Bytes, scanned: &scan::Scanned) -> Self {
        Self(text.slice(scanned.value.clone()))
    }

    /// One member of a text that was scanned.
    pub(crate) fn from_member(text: &Bytes, member: &scan::Member) -> Self {
        Self(text.slice(member.value.clone()))
    }

    /// A part of this value, by offsets into its text.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        Self(self.0.slice(range))
    }

    /// The same text in memory of its own, for keeping: a slice keeps the whole message.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }

    /// A value of this program's own types. What cannot be written as JSON (a map with keys
    /// that are not strings) becomes `null`; own types have none.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Self {
        match serde_json::to_vec(value) {
            Ok(text) => Self(text.into()),
            Err(error) => {
                debug_assert!(false, "own data must serialise: {error}");
                Self::null()
            }
        }
    }

    /// A literal of this program's own.
    pub fn from_static(text: &'static str) -> Self {
        Self::from_checked(Bytes::from_static(text.as_bytes()))
    }

    /// A string.
    pub fn str(s: &str) -> Self {
        let mut out = Vec::with_capacity(s.len() + 2);
        text::write_string(&mut out, s.as_bytes());
        Self(out.into())
    }

    /// An integer.
    pub fn int(i: i64) -> Self {
        let mut out = Vec::with_capacity(20);
        text::write_int(&mut out, i);
        Self(out.into())
    }

    /// `true` or `false`.
    pub fn bool(b: bool) -> Self {
        Self::from_static(if b { "true" } else { "false" })
    }

    /// `null`.
    pub fn null() -> Self {
        Self::from_static("null")
    }

    /// `{}`.
    pub fn empty_object() -> Self {
        Self::from_static("{}")
    }

    /// An array of values.
    pub fn array<'a>(items: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut out = vec![b'['];
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&item.0);
        }
        out.push(b']');
        Self(out.into())
    }

    /// The text. Checks UTF-8 again, so prefer [`Raw::as_bytes`] where bytes will do.
    pub fn as_text(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a raw value is checked UTF-8")
    }

    /// The text as bytes.
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }

    /// What a digest of this value is taken over: the text as it was received.
    pub fn sha256_input(&self) -> &[u8] {
        &self.0
    }

    /// The kind of value.
    pub fn kind(&self) -> Kind {
        Kind::of(&self.0)
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// One level of an object; `None` for any other kind.
    pub fn to_object(&self) -> Option<Object> {
        (self.kind() == Kind::Object).then(|| Object::read(self))
    }

    /// One level of an array; `None` for any other kind.
    pub fn to_array(&self) -> Option<Vec<Self>> {
        if self.kind() != Kind::Array {
            return None;
        }
        let mut items = Vec::new();
        walk::elements(&self.0, |range| items.push(self.slice(range)));
        Some(items)
    }

    /// The characters of a string; `None` for any other kind.
    pub fn to_str(&self) -> Option<Cow<'_, str>> {
        str_of(&self.0)
    }

    /// A number written as an integer that fits; `None` for anything else, `1.0` included.
    pub fn to_i64(&self) -> Option<i64> {
        i64_of(&self.0)
    }

    /// `true` or `false`; `None` for any other kind.
    pub fn to_bool(&self) -> Option<bool> {
        match self.0.as_ref() {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// Reads the value as a type of the caller's.
    ///
    /// # Errors
    /// The value is not of that shape.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// Whether this is an object with a member whose name `wanted` accepts.
    pub(crate) fn any_member(&self, wanted: impl Fn(&str) -> bool) -> bool {
        let mut found = false;
        if self.kind() == Kind::Object {
            walk::members(&self.0, |member| {
                let key = member.name(&self.0);
                found = wanted(std::str::from_utf8(&key).expect("checked UTF-8"));
                !found
            });
        }
        found
    }

    /// A member's value, without reading the other members into an [`Object`].
    pub fn get(&self, key: &str) -> Option<Self> {
        if self.kind() != Kind::Object {
            return None;
        }
        let mut found = None;
        walk::members(&self.0, |member| {
            if member.name(&self.0).as_ref() != key.as_bytes() {
                return true;
            }
            found = Some(self.slice(member.value));
            false
        });
        found
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.as_text();
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) => write!(f, "{}… ({} bytes)", &text[..end], text.len()),
            None => f.write_str(text),
        }
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_text())
    }
}

impl Serialize for Raw {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &serde_json::value::RawValue =
            serde_json::from_slice(&self.0).map_err(<S::Error as serde::ser::Error>::custom)?;
        raw.serialize(serializer)
    }
}
