//! Places smaller than a state: streets, rooms, towns, postal codes.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::{Case, Kind, Lexeme};
use crate::words::{
    ABBREVIATION, CLINICAL, FUNCTION, Flag, GIVEN, INSTITUTION, MONTH, PARTICLE, PERSON, PLACE_CUE,
    ROOM, SAFE, STATE, STREET, STREET_FIRST, SURNAME, TOWN_FIRST, WEEKDAY,
};

impl Finder<'_> {
    pub(super) fn places(&mut self) {
        const TELLING: Flag = ROOM | STREET_FIRST | STREET | TOWN_FIRST | STATE | PLACE_CUE;
        let tells = |lexeme: &Lexeme| {
            lexeme.word.is(TELLING)
                | !lexeme.word.is(SAFE)
                | (lexeme.case != Case::Lower)
                | lexeme.has_digit()
                | (lexeme.len() <= 2)
        };
        for at in self.select(tells) {
            if self.is(at, ROOM) {
                self.room(at);
            }
            if self.is(at, STREET_FIRST) {
                self.street_first(at);
            }
            if self.is(at, STREET) {
                self.street(at);
            }
            if self.lexemes[at].is_word() {
                self.compound(at);
            } else {
                self.bare(at);
                self.postal(at);
                self.grid(at);
            }
            if self.numberless(at) && at > 1 && matches!(self.before(at - 1), ", " | " ") {
                self.mark(at - 1, at, Class::Place, Certainty::Likely);
            }
            self.numero(at);
            if self.is(at, TOWN_FIRST) {
                self.town(at);
            }
            if self.is(at, STATE) || self.state_letters(at) {
                self.state(at);
            }
            if self.is(at, PLACE_CUE) {
                self.coded(at);
                self.cued(at);
            }
        }
    }

    /// Whether a word could be part of a place's name.
    pub(super) fn proper(&self, at: usize) -> bool {
        self.lexemes.get(at).is_some_and(|lexeme| {
            (lexeme.is_word() && lexeme.capital() || !lexeme.word.is(SAFE) && lexeme.is_word())
                && !lexeme.word.is(WEEKDAY | MONTH)
        })
    }

    /// `00-123 Warszawa`, `123 45 Kiruna`, `Pune 411 001`: a postal code beside a town.
    fn postal(&mut self, at: usize) {
        let labelled = at > 0
            && ["code", "zip", "postcode", "postal", "pin", "plz", "cp"]
                .iter()
                .any(|label| self.word(at - 1).eq_ignore_ascii_case(label))
            && (self.word(at - 1).len() != 4
                || at > 1
                    && ["postal", "post", "zip"]
                        .iter()
                        .any(|w| self.word(at - 2).eq_ignore_ascii_case(w)));
        if labelled && matches!(self.before(at).trim(), ":" | "|" | "-" | "=" | "") {
            let two = matches!(self.gap(at), " " | "-")
                && self.lexemes.get(at + 1).is_some_and(Lexeme::has_digit);
            self.mark(at, at + usize::from(two), Class::Place, Certainty::Likely);
            return;
        }
        let number = |at: usize, length: usize| {
            self.lexemes
                .get(at)
                .is_some_and(|part| part.kind == Kind::Number && part.len() == length)
        };
        let gap = self.gap(at);
        let last = match gap {
            "-" if number(at, 2) && number(at + 1, 3) || number(at, 4) && number(at + 1, 3) => {
                at + 1
            }
            " " if number(at, 3) && (number(at + 1, 2) || number(at + 1, 3)) => {
                // Between strokes of an address it is a code of its own.
                let placed = at > 0
                    && self.before(at) == " / "
                    && matches!(self.class(at - 1), Some(Class::Place | Class::Name))
                    || at > 0 && self.before(at) == " / " && !self.is(at - 1, SAFE);
                if placed {
                    self.mark(at, at + 1, Class::Place, Certainty::Likely);
                    return;
                }
                at + 1
            }
            _ if number(at, 4) || number(at, 5) || number(at, 6) => at,
            _ => return,
        };
        let beside = |at: usize, gap: &str| {
            matches!(gap, " " | ", " | "\n" | " - " | "-")
                && self.proper(at)
                && !self.is(at, ABBREVIATION | FUNCTION | CLINICAL | PERSON)
        };
        let after = beside(last + 1, self.gap(last));
        let before = at > 0 && beside(at - 1, self.before(at));
        let year =
            number(at, 4) && last == at && matches!(self.word(at).get(..2), Some("19" | "20"));
        if (after || before && last > at || before && !number(at, 4)) && !year {
            self.mark(at, last, Class::Place, Certainty::Likely);
        }
    }

    /// `Lake Anna`, `South Bend`: a town's first word and another capital.
    fn town(&mut self, at: usize) {
        // These also stand before words of medicine.
        const COMMON: &[&str] = &[
            "Point", "Mount", "New", "Old", "Upper", "Lower", "Great", "Little", "Bad",
        ];
        let next = at + 1;
        let title = |at: usize| {
            self.lexemes
                .get(at)
                .is_some_and(|lexeme| lexeme.is_word() && lexeme.case == Case::Title)
        };
        let stop = FUNCTION | MONTH | WEEKDAY | INSTITUTION | PERSON;
        let common = COMMON.contains(&self.word(at));
        if title(at)
            && title(next)
            && matches!(self.gap(at), " " | ". " | "-")
            && !self.is(next, stop)
            && !(common && self.is(next, CLINICAL))
            && (!common || self.is(next, GIVEN | SURNAME) || !self.is(next, SAFE))
            && !self.gap(next).starts_with(':')
        {
            self.mark(at, next, Class::Place, Certainty::Likely);
        }
    }

    /// Two capitals that are followed by a postal code or follow a town.
    pub(super) fn state_letters(&self, at: usize) -> bool {
        let Some(lexeme) = self.lexemes.get(at) else {
            return false;
        };
        let code = self
            .lexemes
            .get(at + 1)
            .is_some_and(|next| next.kind == Kind::Number && (next.len() == 5 || next.len() == 4));
        lexeme.is_word()
            && (2..=3).contains(&lexeme.len())
            && self.word(at).bytes().all(|byte| byte.is_ascii_uppercase())
            && code
            && matches!(self.gap(at), " " | ", " | "  ")
            && self.before(at).contains([',', ' '])
    }

    /// `Springfield, Ohio`, `Springfield, OH 12345`.
    fn state(&mut self, at: usize) {
        let code = self
            .lexemes
            .get(at + 1)
            .is_some_and(|next| next.kind == Kind::Number && next.len() == 5);
        if code && matches!(self.gap(at), " " | ", " | "  ") {
            self.mark(at + 1, at + 1, Class::Place, Certainty::Certain);
            if self.gap(at + 1) == "-"
                && self
                    .lexemes
                    .get(at + 2)
                    .is_some_and(|next| next.kind == Kind::Number && next.len() == 4)
            {
                self.mark(at + 1, at + 2, Class::Place, Certainty::Certain);
            }
        }
        let mut first = at;
        let mut steps = 0;
        while first > 0
            && steps < 3
            && matches!(self.gap(first - 1), ", " | " " | "-" | "' " | "'" | ". ")
            && (steps > 0 || self.gap(first - 1).starts_with(','))
        {
            let before = first - 1;
            if !self.proper(before)
                || self.is(before, FUNCTION)
                || steps > 0 && self.gap(before) == ", "
            {
                break;
            }
            first = before;
            steps += 1;
        }
        if first < at {
            self.mark(first, at - 1, Class::Place, Certainty::Likely);
        }
    }

    /// `from PJU23`: a quarter that has letters and a number for its name.
    fn coded(&mut self, cue: usize) {
        let next = cue + 1;
        let code = self.lexemes.get(next).is_some_and(|lexeme| {
            lexeme.kind == Kind::Mixed
                && self
                    .word(next)
                    .bytes()
                    .take_while(u8::is_ascii_uppercase)
                    .count()
                    >= 2
        });
        let ends = self
            .gap(next.min(self.len() - 1))
            .starts_with([',', '.', ';', ')', '\n'])
            || next + 1 >= self.len()
            || self.gap(next) == " " && self.is(next + 1, FUNCTION);
        if code && self.gap(cue) == " " && ends {
            self.mark(next, next, Class::Place, Certainty::Guessed);
        }
    }

    /// `lives in Bath`, `City: Reading`.
    fn cued(&mut self, cue: usize) {
        let gap = self.gap(cue);
        let preposition = self.is(cue, FUNCTION);
        let living = cue > 0 && self.is(cue - 1, PLACE_CUE) && self.before(cue) == " ";
        let label = gap.starts_with(':') || matches!(gap, " | " | " - " | " = " | "=" | "|");
        if !(matches!(gap, " ") && (!preposition || living) || label && !preposition)
            || cue + 1 >= self.len()
        {
            return;
        }
        let mut last = cue;
        let mut names = 0;
        while last + 1 < self.len()
            && names < 6
            && (last == cue || matches!(self.gap(last), " " | "-" | "'" | ". "))
        {
            let next = last + 1;
            let lexeme = &self.lexemes[next];
            let capital = lexeme.is_word()
                && lexeme.capital()
                && (label || !lexeme.word.is(CLINICAL | WEEKDAY | MONTH | INSTITUTION));
            let inner = names > 0 && lexeme.word.is(PARTICLE) && self.proper(next + 1);
            let number = names == 0 && label && lexeme.has_digit();
            if !capital && !inner && !number
                || lexeme.word.is(STATE) && names == 0
                || names > 0 && self.gap(last).starts_with('.') && lexeme.word.is(SAFE)
            {
                break;
            }
            last = next;
            names += 1;
        }
        if names > 0 && !(names == 1 && self.is(last, FUNCTION | PLACE_CUE)) {
            let last = if label { self.tail(last) } else { last };
            self.mark(cue + 1, last, Class::Place, Certainty::Likely);
        }
    }
}
