//! What stands beside a name and is of it: initials, a second part, the rest of a broken line.

use super::Finder;
use super::reach::CLAUSE;
use crate::class::{Certainty, Class};
use crate::lex::Case;
use crate::words::{
    ABBREVIATION, CLINICAL, CREDENTIAL, DRUG, FUNCTION, INSTITUTION, NEVER, PERSON, PERSON_VERB,
    RELATION, SAFE, TITLE, UNIT,
};

impl Finder<'_> {
    pub(super) fn beside_name(&mut self, at: usize) {
        if at > 0 && !self.marked(at - 1) {
            self.initial_before(at);
            self.led_words(at);
            self.surname_first(at);
        }
        if at > 0 && self.lexemes[at - 1].has_digit() {
            self.in_list(at);
        }
        if !self.marked(at + 1) {
            self.small_surname(at);
            self.broken(at);
            self.small_sentence_word(at);
        }
        match self.lexemes[at].case {
            Case::Lower => self.initial_behind(at),
            Case::Upper => self.alone(at),
            Case::Title | Case::Other => {}
        }
    }

    /// `Kind, Antonia`: a word of the language before a comma and a name that ends there.
    pub(super) fn surname_first(&mut self, at: usize) {
        let Some(last) = at.checked_sub(1) else {
            return;
        };
        let lexeme = &self.lexemes[last];
        let fits = !self.marked(last)
            && lexeme.case == Case::Title
            && lexeme.is_word()
            && lexeme.len() > 2
            && self.gap(last) == ", "
            && self.opens(last)
            && !lexeme.word.is(CLAUSE | INSTITUTION)
            && self.lexemes[at].case == Case::Title
            && !self.is(at, SAFE)
            && self.name_ends(at)
            && self.gap(at) != ", ";
        if fits
            && !["ed", "ing", "ly"]
                .iter()
                .any(|end| self.word(last).ends_with(end))
        {
            self.mark(last, at, Class::Name, Certainty::Guessed);
        }
    }

    /// `- Hung` under a message: who wrote it.
    pub(super) fn signature(&mut self) {
        let Some(last) = self.len().checked_sub(1) else {
            return;
        };
        let title = |at: usize| {
            let lexeme = &self.lexemes[at];
            lexeme.is_word()
                && lexeme.case == Case::Title
                && lexeme.len() > 1
                && !lexeme.word.is(NEVER | CLINICAL)
        };
        let first = if last > 0 && self.gap(last - 1) == " " && title(last - 1) {
            last - 1
        } else {
            last
        };
        if title(last) && self.before(first).ends_with("- ") && !self.marked(last) {
            self.mark(first, last, Class::Name, Certainty::Guessed);
        }
    }

    /// `Yong He`: a capital directly behind a name begins no sentence.
    pub(super) fn small_sentence_word(&mut self, at: usize) {
        let next = at + 1;
        let title = |at: usize| {
            self.lexemes
                .get(at)
                .is_some_and(|word| word.is_word() && word.case == Case::Title && word.len() > 1)
        };
        let first = at == 0 || !self.marked(at - 1) || self.before(at) != " ";
        if title(at)
            && title(next)
            && self.gap(at) == " "
            && !self.marked(next)
            && first
            && self.is(next, FUNCTION)
            && self.lexemes[next].len() <= 3
        {
            self.mark(next, next, Class::Name, Certainty::Guessed);
            self.joined[at] = true;
        }
    }

    /// `TAN` above or below `WEI`: a line of one shouted word beside a line that is a name.
    pub(super) fn alone(&mut self, at: usize) {
        let line = |finder: &Self, at: usize| {
            finder
                .lexemes
                .get(at)
                .is_some_and(|word| word.is_word() && word.case == Case::Upper)
                && finder.before(at).ends_with('\n') | (at == 0)
                && (finder.gap(at).starts_with('\n') || at + 1 == finder.len())
        };
        if !line(self, at) {
            return;
        }
        for other in [at.wrapping_sub(1), at + 1] {
            if other < self.len()
                && line(self, other)
                && !self.marked(other)
                && !self.is(other, PERSON | INSTITUTION | CLINICAL)
            {
                self.mark(other, other, Class::Name, Certainty::Guessed);
            }
        }
    }

    /// `690 Gu, Na: awaits surgery`: the number of a room or bed before a name that opens a line.
    pub(super) fn in_list(&mut self, at: usize) {
        let mut first = at;
        while first > 0
            && at - first < 3
            && self.lexemes[first - 1].has_digit()
            && matches!(self.before(first), " " | "-" | "  ")
        {
            first -= 1;
        }
        let line = first < at && (first == 0 || self.before(first).contains('\n'));
        if line
            && self.lexemes[at].capital()
            && matches!(self.before(at), " " | "  ")
            && self.lexemes[first].len() <= 4
        {
            self.mark(first, at - 1, Class::Place, Certainty::Guessed);
        }
    }

    /// `ona h. beckius`: one letter before a name, behind a name or a word that leads to one.
    pub(super) fn initial_before(&mut self, at: usize) {
        let Some(letter) = at.checked_sub(1) else {
            return;
        };
        let single = self.lexemes[letter].len() == 1
            && self.lexemes[letter].is_word()
            && !self.marked(letter);
        if !single || !matches!(self.gap(letter), ". " | "." | " " | ".\n") {
            return;
        }
        let dotted = self.gap(letter) != " ";
        let led = letter > 0
            && matches!(self.before(letter), " " | ". " | ", ")
            && (self.class(letter - 1) == Some(Class::Name)
                || dotted && (self.is(letter - 1, TITLE | PERSON | RELATION | FUNCTION)));
        let alone = dotted && (letter == 0 || self.opens(letter));
        if led && (dotted || !matches!(self.word(letter), "a" | "i" | "I")) || alone {
            self.mark(letter, at, Class::Name, Certainty::Guessed);
        }
    }

    /// `doctor lei wang`: words between one that leads to a name and the name.
    pub(super) fn led_words(&mut self, at: usize) {
        let stop = FUNCTION
            | PERSON_VERB
            | RELATION
            | PERSON
            | TITLE
            | INSTITUTION
            | UNIT
            | CREDENTIAL
            | DRUG;
        let mut first = at;
        while first > 0
            && at - first < 2
            && matches!(self.before(first), " " | "-")
            && !self.marked(first - 1)
            && self.lexemes[first - 1].is_word()
            && !self.is(first - 1, stop & !UNIT)
            && (self.lexemes[first - 1].case == self.lexemes[at].case)
        {
            first -= 1;
        }
        if first == at || first == 0 || !matches!(self.before(first), " " | ": " | ". ") {
            return;
        }
        let lead = first - 1;
        let cue = self.is(lead, TITLE)
            || self.is(lead, RELATION | PERSON)
                && (self.lexemes[at].case != Case::Lower || self.before(first) == " ");
        let by = self.lexemes[at].capital()
            && matches!(
                self.word(lead),
                "by" | "with"
                    | "for"
                    | "and"
                    | "to"
                    | "from"
                    | "tell"
                    | "told"
                    | "ask"
                    | "asked"
                    | "called"
            );
        if cue || by && self.before(first) == " " {
            self.mark(first, at, Class::Name, Certainty::Guessed);
        }
    }

    /// A name that goes on behind a broken line.
    pub(super) fn broken(&mut self, at: usize) {
        let next = at + 1;
        if !matches!(self.gap(at), "\n" | "-\n" | " \n")
            || self.marked(next)
            || !self.lexemes[at].capital()
        {
            return;
        }
        let alone = at == 0 || !self.marked(at - 1) || self.before(at) != " ";
        let led = at > 0
            && (self.before(at).contains(':')
                || self.before(at) == " " && self.is(at - 1, FUNCTION | TITLE | PERSON | RELATION))
            || at > 0 && self.before(at) == " " && self.is(at - 1, PERSON_VERB);
        let stop = CLAUSE | CLINICAL | INSTITUTION | ABBREVIATION;
        let name = self.lexemes.get(next).is_some_and(|word| {
            word.is_word() && word.case == self.lexemes[at].case && word.len() > 1
        }) && (!self.is(next, stop)
            || self.listed(next) && !self.is(next, FUNCTION | TITLE | PERSON | RELATION));
        let ends = self.closes(next)
            || self.gap(next) == " "
                && self
                    .lexemes
                    .get(next + 1)
                    .is_some_and(|word| word.case == Case::Lower);
        if alone && led && name && ends && !self.labels_value(next) {
            self.mark(at, next, Class::Name, Certainty::Guessed);
        }
    }

    /// `shu-fen`, `Chin-Lung Tsai`: of a name with a hyphen one part is as much a name as the other.
    pub(super) fn hyphen(&mut self, at: usize) {
        let next = at + 1;
        let Some(second) = self.lexemes.get(next) else {
            return;
        };
        let first = &self.lexemes[at];
        let stop = FUNCTION | CREDENTIAL | DRUG | TITLE | PERSON | RELATION;
        // "Hsin-I": a single capital is no pronoun behind a hyphen.
        if self.class(at) == Some(Class::Name) && second.len() == 1 && second.capital() {
            self.mark(at, next, Class::Name, Certainty::Guessed);
            return;
        }
        if !second.is_word()
            || first.case != second.case
            || first.word.is(stop)
            || second.word.is(stop)
        {
            return;
        }
        let name = |at: usize| {
            matches!(self.class(at), Some(Class::Name | Class::Place)) && !self.is(at, SAFE)
        };
        let beside = |at: usize, gap: &str| {
            matches!(gap, " " | ", ")
                && self.class(at) == Some(Class::Name)
                && self.lexemes[at].case == first.case
        };
        let capital = first.capital() && first.len() > 1 && second.len() > 1;
        let known = name(at) || name(next);
        let near = at > 0 && beside(at - 1, self.before(at)) || beside(next + 1, self.gap(next));
        let fits = known && (capital || first.len().min(second.len()) <= 5)
            || capital
                && near
                && !(self.is(at, CLINICAL) && self.is(next, CLINICAL) && first.case == Case::Upper);
        if fits && !(self.marked(at) && self.marked(next)) {
            self.mark(at, next, Class::Name, Certainty::Guessed);
        }
    }
}
