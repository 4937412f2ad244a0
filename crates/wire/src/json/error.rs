//! Why a text was refused as JSON.

use std::fmt;

/// A text that is not the JSON this crate accepts, and where it went wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at byte {offset}")]
pub struct JsonError {
    /// Offset in bytes from the start of the text.
    pub offset: usize,
    /// What is wrong there.
    pub fault: JsonFault,
}

/// The closed list of reasons for refusing a text (RFC 8259 and I-JSON, RFC 7493).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonFault {
    /// The text is longer than the limit, in bytes.
    TooLarge { limit: usize },
    /// More containers are open than the limit.
    TooDeep { limit: usize },
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The text ends inside a value.
    UnexpectedEnd,
    /// A byte that no JSON text has in this place.
    UnexpectedByte { found: u8 },
    /// Something other than white space follows the value.
    TrailingData,
    /// A number that is not in the grammar.
    BadNumber,
    /// A backslash followed by something that is not an escape.
    BadEscape,
    /// An unescaped control character inside a string.
    ControlCharacter,
    /// Half of a surrogate pair.
    LoneSurrogate,
    /// The same member name twice in one object; the name, shortened.
    DuplicateKey { key: Box<str> },
    /// A member name with a NUL in it.
    NulInKey,
}

// === impl JsonFault ===

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit } => write!(f, "text longer than {limit} bytes"),
            Self::TooDeep { limit } => write!(f, "nesting deeper than {limit}"),
            Self::NotUtf8 => f.write_str("invalid UTF-8"),
            Self::UnexpectedEnd => f.write_str("text ends inside a value"),
            Self::UnexpectedByte { found } if found.is_ascii_graphic() => {
                write!(f, "unexpected {:?}", char::from(*found))
            }
            Self::UnexpectedByte { found } => write!(f, "unexpected byte 0x{found:02x}"),
            Self::TrailingData => f.write_str("data after the value"),
            Self::BadNumber => f.write_str("malformed number"),
            Self::BadEscape => f.write_str("malformed escape"),
            Self::ControlCharacter => f.write_str("unescaped control character"),
            Self::LoneSurrogate => f.write_str("lone surrogate"),
            Self::DuplicateKey { key } => write!(f, "duplicate member {key:?}"),
            Self::NulInKey => f.write_str("NUL in a member name"),
        }
    }
}

// === impl JsonError ===

impl JsonError {
    /// What the sender can do about it.
    pub fn hint(&self) -> &'static str {
        match self.fault {
            JsonFault::TooLarge { .. } => "send less in one message, or a link to the data",
            JsonFault::TooDeep { .. } => "flatten the value",
            JsonFault::NotUtf8 | JsonFault::LoneSurrogate => "encode text as UTF-8",
            JsonFault::DuplicateKey { .. } | JsonFault::NulInKey => {
                "send each member once, by a plain name"
            }
            JsonFault::UnexpectedEnd
            | JsonFault::UnexpectedByte { .. }
            | JsonFault::TrailingData
            | JsonFault::BadNumber
            | JsonFault::BadEscape
            | JsonFault::ControlCharacter => "send one JSON value as RFC 8259 describes it",
        }
    }
}
