//! What stands between the words, read once: every rule asks for it, and most of it is one space.

use crate::lex::Lexeme;

/// What stands around the words of a text.
#[derive(Debug)]
pub(super) struct Gaps<'a> {
    /// The gap before each word, and at the end the one behind the last.
    gaps: Vec<&'a str>,
    /// What is known about each gap, as a set. Apart from the texts, because it is asked oftener.
    kinds: Vec<u8>,
}

/// The word behind it opens a sentence, a line or a list's item.
const OPENS: u8 = 1;
/// A clause or line ends before it.
const CLOSES: u8 = 1 << 1;
/// Nothing behind it goes on a name before it.
const ENDS: u8 = 1 << 2;

/// It has a sign that begins an address of the net.
const SIGNS: u8 = 1 << 3;

/// It is more than what stands between the words of a sentence or the parts of one word.
const ODD: u8 = 1 << 4;

// === impl Gaps ===

impl<'a> Gaps<'a> {
    /// Reads the gaps of a text with these words.
    pub(super) fn read(text: &'a str, lexemes: &[Lexeme]) -> Self {
        let mut gaps = Vec::with_capacity(lexemes.len() + 1);
        let mut kinds = Vec::with_capacity(lexemes.len() + 1);
        let (mut done, mut length) = (0, 0);
        for lexeme in lexemes {
            let gap = &text[done..lexeme.start()];
            gaps.push(gap);
            kinds.push(kind(gap, length));
            done = lexeme.end();
            length = lexeme.len();
        }
        gaps.push(&text[done..]);
        kinds.push(kind(&text[done..], length) | CLOSES | ENDS);
        kinds[0] |= OPENS;
        Self { gaps, kinds }
    }

    /// What stands behind a word.
    pub(super) fn behind(&self, at: usize) -> &'a str {
        self.gaps.get(at + 1).copied().unwrap_or_default()
    }

    /// What stands before a word.
    pub(super) fn before(&self, at: usize) -> &'a str {
        self.gaps.get(at).copied().unwrap_or_default()
    }

    /// Whether more stands behind a word than between those of a sentence.
    pub(super) fn odd(&self, at: usize) -> bool {
        self.kinds.get(at + 1).is_some_and(|kind| kind & ODD != 0)
    }

    /// Whether a sign of an address of the net stands before a word.
    pub(super) fn signs(&self, at: usize) -> bool {
        self.kinds.get(at).is_some_and(|kind| kind & SIGNS != 0)
    }

    /// Whether a word opens a sentence, a line or a list's item.
    pub(super) fn opens(&self, at: usize) -> bool {
        self.kinds.get(at).is_none_or(|kind| kind & OPENS != 0)
    }

    /// Whether a clause or line ends behind a word.
    pub(super) fn closes(&self, at: usize) -> bool {
        self.kinds.get(at + 1).is_none_or(|kind| kind & CLOSES != 0)
    }

    /// Whether what stands behind a word ends a name: no further word of the same line goes on.
    pub(super) fn ends(&self, at: usize) -> bool {
        self.kinds.get(at + 1).is_none_or(|kind| kind & ENDS != 0)
    }
}

/// What is known about a gap; `length` is that of the word before it.
fn kind(gap: &str, length: usize) -> u8 {
    if gap == " " {
        return 0;
    }
    let opens = gap.bytes().any(|byte| b"\n:;!?*/|\"([".contains(&byte))
        || gap.contains(". ") && length > 2
        || gap.contains("- ")
        || gap.ends_with(".  ");
    let first = gap.bytes().next().unwrap_or(b'-');
    let rule = gap.starts_with("  ") || matches!(gap, " |" | " | " | " / " | " (" | " - ");
    let closes = rule || b",\n.;)|\t".contains(&first);
    let ends = rule || b",.;)\n|/(\t".contains(&first);
    let signs = gap.bytes().any(|byte| matches!(byte, b'@' | b':'));
    let odd = !matches!(gap, "-" | "'" | "/");
    let set = |is: bool, flag: u8| u8::from(is) * flag;
    set(odd, ODD) | set(signs, SIGNS) | set(opens, OPENS) | set(closes, CLOSES) | set(ends, ENDS)
}
