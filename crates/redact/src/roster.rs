//! Known persons and values, found in every spelling.
//!
//! The search runs over the text squeezed to its letters and digits, so a hyphen, a space, a dot,
//! an apostrophe or a line break more or less makes no difference; what it finds must begin and
//! end where a word does.

use std::collections::HashMap;

use aho_corasick::AhoCorasick;

use crate::class::{Certainty, Class};
use crate::find::Hit;
use crate::fold::fold;
use crate::spec::{BuildError, RosterEntry};
use crate::words;

/// The entries of an entity as one search.
#[derive(Debug)]
pub(crate) struct Roster {
    search: AhoCorasick,
    kinds: Vec<Kind>,
}

#[derive(Debug, Clone, Copy)]
struct Kind {
    class: Class,
    /// Counts only with a capital: the word is also one of the language.
    capital: bool,
    /// Counts only with a dot behind each letter.
    dotted: bool,
}

/// More characters than this between two of a match mean two different things.
const MAX_GAP: usize = 3;

// === impl Roster ===

impl Roster {
    /// The search for these entries; `None` where there is none.
    pub(crate) fn build(entries: &[RosterEntry]) -> Result<Option<Self>, BuildError> {
        let mut variants: HashMap<String, Kind> = HashMap::new();
        for entry in entries {
            for (variant, kind) in spellings(entry) {
                let known = variants.entry(variant).or_insert(kind);
                known.capital &= kind.capital;
                known.dotted &= kind.dotted;
            }
        }
        if variants.is_empty() {
            return Ok(None);
        }
        let (texts, kinds): (Vec<_>, Vec<_>) = variants.into_iter().unzip();
        let search = AhoCorasick::new(&texts).map_err(|source| BuildError::Roster {
            entries: entries.len(),
            source: Box::new(source),
        })?;
        Ok(Some(Self { search, kinds }))
    }

    /// Finds every entry in a folded text.
    pub(crate) fn find(&self, text: &str, hits: &mut Vec<Hit>) {
        let mut squeezed = Vec::with_capacity(text.len());
        let mut places = Vec::with_capacity(text.len());
        for (at, byte) in text.bytes().enumerate() {
            if byte.is_ascii_alphanumeric() || byte >= 0x80 {
                squeezed.push(byte.to_ascii_lowercase());
                places.push(at);
            }
        }
        let bytes = text.as_bytes();
        for found in self.search.find_overlapping_iter(&squeezed) {
            let range = &places[found.start()..found.end()];
            let (Some(&start), Some(&last)) = (range.first(), range.last()) else {
                continue;
            };
            let kind = self.kinds[found.pattern().as_usize()];
            let end = last + 1;
            let whole = begins(bytes, start) && ends(bytes, end);
            let close = range
                .windows(2)
                .all(|pair| pair[1] - pair[0] <= MAX_GAP + 1);
            let capital =
                !kind.capital || bytes[start].is_ascii_uppercase() || in_small_letters(text, start);
            let dotted = !kind.dotted || range.iter().all(|&at| bytes.get(at + 1) == Some(&b'.'));
            if whole && close && capital && dotted && text.is_char_boundary(end) {
                hits.push(Hit::new(start, end, kind.class, Certainty::Certain));
            }
        }
    }
}

/// Whether a place is in a line that does without capitals, as dictation and chat do: there a
/// small letter does not say that a word is no name. Only what is near is looked at.
fn in_small_letters(text: &str, at: usize) -> bool {
    const NEAR: usize = 160;
    let bytes = text.as_bytes();
    let line = |byte: &&u8| **byte != b'\n';
    let before = bytes[..at].iter().rev().take(NEAR).take_while(line);
    let behind = bytes[at..].iter().take(NEAR).take_while(line);
    let first = before.clone().last().copied();
    let (mut capitals, mut words) = (0, 0);
    for byte in before.chain(behind) {
        capitals += usize::from(byte.is_ascii_uppercase());
        words += usize::from(*byte == b' ');
    }
    first.is_none_or(|byte| !byte.is_ascii_uppercase()) && words > 3 && capitals * 8 <= words
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// Whether a word or number begins here.
fn begins(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| bytes[before]) else {
        return true;
    };
    !is_part(before) || changes(before, bytes[at])
}

/// Whether a word or number ends before here, a plural or possessive `s` aside.
fn ends(bytes: &[u8], at: usize) -> bool {
    let Some(&next) = bytes.get(at) else {
        return true;
    };
    let plural = matches!(next, b's' | b'S') && !bytes.get(at + 1).copied().is_some_and(is_part);
    !is_part(next) || changes(bytes[at - 1], next) || plural
}

/// Whether a letter meets a digit, or a small letter a capital: `annaKowalska`.
fn changes(one: u8, other: u8) -> bool {
    one.is_ascii_digit() != other.is_ascii_digit()
        || (one.is_ascii_lowercase() && other.is_ascii_uppercase())
}

/// The squeezed spellings of an entry.
fn spellings(entry: &RosterEntry) -> Vec<(String, Kind)> {
    let folded = fold(&entry.value);
    let lower = folded.text.to_lowercase();
    let parts: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty())
        .collect();
    let sure = Kind {
        class: entry.class,
        capital: false,
        dotted: false,
    };
    let whole = parts.concat();
    let mut found = vec![];
    if whole.len() >= 3 || (whole.len() == 2 && entry.class != Class::Name) {
        let capital = parts.len() == 1 && words::is_common(&whole);
        found.push((whole, Kind { capital, ..sure }));
    }
    if entry.class == Class::Name && parts.len() > 1 {
        names(&lower, &parts, sure, &mut found);
    }
    found
}

/// A name's words, each squeezed, alone and in pairs: "O'Brien-Will, Rose".
fn whole_words(lower: &str, sure: Kind, found: &mut Vec<(String, Kind)>) {
    let squeezed = |word: &str| {
        word.chars()
            .filter(|c| c.is_alphanumeric())
            .collect::<String>()
    };
    let words: Vec<String> = lower
        .split([' ', ',', '\t', '\n'])
        .map(squeezed)
        .filter(|w| !w.is_empty())
        .collect();
    let hyphened = lower.split([' ', ',', '-', '\t', '\n']).map(squeezed);
    for word in words
        .iter()
        .cloned()
        .chain(hyphened)
        .filter(|word| word.len() >= 3)
    {
        let capital = words::is_common(&word);
        found.push((word, Kind { capital, ..sure }));
    }
    for one in &words {
        for other in words
            .iter()
            .filter(|other| *other != one && one.len() + other.len() > 4)
        {
            found.push((format!("{one}{other}"), sure));
        }
    }
}

/// The orders and abbreviations of a person's name.
fn names(lower: &str, parts: &[&str], sure: Kind, found: &mut Vec<(String, Kind)>) {
    let titled = |part: &&&str| !words::is_title(part);
    let mut parts: Vec<&str> = parts.iter().filter(titled).copied().collect();
    if let Some((last, _)) = lower.split_once(',') {
        // "Last, First": put into the order in which it is spoken.
        let count = last
            .split(|c: char| !c.is_alphanumeric())
            .filter(|p| !p.is_empty())
            .count();
        let count = count.min(parts.len());
        parts.rotate_left(count);
    }
    let (Some(first), Some(last)) = (parts.first().copied(), parts.last().copied()) else {
        return;
    };
    let initial = |part: &str| part.chars().next().map(String::from).unwrap_or_default();
    let rest = &parts[1..];
    let initials: String = parts[..parts.len() - 1]
        .iter()
        .map(|part| initial(part))
        .collect();
    whole_words(lower, sure, found);
    let mut whole = |text: String| {
        if text.len() >= 4 {
            found.push((text, sure));
        }
    };
    whole(parts.concat());
    whole(format!("{first}{last}"));
    whole(format!("{last}{first}"));
    whole(format!("{}{first}", rest.concat()));
    whole(format!("{last}{}", parts[..parts.len() - 1].concat()));
    // A surname of several words, "van 't Hof", alone.
    if rest.len() > 1 {
        whole(rest.concat());
    }
    for tail in [last.to_owned(), rest.concat()] {
        whole(format!("{}{tail}", initial(first)));
        whole(format!("{initials}{tail}"));
        whole(format!("{tail}{}", initial(first)));
        whole(format!("{tail}{initials}"));
    }
    let capital = Kind {
        capital: true,
        ..sure
    };
    for part in &parts {
        let letters = part.chars().count();
        if letters >= 2 && !words::is_particle(part) {
            let common = letters == 2 || words::is_common(part);
            found.push(((*part).to_owned(), if common { capital } else { sure }));
        }
    }
    let all: String = parts.iter().map(|part| initial(part)).collect();
    found.push((
        all,
        Kind {
            dotted: true,
            ..capital
        },
    ));
}
