//! Finding identifiers in a folded text.
//!
//! The text is split into words and numbers once; each stage marks those it takes for part of an
//! identifier. The order matters: what has a form or a label is marked first, so that the stages
//! that guess see it as context.

mod addresses;
mod beside;
mod bridges;
mod contact;
mod dates;
mod gaps;
mod houses;
pub(crate) mod labels;
mod led;
mod lines;
mod names;
mod neighbours;
mod numbers;
mod openings;
mod pairs;
mod places;
mod reach;
mod slots;
mod small;
mod streets;
mod sweep;
mod unknown;
mod ways;

use self::gaps::Gaps;
use crate::class::{Certainty, Class};
use crate::fold::Folded;
use crate::lex::{Case, LONGEST, Lexeme, lex};
use crate::words::{CLINICAL, DRUG, FILLER, FUNCTION, Flag, PERSON_VERB, PERSONAL, SAFE, Word};

/// An identifier in the folded text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) class: Class,
    pub(crate) certainty: Certainty,
}

/// How to look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner<'a> {
    /// Whether the built-in names count.
    pub(crate) names: bool,
    /// Whether unknown words and numbers are taken out.
    pub(crate) safe: bool,
    /// Words of the entity that are harmless, in small letters.
    pub(crate) safe_words: &'a std::collections::HashSet<String>,
}

/// What was found, and what was seen and left.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    /// What may still identify somebody, from 0 to 1.
    pub(crate) doubt: f32,
}

/// Finds identifiers; `known` are hits that were found by other means.
pub(crate) fn find(folded: &Folded<'_>, known: &[Hit], manner: Manner<'_>) -> Found {
    let text: &str = &folded.text;
    if text.len() > LONGEST {
        // What cannot be read is replaced whole.
        let whole = Hit::new(0, text.len(), Class::Other, Certainty::Guessed);
        return Found {
            hits: vec![whole],
            doubt: 1.0,
        };
    }
    let mut lexemes = lex(text);
    for lexeme in lexemes.iter_mut().filter(|_| folded.changed()) {
        // What was not written plainly, `Máxima`, is no word of the language.
        if !folded.plain(lexeme.start(), lexeme.end()) {
            lexeme.foreign = true;
            lexeme.word = if lexeme.capital() {
                Word::default()
            } else {
                lexeme.word.without(crate::words::LANGUAGE)
            };
        }
    }
    let count = lexemes.len();
    let gaps = Gaps::read(text, &lexemes);
    let mut finder = Finder {
        text,
        telling: telling(&lexemes, &gaps),
        gaps,
        lexemes,
        marks: vec![None; count],
        joined: vec![false; count],
        manner,
        doubt: 0.0,
    };
    finder.known(known);
    finder.contacts();
    finder.labels();
    finder.dates();
    finder.numbers();
    finder.places();
    finder.names();
    finder.unknown();
    finder.openings();
    finder.neighbours();
    finder.addresses();
    finder.bridges();
    finder.reach();
    finder.lines();
    finder.slots();
    finder.sweep();
    finder.again();
    let hits = finder.hits();
    Found {
        hits,
        doubt: finder.doubt.min(1.0),
    }
}

/// The words that are more than filling between others.
fn telling(lexemes: &[Lexeme], gaps: &Gaps<'_>) -> Vec<u32> {
    const FILLING: Flag = SAFE | FUNCTION | PERSON_VERB | PERSONAL | CLINICAL | DRUG | FILLER;
    let filling = |at: usize, lexeme: &Lexeme| {
        lexeme.case == Case::Lower
            && lexeme.len() > 3
            && lexeme.word.is(SAFE)
            && !lexeme.word.is(!FILLING)
            && lexeme.is_word()
            && gaps.behind(at) == " "
    };
    (0_u32..)
        .zip(lexemes.iter().enumerate())
        .filter(|(_, (at, lexeme))| !filling(*at, lexeme))
        .map(|(number, _)| number)
        .collect()
}

/// That a word or number is part of an identifier.
#[derive(Debug, Clone, Copy)]
struct Mark {
    class: Class,
    certainty: Certainty,
}

#[derive(Debug)]
struct Finder<'a> {
    text: &'a str,
    gaps: Gaps<'a>,
    /// The words that a rule may begin at. The others, half of most texts, are words of the language
    /// that say nothing about what stands beside them.
    telling: Vec<u32>,
    lexemes: Vec<Lexeme>,
    marks: Vec<Option<Mark>>,
    /// Whether a word and the next one are of one identifier.
    joined: Vec<bool>,
    manner: Manner<'a>,
    doubt: f32,
}

// === impl Hit ===

impl Hit {
    pub(crate) fn new(start: usize, end: usize, class: Class, certainty: Certainty) -> Self {
        Self {
            start,
            end,
            class,
            certainty,
        }
    }
}

// === impl Finder ===

impl<'a> Finder<'a> {
    fn len(&self) -> usize {
        self.lexemes.len()
    }

    /// The telling words of one kind. Most stages ask for few of them, and asking all of them first,
    /// without a branch, is cheaper than to be wrong about every other one.
    fn select(&self, wanted: impl Fn(&Lexeme) -> bool) -> Vec<usize> {
        let mut chosen = vec![0; self.telling.len() + 1];
        let mut count = 0;
        for &at in &self.telling {
            let at = at as usize;
            chosen[count] = at;
            count += usize::from(wanted(&self.lexemes[at]));
        }
        chosen.truncate(count);
        chosen
    }

    /// One of the telling words.
    fn telling(&self, number: usize) -> usize {
        self.telling[number] as usize
    }

    /// A word as it is written; none behind the last.
    fn word(&self, at: usize) -> &'a str {
        self.lexemes
            .get(at)
            .map_or("", |lexeme| &self.text[lexeme.start()..lexeme.end()])
    }

    /// The text between a word and the next one, or the rest behind the last.
    fn gap(&self, at: usize) -> &'a str {
        self.gaps.behind(at)
    }

    /// The text before a word.
    fn before(&self, at: usize) -> &'a str {
        self.gaps.before(at)
    }

    /// Whether a word opens a sentence, a line or a list's item.
    fn opens(&self, at: usize) -> bool {
        self.gaps.opens(at)
    }

    /// Whether a clause or line ends behind a word.
    fn closes(&self, at: usize) -> bool {
        self.gaps.closes(at)
    }

    /// Whether what stands behind a word ends a name: no further word of the same line goes on.
    fn name_ends(&self, at: usize) -> bool {
        self.gaps.ends(at)
    }

    fn is(&self, at: usize, flags: Flag) -> bool {
        self.lexemes
            .get(at)
            .is_some_and(|lexeme| lexeme.word.is(flags))
    }

    fn marked(&self, at: usize) -> bool {
        self.marks.get(at).is_some_and(Option::is_some)
    }

    fn class(&self, at: usize) -> Option<Class> {
        self.marks.get(at).copied().flatten().map(|mark| mark.class)
    }

    /// Marks words as one identifier; what is marked more certainly stays.
    fn mark(&mut self, from: usize, to: usize, class: Class, certainty: Certainty) {
        for at in from..=to.min(self.len().saturating_sub(1)) {
            let mark = &mut self.marks[at];
            if mark.is_none_or(|known| known.certainty < certainty) {
                *mark = Some(Mark { class, certainty });
            }
            self.joined[at] |= at < to;
        }
    }

    /// Marks the words that lie in these ranges of the text.
    fn known(&mut self, hits: &[Hit]) {
        for hit in hits {
            let from = self
                .lexemes
                .partition_point(|lexeme| lexeme.end() <= hit.start);
            let behind = self
                .lexemes
                .partition_point(|lexeme| lexeme.start() < hit.end);
            if from < behind {
                self.mark(from, behind - 1, hit.class, hit.certainty);
            }
        }
    }

    /// The marks as ranges of the text; parts of one name are one range.
    fn hits(&self) -> Vec<Hit> {
        let mut hits: Vec<Hit> = Vec::new();
        let mut goes_on = false;
        for (at, mark) in self.marks.iter().enumerate() {
            let Some(mark) = mark else {
                goes_on = false;
                continue;
            };
            let lexeme = &self.lexemes[at];
            match hits.last_mut() {
                Some(last) if goes_on => {
                    last.end = lexeme.end();
                    last.certainty = last.certainty.max(mark.certainty);
                }
                _ => hits.push(Hit::new(
                    lexeme.start(),
                    lexeme.end(),
                    mark.class,
                    mark.certainty,
                )),
            }
            let near = matches!(self.gap(at), " " | "  " | "-" | "'" | ". " | ".");
            let same = self.class(at + 1) == Some(mark.class);
            goes_on = self.joined[at] || (near && same && mark.class == Class::Name);
        }
        hits
    }
}
