//! Numbers by their form: telephone, social security, cards, vehicles, accounts, spelled digits;
//! and in the safe mode every number that nothing explains.

mod checks;

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::{Case, Kind};
use crate::words::{ABBREVIATION, DIGIT_WORD, NUMBER_WORD, SAFE, UNIT};

/// No number has more groups; what goes on is looked at anew.
const MOST_GROUPS: usize = 12;

impl Finder<'_> {
    pub(super) fn numbers(&mut self) {
        let mut at = 0;
        while at < self.len() {
            let word = self.lexemes[at].is_word() && self.lexemes[at].case != Case::Upper;
            let coded = self.manner.safe && !word;
            if coded && self.plate(at) {
                at += 2;
                continue;
            }
            let kind = self.lexemes[at].kind;
            let last = match kind {
                _ if self.marked(at) => at,
                Kind::Number => self.group(at),
                Kind::Mixed => self.mixed(at),
                Kind::Word if self.is(at, DIGIT_WORD) => self.spelled(at),
                Kind::Word => at,
            };
            at = last + 1;
        }
    }

    /// `LGX 217`, `776 OG0`, `4TV 143`, `C45-70Q`: two groups of letters and digits that measure
    /// nothing and that no abbreviation explains.
    fn plate(&mut self, at: usize) -> bool {
        let next = at + 1;
        if next >= self.len()
            || self.marked(at)
            || self.marked(next)
            || !matches!(self.gap(at), " " | "-")
        {
            return false;
        }
        let (one, other) = (&self.lexemes[at], &self.lexemes[next]);
        if one.len() > 8
            || other.len() > 8
            || self.measures(next)
            || one.word.is(SAFE | UNIT)
            || other.word.is(SAFE | UNIT)
        {
            return false;
        }
        let letters = |at: usize| {
            self.lexemes[at].case == Case::Upper
                && self.lexemes[at].is_word()
                && (2..=3).contains(&self.lexemes[at].len())
                && !self.is(at, ABBREVIATION)
        };
        let digits = |at: usize| {
            self.lexemes[at].kind == Kind::Number && (2..=4).contains(&self.lexemes[at].len())
        };
        let written = |at: usize| {
            self.word(at)
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        };
        let mixed = |at: usize| self.lexemes[at].kind == Kind::Mixed && written(at);
        let leads = |at: usize| mixed(at) && self.word(at).as_bytes()[0].is_ascii_digit();
        let trails = |at: usize| {
            mixed(at)
                && self
                    .word(at)
                    .bytes()
                    .take_while(u8::is_ascii_uppercase)
                    .count()
                    == 2
        };
        let cell = matches!(self.word(next).get(..2), Some("CD" | "IL"));
        let found = letters(at) && digits(next)
            || digits(at) && letters(next) && self.lexemes[at].len() == 3
            || leads(at) && (digits(next) || mixed(next))
            || mixed(at) && leads(next)
            || self.lexemes[at].kind == Kind::Number
                && self.gap(at) == "-"
                && leads(next)
                && self.lexemes[next].len() >= 4
            || digits(at) && trails(next) && !cell
            || trails(at) && digits(next) && !matches!(self.word(at).get(..2), Some("CD" | "IL"));
        if found {
            self.mark(at, next, Class::Vehicle, Certainty::Guessed);
        }
        found
    }

    /// Judges a number with the groups that go on with it; the last of them.
    fn group(&mut self, first: usize) -> usize {
        let mut last = first;
        let mut dots = 0;
        while last + 1 < self.len()
            && last - first < MOST_GROUPS
            && (self.lexemes[last + 1].kind == Kind::Number || self.extension(last + 1))
            && !self.marked(last + 1)
        {
            match self.gap(last) {
                "-" | " " | ") " | " (" | "(" | ")" | ")-" | " - " | "- " | " -" => {}
                "" | " x" | " ext " | " ext. " => {}
                "." => dots += 1,
                "/" if last == first && self.lexemes[last + 1].len() >= 5 => {}
                "/" if self.lexemes[last + 1].len() >= 3
                    && matches!(self.gap(last + 1), "-" | " ")
                    && self
                        .lexemes
                        .get(last + 2)
                        .is_some_and(|next| next.kind == Kind::Number && next.len() >= 3) => {}
                _ => break,
            }
            last += 1;
        }
        let groups = last - first + 1;
        let digits: String = (first..=last).map(|at| self.word(at)).collect();
        let dashed =
            groups >= 3 && digits.len() >= 6 && (first..last).all(|at| self.gap(at) == "-");
        if groups > 1 && !dashed && (self.reading(first, last, dots) || digits.len() < 7) {
            return self.single(first);
        }
        if groups == 1 {
            return self.single(first);
        }
        let shape: Vec<usize> = (first..=last).map(|at| self.lexemes[at].len()).collect();
        let plus = self.before(first).ends_with(['+', '(']) || digits.starts_with("00");
        let class = match shape[..] {
            [3, 2, 4] if checks::social_security(&digits) => Class::Ssn,
            [6, 4] => Class::Ssn,
            _ if digits.len() >= 13 && !plus && checks::luhn(&digits) => Class::Account,
            _ if digits.len() <= 15 => Class::Phone,
            _ => Class::Other,
        };
        self.mark(first, last, class, Certainty::Likely);
        last
    }

    /// `x895`, `3024x895`: the end of a telephone number.
    fn extension(&self, at: usize) -> bool {
        let word = self.word(at);
        let parts = word.split_once(['x', 'X']);
        parts.is_some_and(|(number, extension)| {
            let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            digits(number) && digits(extension) && extension.len() >= 2
        })
    }

    /// Whether numbers in a row are measures: decimals, pressures, or small values with spaces.
    fn reading(&self, first: usize, last: usize, dots: usize) -> bool {
        let decimal = dots == 1
            && last == first + 1
            && self.lexemes[first].len() + self.lexemes[last].len() < 7;
        let spaced = (first..last).all(|at| self.gap(at) == " ");
        let small = (first..=last).all(|at| self.lexemes[at].len() <= 3);
        let few = last - first < 2;
        decimal || (spaced && small && few) || (self.is(last + 1, UNIT) && few && dots < 2)
    }

    /// Judges a number of one group.
    fn single(&mut self, at: usize) -> usize {
        let word = self.word(at);
        let plus = self.before(at).ends_with('+');
        let grouped = self.gap(at) == ","
            && self
                .lexemes
                .get(at + 1)
                .is_some_and(|next| next.kind == Kind::Number && next.len() == 3)
            || self.before(at) == "," && word.len() == 3;
        let measured = self.measured(at);
        let class = match word.len() {
            0..=3 => return at,
            _ if grouped => return at,
            4 if plain_year(word) || measured || !self.manner.safe => return at,
            4 if self.gap(at) == "." || self.before(at) == "." || self.clock(at) => return at,
            4 => Class::Other,
            5..=6 if measured => return at,
            5..=6 => Class::Other,
            8 if checks::compact_date(word) => Class::Date,
            9 if checks::social_security(word) => Class::Ssn,
            10..=12 if plus => Class::Phone,
            10 if checks::npi(word) => Class::Licence,
            13..=19 if checks::luhn(word) => Class::Account,
            10..=12 => Class::Phone,
            _ => Class::Other,
        };
        let certainty = if word.len() < 7 {
            Certainty::Guessed
        } else {
            Certainty::Likely
        };
        if self.manner.safe || word.len() >= 7 {
            self.mark(at, at, class, certainty);
        }
        at
    }

    /// Whether a unit follows a number.
    fn measured(&self, at: usize) -> bool {
        let gap = self.gap(at);
        gap.starts_with('%')
            || gap.starts_with(" %")
            || gap.starts_with('°')
            || (matches!(gap, " " | "" | "-")
                && self.is(at + 1, UNIT)
                && self.lexemes[at + 1].case != crate::lex::Case::Title)
    }

    /// `at 0830`, `0830 hours`.
    fn clock(&self, at: usize) -> bool {
        let word = self.word(at);
        let time = word.get(..2).is_some_and(|hour| hour < "24")
            && word.get(2..).is_some_and(|minute| minute < "60");
        let cued = at > 0 && ["at", "by", "until", "around", "time"].contains(&self.word(at - 1));
        time && cued
    }

    /// Judges a run of letters and digits.
    fn mixed(&mut self, at: usize) -> usize {
        let word = self.word(at);
        if self.lexemes[at].word.is(crate::words::SAFE)
            || self.manner.safe_words.contains(&word.to_lowercase())
        {
            return at;
        }
        if checks::vehicle(word) {
            self.mark(at, at, Class::Vehicle, Certainty::Certain);
            return at;
        }
        let mut last = at;
        while last + 1 < self.len()
            && last - at < MOST_GROUPS
            && self.lexemes[last + 1].has_digit()
            && matches!(self.gap(last), " " | "-")
            && !self.marked(last + 1)
        {
            last += 1;
        }
        let joined: String = (at..=last).map(|part| self.word(part)).collect();
        if checks::iban(&joined) {
            self.mark(at, last, Class::Account, Certainty::Certain);
            return last;
        }
        if !harmless(word) && (self.manner.safe || word.len() >= 8) {
            self.mark(at, at, Class::Other, Certainty::Guessed);
        }
        at
    }

    /// "five five five, oh one two three": at least four digits spoken in a row.
    fn spelled(&mut self, first: usize) -> usize {
        let mut last = first;
        let mut count = 1;
        while last + 1 < self.len()
            && self.is(last + 1, DIGIT_WORD | NUMBER_WORD)
            && matches!(self.gap(last), " " | "-" | ", " | " - ")
        {
            last += 1;
            count += 1;
        }
        if count >= 4 {
            self.mark(first, last, Class::Other, Certainty::Likely);
        }
        last
    }

    /// Codes of letters and digits in groups: `AB-1234-X`, `SW1A 1AA`, `1234 AB`.
    pub(super) fn codes(&mut self) {
        for number in 0..self.telling.len() {
            let at = self.telling(number);
            if at + 1 == self.len() {
                break;
            }
            let (one, two) = (&self.lexemes[at], &self.lexemes[at + 1]);
            if !(one.has_digit() || two.has_digit()) {
                continue;
            }
            let capitals = |lexeme: &crate::lex::Lexeme| {
                lexeme.is_word()
                    && self.text[lexeme.start()..lexeme.end()]
                        .bytes()
                        .all(|b| b.is_ascii_uppercase())
            };
            let gap = self.gap(at);
            let dutch = one.kind == Kind::Number
                && one.len() == 4
                && gap == " "
                && capitals(two)
                && two.len() == 2
                && !self.is(at + 1, UNIT);
            let dashed = gap == "-"
                && (capitals(one) && one.len() <= 5 && two.has_digit() && two.len() >= 3
                    || one.has_digit() && one.len() >= 3 && capitals(two) && two.len() <= 5);
            let spaced = gap == " "
                && capitals(one)
                && !self.find_label(at)
                && one.len() <= 3
                && two.kind == Kind::Number
                && two.len() >= 4;
            let long = dashed && two.kind == Kind::Number && two.len() >= 4;
            let british = gap == " "
                && one.kind == Kind::Mixed
                && outward(self.word(at))
                && inward(self.word(at + 1));
            let thirds = gap == " "
                && (one.kind, two.kind) == (Kind::Mixed, Kind::Mixed)
                && (one.len(), two.len()) == (3, 3)
                && alternating(self.word(at), false)
                && alternating(self.word(at + 1), true);
            let irish = gap == " "
                && (one.kind, two.kind) == (Kind::Mixed, Kind::Mixed)
                && (one.len(), two.len()) == (3, 4)
                && outward(self.word(at))
                && outward(self.word(at + 1));
            if dutch || british || thirds || irish {
                self.mark(at, at + 1, Class::Place, Certainty::Likely);
            } else if (dashed && (long || !self.is(at, ABBREVIATION)))
                || (spaced && self.marked(at + 1))
            {
                self.mark(at, at + 1, Class::Other, Certainty::Likely);
            }
        }
    }
}

/// The first half of a British postal code: `SW1A`.
fn outward(word: &str) -> bool {
    (2..=4).contains(&word.len())
        && word.as_bytes()[0].is_ascii_alphabetic()
        && word
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

/// The halves of a Canadian postal code: letter, digit, letter; or the other way round.
fn alternating(word: &str, digit_first: bool) -> bool {
    word.bytes().enumerate().all(|(at, byte)| {
        if (at % 2 == 0) == digit_first {
            byte.is_ascii_digit()
        } else {
            byte.is_ascii_uppercase()
        }
    })
}

/// Its second half: `1AA`.
fn inward(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() == 3 && bytes[0].is_ascii_digit() && bytes[1..].iter().all(u8::is_ascii_uppercase)
}

/// A year that may stand by itself.
fn plain_year(word: &str) -> bool {
    matches!(word.get(..2), Some("18" | "19" | "20"))
}

/// Whether letters and digits together are of medicine: doses, vertebrae, codes of diseases.
fn harmless(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let lead = word.bytes().take_while(u8::is_ascii_digit).count();
    let tail = &word[lead..];
    if lead > 0 && tail.bytes().all(|b| b.is_ascii_alphabetic()) {
        let unit = crate::words::look_up(tail).is(UNIT) && lead <= 5;
        return unit || (lead <= 2 && tail.len() <= 2);
    }
    word.len() <= 3 || (digits <= 2 && word.len() <= 5)
}
