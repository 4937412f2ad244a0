//! Parts of addresses whose words are ordinary: ways with numbers or dates for names, houses behind
//! names, quarters, storeys.

use super::Finder;
use super::reach::CLAUSE;
use crate::class::{Certainty, Class};
use crate::lex::Case;
use crate::words::{
    ABBREVIATION, CLINICAL, CREDENTIAL, DRUG, FUNCTION, INSTITUTION, MONTH, PARTICLE, PERSON,
    PERSON_VERB, RELATION, STREET, STREET_FIRST, TITLE, TOWN_FIRST, UNIT,
};

impl Finder<'_> {
    /// `Rruga Hoti, p.n.`: two letters that say that a house has no number.
    pub(super) fn no_number(&mut self, at: usize) {
        let (one, other) = (at + 1, at + 2);
        let letter = |at: usize| self.small(at) && self.lexemes[at].len() == 1 && !self.marked(at);
        if matches!(self.gap(at), ", " | " ")
            && letter(one)
            && letter(other)
            && matches!(self.gap(one), "." | "/")
            && self.closes(other)
        {
            self.mark(one, other, Class::Place, Certainty::Guessed);
        }
    }

    /// `* 548: in isolation`: the number of a room or bed that opens an item.
    pub(super) fn item(&mut self, at: usize) {
        let lexeme = &self.lexemes[at];
        if !lexeme.has_digit()
            || lexeme.len() > 4
            || self.marked(at)
            || !self.gap(at).starts_with(": ")
        {
            return;
        }
        let first = self.chain(at);
        let before = self.before(first);
        let opens = first == 0 || before.contains('\n');
        let long = self.lexemes[at].end() - self.lexemes[first].start() > 1;
        if opens
            && long
            && !self
                .lexemes
                .get(at + 1)
                .is_some_and(crate::lex::Lexeme::has_digit)
        {
            self.mark(first, at, Class::Place, Certainty::Guessed);
        }
    }

    /// `Via` or `Lake` at the end of a line, above the name that they begin.
    pub(super) fn broken_before(&mut self, at: usize) {
        let Some(first) = at.checked_sub(1) else {
            return;
        };
        let lexeme = &self.lexemes[first];
        let cut = self.before(at) == "\n" && lexeme.word.is(STREET_FIRST | TOWN_FIRST)
            || self.before(at) == ".\n" && lexeme.len() <= 3;
        if cut
            && !self.marked(first)
            && lexeme.is_word()
            && lexeme.capital()
            && self.lexemes[at].capital()
            && !lexeme.word.is(FUNCTION | UNIT | CREDENTIAL)
        {
            self.mark(first, at, Class::Place, Certainty::Guessed);
        }
    }

    /// `27, Avenue de l'Independance`: articles between a word for a way and its name.
    pub(super) fn way_of(&mut self, at: usize) {
        let mut first = at;
        while first > 0
            && at - first < 3
            && matches!(self.before(first), " " | "'")
            && self.lexemes[first - 1].case == Case::Lower
            && (self.is(first - 1, PARTICLE) || self.lexemes[first - 1].len() == 1)
        {
            first -= 1;
        }
        if first == at || first == 0 || self.before(first) != " " {
            return;
        }
        let way = first - 1;
        if !self.is(way, STREET_FIRST) || !self.lexemes[way].capital() || self.is(way, FUNCTION) {
            return;
        }
        let number = way > 0
            && self.lexemes[way - 1].has_digit()
            && self.lexemes[way - 1].len() <= 5
            && matches!(self.before(way), ", " | " ");
        self.mark(
            way - usize::from(number),
            at,
            Class::Place,
            Certainty::Guessed,
        );
    }

    /// `Isa Town`, `kuwait city`: a town that says so.
    pub(super) fn town_of(&mut self, at: usize) {
        let next = at + 1;
        let kind = matches!(
            self.word(next),
            "town" | "city" | "village" | "Town" | "City" | "Village"
        );
        let led = at > 0
            && self.before(at) == " "
            && matches!(
                self.word(at - 1),
                "in" | "from" | "to" | "of" | "near" | "at"
            );
        let alike = self
            .lexemes
            .get(next)
            .is_some_and(|word| word.case == self.lexemes[at].case);
        if kind && led && alike && self.gap(at) == " " && !self.marked(next) {
            self.mark(at, next, Class::Place, Certainty::Guessed);
        }
    }

    /// `van 't Hof`, `'t Veld`: a shortened article before a name, with the word before it.
    pub(super) fn elided(&mut self, at: usize) {
        let article = at > 0
            && self.before(at) == " "
            && self.lexemes[at - 1].len() == 1
            && self.before(at - 1).ends_with('\'')
            && self.lexemes[at].capital();
        if !article {
            return;
        }
        let mut first = at - 1;
        while first > 0
            && at - first < 4
            && matches!(self.before(first), " '" | " ")
            && (self.is(first - 1, PARTICLE) || self.class(first - 1) == Some(Class::Name))
        {
            first -= 1;
        }
        let class = self.class(at).unwrap_or(Class::Name);
        self.mark(first, at, class, Certainty::Guessed);
    }

    /// `Orange Walk`: a capitalised word that ends its clause directly behind a part.
    pub(super) fn title_behind(&mut self, at: usize) {
        let next = at + 1;
        let stop = FUNCTION
            | TITLE
            | PERSON
            | RELATION
            | CREDENTIAL
            | DRUG
            | MONTH
            | INSTITUTION
            | ABBREVIATION;
        let fits = self.gap(at) == " "
            && !self.marked(next)
            && self.lexemes[at].case == Case::Title
            && self.lexemes.get(next).is_some_and(|word| {
                word.is_word() && word.case == Case::Title && word.len() > 2 && !word.word.is(stop)
            })
            && (!self.is(next, CLINICAL | PERSON_VERB) || self.is(next, STREET));
        let ends = self.closes(next)
            || self.gap(next).starts_with(':') && self.class(at) == Some(Class::Place)
            || self.gap(next) == " " && self.small(next + 1);
        let led = at > 0 && self.before(at) == " " && self.small(at - 1)
            || self.opens(at) && self.closes(next);
        if fits && ends && led && !self.labels_value(next) {
            let class = self.class(at).unwrap_or(Class::Place);
            self.mark(next, next, class, Certainty::Guessed);
            self.joined[at] = true;
        }
    }

    /// `at Palma 170: remembers`, `Mariscal Lopez 94 c/ Peru`: the number of a house behind a name
    /// that a place leads to.
    pub(super) fn house_behind(&mut self, at: usize) {
        let number = at + 1;
        let crossing = matches!(self.gap(number), " ")
            && self.small(number + 1)
            && matches!(self.gap(number + 1), "/ " | "/")
            && self.marked(number + 2);
        let house = self.gap(at) == " "
            && self.lexemes[at].capital()
            && self
                .lexemes
                .get(number)
                .is_some_and(|part| part.has_digit() && part.len() <= 4)
            && !self.marked(number)
            && (crossing
                || !(self.is(number + 1, UNIT) && matches!(self.gap(number), " " | "" | "-")))
            && !self.gap(number).starts_with(['%', '.']) | self.closes(number);
        if !house {
            return;
        }
        let mut first = at;
        while first > 0
            && at - first < 5
            && self.of_address(first - 1)
            && matches!(self.before(first), " " | ". " | "-")
        {
            first -= 1;
        }
        let led = first > 0
            && self.before(first) == " "
            && matches!(
                self.word(first - 1),
                "at" | "in" | "of" | "from" | "to" | "on" | "near" | "is" | "address"
            );
        let street = (first..=at).any(|part| self.is(part, STREET | STREET_FIRST))
            || self.class(at) == Some(Class::Place);
        if led || street || crossing {
            let last = if crossing { number + 2 } else { number };
            self.mark(first, last, Class::Place, Certainty::Guessed);
        }
    }

    /// `Aarvegur 174, st.`: a shortened word that says which storey.
    pub(super) fn story(&mut self, at: usize) {
        let next = at + 1;
        let short = self.lexemes[at].has_digit()
            && self.gap(at) == ", "
            && self.small(next)
            && self.lexemes[next].len() <= 3
            && !self.marked(next)
            && self.gap(next).starts_with('.')
            && !self.is(next, FUNCTION | UNIT);
        if short {
            self.mark(next, next, Class::Place, Certainty::Guessed);
        }
        // "Apto. 7-B", "Simpang 32-45".
        let part = self.class(at) == Some(Class::Place)
            && self.lexemes[at].has_digit()
            && matches!(self.gap(at), "-" | "/")
            && !self.marked(next)
            && self.lexemes.get(next).is_some_and(|part| {
                part.len() <= 4 && (part.has_digit() || part.len() == 1 && part.capital())
            });
        if part {
            self.mark(next, next, Class::Place, Certainty::Guessed);
        }
    }

    /// `Av. 27 de Febrero No. 69`: a way that is named for a date.
    pub(super) fn dated_way(&mut self, at: usize) {
        if !self.is(at, STREET_FIRST)
            || self.class(at + 1) != Some(Class::Date)
            || !matches!(self.gap(at), " " | ". " | ".")
            || self.small(at) && self.is(at, FUNCTION)
        {
            return;
        }
        let mut last = at + 1;
        while self.class(last + 1) == Some(Class::Date) && self.gap(last).len() <= 2 {
            last += 1;
        }
        let number = |at: usize| {
            self.lexemes
                .get(at)
                .is_some_and(|part| part.has_digit() && part.len() <= 5)
        };
        let end = if number(last + 1) && matches!(self.gap(last), " " | ", " | " #") {
            last + 1
        } else if self.sign(last + 1) && number(last + 2) {
            last + 2
        } else {
            last
        };
        self.mark(at, at, Class::Place, Certainty::Guessed);
        if end > last {
            self.mark(last + 1, end, Class::Place, Certainty::Guessed);
        }
    }

    /// `to 197 Area 47.`: a house in a quarter that is counted.
    pub(super) fn numbered_quarter(&mut self, at: usize) {
        let (name, number) = (at + 1, at + 2);
        let digits = |at: usize| {
            self.lexemes
                .get(at)
                .is_some_and(|part| part.has_digit() && part.len() <= 4)
                && !self.marked(at)
        };
        let fits = digits(at)
            && digits(number)
            && self.gap(at) == " "
            && self.gap(name) == " "
            && self.lexemes[name].case == Case::Title
            && self.lexemes[name].is_word()
            && self.lexemes[name].len() > 2
            && !self.is(name, CLAUSE | ABBREVIATION)
            && (self.closes(number) || self.gap(number).starts_with(':'));
        let led = at > 0
            && (self.before(at).starts_with([',', ':', '\n'])
                || self.before(at) == " " && self.is(at - 1, FUNCTION));
        if fits && led {
            self.mark(at, number, Class::Place, Certainty::Guessed);
        }
    }

    /// `Port of Spain`, over the end of a line too.
    pub(super) fn port_of(&mut self, at: usize) {
        let (of, name) = (at + 1, at + 2);
        let fits = self.is(at, TOWN_FIRST | STREET)
            && matches!(self.gap(at), " " | "\n")
            && matches!(self.word(of), "of" | "OF")
            && matches!(self.gap(of), " " | "\n")
            && self.lexemes.get(name).is_some_and(|word| {
                word.is_word() && word.len() > 2 && word.case == self.lexemes[at].case
            })
            && !self.is(name, CLAUSE | CLINICAL);
        let led = self.marked(at)
            || self.is(at, TOWN_FIRST)
            || self.lexemes[at].capital() && !self.opens(at)
            || at > 0 && self.is(at - 1, FUNCTION);
        if fits
            && led
            && (self.marked(name) || self.closes(name))
            && (self.lexemes[at].capital() || self.marked(name))
        {
            self.mark(at, name, Class::Place, Certainty::Guessed);
        }
    }

    /// `Diagonal 6 15-22`, `LP 92, Southern Main Road`: a way that has a number for its name, or
    /// letters that say what a number counts.
    pub(super) fn numbered_way(&mut self, at: usize) {
        let number = at + 1;
        let digits = |at: usize| {
            self.lexemes
                .get(at)
                .is_some_and(|part| part.has_digit() && part.len() <= 5)
        };
        if !self.lexemes[at].capital()
            || !matches!(self.gap(at), " " | "\n")
            || !digits(number)
            || self.measures(number)
        {
            return;
        }
        let goes_on = matches!(self.gap(number), " " | ", " | " # ")
            && (digits(number + 1) && !self.measures(number + 1)
                || self.class(number + 1) == Some(Class::Place));
        let way = self.is(at, STREET_FIRST) && !self.is(at, FUNCTION | RELATION) && goes_on;
        let letters = self.lexemes[at].case == Case::Upper
            && self.lexemes[at].len() <= 3
            && !self.is(at, UNIT | CREDENTIAL)
            && self.gap(number) == ", "
            && self.class(number + 1) == Some(Class::Place);
        if way || letters {
            let last = number + usize::from(way && digits(number + 1));
            let last = last + usize::from(way && self.gap(last) == "-" && digits(last + 1));
            self.mark(at, last, Class::Place, Certainty::Guessed);
        }
    }
}
