//! Addresses as wholes: what stands between their parts, before their first and behind their last.
//!
//! Every country writes "street", "number" and "district" in words of its own. Instead of knowing
//! them all, a few words and numbers between two parts of one address are taken for parts of it.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::Case;
use crate::words::{
    ABBREVIATION, CREDENTIAL, DATE_CUE, DRUG, FUNCTION, INSTITUTION, MONTH, PARTICLE, PERSON,
    PERSON_VERB, RELATION, ROOM, SAFE, TITLE, TOWN_FIRST, UNIT, WEEKDAY,
};

/// More words than this between two parts are a text of their own.
const WIDEST: usize = 5;

impl Finder<'_> {
    /// Marks what lies between, before and behind the parts of an address.
    pub(super) fn bridges(&mut self) {
        self.hyphenated();
        for at in 0..self.len() {
            // What each of these marks begins with the next word.
            if self.anchor(at) && !self.marked(at + 1) {
                self.kind_of_place(at);
                self.article(at);
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
            if !self.gap(at).starts_with('-') {
                at += 1;
                continue;
            }
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
                && (self.lexemes[first].capital() || self.lexemes[first].len() == 1)
                && (self.lexemes[at].capital() || self.suffix(at))
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

    /// `Setagaya-ku`: a few letters behind a hyphen.
    fn suffix(&self, at: usize) -> bool {
        let lexeme = &self.lexemes[at];
        lexeme.len() <= 3 && !lexeme.word.is(FUNCTION | UNIT | PERSON_VERB)
            || lexeme.len() == 4 && !lexeme.word.is(SAFE)
    }

    /// Whether a gap may lie inside an address.
    pub(super) fn inner(&self, at: usize) -> bool {
        let gap = self.gap(at);
        if matches!(gap, " " | ", " | "-") {
            return true;
        }
        let lines = gap.matches('\n').count();
        let plain = gap.len() <= 4 && !gap.contains([':', ';', '|', '"', '=', '?', '!', '*', '_']);
        let sentence = gap.starts_with('.')
            && gap.len() > 1
            && self.lexemes[at].len() > 5
            && self.is(at + 1, SAFE);
        plain && lines <= 1 && !sentence
    }

    /// Whether a number counts or measures something.
    pub(super) fn measures(&self, at: usize) -> bool {
        let gap = self.gap(at);
        self.is(at + 1, UNIT) && matches!(gap, " " | "-" | "")
            || gap.starts_with(['%', ':'])
            || gap.starts_with(" %")
            || gap == "/" && self.is(at + 2, UNIT)
    }

    /// Whether an unmarked word may be a part of an address that has parts on both sides.
    fn bridging(&self, at: usize) -> bool {
        let lexeme = &self.lexemes[at];
        if lexeme.has_digit() {
            return lexeme.len() <= 8 && !self.measures(at);
        }
        let stop = TITLE | PERSON | RELATION | MONTH | WEEKDAY | CREDENTIAL | DRUG | INSTITUTION;
        let joint = lexeme.len() == 1
            && lexeme.is_word()
            && self.lexemes.get(at + 1).is_some_and(|next| next.foreign);
        if lexeme.word.is(PARTICLE)
            || joint
            || matches!(self.word(at), "off" | "near" | "opposite" | "behind")
        {
            return true;
        }
        if lexeme.capital() {
            let label =
                lexeme.case == Case::Upper && (self.find_label(at) || lexeme.word.is(DATE_CUE));
            let function = lexeme.word.is(FUNCTION) && lexeme.len() > 1;
            return !(label || function || lexeme.word.is(stop));
        }
        let short = lexeme.len() <= 4 && !lexeme.word.is(UNIT) || lexeme.len() == 1;
        !lexeme
            .word
            .is(stop | FUNCTION | PERSON_VERB | DATE_CUE | ROOM)
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
        let house = (next + 1..self.len().min(next + 4))
            .take_while(|&part| self.marked(part))
            .any(|part| self.lexemes[part].has_digit());
        let particles = (at + 1..next).all(|part| {
            let word = &self.lexemes[part];
            self.gap(part) == " "
                && word.case == Case::Lower
                && (word.word.is(PARTICLE) || word.len() <= 3)
                && (!word.word.is(FUNCTION & !PARTICLE)
                    || steps == 1 && word.len() == 1 && self.lexemes[next].foreign)
        }) && self.gap(at) == " "
            && self.lexemes[at].capital()
            && self.lexemes[next].capital();
        // "12 Ogui Road, off Marina".
        let near = steps == 1
            && place(at)
            && self.gap(at) == ", "
            && self.gap(at + 1) == " "
            && self.lexemes[next].capital()
            && matches!(
                self.word(at + 1),
                "off" | "near" | "opposite" | "behind" | "opp"
            );
        let sure = near
            || particles
            || house && steps == 1 && self.gap(at) == " " && self.gap(next - 1) == " "
            || place(at) && place(next)
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

    /// "San Ana los altos": an article and a word that the language has too.
    fn article(&mut self, at: usize) {
        let (article, word) = (at + 1, at + 2);
        let trailing = self.is(article, PARTICLE)
            && !self.is(article, FUNCTION)
            && self.lexemes[article].len() > 2
            && self.lexemes[article].case == Case::Lower;
        if trailing && self.gap(at) == " " && !self.marked(article) && self.closes(article) {
            self.mark(article, article, Class::Name, Certainty::Guessed);
            self.joined[at] = true;
            return;
        }
        let small = |at: usize| {
            self.lexemes
                .get(at)
                .is_some_and(|part| part.is_word() && part.case == Case::Lower)
        };
        if word < self.len()
            && self.gap(at) == " "
            && self.gap(article) == " "
            && !self.marked(article)
            && self.lexemes[at].capital()
            && small(article)
            && small(word)
            && self.is(article, PARTICLE)
            && self.lexemes[article].len() > 1
            && !self.is(article, FUNCTION)
            && (self.closes(word) || at > 0 && self.is(at - 1, TOWN_FIRST))
        {
            self.mark(article, word, Class::Place, Certainty::Guessed);
            self.joined[at] = true;
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
            && (matches!(self.gap(next), "., " | ".,")
                || self.gap(next).starts_with(".\n")
                || self.gap(next).starts_with(".."))
            && !lexeme.word.is(FUNCTION | PERSON | RELATION | CREDENTIAL);
        // "Cara Dušana bb": letters in the place of a number.
        let letters = lexeme.case == Case::Lower
            && lexeme.len() == 2
            && self.lexemes[at].capital()
            && self.closes(next)
            && !lexeme
                .word
                .is(FUNCTION | SAFE | UNIT | PERSON | RELATION | ABBREVIATION);
        let behind = by || shortened || letters;
        if self.gap(at) == " " && !self.marked(next) && lexeme.is_word() && behind {
            self.mark(next, next, Class::Place, Certainty::Guessed);
            self.joined[at] = true;
        }
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
            && (gap == " "
                && self.closes(next)
                && lexeme.len() == 2
                && self.lexemes[at].case == Case::Title
                && !lexeme.word.is(UNIT)
                || struck
                || gap == ", "
                    && (self.class(at) == Some(Class::Place) && self.closes(next) || coded))
        {
            self.mark(next, next, Class::Place, Certainty::Guessed);
            self.joined[at] = true;
        }
    }
}
