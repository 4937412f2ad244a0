//! Names that are words of the language too, where only their place in the sentence tells.
//!
//! "Walker to review", "Patient Cannon", "Radiology: Miller, Sandy": a list cannot decide these,
//! and a rule is wrong at times. It is wrong on the side of taking a word too many.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::Case;
use crate::words::{
    ABBREVIATION, CLINICAL, CREDENTIAL, DRUG, FUNCTION, Flag, GIVEN, INSTITUTION, MONTH, PERSON,
    PERSON_VERB, RELATION, SAFE, SURNAME, TITLE, WEEKDAY,
};

/// What no name is, however it stands.
const NEVER: Flag =
    FUNCTION | CREDENTIAL | TITLE | WEEKDAY | MONTH | PERSON | RELATION | INSTITUTION | DRUG;

/// What is done by somebody who is named before it.
const REVIEWS: &[&str] = &[
    "review", "see", "follow", "call", "sign", "discuss", "assess", "attend", "visit", "check",
];
/// What stands before such a word and is nobody.
const WISHES: &[&str] = &[
    "Plan", "Need", "Needs", "Aim", "Unable", "Able", "Ready", "Continue", "Try", "Time", "Due",
    "Likely", "Happy", "Keen", "Failure", "Free", "Return", "Remember", "Agreed", "Asked", "Back",
];
/// What is done to persons.
const PASSIVES: &[&str] = &[
    "transferred",
    "admitted",
    "discharged",
    "brought",
    "referred",
    "informed",
    "told",
    "advised",
    "born",
    "asked",
    "seen",
    "found",
];

impl Finder<'_> {
    pub(super) fn openings(&mut self) {
        for at in 0..self.len() {
            self.initialled(at);
            self.small_pair(at);
            self.shouted_pair(at);
            self.before_name(at);
            if self.marked(at) || !self.title_word(at) {
                continue;
            }
            if self.last_and_first(at) {
                self.mark(at, at + 1, Class::Name, Certainty::Guessed);
            } else if self.spoken_of(at) || self.does(at) || self.behind_verb(at) {
                self.mark(at, at, Class::Name, Certainty::Guessed);
            }
        }
    }

    /// Whether a word is written as a name is and may be one.
    fn title_word(&self, at: usize) -> bool {
        self.lexemes.get(at).is_some_and(|lexeme| {
            lexeme.is_word()
                && lexeme.case == Case::Title
                && lexeme.len() > 1
                && !lexeme.word.is(NEVER)
        })
    }

    fn listed(&self, at: usize) -> bool {
        self.is(at, GIVEN | SURNAME)
    }

    /// Whether what stands behind a word ends a name: no further word of the same line goes on.
    fn name_ends(&self, at: usize) -> bool {
        let gap = self.gap(at);
        at + 1 == self.len()
            || gap.starts_with([',', '.', ';', ')', '\n', '|', '/', '('])
            || matches!(gap, " |" | " | " | " / " | " (" | " - ")
    }

    /// `Miller, Sandy.` at the start of a line or behind a label.
    fn last_and_first(&self, at: usize) -> bool {
        let first = at + 1;
        self.opens(at)
            && self.gap(at) == ", "
            && (self.title_word(first) || self.class(first) == Some(Class::Name))
            && self.name_ends(first)
            && !self.is(at, DRUG | ABBREVIATION)
            && (self.marked(first)
                || self.is(first, GIVEN) && (!self.is(first, CLINICAL) || self.listed(at)))
    }

    /// `Patient Cannon`, `Son Gal`.
    fn spoken_of(&self, at: usize) -> bool {
        const PEOPLE: &[&str] = &[
            "patient", "pt", "resident", "client", "mother", "father", "escort", "driver", "carer",
        ];
        let Some(before) = at.checked_sub(1) else {
            return false;
        };
        let cue = self.is(before, RELATION)
            || PEOPLE
                .iter()
                .any(|cue| self.word(before).eq_ignore_ascii_case(cue));
        let heading = self.gap(at).starts_with(':')
            || self.gap(at) == " "
                && self
                    .lexemes
                    .get(at + 1)
                    .is_some_and(|next| next.capital() && !self.marked(at + 1));
        cue && self.gap(before) == " " && !heading
    }

    /// `Walker to review`, `Hart authorised the refill`, `Roux understands`.
    fn does(&self, at: usize) -> bool {
        const ACTS: &[&str] = &[
            "authorised",
            "authorized",
            "authorises",
            "authorizes",
            "understands",
            "signed",
            "phoned",
            "rang",
            "mentioned",
            "insists",
            "insisted",
            "thinks",
            "says",
            "is",
            "was",
            "has",
            "had",
            "and",
            "or",
            "also",
        ];
        let next = at + 1;
        if self.gap(at) != " "
            || self
                .lexemes
                .get(next)
                .is_none_or(|word| word.case != Case::Lower)
        {
            return false;
        }
        let word = self.word(next);
        let after = self
            .lexemes
            .get(next + 1)
            .map_or("", |_| self.word(next + 1));
        let strong = word == "to" && REVIEWS.contains(&after) && !WISHES.contains(&self.word(at));
        let to = word == "to"
            && self.lexemes.get(next + 1).is_some_and(|verb| {
                verb.is_word() && verb.case == Case::Lower && !self.is(next + 1, FUNCTION)
            });
        let verb = self.is(next, PERSON_VERB)
            || word.len() > 4 && word.ends_with("ed")
            || ACTS.contains(&word);
        let passive = matches!(word, "was" | "is") && PASSIVES.contains(&after);
        strong
            || passive && self.listed(at)
            || self.listed(at) && self.opens(at) && (to || verb && !self.is(at, CLINICAL))
    }

    /// `Visited Kink today`: the word before opens the sentence and is no name.
    fn behind_verb(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else {
            return false;
        };
        let word = self.word(before);
        let verb = word.ends_with("ed")
            || word.ends_with("ing")
            || self.is(before, FUNCTION) && word.len() > 1
            || ["Met", "Saw", "Told", "Spoke", "Seen", "Rang"].contains(&word);
        self.opens(before)
            && self.gap(before) == " "
            && self.lexemes[before].case == Case::Title
            && verb
            && !self.marked(before)
            && !self.is(at, CLINICAL | ABBREVIATION)
            && !self.gap(at).starts_with(':')
    }

    /// `Surgeon: A. Barman`, `Flor J. Prats`.
    fn initialled(&mut self, at: usize) {
        let lexeme = &self.lexemes[at];
        let next = at + 1;
        let dotted = self.gap(at) == ". " || self.gap(at) == ".";
        if lexeme.len() != 1 || !lexeme.capital() || !lexeme.is_word() || !dotted {
            return;
        }
        let labelled =
            at > 0 && self.is(at - 1, PERSON) && matches!(self.gap(at - 1).trim(), ":" | "");
        let named = at > 0 && self.before(at) == " " && self.class(at - 1) == Some(Class::Name);
        let surname = self
            .lexemes
            .get(next)
            .is_some_and(|word| word.is_word() && word.case != Case::Lower && word.len() > 1)
            && !self.is(next, NEVER & !FUNCTION);
        let begins = self.opens(at) || at > 0 && self.is(at - 1, RELATION | PERSON);
        let alone = begins && self.name_ends(next) && !self.is(next, FUNCTION);
        if surname && (labelled || named || alone) {
            self.mark(at, next, Class::Name, Certainty::Guessed);
        }
    }

    /// `noah cook`, `brenda marques`: a name in small letters.
    fn small_pair(&mut self, at: usize) {
        let next = at + 1;
        let small = |at: usize| {
            self.lexemes
                .get(at)
                .is_some_and(|word| word.is_word() && word.case == Case::Lower && word.len() > 1)
        };
        if !small(at) || !small(next) || self.gap(at) != " " || self.marked(next) && self.marked(at)
        {
            return;
        }
        let ends = self.name_ends(next) || self.is(next + 1, PERSON_VERB);
        let cued =
            self.opens(at) || self.is(at - 1, RELATION | PERSON | TITLE) && self.gap(at - 1) == " ";
        let never = NEVER & !TITLE;
        let unknown =
            self.class(at) == Some(Class::Name) && !self.is(next, never) && self.listed(next);
        let behind =
            self.class(next) == Some(Class::Name) && self.is(at, GIVEN) && !self.is(at, never);
        let both = self.is(at, GIVEN)
            && !self.is(at, never)
            && self.listed(next)
            && !self.is(next, never)
            && cued;
        if ends && (unknown || both || behind && cued) {
            self.mark(at, next, Class::Name, Certainty::Guessed);
        }
    }

    /// `RAY HALL` in a line that is not all in capitals.
    fn shouted_pair(&mut self, at: usize) {
        let next = at + 1;
        let upper = |at: usize| {
            self.lexemes
                .get(at)
                .is_some_and(|word| word.is_word() && word.case == Case::Upper && word.len() > 1)
        };
        let may = |at: usize| {
            self.marked(at)
                || !self.is(at, NEVER & !FUNCTION | ABBREVIATION)
                || self.is(at, GIVEN | SURNAME) && !self.is(at, TITLE | CREDENTIAL | PERSON)
        };
        if !upper(at) || !upper(next) || self.gap(at) != " " || !may(at) || !may(next) {
            return;
        }
        let known = |at: usize| self.class(at) == Some(Class::Name) || self.listed(at);
        let shouting = at > 0 && upper(at - 1) && self.gap(at - 1) == " " && !self.marked(at - 1)
            || upper(next + 1) && self.gap(next) == " " && !self.marked(next + 1);
        let heading = self.gap(next).starts_with(':');
        let sure = self.class(at) == Some(Class::Name)
            || self.class(next) == Some(Class::Name)
            || known(at) && known(next);
        if sure && !shouting && !heading {
            self.mark(at, next, Class::Name, Certainty::Guessed);
        }
    }

    /// `May Martinsen`, `Per Aasen`, `Lean Hauer`, `Mats, Milica Burri and`: words before a name.
    fn before_name(&mut self, at: usize) {
        let next = at + 1;
        if self.marked(at)
            || self.class(next) != Some(Class::Name)
            || self.lexemes[at].case != Case::Title
            || !self.lexemes[at].is_word()
            || !self.lexemes[next].capital()
        {
            return;
        }
        let stop = CREDENTIAL | TITLE | WEEKDAY | PERSON | RELATION | INSTITUTION | PERSON_VERB;
        let spare = self.is(at, stop) || self.lexemes[at].len() < 2;
        let given = self.is(at, GIVEN) && self.gap(at) == " " && !spare;
        let listing = self.gap(at) == ", "
            && self.opens(at)
            && !self.is(at, NEVER | CLINICAL | ABBREVIATION)
            && (self.listed(at) || self.is(next, GIVEN) || !self.is(next, SAFE))
            && (self.listed(at) || self.is(next + 1, FUNCTION) || self.marked(next + 1));
        if given || listing {
            self.mark(at, at, Class::Name, Certainty::Guessed);
            self.joined[at] |= given;
        }
    }
}
