//! How far an address reaches: once one has begun, whatever the language does not know, or what
//! stands where only a part of an address can stand, is taken up to the next clause.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::{Case, Kind};
use crate::words::{
    ABBREVIATION, CLINICAL, CREDENTIAL, DRUG, FUNCTION, Flag, MONTH, PARTICLE, PERSON, PERSON_VERB,
    PLACE_CUE, RELATION, ROOM, SAFE, STREET, STREET_FIRST, TITLE, UNIT, WEEKDAY,
};

/// What begins a clause of its own.
const CLAUSE: Flag =
    FUNCTION | TITLE | PERSON | RELATION | MONTH | WEEKDAY | CREDENTIAL | DRUG | PERSON_VERB | UNIT;

/// More words than this, on one side, are no address.
const FARTHEST: usize = 8;

/// More capitalised words than this behind a comma are no town.
const TOWN: usize = 4;

impl Finder<'_> {
    /// Lets every address take in what stands before and behind it.
    pub(super) fn reach(&mut self) {
        let mut at = 0;
        while at < self.len() {
            if self.class(at) != Some(Class::Place) {
                if self.lexemes[at].len() <= 3 {
                    self.inside(at);
                }
                if self.lexemes[at].is_word() {
                    self.cell(at);
                }
                at += 1;
                continue;
            }
            let mut last = at;
            let mut numbered = false;
            let mut streets = false;
            loop {
                numbered |= self.lexemes[last].has_digit();
                streets |= self.is(last, STREET | STREET_FIRST);
                if !self.of_address(last + 1) || !self.inner(last) {
                    break;
                }
                last += 1;
            }
            // A room's number is no address.
            let room = at == last && at > 0 && self.is(at - 1, ROOM) && !self.marked(at - 1);
            if (numbered || streets) && !room {
                self.reach_back(at);
                last = self.reach_on(last);
            }
            at = last + 1;
        }
    }

    /// `Cox's Bazar`, `Rohrbach in Tirol`, `'t Harde`: a short word inside or before a place's name.
    fn inside(&mut self, at: usize) {
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

    fn of_address(&self, at: usize) -> bool {
        matches!(
            self.class(at),
            Some(Class::Place | Class::Name | Class::Other)
        )
    }

    /// `Postal code | BS-659-4764`, `Residence: 87, Grand-Rue`: what stands behind the label of a
    /// place, to the end of its cell or clause.
    fn cell(&mut self, label: usize) {
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
                || !self.marked(next) && !known && !(small && lexeme.is_word());
            if !fits || self.gap(next).starts_with(':') {
                break;
            }
            end = next;
        }
        if end > label && (end + 1 == self.len() || self.closes(end)) {
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
            return lexeme.len() <= 8 && !self.measures(at) && (near || self.closes(at));
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
        match lexeme.case {
            Case::Lower | Case::Other => {
                let unknown = !lexeme.word.is(SAFE | CLAUSE | CLINICAL);
                unknown && (near || counted || self.closes(at))
                    || gap == "-" && !lexeme.word.is(CLAUSE)
            }
            Case::Title | Case::Upper => {
                // Behind a postal code even a word of medicine is a town.
                let coded = self.lexemes[at - 1].has_digit() && self.lexemes[at - 1].len() >= 3;
                near && self.of_town(at) && (!lexeme.word.is(CLINICAL) || coded && self.closes(at))
            }
        }
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
    fn of_town(&self, at: usize) -> bool {
        let lexeme = &self.lexemes[at];
        let shouted = lexeme.case == Case::Upper && lexeme.word.is(ABBREVIATION);
        lexeme.is_word()
            && lexeme.capital()
            && !lexeme.word.is(CLAUSE)
            && !shouted
            && !self.find_label(at)
    }

    /// `, Tripoli.`: the end of a town's name that fills the clause behind a comma or a line's end.
    fn town_behind(&self, at: usize) -> Option<usize> {
        if !matches!(self.gap(at), ", " | "," | ",\n" | "\n" | " - " | " / ") {
            return None;
        }
        let mut end = at + 1;
        while end - at <= TOWN {
            let particle = end > at + 1 && self.is(end, PARTICLE);
            if !(self.of_town(end) || particle || self.marked(end) && self.of_address(end)) {
                return None;
            }
            if self.gap(end).starts_with(':') {
                return None;
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
            let begins = at == 0
                || self.closes(at - 1)
                || self.before(at).starts_with(':')
                || self.is(at - 1, PLACE_CUE | FUNCTION)
                || matches!(self.word(at - 1), "at" | "address");
            let fits = lexeme.len() <= 5 && near && begins && !self.measures(at);
            return fits.then_some(at);
        }
        if self.sign(at) && self.marked(at + 1) {
            return Some(at);
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
        let counted = at > 0 && self.before(at) == " " && self.lexemes[at - 1].has_digit();
        let fits = unknown && (near || matches!(gap, ". " | ".") || gap == ", " && counted);
        fits.then_some(at)
    }
}
