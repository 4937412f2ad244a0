//! Values behind labels. A label says whose name or which place follows, so what its value's words
//! mean elsewhere does not matter: `Surname ... Sinner`, `Post town | May Pen`, `Carer: Fang Lei`.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::Case;
use crate::words::{
    CREDENTIAL, DRUG, FUNCTION, Flag, INSTITUTION, MAYBE_LABEL, NAME_LABEL, PARTICLE, PERSON,
    PERSON_VERB, PLACE_LABEL, RELATION, SAFE, TITLE,
};

/// What a label says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// A name of a person.
    Name,
    /// A place, and nothing else.
    Place,
    /// A place, or something that is none.
    PlaceMaybe,
}

/// More words than this are no label.
const LABEL: usize = 4;
/// More words than this are no name.
const NAME: usize = 6;
/// More words than this are no address.
const ADDRESS: usize = 16;

/// What stands where a name could and is none.
const NOBODY: &[&str] = &[
    "male", "female", "unknown", "none", "yes", "no", "not", "self", "same", "adult", "child",
    "infant", "full", "left", "right", "stable", "see", "normal", "alert", "declined", "deceased",
    "denies", "n", "pending", "nil", "home", "unable", "good", "poor", "no", "all", "awake",
    "calm", "well", "above",
];

impl Finder<'_> {
    /// Marks the values of labels that name a person or a place.
    pub(super) fn slots(&mut self) {
        for at in 0..self.len() {
            if !self.gaps.odd(at) || !self.labels_value(at) {
                continue;
            }
            match self.slot(at) {
                Some(Slot::Name) => self.name_slot(at),
                Some(slot) => self.place_slot(at, slot),
                None => {}
            }
        }
    }

    /// Whether what stands behind a word makes a label of it.
    pub(super) fn labels_value(&self, at: usize) -> bool {
        let gap = self.gap(at);
        let bytes = gap.as_bytes();
        if at + 1 >= self.len() || !self.lexemes[at].is_word() || bytes == b" " || bytes.len() > 60
        {
            return false;
        }
        if self.closer(at) {
            return true;
        }
        let inner = gap.trim_start_matches(['\'', ')', '"', ' ']);
        let ruled = inner.starts_with("..") || inner.starts_with("__");
        let spaced = gap.contains('\t') || gap.len() >= 3 && gap.bytes().all(|byte| byte == b' ');
        (inner.starts_with([':', '=', '|']) || ruled || spaced || gap == " - ")
            && gap.matches('\n').count() <= usize::from(gap.contains(':'))
    }

    /// `Kind regards,`: what stands before the name under a letter.
    fn closer(&self, at: usize) -> bool {
        const CLOSERS: &[&str] = &[
            "sincerely",
            "regards",
            "greetings",
            "faithfully",
            "truly",
            "cheers",
            "thanks",
            "love",
            "best",
            "wishes",
            "yours",
        ];
        let gap = self.gap(at);
        gap.len() > 1
            && gap.starts_with([',', '\n', '!', '.', ' '])
            && (4..=10).contains(&self.lexemes[at].len())
            && matches!(gap.trim_matches([' ', '\n']), "," | "" | "!" | ".")
            && CLOSERS
                .iter()
                .any(|known| self.word(at).eq_ignore_ascii_case(known))
    }

    /// What the label that ends at a word says.
    fn slot(&self, end: usize) -> Option<Slot> {
        if self.closer(end) {
            return Some(Slot::Name);
        }
        let mut first = end;
        while first > 0
            && end - first < LABEL
            && matches!(self.before(first), " " | "/" | "'" | " (" | "-")
            && self.lexemes[first - 1].is_word()
        {
            first -= 1;
        }
        let strict = self.gap(end).starts_with(':') || !matches!(self.gap(end), " - ");
        if !strict && !self.opens(first) {
            return None;
        }
        let either = |one: &str, other: &str| {
            let has =
                |known: &str| (first..=end).any(|at| self.word(at).eq_ignore_ascii_case(known));
            has(one) && has(other)
        };
        // "Place of birth", "post code".
        if either("place", "birth") || either("post", "code") || either("post", "town") {
            return Some(Slot::Place);
        }
        let says = |flag: Flag| (first..=end).any(|at| self.is(at, flag));
        [
            (Slot::Place, PLACE_LABEL),
            (Slot::Name, NAME_LABEL),
            (Slot::PlaceMaybe, MAYBE_LABEL),
        ]
        .into_iter()
        .find_map(|(slot, flag)| says(flag).then_some(slot))
    }

    /// The end of a label's value: one behind its last word.
    fn value_end(&self, label: usize, most: usize) -> usize {
        let mut at = label + 1;
        while at < self.len() && at - label <= most {
            let gap = self.gap(at);
            let dot = gap.starts_with(". ")
                && self.lexemes[at].len() > 3
                && self.lexemes[at].is_word()
                && self.is(at + 1, SAFE);
            at += 1;
            if gap.contains(['\n', '|', ';', '\t', ':']) || gap.starts_with("   ") || dot {
                break;
            }
        }
        at
    }

    fn name_slot(&mut self, label: usize) {
        let first = label + 1;
        let mut end = first;
        let stop = TITLE | PERSON | RELATION | CREDENTIAL | DRUG | INSTITUTION;
        while end < self.len() && end - first < NAME {
            let lexeme = &self.lexemes[end];
            let inner = end > first && lexeme.word.is(PARTICLE) && self.capital_word(end + 1);
            let known = self.marked(end) && lexeme.is_word();
            let function = lexeme.word.is(FUNCTION) && lexeme.case == Case::Lower;
            let surname = lexeme.word.is(TITLE) && self.listed(end) && self.name_ends(end);
            let written =
                lexeme.is_word() && lexeme.capital() && (!lexeme.word.is(stop) || surname);
            if !(known || inner || written && !function)
                || self.gap(end).starts_with([':', '%', '='])
                || NOBODY
                    .iter()
                    .any(|nobody| self.word(end).eq_ignore_ascii_case(nobody))
            {
                break;
            }
            end += 1;
            let gap = self.gap(end - 1);
            let initial = self.lexemes[end - 1].len() <= 2 && matches!(gap, ". " | ".");
            if !(matches!(gap, " " | "-" | "'" | ", ") || initial) {
                break;
            }
        }
        if end == first {
            return;
        }
        let last = end - 1;
        let closes = self.closes(last)
            || self.gap(last).len() > 1
            || self
                .lexemes
                .get(end)
                .is_some_and(|next| next.has_digit() || self.marked(end))
            || self.gap(last) == " " && self.is(end, RELATION | CREDENTIAL | FUNCTION);
        let words = last - label;
        let all_known = (first..end).all(|at| self.marked(at));
        let sole = words == 1 && self.is(first, SAFE) && !self.listed(first);
        let person = matches!(
            self.word(label).to_ascii_lowercase().as_str(),
            "name"
                | "names"
                | "surname"
                | "forename"
                | "given"
                | "maiden"
                | "signed"
                | "lastname"
                | "firstname"
        );
        if closes && !all_known && (!sole || person) {
            self.mark(first, last, Class::Name, Certainty::Guessed);
        }
    }

    fn place_slot(&mut self, label: usize, slot: Slot) {
        let first = label + 1;
        let end = self.value_end(label, ADDRESS);
        if end <= first || self.gap(end - 1).starts_with(':') {
            return;
        }
        let stop = TITLE | PERSON | RELATION | PERSON_VERB | DRUG;
        let prose = (first..end).any(|at| {
            let lexeme = &self.lexemes[at];
            lexeme.case == Case::Lower
                && lexeme.is_word()
                && !self.marked(at)
                && (lexeme.word.is(stop)
                    || lexeme.word.is(FUNCTION)
                        && !lexeme.word.is(PARTICLE)
                        && !joins(self.word(at)))
        });
        let known = (first..end).any(|at| self.of_address(at));
        let numbered = (first..end).any(|at| self.lexemes[at].has_digit() && !self.measures(at))
            && (first..end).any(|at| self.lexemes[at].capital());
        let titled = (first..end).all(|at| {
            self.lexemes[at].case != Case::Lower
                || self.lexemes[at].has_digit()
                || self.is(at, PARTICLE)
        });
        let sure = known || numbered || slot == Slot::Place && titled;
        let dated = (first..end).any(|at| {
            matches!(
                self.class(at),
                Some(Class::Date | Class::Phone | Class::Email | Class::Url)
            )
        });
        if sure && !prose && !dated {
            self.mark(first, end - 1, Class::Place, Certainty::Guessed);
        }
    }

    fn capital_word(&self, at: usize) -> bool {
        self.lexemes
            .get(at)
            .is_some_and(|lexeme| lexeme.is_word() && lexeme.capital())
    }
}

/// Whether a small word may stand inside an address.
fn joins(word: &str) -> bool {
    matches!(
        word,
        "of" | "the"
            | "on"
            | "and"
            | "near"
            | "off"
            | "behind"
            | "opposite"
            | "by"
            | "no"
            | "at"
            | "next"
            | "in"
    )
}
