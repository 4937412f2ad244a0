//! Streets, houses, rooms: what an address holds besides a town and a code.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::{Case, Kind};
use crate::words::{
    ABBREVIATION, CLINICAL, FUNCTION, INSTITUTION, MONTH, PARTICLE, ROOM, SAFE, STATE, STREET,
    STREET_FIRST, TITLE, TOWN_FIRST, UNIT, WEEKDAY,
};

/// Endings of a street's name in one word, with the languages' own.
const STREET_ENDINGS: &[&str] = &[
    "strasse", "str", "weg", "gasse", "platz", "allee", "ring", "damm", "ufer", "straat", "laan",
    "plein", "kade", "gracht", "dreef", "singel", "hof", "pad", "steeg", "gatan", "vagen", "grand",
    "torget", "gata", "vag", "gade", "vej", "katu", "tie", "utca", "stigen", "backen", "bulevar",
];

impl Finder<'_> {
    /// `room 12`, `Apt. 4B`, `bed C`.
    pub(super) fn room(&mut self, at: usize) {
        let next = at + 1;
        if next >= self.len()
            || !matches!(
                self.gap(at),
                " " | ". " | " #" | ": " | " no. " | "-" | " # "
            )
        {
            return;
        }
        let mut last = next;
        if ["number", "no", "nr"].contains(&self.word(next)) {
            last += 1;
        }
        // `P.O. Box KS 44`.
        let letters = self.lexemes[last.min(self.len() - 1)].case == Case::Upper
            && self.lexemes[last.min(self.len() - 1)].len() <= 3
            && self.gap(last.min(self.len() - 1)) == " "
            && self
                .lexemes
                .get(last + 1)
                .is_some_and(|next| next.kind == Kind::Number && next.len() <= 5);
        last += usize::from(letters);
        let Some(lexeme) = self.lexemes.get(last) else {
            return;
        };
        let letter = lexeme.len() == 1 && lexeme.capital() && !self.is(last + 1, SAFE);
        if (!lexeme.has_digit() && !letter)
            || (self.is(last + 1, UNIT) && self.gap(last) == " ")
            || self.word(at).eq_ignore_ascii_case("unit") && self.is(last + 1, UNIT)
        {
            return;
        }
        while last + 1 < self.len()
            && last - next < 6
            && matches!(self.gap(last), "-" | "/" | "")
            && self.lexemes[last + 1].len() <= 4
        {
            last += 1;
        }
        // A flat is part of an address, its word included; a room's word says nothing.
        let address = [
            "apt",
            "apartment",
            "flat",
            "studio",
            "suite",
            "ste",
            "box",
            "lot",
            "block",
            "bldg",
            "building",
            "unit",
            "house",
            "level",
        ]
        .iter()
        .any(|word| self.word(at).eq_ignore_ascii_case(word));
        let first = if address && self.lexemes[at].capital() {
            at
        } else {
            at + 1
        };
        let last = if first == at {
            self.under(self.tail(last))
        } else {
            last
        };
        self.mark(first, last, Class::Place, Certainty::Likely);
    }

    /// The last word of a line that goes on with an address below a flat's: `Flat 9`, `King Mountains`.
    fn under(&self, flat: usize) -> usize {
        let mut last = flat;
        while last + 1 < self.len()
            && last - flat < 3
            && self.gap(last) == if last == flat { "\n" } else { " " }
            && self.lexemes[last + 1].is_word()
            && self.lexemes[last + 1].case == Case::Title
        {
            last += 1;
        }
        if last + 1 == self.len() || self.gap(last).starts_with(['\n', ',', '.', ';', ')']) {
            last
        } else {
            flat
        }
    }

    /// `123 Old Mill Road`, `4 High St`.
    pub(super) fn street(&mut self, end: usize) {
        let mut first = end;
        let mut names = 0;
        while first > 0 && names < 5 && matches!(self.gap(first - 1), " " | "-" | "'" | ". ") {
            let before = first - 1;
            let lexeme = &self.lexemes[before];
            if lexeme.has_digit() {
                if lexeme.len() > 6
                    || !self.lexemes[end].capital() && (names == 0 || !self.is(end, STREET_FIRST))
                {
                    return;
                }
                let mut number = before;
                while number > 0
                    && before - number < 4
                    && matches!(self.gap(number - 1), "-" | "/")
                    && self.lexemes[number - 1].has_digit()
                {
                    number -= 1;
                }
                let last = self.tail(end);
                self.mark(number, last, Class::Place, Certainty::Likely);
                return;
            }
            let inner = names > 0 && self.is(before, PARTICLE);
            if !(self.proper(before) || inner) {
                break;
            }
            names += 1;
            first = before;
        }
        // Without a number only what is plainly a street's name.
        let plain = [
            "street",
            "avenue",
            "road",
            "boulevard",
            "lane",
            "ave",
            "blvd",
            "rd",
            "highway",
        ];
        if names > 0
            && self.lexemes[end].capital()
            && plain.iter().any(|w| self.word(end).eq_ignore_ascii_case(w))
        {
            let last = self.tail(end);
            self.mark(first, last, Class::Place, Certainty::Likely);
        }
    }

    /// `Calle de Alcalá 12`, `12, rue Monge`, `ul. Polna 5/10`.
    pub(super) fn street_first(&mut self, first: usize) {
        let mut last = first;
        let mut names = 0;
        while last + 1 < self.len()
            && names < 7
            && matches!(self.gap(last), " " | ". " | "-" | "'" | ", " | " #" | ".")
        {
            let next = last + 1;
            if self.lexemes[next].has_digit() && names > 0 {
                if self.is(next + 1, UNIT) && self.gap(next) == " " {
                    return;
                }
                let last = self.tail(next);
                let numbered = usize::from(self.numbered(first));
                self.mark(first - numbered, last, Class::Place, Certainty::Likely);
                return;
            }
            let particle = self.is(next, PARTICLE) && !self.lexemes[next].capital();
            if !self.proper(next) && !particle && !self.is(next, STREET_FIRST | ROOM) {
                break;
            }
            last = next;
            names += 1;
        }
        let numbered = self.numbered(first);
        // Without a number only what is no word of English.
        let foreign = [
            "rue",
            "calle",
            "avenida",
            "rua",
            "ulica",
            "viale",
            "piazza",
            "vicolo",
            "caddesi",
            "sokagi",
            "sokak",
            "mahallesi",
            "cadde",
            "ul",
            "avenue",
            "boulevard",
            "chemin",
            "impasse",
            "allee",
        ];
        let plain = foreign
            .iter()
            .any(|word| self.word(first).eq_ignore_ascii_case(word));
        if names > 0 && (numbered || plain) && self.lexemes[last].capital() {
            let last = self.tail(last);
            self.mark(
                first - usize::from(numbered),
                last,
                Class::Place,
                Certainty::Likely,
            );
        }
    }

    /// Whether a house's number stands before a street.
    fn numbered(&self, first: usize) -> bool {
        first > 0
            && self.lexemes[first - 1].has_digit()
            && self.lexemes[first - 1].len() <= 5
            && matches!(self.gap(first - 1), " " | ", ")
    }

    /// `72 Wright Loaf` where an address would stand.
    pub(super) fn bare(&mut self, at: usize) {
        let mut first = at;
        while first > 0
            && at - first < 3
            && matches!(self.gap(first - 1), "/" | "-")
            && self.lexemes[first - 1].has_digit()
        {
            first -= 1;
        }
        let before = self.before(first);
        let begins =
            before.contains(['\n', ',', '|', '(']) || before.starts_with(':') || self.led(first);
        if !begins || self.lexemes[at].len() > 5 || self.lexemes[at].kind != Kind::Number {
            return;
        }
        let mut last = at;
        while last - at < 4
            && (matches!(self.gap(last), " ")
                || last == at && self.gap(last) == ", " && self.led(first)
                || last > at && self.gap(last) == "-"
                || self.gap(last) == "." && self.lexemes[last].len() == 1)
            && self.proper(last + 1)
            && self.lexemes[last + 1].capital()
        {
            last += 1;
        }
        let ends = self.gap(last).starts_with([',', '\n', '.', ';', ')'])
            || matches!(self.gap(last), " |" | " | " | " / " | " (")
            || last + 1 == self.len();
        let led = self.led(first)
            || before.starts_with(": ")
            || before.contains(['|', '(', '\n'])
            || before == ", " && self.lexemes[first - 1].capital();
        let clinical = (at + 1..=last).any(|part| {
            self.is(part, FUNCTION | TITLE)
                || !led && self.is(part, CLINICAL)
                || self.is(part, ABBREVIATION) && !(led && self.lexemes[part].case == Case::Title)
        });
        if last - at >= 2 && ends && !clinical {
            let last = self.tail(last);
            self.mark(first, last, Class::Place, Certainty::Guessed);
        }
    }

    /// Whether a word before says that a place follows.
    fn led(&self, at: usize) -> bool {
        at > 0
            && [
                "at", "from", "to", "of", "near", "on", "address", "is", "in",
            ]
            .contains(&self.word(at - 1))
    }

    /// `Hauptstraße 12`, `Kerkstraat 5-a`.
    pub(super) fn compound(&mut self, at: usize) {
        let word = self.word(at);
        if word.len() < 6 || !self.lexemes[at].ascii || self.is(at, SAFE) {
            return;
        }
        let last = word.as_bytes().last().map(u8::to_ascii_lowercase);
        let street = STREET_ENDINGS.iter().any(|ending| {
            ending.as_bytes().last().copied() == last
                && word.len() > ending.len() + 2
                && word.as_bytes()[word.len() - ending.len()..]
                    .eq_ignore_ascii_case(ending.as_bytes())
        });
        if !street {
            return;
        }
        let number = self
            .lexemes
            .get(at + 1)
            .is_some_and(|next| next.has_digit() && next.len() <= 5);
        let last = if number && matches!(self.gap(at), " " | ". " | ".") {
            self.tail(at + 1)
        } else {
            at
        };
        let mut first = at;
        while first > 0 && at - first < 4 && self.gap(first - 1) == "-" && self.proper(first - 1) {
            first -= 1;
        }
        self.mark(first, last, Class::Place, Certainty::Likely);
    }

    /// What goes on with an address: numbers, flats, towns, postal codes; the last word of it.
    pub(super) fn tail(&self, from: usize) -> usize {
        let mut last = from;
        let mut lines = 0;
        while last + 1 < self.len() && last - from < 14 {
            let gap = self.gap(last);
            let next = last + 1;
            lines += usize::from(gap.contains('\n'));
            if gap.len() > 4
                || lines > 4
                || self.gap(next).starts_with(':')
                || gap.contains(['(', ';', '"', '|'])
            {
                break;
            }
            let lexeme = &self.lexemes[next];
            let sentence = gap.starts_with('.')
                && gap.len() > 1
                && lexeme.word.is(SAFE)
                && !self.lexemes[last].word.is(STREET | ROOM);
            let joined = matches!(gap, "-" | "/" | "" | "." | "'");
            let number = lexeme.has_digit()
                && lexeme.len() <= 8
                && !(self.is(next + 1, UNIT) && matches!(self.gap(next), " " | "-"));
            let unknown =
                lexeme.is_word() && lexeme.capital() && !lexeme.word.is(SAFE | ABBREVIATION);
            let part = lexeme.is_word()
                && lexeme.capital()
                && gap.len() <= 2
                && !gap.starts_with('.')
                && !lexeme.word.is(FUNCTION | MONTH | WEEKDAY | INSTITUTION)
                && (lexeme.word.is(STREET | ROOM | STATE | TOWN_FIRST) || gap == " ")
                && !gap.contains('\n');
            let town = lexeme.word.is(PARTICLE)
                && !lexeme.capital()
                && self.proper(next + 1)
                && !self.is(next + 1, SAFE);
            let room = lexeme.word.is(ROOM)
                && self
                    .lexemes
                    .get(next + 1)
                    .is_some_and(|n| n.has_digit() || n.len() == 1);
            let letter = lexeme.is_word()
                && lexeme.len() == 1
                && self.lexemes[last].has_digit()
                && (joined || gap == " " && lexeme.capital());
            if sentence
                || !(number
                    || unknown
                    || part
                    || town
                    || room
                    || letter
                    || self.state_letters(next))
            {
                break;
            }
            last = next;
        }
        last
    }
}
