//! Spans of traces that are followed (W3C Trace Context).
//!
//! Whether a trace is followed is decided where it begins: by its client, who says so in
//! `traceparent`, else by the share that the owner chose. A span that is not followed is none.

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::observer;
use crate::clock;

/// The share of traces that is followed, of `u64::MAX`; zero where none is, whatever clients say.
static SHARE: AtomicU64 = AtomicU64::new(0);
/// Most attributes of a span.
const ATTRIBUTES_MAX: usize = 16;

/// A span that has begun. Dropping it ends it.
#[derive(Debug)]
pub struct Span {
    ended: Option<Box<Ended>>,
}

/// A span that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// Of which trace.
    pub trace: u128,
    /// Its own id.
    pub span: u64,
    /// The id of the one it is a part of.
    pub parent: Option<u64>,
    /// What it is, in words of a closed list and names of tools.
    pub name: Cow<'static, str>,
    /// Which side of a connection it is on.
    pub kind: SpanKind,
    /// When it began, in nanoseconds since 1970.
    pub began_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// What is known of it, by the names of the semantic conventions.
    pub attributes: Vec<(&'static str, Value)>,
    /// Why it failed, as a word.
    pub error: Option<Cow<'static, str>>,
}

/// Which side of a connection a span is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// On neither.
    Internal,
    /// It answers.
    Server,
    /// It asks.
    Client,
}

/// What an attribute says.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A word or a name.
    Text(Cow<'static, str>),
    /// A number.
    Number(i64),
}

/// Where in a trace something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parent {
    trace: u128,
    span: u64,
    is_followed: bool,
}

/// Follows this share of traces from here on, between 0 and 1; 0 follows none at all.
pub fn follow(share: f64) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the share is clamped, and the last digits of a chance do not matter"
    )]
    let share = (share.clamp(0.0, 1.0) * u64::MAX as f64) as u64;
    SHARE.store(share, Ordering::Relaxed);
}

/// Whether any traces are followed.
#[must_use]
pub fn is_followed() -> bool {
    SHARE.load(Ordering::Relaxed) > 0
}

/// Whether a text says of which trace something is a part (W3C Trace Context, section 3.2).
#[must_use]
pub fn is_traceparent(text: &str) -> bool {
    Parent::parse(text).is_some()
}

/// Numbers that are not the same twice and cannot be told beforehand. An id of a trace guards
/// nothing, so no entropy of the system's is spent on each.
fn random() -> u64 {
    static KEYS: OnceLock<RandomState> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let next = COUNT.fetch_add(1, Ordering::Relaxed);
    // Zero is no id.
    KEYS.get_or_init(RandomState::new).hash_one(next).max(1)
}

// === impl Span ===

impl Span {
    /// Begins the first span of this hub in a trace, which a client's `traceparent` may have begun;
    /// `None` where the trace is not followed.
    #[must_use]
    pub fn first(
        name: impl Into<Cow<'static, str>>,
        kind: SpanKind,
        traceparent: Option<&str>,
    ) -> Option<Self> {
        let share = SHARE.load(Ordering::Relaxed);
        if share == 0 {
            return None;
        }
        let parent = traceparent.and_then(Parent::parse);
        let is_followed = match parent {
            Some(parent) => parent.is_followed,
            None => random() <= share,
        };
        is_followed.then(|| {
            let trace = parent.map_or_else(
                || (u128::from(random()) << 64) | u128::from(random()),
                |parent| parent.trace,
            );
            Self::begin(trace, parent.map(|parent| parent.span), name.into(), kind)
        })
    }

    /// Begins a span that is a part of this one.
    #[must_use]
    pub fn part(&self, name: impl Into<Cow<'static, str>>, kind: SpanKind) -> Option<Self> {
        let whole = self.ended.as_ref()?;
        let span = Self::begin(whole.trace, Some(whole.span), name.into(), kind);
        Some(span)
    }

    fn begin(trace: u128, parent: Option<u64>, name: Cow<'static, str>, kind: SpanKind) -> Self {
        Self {
            ended: Some(Box::new(Ended {
                trace,
                span: random(),
                parent,
                name,
                kind,
                began_ns: clock::unix_nanos(),
                ended_ns: 0,
                attributes: Vec::new(),
                error: None,
            })),
        }
    }

    /// Says something of it.
    pub fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        if let Some(ended) = &mut self.ended
            && ended.attributes.len() < ATTRIBUTES_MAX
        {
            ended.attributes.push((key, value.into()));
        }
    }

    /// Calls it by another name.
    pub fn name(&mut self, name: impl Into<Cow<'static, str>>) {
        if let Some(ended) = &mut self.ended {
            ended.name = name.into();
        }
    }

    /// Says why it failed, as a word.
    pub fn fail(&mut self, error: impl Into<Cow<'static, str>>) {
        if let Some(ended) = &mut self.ended {
            ended.error = Some(error.into());
        }
    }

    /// Whether somebody else began the trace, or another span of the hub's.
    #[must_use]
    pub fn has_parent(&self) -> bool {
        let ended = self.ended.as_ref();
        ended.is_some_and(|ended| ended.parent.is_some())
    }

    /// What is told to whoever works on a part of it (W3C Trace Context, section 3.2).
    #[must_use]
    pub fn traceparent(&self) -> Option<String> {
        let ended = self.ended.as_ref()?;
        Some(format!("00-{:032x}-{:016x}-01", ended.trace, ended.span))
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let (Some(mut ended), Some(observer)) = (self.ended.take(), observer()) {
            ended.ended_ns = clock::unix_nanos().max(ended.began_ns);
            observer.span_ended(*ended);
        }
    }
}

// === impl Parent ===

impl Parent {
    /// Reads `traceparent`; one that is wrong begins nothing (section 4.3).
    fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let is_hex = |part: &str| {
            part.bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        if !text.is_ascii() || bytes.len() < 55 {
            return None;
        }
        let (version, trace, span, flags) =
            (&text[..2], &text[3..35], &text[36..52], &text[53..55]);
        let marks = bytes[2] == b'-' && bytes[35] == b'-' && bytes[52] == b'-';
        let ends = match version {
            "00" => bytes.len() == 55,
            "ff" => false,
            _ => bytes.get(55).is_none_or(|byte| *byte == b'-'),
        };
        if !marks || !ends || ![version, trace, span, flags].into_iter().all(is_hex) {
            return None;
        }
        let parent = Self {
            trace: u128::from_str_radix(trace, 16).ok()?,
            span: u64::from_str_radix(span, 16).ok()?,
            is_followed: u8::from_str_radix(flags, 16).ok()? & 1 == 1,
        };
        (parent.trace != 0 && parent.span != 0).then_some(parent)
    }
}

// === impl Value ===

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Parent;

    #[test]
    fn only_what_the_standard_allows_is_a_parent() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let parent = Parent::parse(good).unwrap();
        assert_eq!(parent.trace, 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
        assert_eq!(parent.span, 0xb7ad_6b71_6920_3331);
        assert!(parent.is_followed);
        let quiet = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
        assert!(!Parent::parse(quiet).unwrap().is_followed);
        let later = format!("cc{}-what-comes", &good[2..]);
        assert!(Parent::parse(&later).is_some());
        for bad in [
            "",
            "00",
            &good[..54],
            &good.to_uppercase(),
            &good.replace("00-0", "ff-0"),
            &format!("{good}-more"),
            &good.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &good.replace("b7ad6b7169203331", &"0".repeat(16)),
            &good.replace('-', "_"),
            &good.replace("0af7", "0äf"),
        ] {
            assert_eq!(Parent::parse(bad), None, "{bad}");
        }
    }
}
