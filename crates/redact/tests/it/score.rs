//! Scores the engine on notes whose identifiers are known.

use std::collections::BTreeMap;

use legation_redact::{MemoryVault, Redactor, RedactorSpec, RosterEntry};
use serde::Deserialize;

/// One note of a corpus.
#[derive(Debug, Deserialize)]
pub(crate) struct Note {
    /// The generator's locale.
    pub(crate) locale: String,
    /// `text` or `json`.
    pub(crate) form: String,
    /// The note.
    pub(crate) text: String,
    /// Its identifiers.
    pub(crate) spans: Vec<Span>,
    /// The names of it that the entity knows.
    pub(crate) roster: Vec<String>,
}

/// One identifier of a note.
#[derive(Debug, Deserialize)]
pub(crate) struct Span {
    start: usize,
    end: usize,
    class: String,
    roster: bool,
    value: Option<String>,
}

/// How many there are, and how many were found.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Share {
    /// Of all.
    pub(crate) all: usize,
    /// Those that were found; of words, those that were lost.
    pub(crate) hit: usize,
}

/// What a corpus scored.
#[derive(Debug, Default)]
pub(crate) struct Score {
    /// Identifiers by class; `roster` are the names that were known beforehand.
    pub(crate) classes: BTreeMap<String, Share>,
    /// Identifiers with a form or a label.
    pub(crate) patterned: Share,
    /// All identifiers.
    pub(crate) spans: Share,
    /// Names of the roster.
    pub(crate) roster: Share,
    /// Notes; a hit is one in which anything leaked.
    pub(crate) leaking: Share,
    /// Words that are no identifiers; a hit is one that was taken out.
    pub(crate) words: Share,
    /// What leaked: locale, class, value and the text around it.
    pub(crate) misses: Vec<String>,
    /// Words that were lost.
    pub(crate) lost: BTreeMap<String, usize>,
}

const PATTERNED: &[&str] = &[
    "date", "age", "phone", "fax", "email", "ssn", "mrn", "plan", "account", "licence", "vehicle",
    "device", "url", "ip", "id",
];

/// Scores the notes of a corpus; its first line says where it comes from.
pub(crate) fn score(corpus: &str) -> Score {
    let mut score = Score::default();
    for line in corpus.lines().skip(1) {
        let note: Note = serde_json::from_str(line).expect("a note is JSON");
        score.note(&note);
    }
    score
}

// === impl Share ===

impl Share {
    /// The hits in percent of all.
    pub(crate) fn percent(self) -> f64 {
        let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
        if self.all == 0 {
            0.0
        } else {
            count(self.hit) * 100.0 / count(self.all)
        }
    }

    fn add(&mut self, hit: bool) {
        self.all += 1;
        self.hit += usize::from(hit);
    }
}

// === impl Score ===

impl Score {
    fn note(&mut self, note: &Note) {
        let spec = RedactorSpec {
            roster: note.roster.iter().map(RosterEntry::person).collect(),
            ..RedactorSpec::default()
        };
        let redactor = Redactor::build(&spec).expect("the roster is small");
        let mut vault = MemoryVault::new();
        let mut covered = vec![false; note.text.len()];
        let mut left = String::new();
        if note.form == "json" {
            left = without_tokens(&redactor.redact_json(&note.text, &mut vault).json);
        } else {
            for finding in redactor.redact_text(&note.text, &mut vault).findings {
                covered[finding.start..finding.end].fill(true);
            }
            self.lost_words(note, &covered);
        }
        let mut leaked = false;
        for span in &note.spans {
            let found = match &span.value {
                Some(value) => !contains(&left, value),
                None => note.text[span.start..span.end]
                    .char_indices()
                    .all(|(at, c)| !c.is_alphanumeric() || covered[span.start + at]),
            };
            leaked |= !found;
            self.spans.add(found);
            if span.roster {
                self.roster.add(found);
            }
            if PATTERNED.contains(&span.class.as_str()) {
                self.patterned.add(found);
            }
            self.classes
                .entry(span.class.clone())
                .or_default()
                .add(found);
            if !found {
                self.misses.push(missed(note, span, &covered));
            }
        }
        self.leaking.add(leaked);
    }

    fn lost_words(&mut self, note: &Note, covered: &[bool]) {
        let inside = |at: usize| {
            note.spans
                .iter()
                .any(|span| (span.start..span.end).contains(&at))
        };
        let mut at = 0;
        for word in note.text.split(|c: char| !c.is_alphabetic()) {
            let start = at;
            at += word.len();
            at += note.text[at..].chars().next().map_or(0, char::len_utf8);
            if word.chars().count() < 2 || inside(start) {
                continue;
            }
            self.words.add(covered[start]);
            if covered[start] {
                *self.lost.entry(word.to_owned()).or_default() += 1;
            }
        }
    }
}

fn missed(note: &Note, span: &Span, covered: &[bool]) -> String {
    let value = span
        .value
        .as_deref()
        .unwrap_or_else(|| &note.text[span.start..span.end]);
    let mut from = if span.value.is_some() {
        0
    } else {
        span.start.saturating_sub(30)
    };
    while !note.text.is_char_boundary(from) {
        from -= 1;
    }
    let before = if span.value.is_some() {
        ""
    } else {
        &note.text[from..span.start]
    };
    let left: String = value
        .char_indices()
        .filter(|(at, _)| span.value.is_some() || !covered[span.start + at])
        .map(|(_, c)| c)
        .collect();
    format!(
        "{} {} {:?} of {:?} after {:?}",
        note.locale, span.class, left, value, before
    )
}

/// A text with every token taken out.
fn without_tokens(text: &str) -> String {
    let mut left = String::new();
    for part in text.split('⟦') {
        left.push_str(part.split_once('⟧').map_or(part, |(_, rest)| rest));
        left.push(' ');
    }
    left
}

/// Whether any larger part of a value is a word of a text.
fn contains(text: &str, value: &str) -> bool {
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let mut parts = value.split(|c: char| !c.is_alphanumeric());
    parts.any(|part| part.chars().count() >= 3 && words.contains(&part))
}
