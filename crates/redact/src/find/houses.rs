//! The numbers of houses: behind a street, before it, or alone above a line.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::Case;
use crate::words::{
    CREDENTIAL, FUNCTION, Flag, GIVEN, MONTH, PARTICLE, PERSON, PERSON_VERB, PLACE_CUE, RELATION,
    ROOM, SAFE, SURNAME, TITLE, TOWN_FIRST, UNIT, WEEKDAY,
};

/// What stands before an address and is no part of it.
const OUTSIDE: Flag = FUNCTION | TITLE | PERSON | RELATION | UNIT | MONTH | WEEKDAY | PERSON_VERB;

impl Finder<'_> {
    /// Marks the numbers behind a part, with the short words that say what they count.
    pub(super) fn counted(&mut self, at: usize) {
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
            let dotted = lexeme.case == Case::Title && lexeme.len() <= 4 && self.gap(next) == ". ";
            if number(next) {
                let closed = self.closes(next) || self.counted_on(next);
                let long = lexeme.len() != 2;
                let near = gap != " " || closed || strange;
                let led = matches!(gap, " " | ", ")
                    && end == at
                    && (self.led_to(at) || self.counted_on(next));
                let listed = gap == ", "
                    && (long
                        || self.gap(next).starts_with('\n')
                        || self.lexemes.get(next + 1).is_some_and(|behind| {
                            self.gap(next) == ", " && (behind.capital() || behind.has_digit())
                        }));
                if !(strange && near || place || led || closed && (listed || end > at)) {
                    return;
                }
                end = next;
            } else if self.titled_count(end, place)
                || lexeme.is_word()
                    && lexeme.len() <= 5
                    && !lexeme.word.is(FUNCTION | MONTH | UNIT | PERSON_VERB) | (lexeme.len() == 1)
                    && (number(next + 1) || place && self.letter(next + 1))
                    && matches!(self.gap(next), ". " | "." | " " | " # " | "° " | "-")
                    && (gap != " " || strange || place || dotted)
                    && (self.gap(next).starts_with(['.', '\u{b0}']) || lexeme.capital() || strange)
                    && (strange
                        || place
                        || lexeme.case == Case::Title
                            && lexeme.len() <= 4
                            && self.gap(next) == ". ")
            {
                end = next + 1;
            } else {
                return;
            }
            self.mark(at + 1, end, Class::Place, Certainty::Guessed);
            self.joined[at] = true;
        }
    }

    /// Whether a single capital stands where a number would.
    fn letter(&self, at: usize) -> bool {
        self.lexemes
            .get(at)
            .is_some_and(|part| part.is_word() && part.len() == 1 && part.capital())
            && self.gap(at).starts_with([',', '\n', '.', ')'])
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

    /// `302 Interior 717`: a word and a number behind the number of a house.
    fn titled_count(&self, at: usize, place: bool) -> bool {
        let next = at + 1;
        place
            && self.gap(at) == " "
            && self.lexemes[at].has_digit()
            && self.lexemes[next].is_word()
            && self.lexemes[next].case == Case::Title
            && self.gap(next) == " "
            && self
                .lexemes
                .get(next + 1)
                .is_some_and(|number| number.has_digit() && number.len() <= 6)
            && self.closes(next + 1)
    }

    /// `68, Buch Ganj`, `No. 25, Jalan Ledang`, `92` above `Chaudhuri Nagar`: a number that stands
    /// alone before a place's name.
    fn leading_number(&self, at: usize, name: usize) -> bool {
        let first = self.number_start(at);
        let alone = self.before(first).contains(['\n', '(', '|', ',', '"'])
            || self.before(first).starts_with(':')
            || first == 0
            || self.lexemes[first - 1].case == Case::Title
                && (self.gap(first - 1) == " " && !self.find_label(first - 1)
                    || self.lexemes[first - 1].len() == 1 && self.gap(first - 1).starts_with('.'))
            || self.is(first - 1, PLACE_CUE | FUNCTION)
            || self.lexemes[first].is_word();
        self.lexemes[at].has_digit()
            && self.lexemes[at].len() <= 6
            && matches!(self.gap(at), ", " | "\n" | ",\n")
            && self.lexemes[name].is_word()
            && self.lexemes[name].capital()
            && !self.is(name, TITLE | PERSON | RELATION)
            && alone
    }

    /// Whether a word says that a number follows: `No. 5`.
    pub(super) fn sign(&self, at: usize) -> bool {
        matches!(self.gap(at), ". " | "." | " ")
            && self
                .lexemes
                .get(at)
                .is_some_and(|lexeme| (2..=3).contains(&lexeme.len()))
            && ["no", "nr", "num", "nro"]
                .iter()
                .any(|sign| self.word(at).eq_ignore_ascii_case(sign))
    }

    /// Where a number begins, with the parts and the "No." before it.
    fn number_start(&self, at: usize) -> usize {
        let mut first = at;
        while first > 0 && at - first < 5 {
            let before = first - 1;
            let gap = self.gap(before);
            let kind = self.sign(first)
                && self.lexemes[before].case == Case::Title
                && !self.find_label(before)
                && (gap == " " || gap == ".");
            let part = matches!(gap, "-" | "/") && self.lexemes[before].len() <= 5;
            if !(kind
                || part && !self.marked(before)
                || self.sign(before) && self.lexemes[first].has_digit())
            {
                break;
            }
            first = before;
        }
        first
    }

    /// Whether "from", "in" or the like stands before the name that a word ends.
    fn led_to(&self, at: usize) -> bool {
        let mut first = at;
        while first > 0
            && at - first < 4
            && self.marked(first - 1)
            && matches!(self.gap(first - 1), " " | ". " | "-")
        {
            first -= 1;
        }
        first > 0 && self.is(first - 1, PLACE_CUE) && self.lexemes[first - 1].case == Case::Lower
    }

    /// Whether a part, or one that it goes on from, is written as the language writes nothing.
    fn strange(&self, at: usize) -> bool {
        let mut part = at;
        for _ in 0..4 {
            let lexeme = &self.lexemes[part];
            let guessed = self.marks[part].is_some_and(|m| m.certainty == Certainty::Guessed);
            let unknown = !lexeme.word.is(SAFE | GIVEN | SURNAME);
            if lexeme.foreign
                || unknown && lexeme.is_word() && lexeme.len() > 1
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

    /// `8725 rang Lussier`, `PO Box 3`, `TP. Huế`: what begins an address.
    pub(super) fn ahead(&mut self, at: usize) {
        let Some(before) = at.checked_sub(1) else {
            return;
        };
        if self.marked(before) || !self.inner(before) {
            return;
        }
        let place = self.class(at) == Some(Class::Place);
        let signed = place && self.sign(before) && self.lexemes[at].has_digit();
        let first = if self.way(before, at) {
            self.number_start(before - 1)
        } else if place && self.small_word(before) {
            before - 1
        } else if signed {
            self.number_start(at)
        } else if self.way_word(before, at) {
            before
        } else if let Some(first) = self.named_number(before, at) {
            first
        } else if self.leading_number(before, at) {
            self.number_start(before)
        } else if self.house(before, at) || self.shortened(before, at) || self.cut(before, at) {
            before
        } else {
            return;
        };
        self.mark(first, before, Class::Place, Certainty::Guessed);
        self.joined[before] = true;
    }

    /// `8725 rang`: a number and a word for a way, before its name.
    fn way(&self, at: usize, name: usize) -> bool {
        let lexeme = &self.lexemes[at];
        let number = at > 0 && self.lexemes[at - 1].has_digit() && self.lexemes[at - 1].len() <= 6;
        number
            && lexeme.is_word()
            && lexeme.case == Case::Lower
            && self.gap(at) == " "
            && self.gap(at - 1) == " "
            && !lexeme.word.is(OUTSIDE)
            && self.lexemes[name].capital()
    }

    /// "Pot na Labar": whether a short word stands behind a capital and before a place.
    fn small_word(&self, at: usize) -> bool {
        let lexeme = &self.lexemes[at];
        at > 0
            && self.gap(at) == " "
            && lexeme.case == Case::Lower
            && lexeme.len() <= 3
            && !lexeme.word.is(FUNCTION & !PARTICLE | UNIT)
            && self.gap(at - 1) == " "
            && self.lexemes[at - 1].case == Case::Title
            && !self.is(at - 1, OUTSIDE)
    }

    /// `41 An der Gaass`: a capitalised word before an article that is marked.
    fn way_word(&self, at: usize, part: usize) -> bool {
        let lexeme = &self.lexemes[at];
        let behind = at > 0 && !self.before(at).starts_with('.');
        lexeme.is_word()
            && lexeme.case == Case::Title
            && self.gap(at) == " "
            && self.lexemes[part].case == Case::Lower
            && self.is(part, PARTICLE)
            && behind
    }

    /// Whether a number, or one letter of it, stands directly before a part.
    fn house(&self, at: usize, part: usize) -> bool {
        let (lexeme, gap) = (&self.lexemes[at], self.gap(at));
        let place = self.class(part) == Some(Class::Place);
        let near = place || self.lexemes[part].foreign;
        let number = lexeme.has_digit()
            && lexeme.len() <= 6
            && (near && matches!(gap, " " | "-") || gap == "/");
        let letter = lexeme.len() == 1
            && lexeme.is_word()
            && gap == "-"
            && place
            && self.lexemes[part].has_digit();
        (number || letter) && !self.measures(at)
    }

    /// `PO Box`, `TP. Huế`, `K.MARKS`, `Of. 12`: whether a few letters stand for a word of a part.
    fn shortened(&self, at: usize, part: usize) -> bool {
        let (lexeme, gap) = (&self.lexemes[at], self.gap(at));
        let place = self.class(part) == Some(Class::Place);
        let near = place || self.lexemes[part].foreign;
        let dot = matches!(gap, ". " | ".");
        let initial = lexeme.len() == 1 && lexeme.capital() && gap == "." && near;
        let letters = lexeme.case == Case::Upper
            && lexeme.len() <= 3
            && !lexeme.word.is(CREDENTIAL | UNIT)
            && !self.find_label(at)
            && (gap == " " && place && self.is(part, ROOM) || dot && near);
        let short = lexeme.case == Case::Title
            && lexeme.len() <= 5
            && (dot || gap == "' ")
            && (place || self.numbered_behind(part))
            && !lexeme.word.is(OUTSIDE)
            && (!self.is(part, SAFE)
                || self.is(part, PARTICLE)
                || dot && self.numbered_behind(part));
        // "zh.k. Mladost 5": small letters with dots.
        let small = lexeme.case == Case::Lower
            && dot
            && (place || self.numbered_behind(part))
            && lexeme.len() <= 4
            && (lexeme.len() <= 2 || !lexeme.word.is(SAFE))
            && !lexeme.word.is(OUTSIDE);
        lexeme.is_word() && (initial || letters || short || small)
    }

    /// "Saint- Tessier", "L' Robert", "Guy -sur-Mer".
    fn cut(&self, at: usize, part: usize) -> bool {
        let (lexeme, gap) = (&self.lexemes[at], self.gap(at));
        let elided = lexeme.len() == 1 && gap == "' " && self.lexemes[part].capital();
        let written = lexeme.case == Case::Title
            && matches!(gap, "- " | "' " | " -" | "--")
            && (lexeme.len() == 1
                || lexeme.word.is(TOWN_FIRST)
                || gap == " -" && self.class(part) == Some(Class::Place));
        // "Triq il-Kbira": an article with a hyphen.
        let article = lexeme.case == Case::Lower
            && gap == "-"
            && (lexeme.len() == 2 || lexeme.len() == 3 && !lexeme.word.is(SAFE))
            && self.lexemes[part].capital();
        lexeme.is_word() && (elided || written || article)
    }

    /// Whether a number of the same address follows close behind a part.
    fn numbered_behind(&self, part: usize) -> bool {
        (part + 1..self.len().min(part + 5))
            .take_while(|&next| self.marked(next) && self.gap(next - 1).len() <= 2)
            .any(|next| self.lexemes[next].has_digit())
    }

    /// `Stand 39, Church Street`, `1/F, 13 Tai Po Road`: what names the first number of an address.
    fn named_number(&self, at: usize, part: usize) -> Option<usize> {
        let lexeme = &self.lexemes[at];
        let place = self.class(part) == Some(Class::Place);
        let floor = at > 0
            && lexeme.len() == 1
            && lexeme.capital()
            && self.gap(at) == ", "
            && self.gap(at - 1) == "/"
            && self.lexemes[at - 1].has_digit();
        let kind = lexeme.is_word()
            && lexeme.case == Case::Title
            && self.gap(at) == " "
            && self.lexemes[part].has_digit()
            && self.gap(part) == ", "
            && self
                .lexemes
                .get(part + 1)
                .is_some_and(|next| next.capital())
            && self.marked(part + 1)
            && !lexeme.word.is(OUTSIDE)
            && !self.find_label(at);
        (place && (floor || kind)).then(|| at - usize::from(floor))
    }
}
