//! Words and numbers of a folded text.

use crate::words::{self, Word};

/// What a run of letters and digits is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Letters only.
    Word,
    /// Digits only.
    Number,
    /// Both.
    Mixed,
}

/// How a word's letters are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// `word`.
    Lower,
    /// `Word`, or a single capital.
    Title,
    /// `WORD`.
    Upper,
    /// `woRD`, or a script without case.
    Other,
}

/// A run of letters and digits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lexeme {
    start: u32,
    end: u32,
    pub(crate) kind: Kind,
    pub(crate) case: Case,
    /// Whether all of it is ASCII.
    pub(crate) ascii: bool,
    /// Whether it is written with letters that the language does not have.
    pub(crate) foreign: bool,
    /// What the lists say about it.
    pub(crate) word: Word,
}

const OTHER: u8 = 0;
const DIGIT: u8 = 1;
const LOWER: u8 = 2;
const UPPER: u8 = 3;
/// The first byte of a character that is not ASCII.
const WIDE: u8 = 4;

/// What each byte is.
const KINDS: [u8; 256] = {
    let mut kinds = [OTHER; 256];
    let mut at = 0;
    while at < 256 {
        kinds[at] = match at {
            0x30..=0x39 => DIGIT,
            0x41..=0x5a => UPPER,
            0x61..=0x7a => LOWER,
            0x80.. => WIDE,
            _ => OTHER,
        };
        at += 1;
    }
    kinds
};

/// Bytes of the longest text that can be split.
pub(crate) const LONGEST: usize = u32::MAX as usize;

/// Splits a folded text.
pub(crate) fn lex(text: &str) -> Vec<Lexeme> {
    let bytes = text.as_bytes();
    let mut lexemes = Vec::with_capacity(text.len() / 5);
    let mut reader = words::Reader::new();
    let mut at = 0;
    while at < bytes.len() {
        if !is_part(text, at) {
            at += 1;
            continue;
        }
        let start = at;
        let (mut digits, mut upper, mut lower, mut wide) = (0, 0, 0, 0);
        let first_upper = bytes[at].is_ascii_uppercase() || wide_upper(text, at);
        while let Some(&byte) = bytes.get(at) {
            let kind = KINDS[usize::from(byte)];
            if kind == OTHER || kind == WIDE && !is_part(text, at) {
                break;
            }
            digits += usize::from(kind == DIGIT);
            lower += usize::from(kind == LOWER);
            upper += usize::from(kind == UPPER);
            wide += usize::from(kind == WIDE);
            at += width(byte);
        }
        let (letters, ascii) = (lower + upper + wide, wide == 0);
        at = at.min(bytes.len());
        let kind = match (letters, digits) {
            (0, _) => Kind::Number,
            (_, 0) => Kind::Word,
            _ => Kind::Mixed,
        };
        let case = match (first_upper, upper, lower) {
            (true, 0 | 1, _) => Case::Title,
            // `McDonald`, `NandiGan`; `HbA` and `PaO` are no names.
            (true, 2, 4..) => Case::Title,
            (true, _, 0) => Case::Upper,
            (false, 0, _) if ascii || lower > 0 => Case::Lower,
            _ if !ascii && first_upper => Case::Title,
            _ => Case::Other,
        };
        let word = if kind == Kind::Number {
            Word::default()
        } else {
            spelled(reader.look_up(&text[start..at]), case)
        };
        lexemes.push(Lexeme {
            start: narrow(start),
            end: narrow(at),
            kind,
            case,
            ascii,
            foreign: !ascii,
            word,
        });
    }
    lexemes
}

/// A place in a text. Many of them are kept, so they are small; a text with larger ones is not
/// split at all.
fn narrow(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// What is known about a word, by the way it is written: an abbreviation is one in capitals or
/// small letters, `Ana` is a name.
fn spelled(word: Word, case: Case) -> Word {
    let small = case == Case::Lower && !word.is(words::GIVEN);
    if word.is(words::ABBREVIATION) && (case == Case::Upper || small) {
        return word.with(words::SAFE);
    }
    word
}

/// Whether a letter or digit begins at a byte that begins a character.
fn is_part(text: &str, at: usize) -> bool {
    let byte = text.as_bytes()[at];
    let kind = KINDS[usize::from(byte)];
    if kind != WIDE {
        return kind != OTHER;
    }
    byte >= 0xc0
        && text
            .get(at..)
            .and_then(|rest| rest.chars().next())
            .is_some_and(char::is_alphanumeric)
}

fn wide_upper(text: &str, at: usize) -> bool {
    !text.as_bytes()[at].is_ascii() && text[at..].chars().next().is_some_and(char::is_uppercase)
}

/// How many bytes a character has, by its first.
fn width(byte: u8) -> usize {
    match byte {
        0xf0.. => 4,
        0xe0..=0xef => 3,
        0xc0..=0xdf => 2,
        _ => 1,
    }
}

// === impl Lexeme ===

impl Lexeme {
    /// First byte in the folded text.
    pub(crate) fn start(&self) -> usize {
        self.start as usize
    }

    /// The byte behind its last.
    pub(crate) fn end(&self) -> usize {
        self.end as usize
    }

    pub(crate) fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether it is written as names are.
    pub(crate) fn capital(&self) -> bool {
        matches!(self.case, Case::Title | Case::Upper)
    }

    pub(crate) fn is_word(&self) -> bool {
        self.kind == Kind::Word
    }

    pub(crate) fn has_digit(&self) -> bool {
        self.kind != Kind::Word
    }
}
