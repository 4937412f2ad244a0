//! Whether an invisible character does, where it stands, what it was made for.

use unicode_script::{Script, UnicodeScript as _};

use super::HiddenKind;
use super::flags::in_flag;

/// Deepest nesting of direction controls that a line may have.
const DEPTH_MAX: usize = 4;

/// One line, which is what the bidirectional algorithm and a reader's eye work on.
pub(super) struct Line<'a> {
    pub(super) chars: &'a [char],
    /// Whether anything in it is written from right to left.
    rtl: bool,
    /// Whether anything in it is Braille.
    braille: bool,
    /// Direction controls that have a partner, by index.
    paired: Vec<usize>,
}

/// The kind of a character that has no width of its own; `None` for all others.
pub(super) fn zero_width(character: char) -> Option<HiddenKind> {
    Some(match u32::from(character) {
        0x200b..=0x200d | 0x2060..=0x2065 | 0xfeff | 0x180e | 0x034f => HiddenKind::ZeroWidth,
        0x200e | 0x200f | 0x061c | 0x202a..=0x202e | 0x2066..=0x206f => HiddenKind::Bidi,
        0xfe00..=0xfe0f | 0xe0100..=0xe01ef | 0x180b..=0x180d | 0x180f => HiddenKind::Variation,
        0xe0000..=0xe00ff | 0xe01f0..=0xe0fff => HiddenKind::Tags,
        0x2800 => HiddenKind::Filler,
        _ => return None,
    })
}

// === impl Line ===

impl<'a> Line<'a> {
    pub(super) fn new(chars: &'a [char]) -> Self {
        let rtl = chars.iter().any(|c| is_rtl(*c));
        Self {
            chars,
            rtl,
            braille: chars.iter().any(|c| matches!(c, '\u{2801}'..='\u{28ff}')),
            paired: if rtl { paired(chars) } else { Vec::new() },
        }
    }

    /// Whether the invisible character at `index` belongs there.
    pub(super) fn belongs(&self, index: usize) -> bool {
        let before = index.checked_sub(1).map(|index| self.chars[index]);
        let after = self.chars.get(index + 1).copied();
        match self.chars[index] {
            '\u{200d}' => {
                joins_emoji(self.before_selectors(index), after) || joins_letters(before, after)
            }
            '\u{200c}' => before
                .zip(after)
                .is_some_and(|(b, a)| is_cursive_pair(b, a)),
            '\u{200b}' => before
                .zip(after)
                .is_some_and(|(b, a)| is_unspaced(b) && is_unspaced(a)),
            // Keeps marks apart that would change places.
            '\u{34f}' => after.is_some_and(is_mark) && before.is_some_and(is_mark),
            '\u{180e}' | '\u{180b}'..='\u{180d}' | '\u{180f}' => {
                before.is_some_and(|c| c.script() == Script::Mongolian)
            }
            '\u{200e}' | '\u{200f}' | '\u{61c}' => {
                self.rtl && before.and_then(zero_width) != Some(HiddenKind::Bidi)
            }
            '\u{202a}'..='\u{202c}' | '\u{2066}'..='\u{2069}' => {
                self.paired.binary_search(&index).is_ok()
            }
            '\u{fe0e}' | '\u{fe0f}' => before.is_some_and(has_emoji_form),
            '\u{fe00}'..='\u{fe0d}' => before.is_some_and(has_variants),
            '\u{e0100}'..='\u{e01ef}' => before.is_some_and(|c| c.script() == Script::Han),
            '\u{e0020}'..='\u{e007f}' => in_flag(self.chars, index),
            '\u{2800}' => self.braille,
            _ => false,
        }
    }

    /// The character before `index`, past one selector of the emoji form.
    fn before_selectors(&self, index: usize) -> Option<char> {
        let before = self.chars[..index].iter().rev();
        before.copied().find(|c| *c != '\u{fe0f}')
    }
}

/// Direction controls that close properly. An override is never one of them: it makes letters
/// read in another order than they stand, for which no text needs it.
fn paired(chars: &[char]) -> Vec<usize> {
    let mut open: Vec<(usize, char)> = Vec::new();
    let mut pairs = Vec::new();
    for (index, character) in chars.iter().enumerate() {
        let close = match character {
            '\u{202a}' | '\u{202b}' => '\u{202c}',
            '\u{2066}'..='\u{2068}' => '\u{2069}',
            '\u{202d}' | '\u{202e}' => '\0',
            '\u{202c}' | '\u{2069}' => {
                if open.last().is_some_and(|(_, close)| close == character)
                    && let Some((start, _)) = open.pop()
                    && open.len() < DEPTH_MAX
                {
                    pairs.extend([start, index]);
                }
                continue;
            }
            _ => continue,
        };
        // An override is closed by the mark that closes an embedding; neither is kept.
        if close != '\0' {
            open.push((index, close));
        }
    }
    pairs.sort_unstable();
    pairs
}

fn is_rtl(character: char) -> bool {
    matches!(u32::from(character), 0x0590..=0x08ff | 0xfb1d..=0xfdcf | 0xfdf0..=0xfdff | 0xfe70..=0xfefc | 0x10800..=0x10fff | 0x1e800..=0x1efff)
        && character != '\u{61c}'
}

/// Scripts whose letters join, or that join in clusters.
fn joining_script(character: char) -> Option<Script> {
    let script = character.script();
    let joins = matches!(
        script,
        Script::Arabic
            | Script::Syriac
            | Script::Mongolian
            | Script::Nko
            | Script::Mandaic
            | Script::Devanagari
            | Script::Bengali
            | Script::Gurmukhi
            | Script::Gujarati
            | Script::Oriya
            | Script::Tamil
            | Script::Telugu
            | Script::Kannada
            | Script::Malayalam
            | Script::Sinhala
            | Script::Myanmar
            | Script::Khmer
            | Script::Tibetan
            | Script::Balinese
            | Script::Javanese
    );
    joins.then_some(script)
}

fn is_indic(script: Script) -> bool {
    !matches!(
        script,
        Script::Arabic | Script::Syriac | Script::Mongolian | Script::Nko | Script::Mandaic
    )
}

/// A non-joiner stands between two letters of one joining script. Marks of the Arabic script are
/// inherited from the letter before.
fn is_cursive_pair(before: char, after: char) -> bool {
    match (joining_script(before), joining_script(after)) {
        (Some(one), Some(other)) => one == other,
        (None, Some(_)) => is_mark(before) && !before.is_ascii(),
        (Some(script), None) => {
            is_indic(script) && !after.is_alphanumeric() && zero_width(after).is_none()
        }
        (None, None) => false,
    }
}

/// A joiner behind an Indic virama, or at a letter of a cursive script.
fn joins_letters(before: Option<char>, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    let Some(script) = joining_script(before) else {
        return false;
    };
    let behind = after.and_then(zero_width).is_none();
    behind
        && (!is_indic(script)
            || is_virama(before)
            || after.and_then(joining_script) == Some(script))
}

fn is_virama(character: char) -> bool {
    matches!(
        u32::from(character),
        0x094d
            | 0x09cd
            | 0x0a4d
            | 0x0acd
            | 0x0b4d
            | 0x0bcd
            | 0x0c4d
            | 0x0ccd
            | 0x0d4d
            | 0x0dca
            | 0x1039
            | 0x103a
            | 0x17d2
    )
}

/// Scripts written without spaces, where a zero-width one says where a line may break.
fn is_unspaced(character: char) -> bool {
    matches!(
        character.script(),
        Script::Thai | Script::Lao | Script::Khmer | Script::Myanmar | Script::Tibetan
    )
}

fn is_mark(character: char) -> bool {
    unicode_normalization::char::is_combining_mark(character)
}

fn joins_emoji(before: Option<char>, after: Option<char>) -> bool {
    let left = |c: char| is_pictograph(c) || matches!(u32::from(c), 0x1f3fb..=0x1f3ff | 0xe007f);
    before.is_some_and(left) && after.is_some_and(is_pictograph)
}

/// Characters that a selector turns into an emoji or back.
fn has_emoji_form(character: char) -> bool {
    is_pictograph(character)
        || matches!(u32::from(character), 0x1f3fb..=0x1f3ff | 0x1f1e6..=0x1f1ff)
        || matches!(character, '#' | '*' | '0'..='9')
}

/// Characters of which Unicode lists other forms: mathematics, ideographs and a few more.
fn has_variants(character: char) -> bool {
    character.script() == Script::Han
        || matches!(u32::from(character), 0x2190..=0x2bff | 0x3000..=0x303f | 0x1000..=0x109f | 0xa840..=0xa87f | 0xff00..=0xffef)
}

/// Extended_Pictographic (Unicode 16, emoji-data), in ranges that are a little wider.
fn is_pictograph(character: char) -> bool {
    matches!(
        u32::from(character),
        0xa9 | 0xae | 0x203c | 0x2049 | 0x2122 | 0x2139 | 0x2194..=0x21aa | 0x231a..=0x23ff | 0x24c2
            | 0x25aa..=0x27bf | 0x2934 | 0x2935 | 0x2b05..=0x2b55 | 0x3030 | 0x303d | 0x3297 | 0x3299
            | 0x1f000..=0x1f1e5 | 0x1f200..=0x1f3fa | 0x1f400..=0x1faff
    )
}
