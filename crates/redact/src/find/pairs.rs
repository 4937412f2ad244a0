//! Names of two words, of which one is a word of the language: the other one, initials, capitals
//! and neighbours tell.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::Case;
use crate::words::{
    ABBREVIATION, CLINICAL, CREDENTIAL, FUNCTION, GIVEN, INSTITUTION, MONTH, NEVER, PERSON,
    PERSON_VERB, RELATION, SAFE, SURNAME, TITLE, WEEKDAY,
};

impl Finder<'_> {
    /// `Surgeon: A. Barman`, `Flor J. Prats`.
    pub(super) fn initialled(&mut self, at: usize) {
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

    /// `Ja'far`: what an apostrophe joins is one name.
    pub(super) fn apostrophe(&mut self, at: usize) {
        let next = at + 1;
        let ending = next < self.len()
            && matches!(
                self.word(next),
                "s" | "t" | "d" | "ll" | "re" | "ve" | "m" | "S"
            );
        let first = self.lexemes[at].case == Case::Title && !self.marked(at);
        if first && self.gap(at) == "'" && !ending && self.class(next) == Some(Class::Name) {
            self.mark(at, next, Class::Name, Certainty::Guessed);
        }
        if self.class(at) == Some(Class::Name)
            && self.gap(at) == "'"
            && !ending
            && self
                .lexemes
                .get(next)
                .is_some_and(|word| word.is_word() && word.case == Case::Lower)
        {
            self.mark(next, next, Class::Name, Certainty::Guessed);
            self.joined[at] = true;
        }
    }

    /// `noah cook`, `brenda marques`: a name in small letters.
    pub(super) fn small_pair(&mut self, at: usize) {
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
        let ends = self.name_ends(next)
            || self.gap(next) == " " && self.is(next + 1, PERSON_VERB | FUNCTION);
        let cued =
            self.opens(at) || self.is(at - 1, RELATION | PERSON | TITLE) && self.gap(at - 1) == " ";
        let never = NEVER & !TITLE;
        let unknown = self.class(at) == Some(Class::Name)
            && !self.is(next, never)
            && (self.listed(next) || cued && self.name_ends(next) && self.lexemes[next].len() > 2);
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
    pub(super) fn shouted_pair(&mut self, at: usize) {
        let next = at + 1;
        let upper = |at: usize| {
            self.lexemes
                .get(at)
                .is_some_and(|word| word.is_word() && word.case == Case::Upper && word.len() > 1)
        };
        let cued = at > 0
            && self.gap(at - 1) == " "
            && ["by", "with", "from", "to", "for", "of", "and"].contains(&self.word(at - 1));
        let may = |at: usize| {
            self.marked(at)
                || !self.is(at, NEVER & !FUNCTION | ABBREVIATION)
                || cued && !self.is(at, NEVER)
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
    pub(super) fn before_name(&mut self, at: usize) {
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
        let prefix = self.gap(at) == " "
            && !spare
            && !self.lexemes[next].word.is(SAFE)
            && (self.name_ends(next) || self.is(next + 1, PERSON_VERB))
            && !self.verbal(at)
            && (!self.is(at, NEVER | CLINICAL) && self.opens(at)
                || !self.is(at, NEVER) && self.lexemes[next].foreign && self.name_ends(next)
                || at > 0 && self.gap(at - 1) == ": " && !self.is(at, FUNCTION)
                || at > 0 && self.is(at - 1, PERSON | RELATION) && self.gap(at - 1) == " "
                || at > 0
                    && self.is(at, FUNCTION)
                    && self.gap(at - 1) == " "
                    && self.lexemes[at - 1].case == Case::Lower);
        if given || listing || prefix {
            self.mark(at, at, Class::Name, Certainty::Guessed);
            self.joined[at] |= !listing;
        }
    }

    /// `Jasmijn Room,`: whatever closes a name behind a word that is nothing but a name.
    pub(super) fn closing(&mut self, at: usize) {
        let next = at + 1;
        let alone = at == 0 || !self.marked(at - 1) || self.gap(at - 1) != " ";
        if self.class(at) == Some(Class::Name)
            && alone
            && self.lexemes[at].case == Case::Title
            && !self.is(at, SAFE)
            && self.gap(at) == " "
            && !self.marked(next)
            && (self.title_word(next) && !self.is(next, ABBREVIATION)
                || self
                    .lexemes
                    .get(next)
                    .is_some_and(|word| word.case == Case::Title && word.len() > 2)
                    && self.is(next, MONTH | FUNCTION))
            && (self.name_ends(next)
                || self
                    .lexemes
                    .get(next + 1)
                    .is_some_and(|word| word.case == Case::Lower)
                    && self.gap(next) == " "
                    && self.is(next + 1, PERSON_VERB | FUNCTION))
            && !self.verbal(next)
        {
            self.mark(next, next, Class::Name, Certainty::Guessed);
            self.joined[at] = true;
        }
    }
}
