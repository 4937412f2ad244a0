//! A text as it is compared: one plain spelling for everything that looks or reads alike.
//!
//! Compatibility forms, accents, digits of other scripts, characters without width, HTML
//! entities, percent escapes and backslash escapes all come down to the plain character they
//! stand for. Every byte remembers where in the source it came from, so that what is found here
//! can be cut out there.

mod escape;

use std::borrow::Cow;

use legation_core::unseen::is_unseen;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// A folded text and the way back to its source.
#[derive(Debug)]
pub(crate) struct Folded<'a> {
    /// What was folded.
    source: &'a str,
    /// The plain spelling.
    pub(crate) text: Cow<'a, str>,
    /// For each byte of the plain spelling, and for its end, where its source character begins.
    /// Absent where source and spelling are the same.
    origin: Option<Vec<usize>>,
}

/// Folds a text.
pub(crate) fn fold(source: &str) -> Folded<'_> {
    let plain = |bytes: &[u8]| bytes.iter().fold(true, |all, byte| all & is_plain(*byte));
    if source.as_bytes().chunks(64).all(plain) {
        return Folded {
            source,
            text: Cow::Borrowed(source),
            origin: None,
        };
    }
    let mut folder = Folder {
        text: String::with_capacity(source.len()),
        origin: Vec::with_capacity(source.len() + 1),
    };
    let mut at = 0;
    let mut escaped = false;
    let bytes = source.as_bytes();
    while at < bytes.len() {
        let plain = bytes[at..]
            .iter()
            .take_while(|byte| is_plain(**byte))
            .count();
        if plain > 0 {
            folder.text.push_str(&source[at..at + plain]);
            folder.origin.extend(at..at + plain);
            at += plain;
            escaped = false;
            continue;
        }
        let Some(character) = source[at..].chars().next() else {
            break;
        };
        let here = at;
        if matches!(character, '&' | '%' | '\\')
            && let Some((meant, length)) = escape::read(source, at, escaped)
        {
            folder.put(meant, here);
            at += length;
            escaped = true;
            continue;
        }
        escaped = false;
        folder.put(character, here);
        at += character.len_utf8();
    }
    folder.origin.push(source.len());
    Folded {
        source,
        text: Cow::Owned(folder.text),
        origin: Some(folder.origin),
    }
}

/// Whether a byte is a character that means itself.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii() & !matches!(byte, b'&' | b'%' | b'\\')
}

struct Folder {
    text: String,
    origin: Vec<usize>,
}

// === impl Folded ===

impl Folded<'_> {
    /// Whether anything is written otherwise than in the source.
    pub(crate) fn changed(&self) -> bool {
        self.origin.is_some()
    }

    /// Whether a range is written in the source as it is here.
    pub(crate) fn plain(&self, start: usize, end: usize) -> bool {
        // Where each byte comes from the next one of the source, only the bytes are to be compared.
        if let Some(origin) = &self.origin
            && let (Some(&first), Some(&behind)) = (origin.get(start), origin.get(end))
            && behind.wrapping_sub(first) == end - start
        {
            return self.source.as_bytes()[first..behind] == self.text.as_bytes()[start..end];
        }
        let (first, behind) = self.source(start, end);
        self.source[first..behind] == self.text[start..end]
    }

    /// Where a character begins, with the marks before it that belong to no other one.
    fn with_marks_before(&self, origin: &[usize], at: usize) -> usize {
        let first = origin[at];
        let behind = match at.checked_sub(1) {
            None => 0,
            Some(before) if self.text.as_bytes()[before].is_ascii_alphanumeric() => return first,
            Some(before) => {
                let previous = self.source[origin[before]..].chars().next();
                origin[before] + previous.map_or(0, char::len_utf8)
            }
        };
        let marks = self.source.get(behind..first).unwrap_or_default();
        let dropped = |mark| is_combining_mark(mark) || is_unseen(mark);
        if !marks.is_empty() && marks.chars().all(dropped) {
            behind
        } else {
            first
        }
    }

    /// Where a range of the plain spelling lies in the source. It covers whole characters, with
    /// the marks and invisible characters that follow them.
    pub(crate) fn source(&self, start: usize, end: usize) -> (usize, usize) {
        let Some(origin) = &self.origin else {
            return (start, end);
        };
        let first = self.with_marks_before(origin, start);
        if end <= start {
            return (first, first);
        }
        let last = origin[end - 1];
        let behind = origin[end..].iter().copied().find(|&at| at > last);
        (first, behind.unwrap_or(last))
    }
}

// === impl Folder ===

impl Folder {
    fn put(&mut self, character: char, from: usize) {
        if character.is_ascii() {
            self.push(character, from);
        } else if let Some(letters) = spelled(character) {
            letters.chars().for_each(|letter| self.push(letter, from));
        } else if !is_unseen(character) {
            decompose_compatible(character, |part| {
                if is_combining_mark(part) || is_unseen(part) {
                    return;
                }
                match spelled(part) {
                    Some(letters) => letters.chars().for_each(|letter| self.push(letter, from)),
                    None => self.push(digit(part).unwrap_or(part), from),
                }
            });
        }
    }

    fn push(&mut self, character: char, from: usize) {
        self.text.push(character);
        self.origin
            .extend(std::iter::repeat_n(from, character.len_utf8()));
    }
}

/// Letters without a decomposition, and punctuation, in ASCII.
fn spelled(character: char) -> Option<&'static str> {
    Some(match character {
        'ß' => "ss",
        'ẞ' => "SS",
        'ø' => "o",
        'Ø' => "O",
        'ł' => "l",
        'Ł' => "L",
        'đ' | 'ð' => "d",
        'Đ' | 'Ð' => "D",
        'ħ' => "h",
        'Ħ' => "H",
        'ı' => "i",
        'æ' => "ae",
        'Æ' => "Ae",
        'œ' => "oe",
        'Œ' => "Oe",
        'þ' => "th",
        'Þ' => "Th",
        'ŧ' => "t",
        'Ŧ' => "T",
        'ŋ' => "n",
        'Ŋ' => "N",
        'ə' => "e",
        'Ə' => "E",
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' | '﹣' | '－' | '\u{2043}' => "-",
        '‘' | '’' | '‚' | '‛' | '′' | 'ʼ' | 'ʹ' | '`' | '´' | '＇' => "'",
        '“' | '”' | '„' | '‟' | '″' | '«' | '»' => "\"",
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => " ",
        '\u{2028}' | '\u{2029}' | '\u{85}' => "\n",
        '⁄' | '∕' => "/",
        '·' | '•' | '․' | '。' | '・' | '･' => ".",
        _ => return None,
    })
}

/// The zeros of the scripts' decimal digits; nine more follow each.
const ZEROS: &[u32] = &[
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
    0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50,
    0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0x104a0,
    0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0,
    0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16b50, 0x1e140, 0x1e2f0,
    0x1e4f0, 0x1e950, 0x1fbf0,
];

/// A decimal digit of any script.
fn digit(character: char) -> Option<char> {
    let code = u32::from(character);
    let at = ZEROS.partition_point(|&zero| zero <= code).checked_sub(1)?;
    char::from_digit(code - ZEROS[at], 10)
}
