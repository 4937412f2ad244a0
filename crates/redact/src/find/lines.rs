//! Lines that are identifiers as wholes: of an address block, a table's cell, a list of names.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::Case;
use crate::words::{
    ABBREVIATION, CLINICAL, DATE_CUE, DRUG, GIVEN, NEVER, PARTICLE, PERSON_VERB, PLACE_CUE, SAFE,
    STREET, SURNAME, UNIT,
};

/// A line: its first word, its first behind a label, and the one behind its last.
#[derive(Debug, Clone, Copy)]
struct Line {
    first: usize,
    body: usize,
    end: usize,
    /// Whether it is only a part of a line.
    cell: bool,
}

/// More words than this are a sentence.
const LONGEST: usize = 4;

impl Finder<'_> {
    /// Marks short lines, or cells of a table, of capitalised words beside a line that is an identifier as a whole.
    pub(super) fn lines(&mut self) {
        let lines = self.split_lines();
        for at in 0..lines.len() {
            let line = lines[at];
            if self.address_line(line) {
                self.mark(line.body, line.end - 1, Class::Place, Certainty::Guessed);
                continue;
            }
            if self.solid(line) || !self.named_line(line) {
                continue;
            }
            let beside = |other: Option<&Line>| {
                other.is_some_and(|other| self.solid(*other) && self.alike(line, *other))
            };
            if beside(at.checked_sub(1).and_then(|before| lines.get(before)))
                || beside(lines.get(at + 1))
            {
                self.mark(line.body, line.end - 1, Class::Name, Certainty::Guessed);
            }
        }
    }

    fn split_lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut first = 0;
        let mut body = 0;
        for at in 0..self.len() {
            let gap = self.gap(at);
            let cell = divided(gap) || gap == ",";
            if at + 1 == self.len() || cell || gap.contains('\n') {
                lines.push(Line {
                    first,
                    body,
                    end: at + 1,
                    cell: gap != "," && (cell || first > 0 && divided(self.before(first))),
                });
                (first, body) = (at + 1, at + 1);
            } else if body == first && gap.starts_with(": ") && at - first < 4 {
                body = at + 1;
            }
        }
        lines
    }

    fn solid(&self, line: Line) -> bool {
        line.body < line.end && (line.body..line.end).all(|at| self.marked(at))
    }

    /// Whether a line without a label is a street and a house: unknown words and numbers only.
    fn address_line(&self, line: Line) -> bool {
        let stop = NEVER | CLINICAL | UNIT | PERSON_VERB | DATE_CUE;
        let length = line.end - line.body;
        let (mut unknown, mut number, mut left) = (false, false, false);
        let written = line.body == line.first
            && (2..=2 * LONGEST).contains(&length)
            && !self.gap(line.end - 1).starts_with(':')
            && (line.body..line.end).all(|at| {
                let lexeme = &self.lexemes[at];
                let last = at + 1 == line.end;
                let near = last
                    || matches!(
                        self.gap(at),
                        " " | "-" | "'" | ", " | ". " | "." | "/" | " # " | ""
                    );
                let class = self.class(at);
                left |= class.is_none();
                if lexeme.has_digit() {
                    number |= matches!(class, None | Some(Class::Place | Class::Other));
                    return near
                        && matches!(class, None | Some(Class::Place | Class::Other))
                        && lexeme.len() <= 8
                        && !self.measures(at);
                }
                if class.is_some() {
                    unknown |= !lexeme.word.is(SAFE);
                    return near && matches!(class, Some(Class::Place | Class::Name));
                }
                let strange = !lexeme.word.is(SAFE | stop | ABBREVIATION);
                unknown |= strange && lexeme.len() > 2;
                let capital = lexeme.case == Case::Title && !lexeme.word.is(stop);
                near && (strange || capital || lexeme.word.is(PARTICLE)) && !self.find_label(at)
            });
        written && unknown && number && left
    }

    /// Whether two lines have the same label, or none.
    fn alike(&self, one: Line, other: Line) -> bool {
        let label = |line: Line| {
            (line.body > line.first).then(|| {
                &self.text[self.lexemes[line.first].start()..self.lexemes[line.body - 1].end()]
            })
        };
        label(one) == label(other)
    }

    /// Whether a line has nothing but what names are made of.
    fn named_line(&self, line: Line) -> bool {
        let stop = NEVER | CLINICAL;
        let length = line.end - line.body;
        (1..=LONGEST).contains(&length)
            && !self.gap(line.end - 1).starts_with(':')
            && (line.body..line.end).all(|at| {
                let lexeme = &self.lexemes[at];
                let near = at + 1 == line.end
                    || matches!(self.gap(at), " " | "-" | "'" | ", " | ". " | " - ");
                let title = lexeme.case == Case::Title
                    && lexeme.len() > 1
                    && (!lexeme.word.is(stop)
                        || length == 1
                            && lexeme.word.is(CLINICAL)
                            && !lexeme.word.is(stop & !CLINICAL));
                let inner = lexeme.word.is(PARTICLE)
                    || matches!(self.word(at), "in" | "am" | "on" | "an" | "by");
                let inner = inner && at > line.body;
                let title = title
                    && !self.find_label(at)
                    && !lexeme.word.is(PLACE_CUE)
                    && (!line.cell || lexeme.word.is(GIVEN | SURNAME) && !lexeme.word.is(STREET));
                near && (self.marked(at) || title && !lexeme.word.is(ABBREVIATION | DRUG) || inner)
            })
    }
}

/// Whether a gap parts two cells of one line.
fn divided(gap: &str) -> bool {
    gap.contains('|') || gap == " / "
}
