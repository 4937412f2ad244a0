//! Addresses as wholes: what stands between their parts, before their first and behind their last.
//!
//! Every country writes "street", "number" and "district" in words of its own. Instead of knowing
//! them all, a few words and numbers between two parts of one address are taken for parts of it.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::Case;
use crate::words::{
    CREDENTIAL, DATE_CUE, DRUG, FUNCTION, GIVEN, INSTITUTION, MONTH, PARTICLE, PERSON, PERSON_VERB,
    RELATION, SAFE, SURNAME, TITLE, UNIT, WEEKDAY,
};

/// More words than this between two parts are a text of their own.
const WIDEST: usize = 5;

impl Finder<'_> {
    /// Marks what lies between, before and behind the parts of an address.
    pub(super) fn bridges(&mut self) {
        self.hyphenated();
        for at in 0..self.len() {
            if self.anchor(at) {
                self.kind_of_place(at);
                self.counted(at);
                self.bridge(at);
                self.region(at);
            }
        }
        for at in (0..self.len()).rev() {
            if self.anchor(at) {
                self.ahead(at);
            }
        }
    }

    /// `Comblain-au-Pont`, `Grand-Axhe`: of one word with hyphens all parts are marked or none.
    fn hyphenated(&mut self) {
        let mut at = 0;
        while at < self.len() {
            let first = at;
            while at + 1 < self.len()
                && at - first < WIDEST
                && matches!(self.gap(at), "-" | "--")
                && self.lexemes[at].is_word()
                && self.lexemes[at + 1].is_word()
            {
                at += 1;
            }
            let parts = first..=at;
            let town = parts
                .clone()
                .any(|part| self.anchor(part) && self.lexemes[part].capital());
            let written = parts.clone().all(|part| {
                self.marked(part)
                    || self.lexemes[part].case == Case::Title
                    || part > first && self.lexemes[part].len() <= 4
            });
            if first < at
                && town
                && written
                && self.lexemes[first].capital()
                && self.lexemes[at].capital()
            {
                let class = parts
                    .clone()
                    .find_map(|part| self.class(part))
                    .unwrap_or(Class::Place);
                self.mark(first, at, class, Certainty::Guessed);
            }
            at += 1;
        }
    }

    fn anchor(&self, at: usize) -> bool {
        matches!(
            self.class(at),
            Some(Class::Place | Class::Name | Class::Other)
        )
    }

    /// Whether a gap may lie inside an address.
    fn inner(&self, at: usize) -> bool {
        let gap = self.gap(at);
        let lines = gap.matches('\n').count();
        let plain = gap.len() <= 4 && !gap.contains([':', ';', '|', '"', '=', '?', '!', '*', '_']);
        let sentence = gap.starts_with('.')
            && gap.len() > 1
            && self.lexemes[at].len() > 5
            && self.is(at + 1, SAFE);
        plain && lines <= 1 && !sentence
    }

    /// Whether a number counts or measures something.
    fn measures(&self, at: usize) -> bool {
        let gap = self.gap(at);
        self.is(at + 1, UNIT) && matches!(gap, " " | "-" | "")
            || gap.starts_with(['%', ':'])
            || gap.starts_with(" %")
            || gap == "/" && self.is(at + 2, UNIT)
            || self.is(at + 1, PERSON_VERB) && gap == " "
    }

    /// Whether an unmarked word may be a part of an address that has parts on both sides.
    fn bridging(&self, at: usize) -> bool {
        let lexeme = &self.lexemes[at];
        if lexeme.has_digit() {
            return lexeme.len() <= 8 && !self.measures(at);
        }
        let stop = TITLE | PERSON | RELATION | MONTH | WEEKDAY | CREDENTIAL | DRUG | INSTITUTION;
        if lexeme.word.is(PARTICLE) {
            return true;
        }
        if lexeme.capital() {
            let label =
                lexeme.case == Case::Upper && (self.find_label(at) || lexeme.word.is(DATE_CUE));
            let function = lexeme.word.is(FUNCTION) && lexeme.len() > 1;
            return !(label || function || lexeme.word.is(stop));
        }
        let short = lexeme.len() <= 4 && !lexeme.word.is(UNIT) || lexeme.len() == 1;
        !lexeme.word.is(stop | FUNCTION | PERSON_VERB | DATE_CUE)
            && !self.find_label(at)
            && (short || !lexeme.word.is(SAFE))
    }

    /// Marks up to the next part of the same address.
    fn bridge(&mut self, at: usize) {
        let mut next = at + 1;
        let mut steps = 0;
        while next < self.len() && !self.marked(next) {
            let words = !self.inner(next - 1) || !self.bridging(next);
            if words || steps == WIDEST {
                return;
            }
            steps += 1;
            next += 1;
        }
        if steps == 0 || next >= self.len() || !self.anchor(next) || !self.inner(next - 1) {
            return;
        }
        let place = |at: usize| self.class(at) == Some(Class::Place);
        let numbered = (at + 1..next).any(|part| self.lexemes[part].has_digit());
        let strange = |at: usize| self.lexemes[at].foreign;
        let sure = place(at) && place(next)
            || (place(at) || place(next)) && (steps <= 2 || numbered)
            || strange(at) && strange(next)
            || numbered && (strange(at) || strange(next));
        let coded = |at: usize| place(at) && self.lexemes[at].has_digit();
        let crossing = (at..next).any(|part| self.gap(part).contains('\n'))
            && !(place(at) && place(next) || coded(at) || coded(next));
        if sure && !crossing {
            self.mark(at + 1, next - 1, Class::Place, Certainty::Guessed);
            self.joined[at] = true;
            self.joined[next - 1] = true;
        }
    }

    /// "Oğuz ray., Qobu k.": a shortened word behind a name.
    fn kind_of_place(&mut self, at: usize) {
        let next = at + 1;
        let Some(lexeme) = self.lexemes.get(next) else {
            return;
        };
        let place = self.class(at) == Some(Class::Place);
        let by = place && matches!(self.word(next), "by" | "By") && self.closes(next)
            || (place || lexeme.foreign || self.lexemes[at].foreign)
                && lexeme.case == Case::Title
                && self.closes(next)
                && !lexeme.word.is(FUNCTION
                    | TITLE
                    | PERSON
                    | RELATION
                    | MONTH
                    | WEEKDAY
                    | CREDENTIAL);
        let shortened = lexeme.case == Case::Lower
            && lexeme.len() <= 4
            && matches!(self.gap(next), "., " | ".," | ".\n")
            && !lexeme.word.is(FUNCTION | PERSON | RELATION | CREDENTIAL);
        if self.gap(at) == " " && !self.marked(next) && lexeme.is_word() && (by || shortened) {
            self.mark(next, next, Class::Place, Certainty::Guessed);
            self.joined[at] = true;
        }
    }

    /// Marks the numbers behind a part, with the short words that say what they count.
    fn counted(&mut self, at: usize) {
        let mut end = at;
        let strange = self.strange(at);
        let place = self.class(at) == Some(Class::Place);
        loop {
            let next = end + 1;
            if next >= self.len() || self.marked(next) || !self.inner(end) {
                return;
            }
            let gap = self.gap(end);
            let number = |at: usize| {
                self.lexemes
                    .get(at)
                    .is_some_and(|lexeme| lexeme.has_digit() && lexeme.len() <= 6)
                    && !self.measures(at)
            };
            let lexeme = &self.lexemes[next];
            if number(next) {
                let closed = self.closes(next) || self.counted_on(next);
                let long = lexeme.len() != 2;
                let near = gap != " " || closed || strange;
                let listed = gap == ", "
                    && (long
                        || self.gap(next).starts_with('\n')
                        || self.lexemes.get(next + 1).is_some_and(|behind| {
                            self.gap(next) == ", " && (behind.capital() || behind.has_digit())
                        }));
                if !(strange && near || place || closed && (listed || end > at)) {
                    return;
                }
                end = next;
            } else if lexeme.is_word()
                && lexeme.len() <= 5
                && !lexeme.word.is(FUNCTION | MONTH | UNIT | PERSON_VERB) | (lexeme.len() == 1)
                && number(next + 1)
                && matches!(self.gap(next), ". " | "." | " " | " # " | "° " | "-")
                && (gap != " " || strange || place)
                && (self.gap(next).starts_with(['.', '\u{b0}']) || lexeme.capital() || strange)
                && (strange || place)
            {
                end = next + 1;
            } else {
                return;
            }
            self.mark(at + 1, end, Class::Place, Certainty::Guessed);
            self.joined[at] = true;
        }
    }

    /// Whether a shortened word and another number follow: `548 Of. 8707`.
    fn counted_on(&self, at: usize) -> bool {
        self.gap(at) == " "
            && self
                .lexemes
                .get(at + 1)
                .is_some_and(|next| next.is_word() && next.case == Case::Title && next.len() <= 5)
            && self.gap(at + 1) == ". "
            && self
                .lexemes
                .get(at + 2)
                .is_some_and(|next| next.has_digit())
    }

    /// Whether a part, or one that it goes on from, is written as the language writes nothing.
    fn strange(&self, at: usize) -> bool {
        let mut part = at;
        for _ in 0..4 {
            let lexeme = &self.lexemes[part];
            let guessed = self.marks[part].is_some_and(|m| m.certainty == Certainty::Guessed);
            let unknown = guessed && !lexeme.word.is(SAFE | GIVEN | SURNAME);
            if lexeme.foreign
                || unknown
                || lexeme.is_word() && lexeme.case == Case::Lower && guessed && lexeme.len() > 2
            {
                return true;
            }
            if part == 0
                || !self.marked(part - 1)
                || !matches!(self.gap(part - 1), " " | ". " | ", " | "-")
            {
                return false;
            }
            part -= 1;
        }
        false
    }

    /// Whether a clause or line ends behind a word.
    fn closes(&self, at: usize) -> bool {
        let gap = self.gap(at);
        at + 1 == self.len()
            || gap.starts_with([',', '\n', '.', ';', ')', '|'])
            || matches!(gap, " |" | " | " | " / " | " (" | " - ")
    }

    /// `/ SP`, `(BE)`, `, NT`: the letters of a region behind a place.
    fn region(&mut self, at: usize) {
        let next = at + 1;
        if next >= self.len() || self.marked(next) {
            return;
        }
        let lexeme = &self.lexemes[next];
        let letters =
            lexeme.is_word() && lexeme.case == Case::Upper && (2..=3).contains(&lexeme.len());
        let gap = self.gap(at);
        let coded = self.marked(next + 1) && self.lexemes[next + 1].has_digit();
        let struck = matches!(gap, " / " | "/") && lexeme.len() == 2;
        let numbered = (at.saturating_sub(5)..at)
            .any(|part| self.marked(part) && self.lexemes[part].has_digit());
        if letters
            && (!lexeme.word.is(CREDENTIAL) || struck && numbered || coded)
            && !self.find_label(next)
            && (struck
                || gap == ", "
                    && (self.class(at) == Some(Class::Place) && self.closes(next) || coded))
        {
            self.mark(next, next, Class::Place, Certainty::Guessed);
            self.joined[at] = true;
        }
    }

    /// `8725 rang Lussier`, `PO Box 3`, `TP. Huế`: what begins an address.
    fn ahead(&mut self, at: usize) {
        let Some(before) = at.checked_sub(1) else {
            return;
        };
        if self.marked(before) || !self.inner(before) {
            return;
        }
        let lexeme = &self.lexemes[before];
        let gap = self.gap(before);
        let place = self.class(at) == Some(Class::Place);
        let stop = FUNCTION | TITLE | PERSON | RELATION | UNIT | MONTH | WEEKDAY | PERSON_VERB;
        let number = |at: usize| {
            self.lexemes
                .get(at)
                .is_some_and(|part| part.has_digit() && part.len() <= 6)
        };
        if lexeme.is_word()
            && gap == " "
            && before > 0
            && number(before - 1)
            && self.gap(before - 1) == " "
            && !lexeme.word.is(stop)
            && self.lexemes[at].capital()
            && lexeme.case == Case::Lower
        {
            let mut first = before - 1;
            while first > 0 && matches!(self.gap(first - 1), "/" | "-") && number(first - 1) {
                first -= 1;
            }
            self.mark(first, before, Class::Place, Certainty::Guessed);
            self.joined[before] = true;
            return;
        }
        // "Pot na Labar": a word, a short one, and a place.
        if place
            && gap == " "
            && lexeme.case == Case::Lower
            && lexeme.len() <= 3
            && !lexeme.word.is(FUNCTION & !PARTICLE | UNIT)
            && before > 0
            && self.gap(before - 1) == " "
            && self.lexemes[before - 1].case == Case::Title
            && !self.is(before - 1, stop)
        {
            self.mark(before - 1, before, Class::Place, Certainty::Guessed);
            self.joined[before] = true;
            return;
        }
        let strange = self.lexemes[at].foreign;
        let initial = lexeme.len() == 1 && lexeme.capital() && gap == "." && (strange || place);
        let house = lexeme.has_digit()
            && lexeme.len() <= 6
            && (gap == " " && (strange || place) || gap == "/" || gap == "-" && (place || strange));
        let box_letters = lexeme.is_word()
            && lexeme.case == Case::Upper
            && !lexeme.word.is(CREDENTIAL | UNIT)
            && !self.find_label(before)
            && lexeme.len() <= 3
            && (gap == " " && place && self.is(at, crate::words::ROOM)
                || matches!(gap, ". " | ".") && (place || strange));
        let short = lexeme.is_word()
            && lexeme.case == Case::Title
            && lexeme.len() <= 5
            && matches!(gap, ". " | "." | "' ")
            && place
            && !lexeme.word.is(stop)
            && !self.lexemes[at].word.is(SAFE);
        // "Saint- Tessier", "L' Robert", "Guy -sur-Mer".
        let cut = lexeme.is_word()
            && lexeme.case == Case::Title
            && matches!(gap, "- " | "' " | " -" | "--")
            && (lexeme.len() == 1
                || lexeme.word.is(crate::words::TOWN_FIRST)
                || gap == " -" && place);
        if house && !self.measures(before) || box_letters || short || cut || initial {
            self.mark(before, before, Class::Place, Certainty::Guessed);
            self.joined[before] = true;
        }
    }
}
