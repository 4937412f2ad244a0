//! Names and addresses in small letters, as dictation and chat write them: there no capital tells a
//! name from a word, so only what leads to it does.

use super::Finder;
use super::reach::CLAUSE;
use crate::class::{Certainty, Class};
use crate::lex::Case;
use crate::words::{
    CLINICAL, CREDENTIAL, DRUG, FUNCTION, INSTITUTION, MONTH, PARTICLE, PERSON, PERSON_VERB,
    RELATION, ROOM, SAFE, STREET, STREET_FIRST, TITLE, TOWN_FIRST, UNIT,
};

/// What stands before "to", "in" and "from" a place.
const TO: &str =
    "back move moved moving return returned returns relocated flew travelled traveled went drove";
const IN: &str = "live lives lived living settled born resides stays raised";
const FROM: &str = "came comes originally is family farmer moved travelled traveled back";
/// What may stand behind them and is no town.
const ELSEWHERE: &str = "home bed work hospital theatre school surgery baseline normal sleep town clinic rehab \
    care church college prison sinus pain hand case review us ward";

impl Finder<'_> {
    /// `first name lei`, `copy to pan in`: what stands behind a spoken label, in small letters.
    pub(super) fn small_label(&mut self, at: usize) {
        let name = at + 1;
        if self.gap(at) != " "
            || !self.small(name)
            || self.marked(name)
            || self.is(name, CLAUSE & !UNIT)
        {
            return;
        }
        let before = at.checked_sub(1).map_or("", |before| self.word(before));
        let says = match self.word(at) {
            "name" => matches!(before, "first" | "last" | "family" | "given" | "maiden"),
            "surname" | "forename" | "named" => true,
            "to" => {
                matches!(before, "copy" | "letter" | "cc") || before == "visit" && self.listed(name)
            }
            "is" => {
                matches!(before, "patient" | "name")
                    && self.listed(name)
                    && !self.is(name, CLINICAL)
            }
            "for" => {
                matches!(
                    before,
                    "visit" | "letter" | "bloods" | "report" | "appointment"
                ) && self.listed(name)
                    && !self.is(name, CLINICAL)
            }
            _ => false,
        };
        if says {
            self.mark(name, name, Class::Name, Certainty::Guessed);
        }
    }

    /// `mei-yu h. ting`: an initial and a word behind a name in small letters.
    pub(super) fn initial_behind(&mut self, at: usize) {
        let (letter, name) = (at + 1, at + 2);
        let single = self.small(letter) && self.lexemes[letter].len() == 1;
        let fits = single
            && self.lexemes[at].case == Case::Lower
            && self.gap(at) == " "
            && matches!(self.gap(letter), ". " | ".")
            && self.small(name)
            && !self.is(name, CLAUSE);
        if fits {
            self.mark(at, name, Class::Name, Certainty::Guessed);
        }
    }

    /// `visit for qiang wan`: a short word behind a name in small letters.
    pub(super) fn small_surname(&mut self, at: usize) {
        let next = at + 1;
        if self.lexemes[at].case != Case::Lower
            || self.gap(at) != " "
            || self.marked(next)
            || next >= self.len()
        {
            return;
        }
        let lexeme = &self.lexemes[next];
        let word = self.word(next);
        let stop = CLAUSE | CLINICAL | INSTITUTION | PARTICLE;
        let fits = lexeme.is_word()
            && lexeme.case == Case::Lower
            && lexeme.len() <= 5
            && lexeme.len() > 1
            && (!lexeme.word.is(stop) || self.listed(next) && !lexeme.word.is(CLAUSE & !UNIT))
            && !["ed", "ing", "ly"].iter().any(|end| word.ends_with(end));
        let led = at > 0
            && matches!(self.before(at), " " | ": ")
            && (self.is(at - 1, TITLE | RELATION | PERSON)
                || matches!(self.word(at - 1), "for" | "named" | "called"))
            && !self.is(at, SAFE);
        let ends = self.name_ends(next)
            || self.gap(next) == " "
                && self.is(next + 1, FUNCTION | PERSON_VERB | RELATION | PERSON | TITLE);
        if led && fits && ends {
            self.mark(next, next, Class::Name, Certainty::Guessed);
            self.joined[at] = true;
        }
    }

    /// `of lot 46 great house circle in may pen`: an address in small letters, of ordinary words.
    pub(super) fn small_address(&mut self, cue: usize) {
        const LEADS: &[&str] = &["of", "at", "from", "to", "in", "near", "is", "address"];
        let begins = self.lexemes.get(cue + 1).is_some_and(|next| {
            next.has_digit()
                || next.word.is(ROOM | STREET_FIRST)
                || matches!(self.word(cue + 1), "zone" | "street" | "road" | "sector")
        });
        if !begins || self.gap(cue) != " " || !LEADS.contains(&self.word(cue)) {
            return;
        }
        let mut at = cue + 1;
        while at < cue + 3
            && (self.is(at, ROOM) || self.is(at, STREET_FIRST) && !self.is(at, FUNCTION))
            && self.small(at)
        {
            at += 1;
        }
        let numbered = self
            .lexemes
            .get(at)
            .is_some_and(|number| number.has_digit() && number.len() <= 5)
            && !self.measures(at);
        let ways = at > cue + 1;
        if !numbered && !ways {
            return;
        }
        let mut last = at - usize::from(!numbered);
        let (mut words, mut end) = (0, if ways && numbered { last } else { cue });
        while last + 1 < self.len() && words < 6 && matches!(self.gap(last), " " | ", " | "-" | "/")
        {
            let next = last + 1;
            let stop =
                FUNCTION | PERSON | RELATION | TITLE | PERSON_VERB | UNIT | CREDENTIAL | DRUG;
            let number = self.lexemes[next].has_digit() && !self.measures(next);
            if !number && (self.is(next, stop) && !self.is(next, PARTICLE) || !self.small(next)) {
                break;
            }
            let near = next < end + 2 && self.lexemes[next].len() <= 4 && self.of_address(last);
            if number
                || self.is(next, STREET | STREET_FIRST | ROOM)
                || self.of_address(next)
                || near
            {
                end = next;
            }
            words += 1;
            last = next;
        }
        if end == cue || words == 0 {
            return;
        }
        self.mark(cue + 1, end, Class::Place, Certainty::Guessed);
        // The town behind it.
        let mut town = end + 2;
        while town < end + 4
            && self.word(end + 1) == "in"
            && self.small(town)
            && !self.is(town, CLAUSE & !MONTH)
            && matches!(self.before(town), " " | "-")
        {
            self.mark(town, town, Class::Place, Certainty::Guessed);
            town += 1;
        }
    }

    /// Whether it is a word in small letters.
    pub(super) fn small(&self, at: usize) -> bool {
        self.lexemes
            .get(at)
            .is_some_and(|word| word.is_word() && word.case == Case::Lower)
    }

    /// `back to bar in spring`, `san jose`: a town in small letters, where nothing has a capital.
    pub(super) fn small_town(&mut self, at: usize) {
        let next = at + 1;
        let led = at > 0
            && self.is(at, STREET)
            && matches!(
                self.word(at - 1),
                "in" | "from" | "to" | "of" | "near" | "at"
            );
        if (self.is(at, TOWN_FIRST | STREET_FIRST) || led)
            && !self.is(at, FUNCTION | PARTICLE & !TOWN_FIRST)
            && self.gap(at) == " "
            && self.of_address(next)
            && self.small(next)
        {
            self.mark(at, next, Class::Place, Certainty::Guessed);
        }
        let Some(before) = at.checked_sub(1) else {
            return;
        };
        let cued = self.small_lead(before, at);
        let plain = cued
            && self.gap(at) == " "
            && self.gap(before) == " "
            && (at.saturating_sub(12)..at + 4).all(|near| {
                self.lexemes
                    .get(near)
                    .is_none_or(|word| !word.is_word() || !word.capital() || word.len() == 1)
            });
        if !plain {
            return;
        }
        let mut last = at;
        while last < at + 3
            && self.small(last + 1)
            && (last == at || matches!(self.gap(last), " " | "-"))
            && !self.is(last + 1, CLAUSE & !MONTH)
            && !ELSEWHERE
                .split_ascii_whitespace()
                .any(|known| known == self.word(last + 1))
        {
            last += 1;
        }
        if last > at && (self.closes(last) || self.gap(last) == " " && self.is(last + 1, CLAUSE)) {
            self.mark(next, last, Class::Place, Certainty::Guessed);
        }
    }

    /// Whether two small words say that a place follows: "back to", "lives in", "came from".
    fn small_lead(&self, one: usize, other: usize) -> bool {
        let words = match self.word(other) {
            "to" => TO,
            "in" => IN,
            "from" => FROM,
            _ => return false,
        };
        words
            .split_ascii_whitespace()
            .any(|known| known == self.word(one))
    }

    /// `doctor a. feller`: behind a title, an initial and a word in small letters.
    pub(super) fn small_initial(&mut self, at: usize) {
        let (letter, name) = (at + 1, at + 2);
        let fits = self.is(at, TITLE)
            && self.gap(at).trim() == ""
            && self.small(letter)
            && self.lexemes[letter].len() == 1
            && self.gap(letter) == ". "
            && self.small(name)
            && !self.is(name, CLAUSE);
        if fits {
            self.mark(letter, name, Class::Name, Certainty::Guessed);
        }
    }

    /// `her husband min is`: a listed name in small letters behind a word for a relative.
    pub(super) fn small_relative(&mut self, at: usize) {
        let name = at + 1;
        let fits = self.is(at, RELATION)
            && self.gap(at) == " "
            && self.small(name)
            && !self.marked(name)
            && self.listed(name)
            && !self.is(name, CLAUSE & !UNIT | CLINICAL);
        let ends =
            self.closes(name) || self.gap(name) == " " && self.is(name + 1, FUNCTION | PERSON_VERB);
        if fits && ends {
            self.mark(name, name, Class::Name, Certainty::Guessed);
        }
    }
}
