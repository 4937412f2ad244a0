//! Strings inside JSON texts: finding their end, reading and writing escapes.

use std::borrow::Cow;

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;
/// Below this length looking at every byte is faster than setting up a vector search.
const SHORT: usize = 24;

/// Behind as many characters of a string a search takes it for a long one.
const LONG: usize = 16;
/// How many characters of a long string are looked at together.
const BLOCK: usize = 32;

/// Offset of the first byte at or after `from` that a string cannot hold as it is:
/// a quote, a backslash or a control character. Eight bytes at a time, because strings
/// are most of what a message consists of, and more of them in a long string.
#[inline]
pub(super) fn find_special(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(word) = word(text, at) {
        let mask =
            zero_bytes(word ^ (LOW * 0x22)) | zero_bytes(word ^ (LOW * 0x5c)) | control_bytes(word);
        if mask != 0 {
            return at + (mask.trailing_zeros() / 8) as usize;
        }
        at += 8;
        if at == from + LONG {
            at = skip_plain(text, at);
        }
    }
    while at < text.len() && !is_special(text[at]) {
        at += 1;
    }
    at
}

/// From `from` on to behind the blocks that hold nothing special.
#[inline(never)]
fn skip_plain(text: &[u8], from: usize) -> usize {
    let (blocks, _) = text[from..].as_chunks::<BLOCK>();
    // Every byte of a block, so that the compiler compares many at once.
    let special = |block: &[u8; BLOCK]| {
        block
            .iter()
            .fold(false, |any, &byte| any | is_special(byte))
    };
    let plain = blocks.iter().position(special).unwrap_or(blocks.len());
    from + plain * BLOCK
}

/// Offset of the first quote or backslash at or after `from`. For text that was checked before.
fn find_mark(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(word) = word(text, at) {
        let mask = zero_bytes(word ^ (LOW * 0x22)) | zero_bytes(word ^ (LOW * 0x5c));
        if mask != 0 {
            return at + (mask.trailing_zeros() / 8) as usize;
        }
        at += 8;
        if at == from + LONG {
            let rest = &text[at..];
            return at + memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
        }
    }
    while at < text.len() && !matches!(text[at], b'"' | b'\\') {
        at += 1;
    }
    at
}

/// Eight bytes, the first one lowest.
#[inline]
fn word(text: &[u8], at: usize) -> Option<u64> {
    let (chunk, _) = text.get(at..)?.split_first_chunk::<8>()?;
    Some(u64::from_le_bytes(*chunk))
}

/// High bit set in the bytes of `word` that are zero. Bytes above the first hit may be
/// wrong, which does not matter to a caller that only takes the lowest.
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word & HIGH
}

/// High bit set in the bytes of `word` below 0x20; exact up to the first hit.
fn control_bytes(word: u64) -> u64 {
    word.wrapping_sub(LOW * 0x20) & !word & HIGH
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Offset just behind the closing quote of the string whose first character is at `from`.
/// The text was checked before.
pub(super) fn string_end(text: &[u8], from: usize) -> usize {
    let mut at = from;
    loop {
        at = find_mark(text, at);
        match text.get(at) {
            Some(b'"') => return at + 1,
            Some(_) => at += 2,
            None => return text.len(),
        }
    }
}

/// As [`string_end`], and whether anything in the string is escaped.
pub(super) fn name_end(text: &[u8], from: usize) -> (usize, bool) {
    let at = find_mark(text, from);
    match text.get(at) {
        Some(b'"') => (at + 1, false),
        _ => (string_end(text, at), true),
    }
}

/// The characters a checked string body stands for; borrowed when nothing is escaped.
pub(crate) fn unescape(body: &[u8]) -> Cow<'_, [u8]> {
    let first = if body.len() < SHORT {
        body.iter().position(|byte| *byte == b'\\')
    } else {
        memchr::memchr(b'\\', body)
    };
    let Some(first) = first else {
        return Cow::Borrowed(body);
    };
    let mut out = Vec::with_capacity(body.len());
    out.extend_from_slice(&body[..first]);
    let mut at = first;
    while let Some(&byte) = body.get(at) {
        if byte != b'\\' {
            let end = memchr::memchr(b'\\', &body[at..]).map_or(body.len(), |n| at + n);
            out.extend_from_slice(&body[at..end]);
            at = end;
            continue;
        }
        let Some(&escape) = body.get(at + 1) else {
            break;
        };
        at += 2;
        match escape {
            b'b' => out.push(0x08),
            b'f' => out.push(0x0c),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => {
                let (character, used) = unicode_escape(body, at);
                let mut buffer = [0; 4];
                out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
                at += used;
            }
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

/// The character of `\uXXXX` (the digits begin at `at`) or of a pair of them, and how many
/// bytes it took.
fn unicode_escape(body: &[u8], at: usize) -> (char, usize) {
    let first = hex4(body, at).unwrap_or(0xfffd);
    if let Some(character) = char::from_u32(first) {
        return (character, 4);
    }
    let second = hex4(body, at + 6).unwrap_or(0xdc00);
    let code = 0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff);
    (
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
        10,
    )
}

/// The value of four hexadecimal digits.
pub(super) fn hex4(text: &[u8], at: usize) -> Option<u32> {
    let digits = text.get(at..at + 4)?;
    digits.iter().try_fold(0, |value, digit| {
        char::from(*digit)
            .to_digit(16)
            .map(|digit| value * 16 + digit)
    })
}

/// Appends `s` as a JSON string, quotes included.
pub(super) fn write_string(out: &mut Vec<u8>, s: &[u8]) {
    out.push(b'"');
    let mut from = 0;
    loop {
        let at = find_special(s, from);
        out.extend_from_slice(&s[from..at]);
        let Some(&byte) = s.get(at) else { break };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.push(DIGITS[usize::from(control >> 4)]);
                out.push(DIGITS[usize::from(control & 15)]);
            }
        }
        from = at + 1;
    }
    out.push(b'"');
}

/// Appends `i` in decimal. The formatting machinery costs more than all the
/// rest of a message's envelope.
pub(super) fn write_int(out: &mut Vec<u8>, i: i64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut left = i.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(left % 10).expect("one digit");
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if i < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}
