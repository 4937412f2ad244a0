//! Names and places grow over the words beside them that belong to them.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::{Case, Kind};
use crate::words::{
    ABBREVIATION, CLINICAL, CREDENTIAL, DRUG, FUNCTION, GIVEN, INSTITUTION, MONTH, NEVER, PARTICLE,
    PERSON, RELATION, SAFE, SURNAME, TITLE, TOWN_FIRST, UNIT, WEEKDAY,
};

impl Finder<'_> {
    /// Lets identifiers grow over the words beside them that belong to them.
    pub(super) fn neighbours(&mut self) {
        for at in 0..self.len() {
            if matches!(self.class(at), Some(Class::Name | Class::Place)) {
                self.grow_right(at);
            }
        }
        for at in (0..self.len()).rev() {
            if matches!(self.class(at), Some(Class::Name | Class::Place)) {
                self.grow_left(at);
            }
            // "(08)/479-5140": the area in brackets.
            if at > 0
                && matches!(self.class(at), Some(Class::Phone | Class::Fax))
                && !self.marked(at - 1)
                && self.lexemes[at - 1].kind == Kind::Number
                && matches!(
                    self.before(at),
                    ")/" | ")." | ")-" | ") " | ")" | "/ " | "/"
                )
            {
                self.mark(at - 1, at, Class::Phone, Certainty::Likely);
            }
        }
    }

    fn grow_right(&mut self, at: usize) {
        let next = at + 1;
        if next >= self.len() || self.marked(next) {
            return;
        }
        let gap = self.gap(at);
        let class = self.class(at).unwrap_or(Class::Name);
        let lexeme = &self.lexemes[next];
        if lexeme.has_digit() {
            let near = matches!(
                gap,
                " " | ", " | "-" | "/" | " #" | " # " | "\n" | "," | ". " | "." | " - " | ""
            );
            let measured = self.is(next + 1, UNIT) && matches!(self.gap(next), " " | "-" | "")
                || self.gap(next).starts_with(['%', ':']);
            // A number directly behind a name makes an address of it, unless it counts something.
            let ends = self.gap(next).is_empty()
                || self
                    .gap(next)
                    .starts_with(['.', ',', ')', '\n', '/', '-', ';', '|'])
                || self.gap(next) == " / ";
            let guess = matches!(gap, " " | ", ")
                && (gap == " " && ends && self.lexemes[at].is_word()
                    || self.marks[at].is_some_and(|mark| mark.certainty == Certainty::Guessed))
                && (self.lexemes[at].case != Case::Lower
                    || at > 0 && self.marked(at - 1) && self.gap(at - 1) == " ");
            if near && (class == Class::Place || guess) && lexeme.len() <= 6 && !measured
                || gap == "-" && !measured
            {
                self.mark(at, next, Class::Place, Certainty::Guessed);
            }
            return;
        }
        let suffix = ["II", "III", "IV", "Jr", "JR", "Sr", "SR"].contains(&self.word(next));
        let region = class == Class::Place
            && lexeme.case == Case::Upper
            && (2..=3).contains(&lexeme.len())
            && !lexeme.word.is(CREDENTIAL)
            && matches!(gap, " / " | ", " | " - " | " (");
        // "Bern (BE)": the region's letters in brackets.
        let region = region
            || lexeme.case == Case::Upper
                && lexeme.len() == 2
                && gap == " ("
                && self.gap(next).starts_with(')')
                && !lexeme.word.is(CREDENTIAL);
        let inner = class == Class::Place
            && lexeme.len() <= 4
            && gap == " "
            && self.gap(next) == " "
            && self.class(next + 1).is_some()
            && self.lexemes[at].capital()
            && self.lexemes[next + 1].capital();
        let inner = inner
            || class == Class::Name
                && lexeme.len() <= 3
                && lexeme.case == Case::Lower
                && gap == " "
                && self.gap(next) == " "
                && !lexeme.word.is(FUNCTION | UNIT)
                && self.class(next + 1) == Some(Class::Name)
                && self.lexemes[at].capital()
                && self.lexemes[next + 1].capital();
        let given = gap == ", " && class == Class::Name && self.last_first(next);
        if suffix && matches!(gap, " " | ", ")
            || region
            || self.coded_town(at)
            || self.door(next, gap)
            || self.ends_address(at, gap)
            || self.joins_place(next, gap)
            || given
            || inner
            || self.fits(next, gap)
            || (gap == " " || gap == "-")
                && self.is(next, PARTICLE)
                && self.marked(next + 1)
                && matches!(self.gap(next), " " | "-" | "'")
        {
            self.mark(next, next, class, Certainty::Guessed);
            self.joined[at] = true;
        }
    }

    /// "6664 Them": behind a postal code a capital is a town, whatever else it may mean.
    fn coded_town(&self, at: usize) -> bool {
        let next = at + 1;
        let lexeme = &self.lexemes[next];
        let second = at > 0 && self.marked(at - 1) && self.lexemes[at - 1].kind == Kind::Number;
        (self.class(at) == Some(Class::Place)
            || self.class(at) == Some(Class::Other) && self.lexemes[at].len() <= 6)
            && (self.gap(at) == " "
                || self.gap(at) == "\n"
                    && (next + 1 == self.len() || self.gap(next).starts_with(['\n', '.'])))
            && self.lexemes[at].has_digit()
            && (self.lexemes[at].len() >= 3 || second)
            && lexeme.case == Case::Title
            && !lexeme.word.is(MONTH | WEEKDAY | UNIT)
            && (next + 1 == self.len()
                || self.gap(next).starts_with(['.', ',', '\n', ';', ')', '|']))
    }

    fn grow_left(&mut self, at: usize) {
        let Some(before) = at.checked_sub(1) else {
            return;
        };
        if self.marked(before) {
            return;
        }
        let gap = self.gap(before);
        let class = self.class(at).unwrap_or(Class::Name);
        let lexeme = &self.lexemes[before];
        if lexeme.has_digit() {
            let number = lexeme.len() <= 6
                && matches!(gap, " " | "-" | ", ")
                && lexeme.kind == Kind::Number
                && self.lexemes[at].capital();
            let guess = self.marks[at].is_some_and(|mark| {
                mark.certainty == Certainty::Guessed || mark.class == Class::Place
            });
            if number
                && guess
                && (lexeme.len() >= 3 || gap == " " && !self.is(at, SAFE))
                && !self.before(before).ends_with(['.', '/'])
                || gap == "-" && (lexeme.len() >= 3 || self.lexemes[at].has_digit())
                || matches!(gap, "-" | "/") && class == Class::Place
            {
                self.mark(before, at, Class::Place, Certainty::Guessed);
            }
            return;
        }
        let town = lexeme.capital()
            && (self.is(before, TOWN_FIRST) && matches!(gap, " " | "-" | ". ")
                // The country's letters before a postal code.
                || lexeme.len() <= 2 && gap == "-" && self.lexemes[at].has_digit());
        let particle = self.is(before, PARTICLE)
            && gap == " "
            && !self.is(before, FUNCTION)
            && (self.lexemes[at].capital() || self.is(at, PARTICLE));
        // "Col. Centro", "Gral. Anaya": a short word with a dot before a place's name.
        let dotted = gap == ". "
            && lexeme.is_word()
            && !lexeme.word.is(SAFE | TITLE | CREDENTIAL)
            && (lexeme.case == Case::Title && lexeme.len() <= 5 && class == Class::Place
                || lexeme.case == Case::Upper && lexeme.len() <= 3);
        let last = gap == ", "
            && class == Class::Name
            && self.is(at, GIVEN)
            && lexeme.case == Case::Title
            && lexeme.word.is(SURNAME);
        let elided = dotted || last || lexeme.len() == 1 && gap == "'";
        if town
            || elided
            || particle
            || self.fits(before, gap) && (!self.opens(before) || self.may_open(before))
        {
            self.mark(before, before, class, Certainty::Guessed);
            self.joined[before] = true;
        }
    }

    /// Whether a word inside an address stands before a door's or house's number: `nr. 5`, `ap. 12`.
    fn door(&self, at: usize, gap: &str) -> bool {
        const DOORS: &[&str] = &[
            "no", "nr", "num", "numero", "bl", "sc", "ap", "et", "int", "interno", "scala", "piso",
            "ext", "depto", "dept", "km", "blok", "daire", "kat", "apt", "lok", "m", "bis", "ter",
            "hs", "lgh", "bloc", "scara", "floor", "box", "po", "plot", "sector", "phase", "flat",
            "edif", "edificio", "puerta", "col", "mz", "lt",
        ];
        let short = DOORS
            .iter()
            .any(|door| self.word(at).eq_ignore_ascii_case(door));
        let number = self
            .lexemes
            .get(at + 1)
            .is_some_and(|next| next.has_digit() || next.len() == 1);
        matches!(gap, " " | ", " | "/" | "-" | " - " | "\n")
            && short
            && number
            && matches!(self.gap(at), " " | ". " | "." | ": " | "-" | " #" | "")
    }

    /// Whether a word ends an address: a direction, a town behind a number, `S/N`.
    fn ends_address(&self, at: usize, gap: &str) -> bool {
        let next = at + 1;
        let lexeme = &self.lexemes[next];
        if self.class(at) != Some(Class::Place) || !lexeme.capital() {
            return false;
        }
        let direction = [
            "Sur", "Este", "Norte", "Oeste", "Sud", "Nord", "Est", "Ouest",
        ]
        .contains(&self.word(next));
        let numberless = self.word(next) == "S" && self.gap(next) == "/" && gap == ", ";
        let stop = NEVER | ABBREVIATION;
        let follow = self.gap(next).starts_with(['.', ',', '\n', '(']) || self.gap(next) == " (";
        let town = matches!(gap, ", " | " ")
            && lexeme.case == Case::Title
            && self.lexemes[at].has_digit()
            && !lexeme.word.is(stop)
            && follow;
        direction && gap == " " || numberless || town
    }

    /// "am", "an der", "nad" between the parts of a town's name.
    fn joins_place(&self, at: usize, gap: &str) -> bool {
        const JOINTS: &[&str] = &[
            "am", "an", "der", "im", "ob", "pod", "pri", "na", "nad", "u", "sur", "sous", "les",
            "en", "aux", "do", "da", "de", "di", "del", "la", "los", "el", "y", "e", "bei", "op",
            "aan", "den", "bij", "sul", "in", "pe",
        ];
        let joint = |at: usize| {
            self.lexemes.get(at).is_some() && JOINTS.contains(&self.word(at)) && self.gap(at) == " "
        };
        let name = |at: usize| {
            matches!(self.class(at), Some(Class::Name | Class::Place)) && self.lexemes[at].capital()
        };
        let left = (self.lexemes[at - 1].capital() || joint(at - 1))
            && (self.word(at) != "in" || self.class(at - 1) == Some(Class::Place));
        gap == " " && left && joint(at) && (name(at + 1) || joint(at + 1) && name(at + 2))
    }

    /// Whether a word behind a surname and a comma is the given name.
    fn last_first(&self, at: usize) -> bool {
        let lexeme = &self.lexemes[at];
        let stop = NEVER;
        lexeme.is_word()
            && lexeme.case == Case::Title
            && !lexeme.word.is(stop)
            && (lexeme.word.is(GIVEN | SURNAME) || lexeme.len() <= 6 && !lexeme.word.is(CLINICAL))
    }

    /// Whether a word at the start of a sentence may be a name's first: it is no verb.
    fn may_open(&self, at: usize) -> bool {
        let word = self.word(at);
        let verb = ["ed", "ing", "ly", "er", "or"]
            .iter()
            .any(|ending| word.ends_with(ending));
        word.len() == 1
            || self.is(at, GIVEN)
            || !verb && self.is(at + 1, GIVEN | SURNAME)
            || !verb && !self.is(at + 1, SAFE)
    }

    /// Whether a word beside a name or place is part of it.
    fn fits(&self, at: usize, gap: &str) -> bool {
        let lexeme = &self.lexemes[at];
        let word = lexeme.word;
        if !lexeme.is_word() {
            return false;
        }
        let single =
            lexeme.len() == 1 && lexeme.capital() && matches!(gap, " " | "." | ". " | "-" | "'");
        if single {
            return !(lexeme.word.is(FUNCTION)
                && gap != "."
                && self.gap(at) != "."
                && !self.gap(at).starts_with('.'));
        }
        if !matches!(gap, " " | "-" | "'") {
            return false;
        }
        let clinical = word.is(CLINICAL) && lexeme.case != Case::Title;
        let named = word.is(GIVEN | SURNAME)
            && !clinical
            && !word.is(FUNCTION | TITLE | RELATION | PERSON | DRUG);
        let stop = FUNCTION
            | CLINICAL
            | CREDENTIAL
            | TITLE
            | WEEKDAY
            | MONTH
            | PERSON
            | RELATION
            | INSTITUTION
            | ABBREVIATION;
        // Only in capitals an abbreviation is one.
        let title = lexeme.case == Case::Title;
        let stop = if title { stop & !ABBREVIATION } else { stop };
        let pair = lexeme.case == Case::Upper
            && at > 0
            && self.lexemes[at - 1].case == Case::Upper
            && self.marked(at - 1)
            && !self.is(at - 1, SAFE)
            && lexeme.len() > 2;
        let heading = self.gap(at).starts_with(':')
            && !(at > 0 && self.marked(at - 1) && self.before(at) == " ");
        let plain = (title || pair) && !word.is(stop) && !heading;
        // Behind a given name every capitalised word is a surname.
        let stop = NEVER;
        // "Hsin-I Pan": a title behind a name is a surname, where the name ends.
        let titled = (title || pair)
            && at > 0
            && word.is(TITLE)
            && (self.listed(at) || title)
            && self.name_ends(at)
            && self.class(at - 1) == Some(Class::Name)
            && gap == " ";
        let surname = title
            && at > 0
            && self.is(at - 1, GIVEN)
            && self.class(at - 1) == Some(Class::Name)
            && self.lexemes[at - 1].case == Case::Title
            && !word.is(stop)
            && gap == " ";
        let listed = pair && word.is(GIVEN | SURNAME) && !word.is(stop);
        surname
            || titled
            || listed
            || named
            || (plain
                && (gap != "'"
                    || at > 0 && self.lexemes[at - 1].len() == 1 && self.lexemes[at - 1].capital()))
            || self.inside_sentence(at)
    }
}
