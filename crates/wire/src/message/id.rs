//! Request ids.

use std::fmt;

use crate::json::{self, Kind, Raw};

/// Longest string id, in bytes of UTF-8.
pub(super) const MAX_ID: usize = 256;

/// The id of a request. Null, fractions and integers beyond 64 bits are refused: MCP forbids
/// the first, and the others cannot be compared reliably.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Id {
    /// An integer.
    Int(i64),
    /// A string of at most 256 bytes.
    Str(Box<str>),
}

// === impl Id ===

impl Id {
    /// Reads an id; `None` if it is not one.
    pub fn from_raw(raw: &Raw) -> Option<Self> {
        Self::from_text(raw.as_bytes())
    }

    /// Reads an id out of a checked text.
    pub(super) fn from_text(text: &[u8]) -> Option<Self> {
        match Kind::of(text) {
            Kind::Number => json::i64_of(text).map(Self::Int),
            Kind::String => json::str_of(text)
                .filter(|s| s.len() <= MAX_ID)
                .map(|s| Self::Str(s.into())),
            Kind::Null | Kind::Bool | Kind::Array | Kind::Object => None,
        }
    }

    /// The id as a value.
    pub fn to_raw(&self) -> Raw {
        match self {
            Self::Int(i) => Raw::int(*i),
            Self::Str(s) => Raw::str(s),
        }
    }

    /// Appends the id as text.
    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Int(i) => crate::json::write_int(out, *i),
            Self::Str(s) => crate::json::write_string(out, s),
        }
    }
}

impl From<i64> for Id {
    fn from(i: i64) -> Self {
        Self::Int(i)
    }
}

impl From<&str> for Id {
    fn from(s: &str) -> Self {
        Self::Str(s.into())
    }
}

/// As it is written in JSON, so that `1` and `"1"` stay apart in a log.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(i) => write!(f, "{i}"),
            Self::Str(s) => write!(f, "{s:?}"),
        }
    }
}
