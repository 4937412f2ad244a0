//! Escapes that stand for one character: of HTML, of addresses, of JSON inside a text.

/// The character that an escape at `at` means, and the escape's length. `escaped` says that an
/// escape stands directly before, which makes another one likely.
pub(super) fn read(source: &str, at: usize, escaped: bool) -> Option<(char, usize)> {
    let rest = &source[at..];
    match rest.as_bytes().first()? {
        b'&' => entity(rest),
        b'%' => percent(source, at, escaped),
        b'\\' => backslash(rest),
        _ => None,
    }
}

/// Entities that occur in names and numbers; others are not letters.
const NAMED: &[(&str, char)] = &[
    ("amp", '&'),
    ("apos", '\''),
    ("quot", '"'),
    ("lt", '<'),
    ("gt", '>'),
    ("nbsp", ' '),
    ("shy", '\u{ad}'),
    ("zwj", '\u{200d}'),
    ("zwnj", '\u{200c}'),
    ("ndash", '-'),
    ("hyphen", '-'),
    ("commat", '@'),
    ("period", '.'),
    ("colon", ':'),
    ("sol", '/'),
    ("szlig", 'ß'),
    ("oslash", 'ø'),
    ("Oslash", 'Ø'),
    ("lstrok", 'ł'),
    ("Lstrok", 'Ł'),
    ("aelig", 'æ'),
    ("AElig", 'Æ'),
];

/// The ends of named letters with a mark: `eacute` is an `e`.
const MARKS: &[&str] = &[
    "acute", "grave", "circ", "uml", "tilde", "cedil", "caron", "ring", "ogon", "dot", "macr",
    "breve", "dblac",
];

fn entity(rest: &str) -> Option<(char, usize)> {
    let bytes = &rest.as_bytes()[..rest.len().min(12)];
    let end = bytes.iter().position(|&byte| byte == b';')?;
    let name = rest.get(1..end)?;
    let meant = if let Some(code) = name.strip_prefix('#') {
        let number = match code.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => code.parse(),
        };
        char::from_u32(number.ok()?)?
    } else if let Some((_, meant)) = NAMED.iter().find(|(known, _)| *known == name) {
        *meant
    } else {
        let letter = name.chars().next().filter(char::is_ascii_alphabetic)?;
        MARKS.contains(&name.get(1..)?).then_some(letter)?
    };
    Some((meant, end + 1))
}

fn percent(source: &str, at: usize, escaped: bool) -> Option<(char, usize)> {
    let bytes = source.as_bytes();
    let first = hex(bytes, at)?;
    let after_digit = at > 0 && bytes[at - 1].is_ascii_digit();
    if after_digit && !escaped {
        // "95%20" may be a measure: only a separator between two other characters is an escape.
        let separator = matches!(first, b'/' | b'-' | b' ' | b':' | b'@' | b'.' | b',' | b'+');
        let goes_on = bytes.get(at + 3).is_some_and(u8::is_ascii_alphanumeric);
        if !(separator && goes_on) && first < 0x80 {
            return None;
        }
    }
    let length = match first {
        0..=0x7f => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    let mut encoded = [0_u8; 4];
    for (number, byte) in encoded.iter_mut().take(length).enumerate() {
        *byte = hex(bytes, at + number * 3)?;
    }
    let meant = std::str::from_utf8(&encoded[..length]).ok()?;
    Some((meant.chars().next()?, length * 3))
}

/// The byte that `%XX` at `at` means.
fn hex(bytes: &[u8], at: usize) -> Option<u8> {
    if *bytes.get(at)? != b'%' {
        return None;
    }
    let high = char::from(*bytes.get(at + 1)?).to_digit(16)?;
    let low = char::from(*bytes.get(at + 2)?).to_digit(16)?;
    u8::try_from(high * 16 + low).ok()
}

fn backslash(rest: &str) -> Option<(char, usize)> {
    let bytes = rest.as_bytes();
    match bytes.get(1)? {
        b'n' | b't' | b'r' => Some((' ', 2)),
        b'/' => Some(('/', 2)),
        b'u' => {
            let code = u32::from_str_radix(rest.get(2..6)?, 16).ok()?;
            Some((char::from_u32(code)?, 6))
        }
        _ => None,
    }
}
