//! How far an address reaches: once one has begun, whatever the language does not know, or what
//! stands where only a part of an address can stand, is taken up to the next clause.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::{Case, Kind, Lexeme};
use crate::words::{
    ABBREVIATION, CLINICAL, CREDENTIAL, DATE_CUE, DRUG, FUNCTION, Flag, MONTH, PARTICLE, PERSON,
    PERSON_VERB, PLACE_CUE, RELATION, ROOM, SAFE, STREET, STREET_FIRST, TITLE, UNIT, WEEKDAY,
};

/// What begins a clause of its own.
pub(super) const CLAUSE: Flag =
    FUNCTION | TITLE | PERSON | RELATION | MONTH | WEEKDAY | CREDENTIAL | DRUG | PERSON_VERB | UNIT;

/// More words than this, on one side, are no address.
pub(super) const FARTHEST: usize = 8;

/// More capitalised words than this behind a comma are no town.
const TOWN: usize = 4;

impl Finder<'_> {
    /// Lets every address take in what stands before and behind it.
    pub(super) fn reach(&mut self) {
        let mut at = 0;
        while at < self.len() {
            if !self.of_address(at) {
                self.behind_date(at);
                if self.lexemes[at].len() <= 3 {
                    self.inside(at);
                }
                if self.lexemes[at].is_word() {
                    self.cell(at);
                    self.led_town(at);
                } else if self.numbered_name(at) {
                    continue;
                }
                at += 1;
                continue;
            }
            let mut last = at;
            let mut numbered = false;
            let mut streets = false;
            loop {
                numbered |= self.lexemes[last].has_digit();
                streets |=
                    self.class(last) == Some(Class::Place) && self.is(last, STREET | STREET_FIRST);
                if !self.of_address(last + 1) || !self.inner(last) {
                    break;
                }
                last += 1;
            }
            // A room's number is no address.
            let alone = at == last || self.gap(at).starts_with('.');
            let room = alone && at > 0 && self.is(at - 1, ROOM) && !self.marked(at - 1);
            let kind = at > 0
                && matches!(self.gap(at - 1), ", " | " ")
                && self.lexemes[at - 1].has_digit()
                && !self.marked(at - 1)
                && self.comes_before(at - 1).is_some();
            numbered |= kind;
            numbered |= self.hyphened(last + 1) && self.gap(last) == " ";
            if (numbered || streets) && !room {
                self.reach_back(at);
                last = self.reach_on(last);
            }
            at = last + 1;
        }
    }

    pub(super) fn of_address(&self, at: usize) -> bool {
        matches!(
            self.class(at),
            Some(Class::Place | Class::Name | Class::Other)
        )
    }

    /// Takes in what stands behind a part; the last word of it.
    fn reach_on(&mut self, from: usize) -> usize {
        let mut last = from;
        while last + 1 < self.len() && last - from < FARTHEST && self.inner(last) {
            let next = last + 1;
            let end = if self.of_address(next) {
                next
            } else if self.marked(next) {
                break;
            } else if self.takes_on(next) {
                next
            } else if self.gap(last).ends_with('\n') && self.lettered(next) {
                next + 1
            } else if let Some(end) = self.town_behind(last) {
                end
            } else {
                break;
            };
            if !self.marked(next) {
                self.mark(next, end, Class::Place, Certainty::Guessed);
                self.joined[last] = true;
            }
            last = end;
        }
        last
    }

    /// Whether an unmarked word goes on with the address that ends before it.
    fn takes_on(&self, at: usize) -> bool {
        let (lexeme, gap) = (&self.lexemes[at], self.before(at));
        let near = matches!(gap, " " | "-" | "/" | "'" | "");
        let listed = matches!(gap, ", " | "," | " - " | " / ");
        if self.gap(at).starts_with(':') || !(near || listed) {
            return false;
        }
        if lexeme.has_digit() {
            return lexeme.len() <= 8
                && !self.measures(at)
                && (near
                    || self.closes(at)
                    || self.gap(at) == " " && self.is_number(at + 1) && self.closes(at + 1));
        }
        if lexeme.is_word() && self.lettered(at - 1) && gap == " " {
            return true;
        }
        let counted = self
            .lexemes
            .get(at + 1)
            .is_some_and(|next| next.has_digit() && next.len() <= 5)
            && !self.measures(at + 1)
            && self.inner(at);
        // "6th floor", "ap. 12".
        if lexeme.word.is(ROOM | STREET) && (counted || self.lexemes[at - 1].has_digit() && near) {
            return true;
        }
        if lexeme.case == Case::Lower && self.small_part(at, counted) {
            return true;
        }
        match lexeme.case {
            Case::Lower | Case::Other => {
                let unknown = !lexeme.word.is(SAFE | CLAUSE | CLINICAL);
                unknown && (near || counted || self.closes(at))
                    || gap == "-" && !lexeme.word.is(CLAUSE)
            }
            Case::Title | Case::Upper => {
                // Behind a postal code even a word of medicine is a town.
                let coded = self.lexemes[at - 1].has_digit() && self.lexemes[at - 1].len() >= 3;
                near && self.of_town(at)
                    && !self.find_label(at)
                    && (!lexeme.word.is(CLINICAL) || coded && self.closes(at))
            }
        }
    }

    /// `gt 69`, `pr.`, `s-kt`, `Broutre fair Rafyv`: a small word of the language where only a part of
    /// an address can stand.
    fn small_part(&self, at: usize, counted: bool) -> bool {
        let lexeme = &self.lexemes[at];
        if !lexeme.is_word() || lexeme.word.is(CLAUSE | PLACE_CUE) || self.before(at) != " " {
            return false;
        }
        let verb = ["ed", "ing", "s"]
            .iter()
            .any(|end| self.word(at).ends_with(end));
        let between = self.gap(at) == " "
            && !verb
            && self.lexemes[at - 1].case == Case::Title
            && self.of_address(at + 1)
            && self.lexemes[at + 1].case == Case::Title;
        let compound = self.hyphened(at);
        compound
            || between
            || lexeme.len() <= 4
                && (self.class(at - 1) == Some(Class::Place)
                    || at > 1
                        && self.gap(at - 2) == " "
                        && self.marked(at - 2)
                        && self.lexemes[at - 2].has_digit())
                && (counted || self.closes(at))
    }

    /// `s-kt`: two shortened words with a hyphen.
    fn hyphened(&self, at: usize) -> bool {
        let short = |at: usize| {
            self.lexemes
                .get(at)
                .is_some_and(|part| part.is_word() && part.case == Case::Lower && part.len() <= 3)
                && !self.marked(at)
        };
        short(at)
            && short(at + 1)
            && self.gap(at) == "-"
            && !(self.is(at, SAFE) && self.is(at + 1, SAFE) && self.word(at).len() > 1)
    }

    /// `5918 KG`: four digits and two capitals that end a line.
    fn lettered(&self, at: usize) -> bool {
        self.lexemes[at].kind == Kind::Number
            && self.lexemes[at].len() == 4
            && self.gap(at) == " "
            && self.lexemes.get(at + 1).is_some_and(|letters| {
                letters.is_word() && letters.case == Case::Upper && letters.len() == 2
            })
            && (at + 2 == self.len() || self.gap(at + 1).contains('\n'))
    }

    /// Whether a capitalised word may be a part of a town's name.
    pub(super) fn of_town(&self, at: usize) -> bool {
        let lexeme = &self.lexemes[at];
        let shouted = lexeme.case == Case::Upper && lexeme.word.is(ABBREVIATION);
        // "May Pen".
        let month = lexeme.word.is(MONTH)
            && self.gap(at) == " "
            && self
                .lexemes
                .get(at + 1)
                .is_some_and(|next| next.is_word() && next.capital());
        let stop = if month {
            CLAUSE & !MONTH & !FUNCTION
        } else {
            CLAUSE
        };
        lexeme.is_word() && lexeme.capital() && !lexeme.word.is(stop) && !shouted
    }

    /// `, Tripoli.`: the end of a town's name that fills the clause behind a comma or a line's end.
    fn town_behind(&self, at: usize) -> Option<usize> {
        if !matches!(
            self.gap(at).trim_matches(' '),
            "," | ",\n" | "\n" | "-" | "/" | ".," | ".\n"
        ) {
            return None;
        }
        let mut end = at + 1;
        while end - at <= TOWN {
            let particle = end > at + 1 && self.is(end, PARTICLE);
            if !(self.of_town(end) || particle || self.marked(end) && self.of_address(end)) {
                return None;
            }
            if self.gap(end).starts_with(':') {
                let town = self.gap(at) == ", " && !self.find_label(end);
                return (town && !self.is(end, CLINICAL)).then_some(end);
            }
            let clause = self.gap(at) == ", "
                && self.gap(end) == " "
                && self.lexemes[end].case == Case::Title
                && !self.is(end, CLINICAL)
                && self
                    .lexemes
                    .get(end + 1)
                    .is_some_and(|next| next.case == Case::Lower)
                && self.is(end + 1, FUNCTION | PERSON_VERB);
            if self.closes(end) || clause {
                return Some(end);
            }
            if !matches!(self.gap(end), " " | "-" | "'" | ". ") {
                return None;
            }
            end += 1;
        }
        None
    }

    /// Takes in what stands before a part.
    fn reach_back(&mut self, from: usize) {
        let mut first = from;
        while first > 0 && from - first < FARTHEST {
            let before = first - 1;
            let begin = if self.marked(before) {
                if !self.of_address(before) || !self.inner(before) {
                    break;
                }
                before
            } else if let Some(begin) = self.comes_before(before) {
                begin
            } else {
                break;
            };
            if !self.marked(before) {
                self.mark(begin, before, Class::Place, Certainty::Guessed);
                self.joined[before] = true;
            }
            first = begin;
        }
    }

    /// Where what belongs to the address behind a word begins, if the word does.
    fn comes_before(&self, at: usize) -> Option<usize> {
        let (lexeme, gap) = (&self.lexemes[at], self.gap(at));
        let near = matches!(gap, " " | "-" | "/" | "'" | "");
        if lexeme.has_digit() {
            return self.number_before(at);
        }
        if self.sign(at) && self.marked(at + 1) {
            return Some(at);
        }
        // "Dr. Luis de Herrera 240": a street may be named for a doctor.
        if lexeme.word.is(TITLE) && lexeme.capital() && gap == ". " {
            return Some(at);
        }
        if lexeme.word.is(STREET_FIRST) && lexeme.capital() && gap == " " {
            return Some(at);
        }
        // "5 floor, Kloshas 156".
        let counted = at > 0 && self.before(at) == " " && self.lexemes[at - 1].has_digit();
        let door = lexeme.word.is(ROOM)
            && !["room", "rm", "bed", "bay", "ward", "cubicle"]
                .iter()
                .any(|word| self.word(at).eq_ignore_ascii_case(word));
        if door && matches!(gap, " " | ". ") && self.lexemes[at + 1].has_digit() {
            return Some(at);
        }
        if gap == ", " && counted && lexeme.word.is(ROOM) && !self.marked(at - 1) {
            return Some(at - 1);
        }
        if gap == "., " && counted && lexeme.len() <= 4 && !lexeme.word.is(CLAUSE) {
            return Some(at - 1);
        }
        // "Hull, Nelov 6": a town before its street.
        let town = gap == ", "
            && lexeme.case == Case::Title
            && self.of_town(at)
            && !self.is(at, CLINICAL)
            && !self.find_label(at);
        if town && at > 0 {
            let before = self.before(at);
            let begins = before.contains('\n')
                || before.starts_with([':', ','])
                || before == " "
                    && (self.is(at - 1, PLACE_CUE) || matches!(self.word(at - 1), "at" | "At"));
            return begins.then_some(at);
        }
        if !lexeme.is_word() || lexeme.capital() {
            return None;
        }
        // "pr-t Lenina": a word with a hyphen that the language does not have.
        if gap == " " && at > 0 && self.before(at) == "-" && !self.marked(at - 1) {
            let head = &self.lexemes[at - 1];
            let strange = |at: usize| !self.is(at, SAFE) || self.lexemes[at].len() <= 2;
            let joined = head.is_word() && strange(at) && strange(at - 1);
            return joined.then(|| at - 1);
        }
        let unknown = !lexeme.word.is(SAFE | CLAUSE | CLINICAL);
        let fits = unknown && (near || matches!(gap, ". " | ".") || gap == ", " && counted);
        fits.then_some(at)
    }

    /// Where a number that belongs to the address behind it begins, if it does.
    fn number_before(&self, at: usize) -> Option<usize> {
        let (lexeme, gap) = (&self.lexemes[at], self.gap(at));
        let near = matches!(gap, " " | "-" | "/" | "'" | "");
        let first = self.chain(at);
        if (first..at).any(|part| self.marked(part)) {
            return None;
        }
        let begins = first == 0
            || self.closes(first - 1)
            || self.before(first).starts_with(':')
            || self.is(first - 1, PLACE_CUE | FUNCTION)
            || matches!(self.word(first - 1), "at" | "address");
        let line = gap.trim_matches(' ') == "\n" && first < at;
        let listed = gap == ", "
            && first > 0
            && (self.is(first - 1, PLACE_CUE)
                || self.word(first - 1) == "at"
                || self.before(first).contains([':', '\n', '(']));
        if lexeme.len() <= 5 && (near || line || listed) && begins && !self.measures(at) {
            return Some(first);
        }
        // "kat 7, Lostor": a small word and its number.
        let kind = first == at
            && at > 0
            && matches!(self.before(at), " " | ". ")
            && self.lexemes[at - 1].is_word()
            && !self.is(at - 1, CLAUSE)
            && !self.find_label(at - 1)
            && !self.is(at - 1, DATE_CUE)
            && !(self.is(at - 1, ABBREVIATION) && self.lexemes[at - 1].case == Case::Upper)
            && !["age", "aged"].contains(&self.word(at - 1))
            && (self.is(at - 1, ROOM) || self.lexemes[at - 1].len() <= 3 || !self.is(at - 1, SAFE));
        (kind && gap == ", " && lexeme.len() <= 4).then(|| at - 1)
    }

    fn is_number(&self, at: usize) -> bool {
        self.lexemes.get(at).is_some_and(Lexeme::has_digit)
    }
}
