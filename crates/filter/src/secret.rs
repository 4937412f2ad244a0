//! Secrets in results: known by their shape, or because they are the hub's own.
//!
//! Every pattern has words without which it cannot match. One automaton looks for all the words
//! at once, and only patterns whose word is there are tried: a text without any is read once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use legation_core::Secret;

mod entropy;
mod own;
pub(crate) mod patterns;
mod words;

use self::patterns::PATTERNS;
use self::words::Words;
use crate::result::escapes_by_number;

/// The kind under which the hub's own secrets are reported.
pub const OWN: &str = "own-secret";

/// What was masked: kind and how often.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Masked {
    counts: BTreeMap<&'static str, u64>,
}

/// Puts `[masked: KIND]` in the place of secrets.
pub struct SecretMasker {
    /// Forms of the hub's own secrets.
    own: Option<AhoCorasick>,
}

static WORDS: LazyLock<Option<Words>> = LazyLock::new(Words::new);

// === impl Masked ===

impl Masked {
    /// Whether nothing was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Kinds and how often, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts.iter().map(|(kind, count)| (*kind, *count))
    }

    /// Adds what was masked elsewhere in the same result.
    pub fn merge(&mut self, other: &Self) {
        for (kind, count) in other.iter() {
            *self.counts.entry(kind).or_default() += count;
        }
    }

    fn note(&mut self, kind: &'static str) {
        *self.counts.entry(kind).or_default() += 1;
    }
}

// === impl SecretMasker ===

impl fmt::Debug for SecretMasker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretMasker").finish_non_exhaustive()
    }
}

impl Default for SecretMasker {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl SecretMasker {
    /// A masker that knows these secrets of the hub's own beside the patterns. What is too short
    /// to be one is left out: it would mask words of any text.
    #[must_use]
    pub fn new(own: &[Secret]) -> Self {
        Self {
            own: own::automaton(own),
        }
    }

    /// The text without secrets, and what was masked; borrowed when there are none.
    #[must_use]
    pub fn mask<'a>(&self, text: &'a str, masked: &mut Masked) -> Cow<'a, str> {
        self.mask_named(None, text, masked)
    }

    /// As [`SecretMasker::mask`], for the value of a member: a name like `password` says of a
    /// value what its own shape may not.
    #[must_use]
    pub fn mask_named<'a>(
        &self,
        name: Option<&str>,
        text: &'a str,
        masked: &mut Masked,
    ) -> Cow<'a, str> {
        let mut found: Vec<(Range<usize>, &'static str)> = Vec::new();
        if let Some(own) = &self.own {
            found.extend(own.find_iter(text).map(|hit| (hit.range(), OWN)));
        }
        if let Some(name) = name
            && patterns::names_a_secret(name)
            && entropy::looks_random(text)
        {
            found.push((0..text.len(), "named-secret"));
        }
        patterned(text, &mut found);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(replaced(text, found, masked))
    }

    /// Whether a text, as it is written in JSON, may hold a secret: wrong only in one direction.
    #[must_use]
    pub fn may_hold(&self, json: &[u8]) -> bool {
        let own = self.own.as_ref().is_some_and(|own| own.is_match(json));
        let word = WORDS.as_ref().is_none_or(|words| words.any(json));
        own || word || escapes_by_number(json)
    }
}

/// Adds what the patterns find whose words are in the text.
fn patterned(text: &str, found: &mut Vec<(Range<usize>, &'static str)>) {
    let Some(words) = WORDS.as_ref() else {
        // Cannot happen with words that the tests build; no text passes then.
        found.push((0..text.len(), "unchecked"));
        return;
    };
    for index in words.patterns(text) {
        let pattern = &PATTERNS[index];
        found.extend(pattern.find(text).map(|range| (range, pattern.kind)));
    }
}

/// The text with marks in the place of what was found; of two that overlap the first counts, and
/// of two that begin together the longer one.
fn replaced(
    text: &str,
    mut found: Vec<(Range<usize>, &'static str)>,
    masked: &mut Masked,
) -> String {
    found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (range, kind) in found {
        if range.start < from {
            // What sticks out of the one before it is part of a secret too.
            from = from.max(range.end);
            continue;
        }
        out.push_str(&text[from..range.start]);
        out.push_str("[masked: ");
        out.push_str(kind);
        out.push(']');
        masked.note(kind);
        from = range.end;
    }
    out.push_str(&text[from..]);
    out
}
