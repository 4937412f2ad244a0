//! Addresses grow to their ends: what is written like a part of one beside a part that is known.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::Case;
use crate::words::{
    ABBREVIATION, CREDENTIAL, DRUG, FUNCTION, INSTITUTION, MONTH, PARTICLE, PERSON, RELATION, SAFE,
    STREET, TITLE, UNIT, WEEKDAY,
};

/// More words than this are no address.
const LONGEST: usize = 12;

impl Finder<'_> {
    /// Lets every part of an address that holds a number take in its neighbours.
    pub(super) fn addresses(&mut self) {
        for at in 0..self.len() {
            if self.class(at) != Some(Class::Place) {
                continue;
            }
            let mut first = at;
            while first > 0
                && at - first < LONGEST
                && self.part(first - 1, self.gap(first - 1), true)
            {
                first -= 1;
            }
            let mut last = at;
            while last + 1 < self.len()
                && last - at < LONGEST
                && self.part(last + 1, self.gap(last), false)
            {
                last += 1;
            }
            let number = |part: usize| {
                self.lexemes[part].has_digit() && self.class(part) == Some(Class::Place)
            };
            if first < last && (first..=last).any(number) {
                self.mark(first, last, Class::Place, Certainty::Guessed);
            }
        }
    }

    /// Whether a word, beyond a gap, may belong to an address.
    fn part(&self, at: usize, gap: &str, left: bool) -> bool {
        let lexeme = &self.lexemes[at];
        let near = matches!(gap, " " | "-" | "/" | "'" | "." | "");
        let listed = matches!(
            gap,
            ", " | "," | ". " | " - " | " / " | " # " | " #" | " (" | ") " | "' "
        );
        let line = gap.trim_matches(' ') == "\n" || gap == ",\n" || gap == ".\n";
        if !(near || listed || line) {
            return false;
        }
        if let Some(class) = self.class(at) {
            let name = class == Class::Name && (near || gap == ", ") && lexeme.capital();
            return matches!(class, Class::Place | Class::Other) || name;
        }
        if lexeme.has_digit() {
            let measured = self.is(at + 1, UNIT) && matches!(self.gap(at), " " | "-" | "");
            let follows = self.gap(at).starts_with(['%', ':']);
            return lexeme.len() <= 6
                && !measured
                && !follows
                && (near || listed && !gap.starts_with('.'));
        }
        let stop = FUNCTION
            | CREDENTIAL
            | TITLE
            | MONTH
            | WEEKDAY
            | PERSON
            | RELATION
            | INSTITUTION
            | DRUG;
        let opens =
            left && self.opens(at) && !self.is(at + 1, STREET | PARTICLE) && self.is(at, SAFE);
        let label = self.gap(at).starts_with([':', '=']) || self.find_label(at);
        let written = match lexeme.case {
            Case::Title => !lexeme.word.is(stop),
            Case::Upper => !lexeme.word.is(stop | ABBREVIATION) || lexeme.len() <= 2 && listed,
            Case::Lower | Case::Other => false,
        };
        let sentence = gap == ". " && lexeme.word.is(SAFE) && !left && !self.is(at, STREET);
        let placed = near || !left && !line || left && gap == ", " && !self.is(at, SAFE);
        written && !opens && !label && !sentence && placed
    }
}
