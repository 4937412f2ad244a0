//! The last look over what was found: what is left over between, before and behind the parts of an
//! identifier is of it too.
//!
//! A token of a name or an address that a dictionary has as well says nothing by itself. What it
//! stands beside does, and when this stage runs nearly everything it can stand beside is known.

use super::Finder;
use super::reach::CLAUSE;
use crate::class::{Certainty, Class};
use crate::lex::{Case, Lexeme};
use crate::words::{
    ABBREVIATION, CLINICAL, CREDENTIAL, DRUG, FUNCTION, Flag, INSTITUTION, MONTH, NAME_LABEL,
    PARTICLE, PERSON, PERSON_VERB, PLACE_CUE, PLACE_LABEL, RELATION, ROOM, SAFE, STREET,
    STREET_FIRST, TITLE, TOWN_FIRST, UNIT,
};

/// More words than this, on one side, are no part of the same address.
const FARTHEST: usize = 10;
/// More words than this between two parts are a text of their own.
const BETWEEN: usize = 4;

impl Finder<'_> {
    pub(super) fn sweep(&mut self) {
        const LEADS: Flag = FUNCTION
            | PERSON
            | TITLE
            | RELATION
            | PLACE_CUE
            | STREET
            | STREET_FIRST
            | TOWN_FIRST
            | NAME_LABEL
            | PLACE_LABEL;
        for number in 0..self.telling.len() {
            let at = self.telling(number);
            match self.class(at) {
                Some(Class::Name) => {
                    self.beside_name(at);
                    self.beside_part(at);
                }
                Some(Class::Place) => {
                    self.between_places(at);
                    self.beside_part(at);
                }
                _ => {}
            }
            if self.gap(at) == "-" && self.lexemes[at].is_word() {
                self.hyphen(at);
            }
        }
        for at in self.select(|lexeme| lexeme.has_digit()) {
            self.item(at);
            self.numbered_quarter(at);
        }
        let ways =
            |lexeme: &Lexeme| lexeme.capital() | lexeme.word.is(STREET | STREET_FIRST | TOWN_FIRST);
        for at in self.select(ways) {
            self.dated_way(at);
            self.port_of(at);
            self.numbered_way(at);
        }
        for at in self.select(|lexeme| (lexeme.case == Case::Lower) & lexeme.word.is(LEADS)) {
            self.small_label(at);
            self.small_address(at);
            self.small_relative(at);
            self.small_town(at);
            self.small_initial(at);
        }
        self.signature();
        let mut at = 0;
        while at < self.len() {
            at = if self.class(at) == Some(Class::Place) {
                self.cluster(at)
            } else {
                at + 1
            };
        }
    }

    fn beside_part(&mut self, at: usize) {
        self.broken_before(at);
        self.elided(at);
        self.way_of(at);
        self.town_of(at);
        self.title_behind(at);
        self.house_behind(at);
        self.no_number(at);
        self.story(at);
    }

    /// Whether a gap may lie inside an address.
    fn soft(&self, at: usize) -> bool {
        let gap = self.gap(at);
        if matches!(
            gap,
            " " | ", "
                | ","
                | "-"
                | "/"
                | "'"
                | " - "
                | " / "
                | ""
                | "\u{b0} "
                | " #"
                | "  "
                | ", #"
        ) {
            return true;
        }
        if matches!(gap, ". " | "." | "., ") {
            return self.lexemes[at].len() <= 4
                || !self.is(at, SAFE) && self.lexemes[at].is_word() && gap != ". ";
        }
        matches!(gap, "\n" | ",\n" | " \n") && !self.labels_value(at)
            || gap == ".\n" && self.lexemes[at].len() <= 3
    }

    /// Marks up to four words between two parts of one address.
    fn between_places(&mut self, at: usize) {
        let mut next = at + 1;
        let mut lines = 0;
        while next < self.len() && next - at <= BETWEEN && !self.marked(next) {
            lines += usize::from(self.gap(next - 1).contains('\n'));
            let lexeme = &self.lexemes[next];
            let stop = PERSON_VERB | PERSON | RELATION | TITLE | DRUG | CREDENTIAL;
            let small = lexeme.case == Case::Lower
                && lexeme.word.is(FUNCTION)
                && !lexeme.word.is(PARTICLE)
                && !matches!(self.word(next), "of" | "the" | "off" | "and" | "on");
            if !self.soft(next - 1)
                || lexeme.word.is(stop) && lexeme.case == Case::Lower
                || small
                || self.labels_value(next)
            {
                return;
            }
            next += 1;
        }
        if next == at + 1
            || next >= self.len()
            || next - at > BETWEEN
            || !self.soft(next - 1)
            || !self.of_address(next)
        {
            return;
        }
        let digits = (at..=next).any(|part| self.lexemes[part].has_digit());
        let streets = (at..=next).any(|part| self.is(part, STREET | STREET_FIRST));
        if (digits || streets) && lines <= 1 {
            self.mark(at, next, Class::Place, Certainty::Guessed);
        }
    }

    /// Lets an address take in what stands before and behind it; where to go on.
    fn cluster(&mut self, from: usize) -> usize {
        let mut last = from;
        while last + 1 < self.len() && self.of_address(last + 1) && self.soft(last) {
            last += 1;
        }
        let numbered = (from..=last).any(|at| self.lexemes[at].has_digit());
        let street = (from..=last).any(|at| self.is(at, STREET | STREET_FIRST));
        let small = self.lexemes[from].case == Case::Lower;
        let room = from == last && from > 0 && self.is(from - 1, ROOM) && !self.marked(from - 1);
        if room || !(numbered || street || last > from || small) {
            return last + 1;
        }
        let mut end = last;
        while end + 1 < self.len()
            && end - last < FARTHEST
            && self.soft(end)
            && (self.of_address(end + 1) || self.follows(end + 1))
        {
            end += 1;
        }
        let mut first = from;
        while first > 0
            && from - first < FARTHEST
            && self.soft(first - 1)
            && (self.of_address(first - 1) || self.leads(first - 1))
        {
            first -= 1;
        }
        if first < from || end > last {
            self.mark(first, end, Class::Place, Certainty::Guessed);
        }
        end + 1
    }

    /// Whether an unmarked word goes on with the address before it.
    fn follows(&self, at: usize) -> bool {
        let lexeme = &self.lexemes[at];
        let gap = self.before(at);
        let near = matches!(gap, " " | "-" | "/" | "'" | "" | ". ");
        if self.marked(at) || self.labels_value(at) {
            return false;
        }
        if lexeme.has_digit() {
            return lexeme.len() <= 8
                && !self.measures(at)
                && (near || self.closes(at))
                && !(gap.contains('\n') && self.gap(at).starts_with(['.', ')']));
        }
        let way = STREET | STREET_FIRST | ROOM;
        match lexeme.case {
            Case::Lower | Case::Other => {
                let end = gap == " "
                    && self.is(at, STREET)
                    && self.lexemes[at - 1].case == Case::Lower
                    && !lexeme.word.is(UNIT);
                let short = gap == " "
                    && lexeme.len() <= 3
                    && !lexeme.word.is(FUNCTION | UNIT | PERSON_VERB)
                    && self.closes(at);
                let numbered = near
                    && lexeme.len() <= 4
                    && !lexeme.word.is(FUNCTION | UNIT | PERSON_VERB)
                    && self
                        .lexemes
                        .get(at + 1)
                        .is_some_and(|next| next.has_digit() && next.len() <= 5)
                    && !self.measures(at + 1);
                end || short || numbered
            }
            Case::Title | Case::Upper => {
                let town = MONTH | STREET | ROOM | TOWN_FIRST;
                let stop = CLAUSE & !MONTH | INSTITUTION | CLINICAL;
                let month = lexeme.word.is(MONTH) && !(gap == " " || gap == ", ");
                let plain = !month && !lexeme.word.is(stop)
                    || lexeme.word.is(town)
                        && !lexeme.word.is(PERSON | RELATION | TITLE | PERSON_VERB);
                let shouted =
                    lexeme.case == Case::Upper && lexeme.word.is(ABBREVIATION) && lexeme.len() > 2;
                let near = near && gap != ". ";
                let line = !near && self.closes_soon(at);
                plain && !shouted && (near && (lexeme.word.is(way) || self.closes_soon(at)) || line)
            }
        }
    }

    /// Whether capitalised words only stand between a word and the end of its clause.
    fn closes_soon(&self, from: usize) -> bool {
        for at in from..from + 4 {
            if self.closes(at) {
                return !self.gap(at).starts_with(':');
            }
            let next = self.lexemes.get(at + 1);
            if !matches!(self.gap(at), " " | "-" | "'" | ". ")
                || !next.is_some_and(|next| {
                    next.capital() || next.has_digit() || next.word.is(PARTICLE)
                })
            {
                return false;
            }
        }
        false
    }

    /// Whether an unmarked word begins the address behind it.
    fn leads(&self, at: usize) -> bool {
        let lexeme = &self.lexemes[at];
        let gap = self.gap(at);
        let near = matches!(gap, " " | "-" | "/" | "'" | "" | ". " | ".");
        let way = lexeme.word.is(STREET_FIRST | ROOM) || gap == ".\n" && lexeme.len() <= 3;
        let cut = matches!(gap, ".\n" | "\n")
            && lexeme.is_word()
            && way
            && at > 0
            && !lexeme.word.is(UNIT | FUNCTION);
        if cut && !self.marked(at) && self.lexemes[at + 1].capital() {
            return true;
        }
        if self.marked(at) || gap.contains('\n') && !lexeme.has_digit() {
            return false;
        }
        if lexeme.has_digit() {
            let begins = at == 0
                || matches!(self.class(at - 1), Some(Class::Place))
                || self.is(at - 1, FUNCTION)
                || self.before(at).contains(['\n', ':', '(', ','])
                || self.is(at - 1, ROOM | STREET_FIRST | TOWN_FIRST);
            let parted = gap.contains('\n') && !self.before(at).contains('\n');
            let free = !self.measures(at) && !gap.starts_with(". ") && !parted;
            return lexeme.len() <= 6 && begins && free;
        }
        let small = lexeme.case == Case::Lower && self.lexemes[at + 1].case != Case::Title;
        let ways = near
            && lexeme.word.is(STREET_FIRST | TOWN_FIRST | ROOM)
            && !lexeme.word.is(FUNCTION | TITLE)
            && (lexeme.capital() || small && !lexeme.word.is(RELATION));
        let particle = gap == " "
            && lexeme.case == Case::Lower
            && lexeme.word.is(PARTICLE)
            && at > 0
            && (self.of_address(at - 1) || self.is(at - 1, STREET_FIRST | TOWN_FIRST))
            && self.before(at) == " ";
        let box_letters = lexeme.case == Case::Upper
            && lexeme.len() <= 2
            && near
            && self.is(at + 1, ROOM)
            && !lexeme.word.is(UNIT);
        // "P.O." over the end of a line.
        let letter = lexeme.len() == 1
            && lexeme.capital()
            && gap == "."
            && self.lexemes[at + 1].len() == 1
            && self.lexemes[at + 1].capital();
        ways || particle || box_letters || letter
    }
}
