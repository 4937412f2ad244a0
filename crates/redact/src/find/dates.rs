//! Dates in many forms, and ages over 89.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::{Case, Kind, Lexeme};
use crate::words::{ABBREVIATION, DATE_CUE, DIGIT_WORD, FUNCTION, MONTH, NUMBER_WORD, SAFE, UNIT};

/// What is measured in numbers as high as an old age.
const MEASURED: &[&str] = &[
    "sat",
    "sats",
    "saturation",
    "saturations",
    "saturating",
    "rate",
    "pulse",
    "pressure",
    "glucose",
    "sugar",
    "oxygen",
    "weight",
    "temperature",
    "heart",
    "degrees",
    "percentile",
    "percent",
    "systolic",
    "diastolic",
];

impl Finder<'_> {
    pub(super) fn dates(&mut self) {
        let dated =
            |lexeme: &Lexeme| lexeme.has_digit() | lexeme.word.is(MONTH | NUMBER_WORD | DIGIT_WORD);
        for at in self.select(dated) {
            if self.marked(at) {
                continue;
            }
            match self.lexemes[at].kind {
                Kind::Number => {
                    self.numeric(at);
                    self.age(at);
                }
                Kind::Word if self.is(at, MONTH) => self.month(at),
                Kind::Word if self.is(at, NUMBER_WORD | DIGIT_WORD) => self.spoken_age(at),
                Kind::Mixed => self.glued(at),
                Kind::Word => {}
            }
        }
    }

    fn figure(&self, at: usize) -> u32 {
        let Some(lexeme) = self.lexemes.get(at) else {
            return u32::MAX;
        };
        if lexeme.kind != Kind::Number || lexeme.len() > 4 {
            return u32::MAX;
        }
        self.word(at).parse().unwrap_or(u32::MAX)
    }

    fn is_year(&self, at: usize) -> bool {
        self.lexemes.get(at).is_some_and(|lexeme| lexeme.len() == 4)
            && (1800..2200).contains(&self.figure(at))
    }

    fn is_day(&self, at: usize) -> bool {
        let number = self.lexemes.get(at).is_some_and(|lexeme| lexeme.len() <= 2);
        number && (1..=31).contains(&self.figure(at)) || self.ordinal(at)
    }

    /// `3rd`, `21st`, `1er`.
    fn ordinal(&self, at: usize) -> bool {
        let Some(lexeme) = self.lexemes.get(at) else {
            return false;
        };
        let word = self.word(at);
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        lexeme.kind == Kind::Mixed
            && (1..=2).contains(&digits)
            && ["st", "nd", "rd", "th", "er", "o", "a", "e"]
                .iter()
                .any(|ending| word[digits..].eq_ignore_ascii_case(ending))
    }

    /// `03/12/1984`, `1984-03-12`, `12.3.84`, `3/12`.
    fn numeric(&mut self, at: usize) {
        let gap = self.gap(at);
        let separator = gap.trim();
        if !matches!(separator, "/" | "-" | "." | "\\") || gap.len() > 3 {
            return;
        }
        let (first, second) = (self.figure(at), self.figure(at + 1));
        let three = at + 2 < self.len()
            && self.gap(at + 1).trim() == separator
            && self.gap(at + 1).len() <= 3;
        if three {
            let third = self.figure(at + 2);
            let short = (1..=31).contains(&first)
                && (1..=31).contains(&second)
                && (first <= 12 || second <= 12);
            let small =
                self.lexemes[at + 2].len() == 2 && third < 100 && self.lexemes[at].len() <= 2;
            let iso = self.is_year(at) && (1..=12).contains(&second) && (1..=31).contains(&third);
            let odd = self.is_year(at) && (1..=31).contains(&second) && (1..=12).contains(&third);
            let spelled = (1..=31).contains(&first) && self.is(at + 1, MONTH);
            if short && (self.is_year(at + 2) || small) || iso || odd || spelled {
                self.mark(at, at + 2, Class::Date, Certainty::Likely);
            }
            // The time behind a date in one piece: 2024-03-12T08:30:00Z.
            return;
        }
        if (1..=31).contains(&first) && self.is(at + 1, MONTH) && separator != "." {
            return;
        }
        let month_year = (1..=12).contains(&first) && self.is_year(at + 1)
            || self.is_year(at) && (1..=12).contains(&second);
        let day = (1..=12).contains(&first) && (1..=31).contains(&second)
            || (1..=31).contains(&first) && (1..=12).contains(&second);
        let cued = at > 0 && self.is(at - 1, DATE_CUE) && !self.before(at).contains('\n');
        let measured = self.is(at + 2, UNIT) && self.gap(at + 1) == " ";
        if (month_year && separator != ".") || (day && separator == "/" && cued && !measured) {
            self.mark(at, at + 1, Class::Date, Certainty::Likely);
        }
    }

    /// `20240312T083000`, `12Mar2024`, `1984年3月12日`.
    fn glued(&mut self, at: usize) {
        let word = self.word(at);
        if !word.is_ascii() {
            if word.contains(['年', '月', '日', '년', '월', '일']) {
                self.mark(at, at, Class::Date, Certainty::Likely);
            }
            return;
        }
        if self.is_day_time(at) {
            // `2024-03-12T08`: the day and the hour are one run.
            let (year, month) = (at.wrapping_sub(2), at.wrapping_sub(1));
            if at >= 2 && self.is_year(year) && self.gap(year) == "-" && self.gap(month) == "-" {
                let last = (at..self.len())
                    .take_while(|&next| next == at || self.before(next) == ":")
                    .last();
                self.mark(year, last.unwrap_or(at), Class::Date, Certainty::Likely);
                return;
            }
        }
        let letters = word.trim_matches(|c: char| c.is_ascii_digit());
        let lead = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if letters.bytes().all(|b| b.is_ascii_alphabetic())
            && lead <= 2
            && crate::words::look_up(letters).is(MONTH)
        {
            self.mark(at, at, Class::Date, Certainty::Likely);
        } else if self.ordinal(at) && self.is(at + 1, MONTH) {
            self.month(at + 1);
        }
    }

    /// `12T08`.
    fn is_day_time(&self, at: usize) -> bool {
        let bytes = self.word(at).as_bytes();
        bytes.len() >= 4
            && bytes[0].is_ascii_digit()
            && bytes[1].is_ascii_digit()
            && bytes[2].eq_ignore_ascii_case(&b't')
    }

    /// Takes the day and the year around a month's name.
    fn month(&mut self, month: usize) {
        let word = self.word(month);
        let (mut first, mut last) = (month, month);
        // Before: "12", "12.", "12th of", "the fifth of", "12 de", "Lunes 12 de".
        let mut at = month;
        for _ in 0..3 {
            if at == 0 || self.gap(at - 1).len() > 3 || self.gap(at - 1).contains('\n') {
                break;
            }
            at -= 1;
            if self.is_day(at) || self.is_year(at) || self.is(at, NUMBER_WORD | DIGIT_WORD) {
                first = at;
            } else if !matches!(self.word(at), "of" | "de" | "del" | "the") {
                break;
            }
        }
        let mut at = month;
        for step in 0..7 {
            let gap = self.gap(at);
            if at + 1 >= self.len() || gap.len() > 3 || gap.contains('\n') && step > 0 {
                break;
            }
            at += 1;
            let number = self.is_day(at) || self.is_year(at);
            let short_year = self.lexemes[at].len() == 2
                && self.figure(at) < 100
                && (self.before(at).contains('\'') || first < month);
            let spoken = self.is(at, NUMBER_WORD | DIGIT_WORD);
            if number || short_year || spoken {
                last = at;
            } else if !matches!(self.word(at), "of" | "de" | "del" | "the" | "and" | "th") {
                break;
            }
        }
        let alone = first == last;
        let written = self.lexemes[month].capital() || first < month;
        let ambiguous = self.is(month, FUNCTION)
            || matches!(
                word,
                "march" | "set" | "mar" | "mag" | "gen" | "out" | "feb" | "ago"
            );
        if !alone && written || (!alone && !ambiguous && word.len() > 2) {
            self.mark(first, last, Class::Date, Certainty::Likely);
        } else if alone
            && self.lexemes[month].capital()
            && word.len() > 3
            && !ambiguous
            && !self.is(month, crate::words::GIVEN)
            || alone && month > 0 && self.is(month - 1, DATE_CUE) && self.lexemes[month].capital()
        {
            self.mark(month, month, Class::Date, Certainty::Guessed);
        }
    }

    /// A number over 89 that is an age.
    fn age(&mut self, at: usize) {
        let number = self.figure(at);
        if !(90..=125).contains(&number) || !self.ages(at, at) {
            return;
        }
        self.mark(at, at, Class::Age, Certainty::Likely);
    }

    /// "ninety-two years old".
    fn spoken_age(&mut self, at: usize) {
        if !["ninety", "hundred"]
            .iter()
            .any(|word| self.word(at).eq_ignore_ascii_case(word))
        {
            return;
        }
        let mut last = at;
        while last - at < 4
            && self.is(last + 1, NUMBER_WORD | DIGIT_WORD)
            && self.gap(last).len() <= 1
        {
            last += 1;
        }
        if self.ages(at, last) {
            self.mark(at, last, Class::Age, Certainty::Likely);
        }
    }

    /// Whether the words around a number say that it is an age.
    fn ages(&self, first: usize, last: usize) -> bool {
        let after: Vec<&str> = (last + 1..self.len().min(last + 4))
            .map(|at| self.word(at))
            .collect();
        let years = after.first().is_some_and(|word| {
            ["year", "years", "yo", "yr", "yrs", "y"]
                .iter()
                .any(|known| word.eq_ignore_ascii_case(known))
        });
        let of_age = after.iter().skip(1).any(|word| {
            ["old", "o", "age", "male", "female", "man", "woman"]
                .iter()
                .any(|known| word.eq_ignore_ascii_case(known))
        });
        let sex = self.gap(last).is_empty()
            || matches!(after.first().copied(), Some("F" | "M" | "male" | "female"));
        let before = first > 0
            && (1..=3).any(|back| {
                first >= back
                    && ["age", "aged", "ages", "turned", "turning", "edad"]
                        .iter()
                        .any(|known| self.word(first - back).eq_ignore_ascii_case(known))
            });
        // "93 years, from": so long lasts nothing else but smoking and distances.
        let old = years
            && first > 0
            && ![
                "for", "over", "about", "than", "past", "last", "next", "in", "pack",
            ]
            .contains(&self.word(first - 1))
            && !after
                .get(1)
                .is_some_and(|word| matches!(*word, "ago" | "later" | "before" | "since"));
        // "died at 97", "Amsel, 93, fell", "(97)" behind a name.
        let died = first > 1
            && self.word(first - 1) == "at"
            && ["died", "dies", "deceased", "passed"].contains(&self.word(first - 2));
        let named = first > 0
            && self.lexemes[first - 1].capital()
            && self.lexemes[first - 1].is_word()
            && !self.is(first - 1, SAFE)
            && (self.before(first) == ", " && self.gap(last).starts_with([',', '.', ';'])
                || self.before(first) == " (" && self.gap(last).starts_with([')', ',']));
        // "alive at 91": so high a number stands for an age unless something was measured.
        let reached = first > 1
            && matches!(self.word(first - 1), "at" | "reached" | "nearly" | "almost")
            && self.closes(last)
            && !(first.saturating_sub(5)..first).any(|at| {
                self.is(at, ABBREVIATION) && self.lexemes[at].case == Case::Upper
                    || MEASURED.contains(&self.word(at))
            });
        died || named
            || reached
            || old
            || (years && (of_age || after[0].eq_ignore_ascii_case("yo")))
            || before
            || (sex && after.first().is_some_and(|w| w.len() <= 6))
    }
}
