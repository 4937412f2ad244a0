//! What stands between the words, read once: every rule asks for it, and most of it is one space.

use crate::lex::Lexeme;

/// The words of a text and what stands around them.
#[derive(Debug)]
pub(super) struct Gaps<'a> {
    words: Vec<&'a str>,
    /// The gap before each word, and at the end the one behind the last.
    gaps: Vec<Gap<'a>>,
}

/// The text between two words.
#[derive(Debug, Clone, Copy)]
struct Gap<'a> {
    text: &'a str,
    /// Whether the word behind it opens a sentence, a line or a list's item.
    opens: bool,
    /// Whether a clause or line ends before it.
    closes: bool,
    /// Whether nothing behind it goes on a name before it.
    ends: bool,
}

// === impl Gaps ===

impl<'a> Gaps<'a> {
    /// Reads the gaps of a text with these words.
    pub(super) fn read(text: &'a str, lexemes: &[Lexeme]) -> Self {
        let mut gaps = Vec::with_capacity(lexemes.len() + 1);
        let (mut done, mut length) = (0, 0);
        for lexeme in lexemes {
            gaps.push(Gap::read(&text[done..lexeme.start], length));
            done = lexeme.end;
            length = lexeme.len();
        }
        gaps.push(Gap::read(&text[done..], length));
        if let Some(first) = gaps.first_mut() {
            first.opens = true;
        }
        if let Some(last) = gaps.last_mut() {
            last.closes = true;
            last.ends = true;
        }
        Self {
            words: lexemes
                .iter()
                .map(|lexeme| &text[lexeme.start..lexeme.end])
                .collect(),
            gaps,
        }
    }

    /// A word as it is written; none behind the last.
    pub(super) fn word(&self, at: usize) -> &'a str {
        self.words.get(at).copied().unwrap_or_default()
    }

    /// What stands behind a word.
    pub(super) fn behind(&self, at: usize) -> &'a str {
        self.gaps.get(at + 1).map_or("", |gap| gap.text)
    }

    /// What stands before a word.
    pub(super) fn before(&self, at: usize) -> &'a str {
        self.gaps.get(at).map_or("", |gap| gap.text)
    }

    /// Whether a word opens a sentence, a line or a list's item.
    pub(super) fn opens(&self, at: usize) -> bool {
        self.gaps.get(at).is_none_or(|gap| gap.opens)
    }

    /// Whether a clause or line ends behind a word.
    pub(super) fn closes(&self, at: usize) -> bool {
        self.gaps.get(at + 1).is_none_or(|gap| gap.closes)
    }

    /// Whether what stands behind a word ends a name: no further word of the same line goes on.
    pub(super) fn ends(&self, at: usize) -> bool {
        self.gaps.get(at + 1).is_none_or(|gap| gap.ends)
    }
}

// === impl Gap ===

impl<'a> Gap<'a> {
    /// Reads a gap; `length` is that of the word before it.
    fn read(text: &'a str, length: usize) -> Self {
        if text == " " {
            return Self {
                text,
                opens: false,
                closes: false,
                ends: false,
            };
        }
        let opens = text.bytes().any(|byte| b"\n:;!?*/|\"([".contains(&byte))
            || text.contains(". ") && length > 2
            || text.contains("- ")
            || text.ends_with(".  ");
        let first = text.bytes().next().unwrap_or(b'-');
        let rule = text.starts_with("  ") || matches!(text, " |" | " | " | " / " | " (" | " - ");
        Self {
            text,
            opens,
            closes: rule || b",\n.;)|\t".contains(&first),
            ends: rule || b",.;)\n|/(\t".contains(&first),
        }
    }
}
