//! Names of persons: after titles and labels, and words that are both a name and a word.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::Case;
use crate::words::{
    ABBREVIATION, CLINICAL, CREDENTIAL, FUNCTION, GIVEN, INSTITUTION, MONTH, NEVER, PARTICLE,
    PERSON, PERSON_VERB, PERSONAL, RELATION, SAFE, SURNAME, TITLE, WEEKDAY,
};

impl Finder<'_> {
    pub(super) fn names(&mut self) {
        for at in self.select(|lexeme| lexeme.word.is(TITLE | PERSON | RELATION | CREDENTIAL)) {
            if !self.lexemes[at].is_word() {
                continue;
            }
            if self.is(at, TITLE) && matches!(self.gap(at), " " | ". " | "." | "  ") {
                self.titled(at + 1);
            }
            if self.is(at, PERSON | RELATION) {
                self.cued_name(at);
            }
            if self.is(at, CREDENTIAL) && self.lexemes[at].case != Case::Lower {
                self.credentialled(at);
            }
        }
        if self.manner.names {
            for at in self.select(|lexeme| lexeme.case != Case::Lower) {
                if !self.marked(at) && self.ambiguous(at) {
                    self.mark(at, at, Class::Name, Certainty::Guessed);
                }
            }
        }
    }

    fn named(&self, at: usize) -> bool {
        self.is(at, GIVEN | SURNAME)
    }

    /// Whether a capital stands inside a sentence, where only names and the like have one.
    pub(super) fn inside_sentence(&self, at: usize) -> bool {
        let lexeme = &self.lexemes[at];
        if lexeme.word.is(ABBREVIATION) && !lexeme.word.is(GIVEN | SURNAME) {
            return false;
        }
        // "with Pan and": a title is none where no name follows it.
        let titled = lexeme.word.is(TITLE)
            && lexeme.word.is(GIVEN | SURNAME)
            && !self
                .lexemes
                .get(at + 1)
                .is_some_and(|next| next.capital() && self.gap(at).len() <= 2);
        let stop = if titled { NEVER & !TITLE } else { NEVER };
        let shouted = lexeme.case == Case::Upper
            && lexeme.len() > 3
            && !lexeme.word.is(CLINICAL | ABBREVIATION);
        let near = self.before(at);
        lexeme.is_word()
            && (lexeme.case == Case::Title || shouted)
            && lexeme.len() > 1
            && !lexeme.word.is(stop)
            && at > 0
            && (near == " " || near == ", " && !lexeme.word.is(CLINICAL) && self.gap(at) != " ")
            && !(self.gap(at).starts_with(':')
                && (lexeme.word.is(CLINICAL) || self.word(at) == "Plan"))
            && self.lexemes[at - 1].case == Case::Lower
            && self.lexemes[at - 1].is_word()
    }

    /// Whether a word, by the way it is written, may go on a name.
    fn goes_on(&self, at: usize) -> bool {
        let Some(lexeme) = self.lexemes.get(at) else {
            return false;
        };
        lexeme.is_word()
            && (lexeme.capital() && (!lexeme.word.is(SAFE) || self.named(at) || lexeme.len() == 1)
                || !lexeme.word.is(SAFE) && lexeme.len() > 2)
            && !lexeme.word.is(WEEKDAY | INSTITUTION)
    }

    /// "Dr" and the like stand before.
    fn titled(&mut self, first: usize) {
        let Some(lexeme) = self.lexemes.get(first) else {
            return;
        };
        let written = lexeme.is_word() && lexeme.capital() && !lexeme.word.is(FUNCTION)
            || self.goes_on(first);
        let titled_too = self.is(first, TITLE)
            && self
                .lexemes
                .get(first + 1)
                .is_some_and(|next| next.capital());
        let lower = lexeme.is_word() && self.named(first) && !lexeme.word.is(FUNCTION);
        // "Dr. die Pelser": the surname's particle in small letters.
        if lexeme.case == Case::Lower
            && lexeme.len() <= 4
            && self.gap(first) == " "
            && self.goes_on(first + 1)
            && self.lexemes[first + 1].case == Case::Title
        {
            self.take(first + 1, Certainty::Likely);
            self.mark(first, first + 1, Class::Name, Certainty::Likely);
            return;
        }
        if !titled_too
            && (written
                || lower
                || lexeme.word.is(FUNCTION) && lexeme.case == Case::Title && self.named(first))
        {
            self.take(first, Certainty::Likely);
        }
    }

    /// "Patient:", "daughter", "by" stand before.
    fn cued_name(&mut self, cue: usize) {
        let gap = self.gap(cue);
        let label = matches!(
            gap.trim(),
            ":" | "=" | ":\"" | "\":\"" | "\": \"" | "(s):" | "-" | "|"
        ) && gap.len() <= 6;
        let next = cue + 1;
        let Some(lexeme) = self.lexemes.get(next) else {
            return;
        };
        if !lexeme.is_word() || self.is(next, TITLE | WEEKDAY) {
            return;
        }
        let comma = matches!(gap, ", " | " (") && self.is(cue, RELATION);
        if label {
            let lower = lexeme.case == Case::Lower && lexeme.word.is(SAFE) && !self.named(next);
            let heading = self.is(next, PERSON | CLINICAL | FUNCTION) && !self.goes_on(next + 1);
            if !lower && !heading {
                self.take(next, Certainty::Likely);
            }
        } else if gap == " " || comma {
            let proper = lexeme.capital()
                && (self.named(next) || !lexeme.word.is(SAFE))
                && !(lexeme.word.is(CLINICAL) && self.is(cue, PERSON) && self.opens(cue));
            let pair = self.named(next)
                && !lexeme.word.is(FUNCTION)
                && gap == " "
                && (self.goes_on(next + 1) || self.named(next + 1))
                && self.gap(next) == " "
                && !self.is(next + 1, FUNCTION);
            if proper && lexeme.case != Case::Upper
                || pair
                || proper && !lexeme.word.is(SAFE | ABBREVIATION)
            {
                self.take(next, Certainty::Likely);
            }
        }
    }

    /// "MD" and the like stand behind.
    fn credentialled(&mut self, at: usize) {
        if at == 0 || !matches!(self.gap(at - 1), ", " | " ") {
            return;
        }
        let mut first = at;
        while first > 0
            && at - first < 4
            && matches!(self.gap(first - 1), " " | "-" | "'" | ". " | ", ")
        {
            let before = &self.lexemes[first - 1];
            if first < at && self.gap(first - 1) == ", " {
                break;
            }
            let name = before.is_word()
                && before.capital()
                && !before
                    .word
                    .is(FUNCTION | TITLE | CLINICAL | CREDENTIAL | ABBREVIATION);
            if !name || before.word.is(SAFE) && !self.named(first - 1) && first == at {
                break;
            }
            first -= 1;
        }
        if first < at && self.gap(at - 1) == ", " {
            self.mark(first, at - 1, Class::Name, Certainty::Likely);
        }
    }

    /// Marks a name from its first word on.
    fn take(&mut self, first: usize, certainty: Certainty) {
        let mut last = first;
        let lower = self.lexemes[first].case == Case::Lower;
        let upper = self.lexemes[first].case == Case::Upper;
        while last + 1 < self.len() && last - first < 6 {
            let next = last + 1;
            let gap = self.gap(last);
            let initial = self.lexemes[last].len() == 1 || self.is(last, TITLE);
            if !(matches!(gap, " " | "-" | "'" | ", " | "  ")
                || (matches!(gap, ". " | ".") && initial))
            {
                break;
            }
            let lexeme = &self.lexemes[next];
            if !lexeme.is_word() || self.marked(next) && self.class(next) != Some(Class::Name) {
                break;
            }
            let particle =
                self.is(next, PARTICLE) && (self.goes_on(next + 1) || self.is(next + 1, PARTICLE));
            let follows = match gap {
                ", " => {
                    last == first
                        && self.goes_on(next)
                        && !self.is(next, CREDENTIAL | TITLE)
                        && !(lexeme.case == Case::Upper && self.find_label(next))
                }
                _ => {
                    self.goes_on(next)
                        || particle
                        || (lower && self.named(next) && !self.is(next, FUNCTION))
                        || self.also(next, upper)
                }
            };
            let single = lexeme.len() == 1 && gap == "'";
            if !follows || single && matches!(self.word(next), "s" | "S") {
                break;
            }
            last = next;
        }
        self.mark(first, last, Class::Name, certainty);
    }

    /// Whether a capitalised word of the language may still be part of the name before it.
    fn also(&self, at: usize, upper: bool) -> bool {
        let lexeme = &self.lexemes[at];
        lexeme.case == Case::Title
            && !upper
            && !lexeme.word.is(FUNCTION
                | CLINICAL
                | CREDENTIAL
                | TITLE
                | WEEKDAY
                | MONTH
                | PERSON
                | RELATION
                | INSTITUTION
                | ABBREVIATION)
            && !self.gap(at).starts_with(':')
    }

    /// "Tone wishes", "Hall denies": whether only a person does what the next word says.
    fn acting(&self, at: usize) -> bool {
        let stop = NEVER;
        let lexeme = &self.lexemes[at];
        lexeme.is_word()
            && lexeme.case == Case::Title
            && !lexeme.word.is(stop)
            && self.gap(at) == " "
            && self.strong_verb(at + 1)
    }

    /// Whether a word says what only a person does.
    fn strong_verb(&self, at: usize) -> bool {
        self.is(at, PERSONAL) && self.lexemes[at].case == Case::Lower
    }

    /// Marks the words of the names and places that were found wherever else they are written
    /// with a capital.
    pub(super) fn again(&mut self) {
        let mut seen: Vec<&str> = Vec::new();
        for at in self.select(|lexeme| lexeme.case == Case::Title) {
            let lexeme = &self.lexemes[at];
            if lexeme.case == Case::Title
                && lexeme.is_word()
                && lexeme.len() > 2
                && matches!(self.class(at), Some(Class::Name | Class::Place))
                && lexeme.word.is(SAFE)
                && !lexeme
                    .word
                    .is(FUNCTION | TITLE | PERSON | RELATION | MONTH | WEEKDAY)
            {
                seen.push(self.word(at));
            }
        }
        if seen.is_empty() {
            return;
        }
        seen.sort_unstable();
        seen.dedup();
        for at in self.select(|lexeme| (lexeme.case == Case::Title) & lexeme.word.is(SAFE)) {
            let lexeme = &self.lexemes[at];
            if lexeme.case == Case::Title
                && lexeme.word.is(SAFE)
                && !self.marked(at)
                && !self.gap(at).starts_with(':')
                && seen.binary_search(&self.word(at)).is_ok()
            {
                self.mark(at, at, Class::Name, Certainty::Guessed);
            }
        }
    }

    /// Whether a word of the language that is also a name is one here.
    fn ambiguous(&self, at: usize) -> bool {
        let lexeme = &self.lexemes[at];
        if self.inside_sentence(at) {
            return true;
        }
        let initial = at > 0 && self.lexemes[at - 1].len() == 1 && self.before(at) == ". ";
        if initial && lexeme.is_word() && lexeme.case == Case::Title && self.named(at) {
            return self.lexemes[at - 1].capital();
        }
        let full = self.is(at, GIVEN) && self.gap(at) == " " && self.is(at + 1, SURNAME)
            || self.is(at, SURNAME)
                && at > 0
                && self.before(at) == " "
                && self.is(at - 1, GIVEN)
                && self.marked(at - 1);
        let title = |at: usize| {
            self.lexemes
                .get(at)
                .is_some_and(|word| word.case == Case::Title && !word.word.is(FUNCTION))
        };
        if full
            && title(at)
            && (self.marked(at.wrapping_sub(1)) || title(at + 1))
            && !self.is(at + 1, INSTITUTION)
        {
            return true;
        }
        if self.acting(at) {
            return true;
        }
        let acts = self.gap(at) == " " && self.is(at + 1, PERSON_VERB);
        if lexeme.word.is(GIVEN) && acts && lexeme.case == Case::Title && !lexeme.word.is(FUNCTION)
        {
            return true;
        }
        if !self.named(at)
            || self.is(at, CLINICAL)
            || !lexeme.is_word()
            || lexeme.case == Case::Lower
            || lexeme.len() < 2
        {
            return false;
        }
        if !lexeme.word.is(SAFE) {
            return true;
        }
        let neighbour = |other: usize, gap: &str| {
            matches!(gap, " " | "-" | ". ")
                && self
                    .lexemes
                    .get(other)
                    .is_some_and(|word| word.is_word() && word.capital())
        };
        let next = neighbour(at + 1, self.gap(at));
        let previous = at > 0 && neighbour(at - 1, self.before(at));
        let name = |other: usize| self.marked(other) || !self.is(other, SAFE) || self.named(other);
        if next && name(at + 1) && !self.is(at + 1, ABBREVIATION)
            || previous
                && name(at - 1)
                && self.before(at) != ". "
                && !self.is(at - 1, TITLE | ABBREVIATION)
        {
            return !lexeme.word.is(FUNCTION)
                || self.lexemes[at].case == Case::Title && !self.opens(at);
        }
        if lexeme.case == Case::Upper
            || lexeme.word.is(FUNCTION | MONTH | TITLE)
            || self.gap(at).starts_with(':')
        {
            return false;
        }
        let heading = next && !name(at + 1) || previous && !name(at - 1) && !self.opens(at - 1);
        let verb = self.gap(at) == " " && self.is(at + 1, PERSON_VERB);
        let possessive = self.gap(at) == "'" && self.is(at + 1, SAFE) && self.word(at + 1) == "s";
        if self.opens(at) {
            return verb || possessive || lexeme.word.is(GIVEN) && !heading;
        }
        !heading || verb
    }
}
