//! Holding back what may be a call that a model writes into its words, so that people do not read
//! it as words.
//!
//! Whether something is a call is known when it is whole. Until then what begins like one is kept
//! from those who look on: marks of calls to the end of the answer, a fence with JSON until it
//! closes, and an answer that begins as JSON to its end.

use super::repair;
use super::toolset::Toolset;

/// Words that begin a call written as text; behind them nothing may be gone on with.
pub(crate) const MARKS: [&str; 8] = [
    "<tool_call>",
    "<tool_calls>",
    "<|tool_call|>",
    "<function_call",
    "<function=",
    "<invoke ",
    "[TOOL_CALLS]",
    "<|python_tag|>",
];

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Veil {
    /// What came and was not shown.
    held: String,
    /// Nothing is shown any more before the answer is over.
    is_down: bool,
    /// Something that is not blank was shown.
    has_shown: bool,
}

/// What stands at a place of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A call, or what is no less than one until the answer is over.
    Call,
    /// It cannot be told before more has come.
    Open,
    /// A fence with JSON, of so many bytes.
    Fence(usize),
    /// Words.
    Words,
}

// === impl Veil ===

impl Veil {
    /// Behind words that were shown before.
    pub(crate) fn behind(words: &str) -> Self {
        Self {
            has_shown: !words.trim().is_empty(),
            ..Self::default()
        }
    }

    /// Takes more of a model's words; what of them may be shown.
    pub(crate) fn push(&mut self, text: &str, tools: &Toolset) -> String {
        if tools.is_empty() {
            return text.to_owned();
        }
        self.held.push_str(text);
        let mut shown = String::new();
        while !self.is_down {
            let (at, place) = self.first(tools);
            self.show(at, &mut shown);
            match place {
                Place::Words | Place::Open => break,
                Place::Call => self.is_down = true,
                Place::Fence(length) => {
                    let found = repair::find(&self.held[..length], &|name| tools.knows(name));
                    if found.calls.is_empty() {
                        self.show(length, &mut shown);
                    } else {
                        self.is_down = true;
                    }
                }
            }
        }
        shown
    }

    /// The answer is over; what was held back and is words after all.
    pub(crate) fn finish(&mut self, has_calls: bool, tools: &Toolset) -> String {
        let held = std::mem::take(&mut self.held);
        if !has_calls {
            return held;
        }
        repair::find(&held, &|name| tools.knows(name)).words
    }

    /// A call that was begun is dropped: it will be written again.
    pub(crate) fn forget_call(&mut self) {
        self.held.clear();
        self.is_down = false;
    }

    fn show(&mut self, bytes: usize, shown: &mut String) {
        self.has_shown |= !self.held[..bytes].trim().is_empty();
        shown.extend(self.held.drain(..bytes));
    }

    /// The first place that is not words, and what it is; the end where there is none.
    fn first(&self, tools: &Toolset) -> (usize, Place) {
        let mut at = 0;
        let is_sign = |letter: char| matches!(letter, '<' | '[' | '{' | '`');
        while let Some(more) = self.held[at..].find(is_sign) {
            let begin = at + more;
            let is_first = !self.has_shown && self.held[..begin].trim().is_empty();
            match place(&self.held[begin..], is_first, tools) {
                Place::Words => {}
                found => return (begin, found),
            }
            let fence = self.held[begin..]
                .bytes()
                .take_while(|byte| *byte == b'`')
                .count();
            at = begin + fence.max(1);
        }
        (self.held.len(), Place::Words)
    }
}

/// What a text that begins with a sign begins with.
fn place(text: &str, is_first: bool, tools: &Toolset) -> Place {
    if MARKS.iter().any(|mark| text.starts_with(mark)) {
        return Place::Call;
    }
    if MARKS.iter().any(|mark| mark.starts_with(text)) {
        return Place::Open;
    }
    match text.as_bytes().first() {
        Some(b'<') => element(&text[1..], tools),
        Some(b'`') => fence(text),
        Some(b'{') if is_first => Place::Call,
        // Words may stand in such brackets too.
        Some(b'[') if is_first => match text[1..].trim_start().chars().next() {
            None => Place::Open,
            Some('{') => Place::Call,
            Some(_) => Place::Words,
        },
        _ => Place::Words,
    }
}

/// An element that is called like a tool.
fn element(text: &str, tools: &Toolset) -> Place {
    let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    let end = text.find(|letter| !is_name(letter));
    match end {
        Some(0) => Place::Words,
        Some(end) if text[end..].starts_with('>') && tools.knows(&text[..end]) => Place::Call,
        Some(_) => Place::Words,
        None if tools.begins(text) => Place::Open,
        None => Place::Words,
    }
}

/// A fence with JSON in it.
fn fence(text: &str) -> Place {
    let Some(inner) = text.strip_prefix("```") else {
        // Fewer may become three.
        return match text.bytes().all(|byte| byte == b'`') {
            true => Place::Open,
            false => Place::Words,
        };
    };
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let body = inner.trim_start_matches(is_word).trim_start();
    if body.is_empty() {
        return Place::Open;
    }
    if !body.starts_with(['{', '[']) {
        return Place::Words;
    }
    match inner.find("```") {
        Some(length) => Place::Fence(length + 6),
        None => Place::Open,
    }
}

#[cfg(test)]
mod tests;
