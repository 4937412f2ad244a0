//! The spellings in which a token may come back.

use legation_core::unseen::is_unseen;

use crate::class::Class;
use crate::token::{ID_LENGTH, OPEN, Token, id_character};

/// The characters a token can begin with, in any spelling of its bracket.
pub(super) const STARTS: [char; 5] = [OPEN, '[', '&', '%', '\\'];

/// The next byte that may begin such a character.
pub(crate) fn next_start(bytes: &[u8]) -> Option<usize> {
    let starts = |byte: u8| {
        (byte == b'[') | (byte == b'&') | (byte == b'%') | (byte == b'\\') | (byte == 0xe2)
    };
    // Most parts of a text have none: a whole part is asked at once.
    let part = bytes
        .chunks(64)
        .position(|part| part.iter().fold(false, |any, byte| any | starts(*byte)))?;
    let inside = bytes[64 * part..].iter().position(|byte| starts(*byte))?;
    Some(64 * part + inside)
}

/// The longest spelling of a token in bytes; nothing longer is held back or taken for one.
const LONGEST: usize = 192;

/// What stands at the start of a text.
#[derive(Debug)]
pub(super) enum Read {
    /// A token, in this many bytes.
    Token { token: Token, length: usize },
    /// The beginning of what may become one.
    Unfinished,
    /// No token.
    Other,
}

const OPENS: &[&str] = &[
    "⟦",
    "[[",
    "\\[\\[",
    "&#10214;",
    "&#x27e6;",
    "&lobrk;",
    "%e2%9f%a6",
    "\\u27e6",
];
const CLOSES: &[&str] = &[
    "⟧",
    "]]",
    "\\]\\]",
    "&#10215;",
    "&#x27e7;",
    "&robrk;",
    "%e2%9f%a7",
    "\\u27e7",
];
const COLONS: &[&str] = &[":", "\\:", "：", "%3a", "&#58;", "&#x3a;", "&colon;"];
const NUMBERS: &[&str] = &["#", "\\#", "%23", "&#35;", "&num;"];

/// Reads a token at the very start of a text.
pub(super) fn read(text: &str) -> Read {
    let mut reader = Reader { text, at: 0 };
    let outcome = token(&mut reader);
    match outcome {
        Ok(token) => Read::Token {
            token,
            length: reader.at,
        },
        Err(Stop::End) if text.len() < LONGEST => Read::Unfinished,
        Err(Stop::End | Stop::Other) => Read::Other,
    }
}

/// Why no token was read.
enum Stop {
    /// The text ends before one could be told.
    End,
    /// It is none.
    Other,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

fn token(reader: &mut Reader<'_>) -> Result<Token, Stop> {
    reader.one_of(OPENS)?;
    reader.dress()?;
    if !reader.letter()?.eq_ignore_ascii_case(&'p') {
        return Err(Stop::Other);
    }
    reader.dress()?;
    reader.one_of(COLONS)?;
    let mut label = String::new();
    let mut number = false;
    loop {
        reader.dress()?;
        match reader.one_of(COLONS) {
            Ok(()) => break,
            Err(Stop::End) => return Err(Stop::End),
            Err(Stop::Other) => {}
        }
        match reader.one_of(NUMBERS) {
            Ok(()) => {
                number = true;
                continue;
            }
            Err(Stop::End) => return Err(Stop::End),
            Err(Stop::Other) => {}
        }
        label.push(reader.letter()?);
        if label.len() > 12 {
            return Err(Stop::Other);
        }
    }
    let class = Class::from_label(&label).ok_or(Stop::Other)?;
    let mut id = String::with_capacity(ID_LENGTH);
    while id.len() < ID_LENGTH {
        reader.dress()?;
        id.push(reader.letter()?);
    }
    reader.dress()?;
    reader.one_of(CLOSES)?;
    Token::new(class, number, &id).ok_or(Stop::Other)
}

// === impl Reader ===

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Takes one of these spellings.
    fn one_of(&mut self, spellings: &[&str]) -> Result<(), Stop> {
        let rest = self.rest();
        let mut cut = rest.is_empty();
        for spelling in spellings {
            let (short, long) = (rest.as_bytes(), spelling.as_bytes());
            let shared = short.len().min(long.len());
            if short[..shared].eq_ignore_ascii_case(&long[..shared]) {
                if shared == long.len() {
                    self.at += shared;
                    return Ok(());
                }
                cut = true;
            }
        }
        Err(if cut { Stop::End } else { Stop::Other })
    }

    /// Takes one letter or digit.
    fn letter(&mut self) -> Result<char, Stop> {
        let next = self.rest().chars().next().ok_or(Stop::End)?;
        if next.is_ascii_alphabetic() || id_character(u8::try_from(next).unwrap_or(0)).is_some() {
            self.at += 1;
            return Ok(next);
        }
        Err(Stop::Other)
    }

    /// Leaves out markup, escapes, spaces and characters without width.
    fn dress(&mut self) -> Result<(), Stop> {
        loop {
            let rest = self.rest();
            let Some(next) = rest.chars().next() else {
                return Err(Stop::End);
            };
            let escape = next == '\\' && {
                let after = rest.chars().nth(1).ok_or(Stop::End)?;
                !matches!(after, 'u' | 'U' | ':' | '#' | ']' | '[')
            };
            let markup = matches!(next, '*' | '_' | '`' | '~') || next.is_whitespace();
            if markup || is_unseen(next) || escape {
                self.at += next.len_utf8();
            } else if next == '<' {
                self.at += tag(rest)?;
            } else {
                return Ok(());
            }
            if self.at > LONGEST {
                return Err(Stop::Other);
            }
        }
    }
}

/// The length of a short markup tag such as `</strong>`.
fn tag(rest: &str) -> Result<usize, Stop> {
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            b'>' => return Ok(at + 1),
            b'/' | b' ' => {}
            _ if byte.is_ascii_alphanumeric() => {}
            _ => return Err(Stop::Other),
        }
        if at > 12 {
            return Err(Stop::Other);
        }
    }
    Err(Stop::End)
}
