//! Characters that a person does not see and a model reads, and sequences that repaint a
//! terminal.
//!
//! Stripping every invisible character would break emoji, flags, Persian, Hindi, Khmer and
//! Hebrew. So each is judged where it stands, by the script of its neighbours: what a
//! typesetter would have put there stays, and everything else goes.

use std::borrow::Cow;

mod context;
mod escapes;
mod flags;

use self::context::Line;

/// What kind of hidden thing was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HiddenKind {
    /// Tag characters (U+E0000–E007F) outside a flag.
    Tags,
    /// Zero-width characters: joiners without anything to join, spaces, operators.
    ZeroWidth,
    /// Marks, embeddings and overrides of the writing direction.
    Bidi,
    /// Variation selectors that select nothing, or several in a row.
    Variation,
    /// Soft hyphens, fillers and other characters without a form.
    Filler,
    /// Private-use characters and noncharacters.
    Private,
    /// Control characters.
    Control,
    /// Escape sequences of terminals.
    Escape,
    /// A carriage return that makes a terminal write over the line.
    Overwrite,
}

/// One run of hidden characters of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden {
    /// What it is.
    pub kind: HiddenKind,
    /// Offset in the text, in bytes.
    pub at: usize,
    /// How many characters.
    pub count: usize,
    /// What it says, for the kinds that spell something out.
    pub says: Option<String>,
}

/// What becomes of one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Keep,
    Drop(HiddenKind),
    Become(char, HiddenKind),
}

/// The text without what is hidden in it; borrowed when there is nothing.
#[must_use]
pub fn strip(text: &str) -> Cow<'_, str> {
    if !may_hide(text) {
        return Cow::Borrowed(text);
    }
    let chars: Vec<char> = text.chars().collect();
    let fates = fates(&chars);
    if fates.iter().all(|fate| *fate == Fate::Keep) {
        return Cow::Borrowed(text);
    }
    let kept = chars
        .iter()
        .zip(&fates)
        .filter_map(|(character, fate)| match fate {
            Fate::Keep => Some(*character),
            Fate::Drop(_) => None,
            Fate::Become(other, _) => Some(*other),
        });
    Cow::Owned(kept.collect())
}

/// What is hidden in a text, in order; neighbours of one kind are one entry.
#[must_use]
pub fn find(text: &str) -> Vec<Hidden> {
    if !may_hide(text) {
        return Vec::new();
    }
    let chars: Vec<char> = text.chars().collect();
    let mut found: Vec<Hidden> = Vec::new();
    let mut last = usize::MAX;
    let mut offset = 0;
    for (index, (character, fate)) in chars.iter().zip(fates(&chars)).enumerate() {
        let at = offset;
        offset += character.len_utf8();
        let (Fate::Drop(kind) | Fate::Become(_, kind)) = fate else {
            continue;
        };
        let said = spelled(*character);
        let joins = last.wrapping_add(1) == index;
        match found.last_mut().filter(|run| joins && run.kind == kind) {
            Some(run) => {
                run.count += 1;
                if let Some(said) = said {
                    run.says.get_or_insert_default().push(said);
                }
            }
            None => found.push(Hidden {
                kind,
                at,
                count: 1,
                says: said.map(String::from),
            }),
        }
        last = index;
    }
    found
}

/// Whether a text can hold anything of the kind: a quick look, wrong only in one direction.
pub(crate) fn may_hide(text: &str) -> bool {
    let plain = |byte: &u8| (0x20..0x7f).contains(byte) || matches!(byte, b'\n' | b'\t');
    if text.as_bytes().iter().all(plain) {
        return false;
    }
    text.chars().any(is_suspect)
}

/// Whether a character is ever dropped.
fn is_suspect(character: char) -> bool {
    match character {
        '\n' | '\t' | ' '..='~' => false,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        _ => context::zero_width(character).is_some() || is_never_seen(character),
    }
}

/// Characters that nothing around them makes legitimate.
fn is_never_seen(character: char) -> bool {
    is_private(character) || filler(character) || matches!(character, '\u{2028}' | '\u{2029}')
}

fn is_private(character: char) -> bool {
    let code = u32::from(character);
    matches!(code, 0xe000..=0xf8ff | 0xf0000..=0x0010_ffff | 0xfdd0..=0xfdef)
        || code & 0xfffe == 0xfffe
}

fn filler(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{3164}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
    )
}

/// What becomes of every character.
fn fates(chars: &[char]) -> Vec<Fate> {
    let mut fates = vec![Fate::Keep; chars.len()];
    let mut from = 0;
    while from < chars.len() {
        let length = chars[from..].iter().position(|c| *c == '\n');
        let end = length.map_or(chars.len(), |length| from + length);
        escapes::mark(&chars[from..end], &mut fates[from..end], end < chars.len());
        let line = Line::new(&chars[from..end]);
        for index in 0..end - from {
            let fate = &mut fates[from + index];
            if *fate == Fate::Keep {
                *fate = judge(&line, index);
            }
        }
        from = end + 1;
    }
    fates
}

fn judge(line: &Line<'_>, index: usize) -> Fate {
    let character = line.chars[index];
    match character {
        // The walk over escape sequences has judged carriage returns.
        '\t' | '\r' | ' '..='~' => Fate::Keep,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Fate::Drop(HiddenKind::Control),
        '\u{2028}' | '\u{2029}' => Fate::Become('\n', HiddenKind::Control),
        _ if is_private(character) => Fate::Drop(HiddenKind::Private),
        _ if filler(character) => Fate::Drop(HiddenKind::Filler),
        _ => match context::zero_width(character) {
            Some(kind) if !line.belongs(index) => Fate::Drop(kind),
            _ => Fate::Keep,
        },
    }
}

/// What a character that smuggles text stands for: a tag character its ASCII letter, a
/// variation selector the byte of its number.
fn spelled(character: char) -> Option<char> {
    let code = u32::from(character);
    match code {
        0xe0020..=0xe007e => char::from_u32(code - 0xe0000),
        0xfe00..=0xfe0f => char::from_u32(code - 0xfe00),
        0xe0100..=0xe01ef => char::from_u32(code - 0xe0100 + 16),
        _ => None,
    }
}
