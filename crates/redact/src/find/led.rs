//! Places that a word before them gives away: the label of a cell, a preposition, a number where
//! an address would stand.

use super::Finder;
use super::reach::{CLAUSE, FARTHEST};
use crate::class::{Certainty, Class};
use crate::lex::{Case, Kind, Lexeme};
use crate::words::{
    ABBREVIATION, CLINICAL, FUNCTION, INSTITUTION, PARTICLE, PERSON_VERB, PLACE_CUE, ROOM, SAFE,
    STREET, UNIT,
};

impl Finder<'_> {
    /// `Cox's Bazar`, `Rohrbach in Tirol`, `'t Harde`: a short word inside or before a place's name.
    pub(super) fn inside(&mut self, at: usize) {
        let next = at + 1;
        if self.marked(at) || self.gap(at) != " " || !self.of_address(next) {
            return;
        }
        let place = self.class(next) == Some(Class::Place) || self.lexemes[next].foreign;
        if !place || !self.lexemes[next].capital() {
            return;
        }
        let behind = at > 0 && self.of_address(at - 1) && self.lexemes[at - 1].capital();
        let elided = self.before(at).ends_with('\'')
            && self.lexemes[at].len() == 1
            && (behind || self.word(at) == "t");
        let led = behind
            && self.before(at) == " "
            && matches!(self.word(at), "in" | "am" | "an" | "on" | "bei")
            && self.lexemes[next].foreign
            && at > 1
            && self.is(at - 2, PLACE_CUE);
        if elided || led {
            self.mark(at, at, Class::Place, Certainty::Guessed);
            self.joined[at] = true;
            if behind {
                self.joined[at - 1] = true;
            }
        }
    }

    /// `26th of July Corridor`, `9 de Julio 132`: a date that a street is named for.
    pub(super) fn behind_date(&mut self, at: usize) {
        let next = at + 1;
        if self.class(at) != Some(Class::Date)
            || next >= self.len()
            || self.marked(next)
            || self.gap(at) != " "
            || !self.lexemes[at].is_word()
        {
            return;
        }
        let lexeme = &self.lexemes[next];
        let way = lexeme.case == Case::Title && self.is(next, STREET | ROOM);
        let bis = self
            .lexemes
            .get(next + 1)
            .is_some_and(|word| word.len() <= 3);
        let house = lexeme.kind == Kind::Number && lexeme.len() <= 4 && !self.measures(next);
        if way || house && (self.closes(next) || bis && self.closes(next + 1)) {
            self.mark(next, next, Class::Place, Certainty::Guessed);
            let mut first = at;
            while first > 0 && self.class(first - 1) == Some(Class::Date) {
                first -= 1;
            }
            let numbered = first > 0
                && self.before(first) == " "
                && self.lexemes[first - 1].has_digit()
                && self.lexemes[first - 1].len() <= 5
                && !self.marked(first - 1);
            if numbered {
                self.mark(first - 1, first - 1, Class::Place, Certainty::Guessed);
            }
        }
    }

    /// `Postal code | BS-659-4764`, `Residence: 87, Grand-Rue`: what stands behind the label of a
    /// place, to the end of its cell or clause.
    pub(super) fn cell(&mut self, label: usize) {
        let gap = self.gap(label);
        let labelled = gap.starts_with(':') || matches!(gap, " | " | " = " | "=" | "|");
        if !labelled || gap.len() > 3 || !self.label_of_place(label) {
            return;
        }
        let mut end = label;
        while end + 1 < self.len() && end - label < 2 * FARTHEST {
            let (next, gap) = (end + 1, self.gap(end));
            if end > label && (!self.inner(end) || gap.contains('\n')) {
                break;
            }
            let lexeme = &self.lexemes[next];
            let known = lexeme.word.is(CLAUSE & !UNIT) && !lexeme.word.is(PARTICLE);
            let small = lexeme.case == Case::Lower && lexeme.word.is(SAFE) && gap != "-";
            let fits = self.of_address(next)
                || self.marked(next) && lexeme.has_digit()
                || !(self.marked(next) || known || small && lexeme.is_word());
            if !fits || self.gap(next).starts_with(':') {
                break;
            }
            end = next;
        }
        if end > label && (self.closes(end) || self.gap(end).trim_start().starts_with('|')) {
            self.mark(label + 1, end, Class::Place, Certainty::Guessed);
        }
    }

    /// Whether a word names a place as a label does.
    fn label_of_place(&self, at: usize) -> bool {
        const LABELS: &[&str] = &[
            "address",
            "city",
            "town",
            "village",
            "municipality",
            "district",
            "suburb",
            "county",
            "postcode",
            "zip",
            "residence",
            "street",
            "birthplace",
            "hometown",
            "home",
            "origin",
            "place",
            "at",
            "locality",
        ];
        let word = self.word(at);
        LABELS.iter().any(|label| word.eq_ignore_ascii_case(label))
            || word.eq_ignore_ascii_case("code")
                && at > 0
                && ["postal", "post", "zip", "pin"]
                    .iter()
                    .any(|before| self.word(at - 1).eq_ignore_ascii_case(before))
    }

    /// `in Reading.`, `from Hope to`: inside a sentence a capital behind these is a town's, whatever
    /// the word means elsewhere.
    pub(super) fn led_town(&mut self, cue: usize) {
        let next = cue + 1;
        if next >= self.len()
            || self.gap(cue) != " "
            || self.marked(next)
            || self.lexemes[next].case != Case::Title
            || !matches!(
                self.word(cue),
                "in" | "from" | "near" | "to" | "of" | "at" | "At" | "From"
            )
        {
            return;
        }
        let mut end = next;
        while end - next < 2
            && self.gap(end) == " "
            && self.lexemes.get(end + 1).is_some_and(|word| {
                word.case == Case::Title && !word.word.is(CLAUSE | CLINICAL | INSTITUTION)
            })
        {
            end += 1;
        }
        let stop = CLAUSE | CLINICAL | INSTITUTION | ABBREVIATION;
        let town = (next..=end).all(|at| {
            self.of_town(at) && !self.marked(at) && !self.is(at, stop) && self.lexemes[at].len() > 2
        });
        let ends = self.closes(end)
            || self.gap(end).starts_with(':')
            || self.gap(end) == " "
                && self.is(end + 1, FUNCTION | PERSON_VERB)
                && self.lexemes[end + 1].case == Case::Lower;
        if town && ends {
            self.mark(next, end, Class::Place, Certainty::Guessed);
        }
    }

    /// `at 171/3 Distos`: a number where an address would stand, and a word that the language does
    /// not have. Whether it was marked.
    pub(super) fn numbered_name(&mut self, at: usize) -> bool {
        let name = at + 1;
        let parted = self.chain(at) < at || self.lexemes[at].kind == Kind::Mixed;
        let pair = |name: usize| {
            parted
                && self.gap(name) == " "
                && self.of_town(name)
                && name + 1 < self.len()
                && self.of_town(name + 1)
                && !self.is(name + 1, CLINICAL)
                && self.closes(name + 1)
        };
        let strange = self.lexemes.get(name).is_some_and(|next| {
            next.is_word()
                && next.case == Case::Title
                && next.len() > 2
                && (!next.word.is(SAFE | CLAUSE | CLINICAL) || self.of_address(name) || pair(name))
        });
        if self.marked(at)
            || !strange
            || self.lexemes[at].len() > 5
            || !matches!(self.gap(at), " " | ", ")
            || self.marked(name) && !self.of_address(name)
        {
            return false;
        }
        let first = self.chain(at);
        let before = self.before(first);
        let begins = before.contains(['\n', '(', '|']) && self.closes(name)
            || before.starts_with(':')
            || first > 0
                && before == " "
                && (self.is(first - 1, PLACE_CUE)
                    || matches!(self.word(first - 1), "at" | "from" | "to"));
        if begins && !(first..=at).any(|part| self.marked(part)) {
            self.mark(first, name, Class::Place, Certainty::Guessed);
            return true;
        }
        false
    }

    /// Where a number in parts begins: `171/3`.
    pub(super) fn chain(&self, at: usize) -> usize {
        let mut first = at;
        while first > 0
            && at - first < 3
            && matches!(self.before(first), "/" | "-")
            && self.lexemes[first - 1].has_digit()
            && self.lexemes[first - 1].len() <= 5
        {
            first -= 1;
        }
        first
    }

    /// `Carrera 4 # 12-3`: a street and a house in a grid.
    pub(super) fn grid(&mut self, at: usize) {
        let digits = |at: usize| self.lexemes.get(at).is_some_and(Lexeme::has_digit);
        if !matches!(self.gap(at), " # " | " #") || !digits(at + 1) {
            return;
        }
        let named = at > 0 && self.proper(at - 1) && matches!(self.before(at), " " | ". ");
        let last = at + 1 + usize::from(self.gap(at + 1) == "-" && digits(at + 2));
        self.mark(
            at - usize::from(named),
            last,
            Class::Place,
            Certainty::Likely,
        );
    }

    /// `N° 51`, `km 314`: only an address counts so.
    pub(super) fn numero(&mut self, at: usize) {
        let number = self
            .lexemes
            .get(at + 1)
            .is_some_and(|next| next.has_digit() && next.len() <= 5);
        if !number {
            return;
        }
        let sign = self.word(at).eq_ignore_ascii_case("n") && self.gap(at).trim() == "\u{b0}"
            || self.word(at).eq_ignore_ascii_case("km")
                && self.gap(at) == " "
                && !self.lexemes[at.saturating_sub(1)].has_digit();
        // `Hse No. 8, Market Circle`: a thing with a number, before a name.
        let kind = self.sign(at)
            && at > 0
            && matches!(self.before(at), " " | "/" | ".")
            && self.lexemes[at - 1].capital()
            && !self.find_label(at - 1)
            && matches!(self.gap(at + 1), ", " | "\n" | ",\n")
            && self.proper(at + 2)
            && self.lexemes[at + 2].capital();
        if sign || kind {
            let first = at - usize::from(kind && !sign);
            let first = first - usize::from(first < at && first > 0 && self.gap(first - 1) == "/");
            self.mark(first, at + 1, Class::Place, Certainty::Likely);
        }
    }
}
