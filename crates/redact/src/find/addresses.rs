//! Addresses grow to their ends: what is written like a part of one beside a part that is known.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::Case;
use crate::words::{
    ABBREVIATION, DRUG, FUNCTION, MONTH, NEVER, PARTICLE, PERSON, RELATION, SAFE, STREET, TITLE,
    UNIT, WEEKDAY,
};

/// More words than this are no address.
const LONGEST: usize = 12;

impl Finder<'_> {
    /// Lets every part of an address that holds a number take in its neighbours.
    pub(super) fn addresses(&mut self) {
        for at in 0..self.len() {
            let code = self.class(at) == Some(Class::Other)
                && self.lexemes[at].has_digit()
                && self.lexemes[at].len() <= 5;
            if self.class(at) != Some(Class::Place) && !code {
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
                (self.lexemes[part].has_digit() || self.numberless(part))
                    && (self.class(part) == Some(Class::Place) || part == at)
            };
            if first < last && (first..=last).any(number) {
                self.mark(first, last, Class::Place, Certainty::Guessed);
            }
        }
    }

    /// Whether a line, from a word of it on, is written like a line of an address: names and
    /// numbers only. To the left, a number is enough to begin with.
    fn whole_line(&self, at: usize, left: bool) -> bool {
        let stop = FUNCTION | TITLE | MONTH | WEEKDAY | PERSON | RELATION | DRUG | ABBREVIATION;
        let mut part = at;
        for _ in 0..7 {
            let lexeme = &self.lexemes[part];
            let place = self.class(part) == Some(Class::Place);
            if left && lexeme.has_digit() && place {
                return true;
            }
            let region = lexeme.case == Case::Upper && lexeme.len() == 2;
            let written =
                lexeme.capital() && !lexeme.word.is(stop) || region || lexeme.word.is(PARTICLE);
            if !(self.marked(part) || lexeme.has_digit() || written) {
                return false;
            }
            let gap = if left {
                self.before(part)
            } else {
                self.gap(part)
            };
            let edge = if left {
                part == 0
            } else {
                part + 1 == self.len()
            };
            if edge || gap.contains('\n') {
                return !gap.contains(':');
            }
            if !matches!(gap, " " | "-" | "'" | ". " | ", " | "/" | " / " | ".") {
                return false;
            }
            part = if left { part - 1 } else { part + 1 };
        }
        false
    }

    /// Whether a word is short enough to be the first letters of another: `Cl.`, `R.`.
    fn short(&self, at: usize) -> bool {
        let lexeme = &self.lexemes[at];
        lexeme.is_word() && lexeme.case == Case::Title && lexeme.len() <= 4
    }

    /// Whether a short word stands before a number of the address: `m. 5`, `nr 12`.
    fn counts(&self, at: usize, gap: &str) -> bool {
        let lexeme = &self.lexemes[at];
        let number = |next: usize| {
            self.lexemes
                .get(next)
                .is_some_and(|part| part.has_digit() && part.len() <= 5)
                && !self.is(next + 1, UNIT)
        };
        let counted = matches!(self.gap(at), ". " | "." | " " | "-" | " # ") && number(at + 1);
        lexeme.is_word()
            && lexeme.len() <= 4
            && matches!(gap, ", " | " " | "/" | " / " | "., " | "\n")
            && counted
            && (!lexeme.word.is(FUNCTION | MONTH | UNIT)
                || lexeme.case == Case::Title && self.gap(at) == ". ")
    }

    /// Whether it is the end of `S/N`, which says that a house has no number.
    pub(super) fn numberless(&self, at: usize) -> bool {
        at > 0 && self.word(at) == "N" && self.word(at - 1) == "S" && self.before(at) == "/"
    }

    /// Whether a word, beyond a gap, may belong to an address.
    fn part(&self, at: usize, gap: &str, left: bool) -> bool {
        let lexeme = &self.lexemes[at];
        let near = matches!(gap, " " | "-" | "/" | "'" | "." | "" | "\u{b0} " | "\u{b0}");
        let listed = matches!(
            gap,
            ", " | "," | ". " | " - " | " / " | " # " | " #" | " (" | ") " | "' " | "), " | "., "
        );
        let line = gap.trim_matches(' ') == "\n" || matches!(gap, ",\n" | ".\n" | ".,\n" | ")\n");
        if !(near || listed || line) {
            return false;
        }
        if let Some(class) = self.class(at) {
            let name = class == Class::Name && gap != ". " && lexeme.capital();
            let code = lexeme.has_digit()
                && lexeme.len() <= 8
                && line
                && matches!(class, Class::Phone | Class::Mrn);
            return matches!(class, Class::Place | Class::Other) || name || code;
        }
        if lexeme.has_digit() {
            let measured = self.is(at + 1, UNIT) && matches!(self.gap(at), " " | "-" | "");
            let follows = self.gap(at).starts_with(['%', ':']);
            return lexeme.len() <= 6
                && !measured
                && !follows
                && (near
                    || line
                    || listed && !gap.starts_with('.')
                    || !left && at > 0 && self.short(at - 1));
        }
        if self.counts(at, gap) || lexeme.len() == 1 && lexeme.capital() && self.gap(at) == "/" {
            return true;
        }
        let stop = NEVER;
        let opens =
            left && self.opens(at) && !self.is(at + 1, STREET | PARTICLE) && self.is(at, SAFE);
        let compound = lexeme.case == Case::Title
            && self.gap(at) == " "
            && self
                .lexemes
                .get(at + 1)
                .is_some_and(|next| next.case == Case::Title);
        let label = self.gap(at).starts_with([':', '=']) || self.find_label(at) && !compound;
        let written = match lexeme.case {
            Case::Title => !lexeme.word.is(stop),
            Case::Upper => !lexeme.word.is(stop | ABBREVIATION) || lexeme.len() <= 2 && listed,
            Case::Lower | Case::Other => false,
        };
        let sentence = gap == ". " && lexeme.word.is(SAFE) && !left && !self.is(at, STREET);
        let particle = near
            && left
            && lexeme.case == Case::Lower
            && lexeme.word.is(PARTICLE)
            && at > 0
            && self.lexemes[at - 1].capital();
        if particle || left && gap == ". " && self.short(at) && !lexeme.word.is(stop) {
            return true;
        }
        let placed = line && self.whole_line(at, left)
            || near
            || !left && !line
            || left && gap == ", " && !self.is(at, SAFE);
        written && !opens && !label && !sentence && placed
    }
}
