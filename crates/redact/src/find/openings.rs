//! Names that are words of the language too, where only their place in the sentence tells.
//!
//! "Walker to review", "Patient Cannon", "Radiology: Miller, Sandy": a list cannot decide these,
//! and a rule is wrong at times. It is wrong on the side of taking a word too many.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::{Case, Lexeme};
use crate::words::{
    ABBREVIATION, CLINICAL, DRUG, FUNCTION, GIVEN, NEVER, PERSON_VERB, RELATION, ROOM, SAFE,
    STREET, SURNAME,
};

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
        let tells = |lexeme: &Lexeme| {
            (lexeme.case != Case::Lower)
                | (lexeme.len() == 1)
                | lexeme.word.is(GIVEN)
                | !lexeme.word.is(SAFE)
        };
        for at in self.select(tells) {
            if self.lexemes[at].len() == 1 {
                self.initialled(at);
            }
            if self.gap(at) == "'" {
                self.apostrophe(at);
            }
            match self.lexemes[at].case {
                Case::Lower => self.small_pair(at),
                Case::Upper => self.shouted_pair(at),
                Case::Title => {
                    self.before_name(at);
                    self.closing(at);
                }
                Case::Other => {}
            }
            if self.marked(at) || !self.title_word(at) {
                continue;
            }
            if self.last_and_first(at) {
                self.mark(at, at + 1, Class::Name, Certainty::Guessed);
            } else if self.spoken_of(at)
                || self.does(at)
                || self.behind_verb(at)
                || self.only_a_name(at)
            {
                self.mark(at, at, Class::Name, Certainty::Guessed);
            }
        }
    }

    /// Whether a word is written as a name is and may be one.
    pub(super) fn title_word(&self, at: usize) -> bool {
        self.lexemes.get(at).is_some_and(|lexeme| {
            lexeme.is_word()
                && lexeme.case == Case::Title
                && lexeme.len() > 1
                && !lexeme.word.is(NEVER)
        })
    }

    pub(super) fn listed(&self, at: usize) -> bool {
        self.is(at, GIVEN | SURNAME)
    }

    /// Whether a list has it as a name and no record is likely to say it otherwise.
    fn only_a_name(&self, at: usize) -> bool {
        self.listed(at)
            && !self.is(at, CLINICAL | ABBREVIATION | STREET | ROOM)
            && !self.gap(at).starts_with([':', '-', '/', '='])
            && (self.gap(at) != " "
                || self.marked(at + 1)
                || self.lexemes.get(at + 1).is_none_or(|next| !next.capital()))
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
            "hi", "hello", "hey", "dear", "absent", "present", "patient", "pt", "resident",
            "client", "mother", "father", "escort", "driver", "carer",
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
        // "Davit, the daughter", "Kit, who".
        if self.gap(at) == ", "
            && self.lexemes.get(next).is_some()
            && (self.word(next) == "who"
                || ["the", "his", "her", "my", "a"].contains(&self.word(next))
                    && self.gap(next) == " "
                    && self.is(next + 1, RELATION))
        {
            return true;
        }
        if self.gap(at) == " ("
            && self.lexemes.get(next).is_some_and(|word| word.capital())
            && self.opens(at)
            && (self.marked(next) || self.listed(at))
        {
            return true;
        }
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
        let third = word.len() >= 4
            && word.ends_with('s')
            && !word.ends_with("ss")
            && !word.ends_with("us");
        let verb = self.is(next, PERSON_VERB)
            || word.len() > 4 && word.ends_with("ed")
            || third
            || ACTS.contains(&word);
        let told = matches!(word, "notified" | "informed" | "told" | "asked" | "aware");
        // "Night shift: Miller restless".
        let labelled =
            at > 0 && self.gap(at - 1) == ": " && self.listed(at) && !self.is(at, CLINICAL);
        let opens = self.opens(at) || at > 0 && self.lexemes[at - 1].has_digit();
        let passive = matches!(word, "was" | "is") && PASSIVES.contains(&after);
        let aware = matches!(word, "informed" | "notified");
        strong
            || aware
            || passive && self.listed(at)
            || labelled
            || self.listed(at)
                && opens
                && (to || told || verb && (!self.is(at, CLINICAL) || self.is(at, GIVEN)))
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
            || ["ist", "ician", "itian", "ists"]
                .iter()
                .any(|ending| word.ends_with(ending))
            || ["Met", "Saw", "Told", "Spoke", "Seen", "Rang"].contains(&word);
        self.opens(before)
            && self.gap(before) == " "
            && self.lexemes[before].case == Case::Title
            && verb
            && !self.marked(before)
            && !self.is(at, CLINICAL | ABBREVIATION)
            && !self.gap(at).starts_with(':')
    }

    /// Whether a word at the start of a sentence may be what somebody does or did.
    pub(super) fn verbal(&self, at: usize) -> bool {
        let word = self.word(at);
        ["ed", "ing", "ly"]
            .iter()
            .any(|ending| word.ends_with(ending))
            || [
                "Met",
                "Saw",
                "Told",
                "Rang",
                "Call",
                "Meet",
                "See",
                "Tell",
                "Ask",
                "Inform",
                "Phone",
                "Contact",
                "Discharge",
                "Send",
                "Give",
            ]
            .contains(&word)
    }
}
