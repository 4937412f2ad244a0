//! Names with `*` and `?`, compiled once when the rules load.
//!
//! `*` stands for any run of characters, `/` included, `?` for exactly one
//! character, everything else for itself; there are no classes and no
//! escapes. Matching never backtracks further than the current segment, so
//! the cost is bounded by the length of the text times the longest segment,
//! and patterns are at most [`MAX_LEN`] bytes. A general glob or regex crate
//! was rejected: rules are a security boundary and this is all they need.

/// The longest pattern a rule file may hold, in bytes.
pub(crate) const MAX_LEN: usize = 512;

/// One compiled pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Glob {
    /// `*`.
    Any,
    /// No wildcard at all.
    Exact(Box<str>),
    /// `text*`, the commonest pattern.
    Prefix(Box<str>),
    /// No `*`, but at least one `?`.
    Whole(Segment),
    /// Everything with a `*` that is not one of the above.
    Stars {
        first: Segment,
        middle: Box<[Segment]>,
        last: Segment,
    },
}

/// The text between two stars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    text: Box<str>,
    has_question: bool,
}

// === impl Glob ===

impl Glob {
    pub(crate) fn compile(pattern: &str) -> Self {
        if !pattern.contains('*') {
            let whole = Segment::new(pattern);
            return if whole.has_question {
                Self::Whole(whole)
            } else {
                Self::Exact(whole.text)
            };
        }
        if pattern.bytes().all(|byte| byte == b'*') {
            return Self::Any;
        }
        let mut segments: Vec<Segment> = pattern.split('*').map(Segment::new).collect();
        let last = segments.pop().expect("split yields at least one part");
        let first = segments.remove(0);
        segments.retain(|segment| !segment.text.is_empty());
        if segments.is_empty() && last.text.is_empty() && !first.has_question {
            return Self::Prefix(first.text);
        }
        Self::Stars {
            first,
            middle: segments.into(),
            last,
        }
    }

    /// Whether this pattern matches whatever the other one matches. Says no
    /// when it cannot tell.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) => true,
            (one, Self::Exact(text)) => one.matches(text),
            (Self::Prefix(one), Self::Prefix(other)) => other.starts_with(&**one),
            (Self::Prefix(one), Self::Stars { first, .. }) => {
                !first.has_question && first.text.starts_with(&**one)
            }
            (one, other) => one == other,
        }
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(exact) => **exact == *text,
            Self::Prefix(prefix) => text.starts_with(&**prefix),
            Self::Whole(segment) => segment.strip_prefix(text) == Some(""),
            Self::Stars {
                first,
                middle,
                last,
            } => {
                let Some(rest) = first.strip_prefix(text) else {
                    return false;
                };
                let Some(mut rest) = last.strip_suffix(rest) else {
                    return false;
                };
                // The leftmost place for each segment leaves the most room
                // for those after it, so no earlier choice is ever revised.
                for segment in middle {
                    match segment.skip_past(rest) {
                        Some(after) => rest = after,
                        None => return false,
                    }
                }
                true
            }
        }
    }
}

// === impl Segment ===

impl Segment {
    fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            has_question: text.contains('?'),
        }
    }

    /// What follows this segment at the start of `text`.
    fn strip_prefix<'t>(&self, text: &'t str) -> Option<&'t str> {
        if !self.has_question {
            return text.strip_prefix(&*self.text);
        }
        let mut rest = text.chars();
        for wanted in self.text.chars() {
            let found = rest.next()?;
            if wanted != '?' && wanted != found {
                return None;
            }
        }
        Some(rest.as_str())
    }

    /// What precedes this segment at the end of `text`.
    fn strip_suffix<'t>(&self, text: &'t str) -> Option<&'t str> {
        if !self.has_question {
            return text.strip_suffix(&*self.text);
        }
        let mut rest = text.chars();
        for wanted in self.text.chars().rev() {
            let found = rest.next_back()?;
            if wanted != '?' && wanted != found {
                return None;
            }
        }
        Some(rest.as_str())
    }

    /// What follows the first place in `text` where this segment matches.
    fn skip_past<'t>(&self, text: &'t str) -> Option<&'t str> {
        if !self.has_question {
            let at = text.find(&*self.text)?;
            return Some(&text[at + self.text.len()..]);
        }
        text.char_indices()
            .find_map(|(at, _)| self.strip_prefix(&text[at..]))
    }
}
