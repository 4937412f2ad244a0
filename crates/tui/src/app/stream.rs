//! Answers while they are written.
//!
//! What has found its form is shown for good, line by line; the rest stands below it and may still
//! change. Only one answer at a time is shown like that: two would run into each other.

use std::collections::BTreeMap;

use super::Print;
use super::transcript::{Cell, Piece, Who};
use crate::text::{clean, settled};

/// An answer that is being written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stream {
    /// Whole lines, cleaned.
    text: String,
    /// The line that has no end yet, as it came.
    tail: String,
    /// Where the block begins that was last begun to be shown.
    base: usize,
    /// Up to where it was shown for good.
    shown: usize,
    /// Whether nothing is shown for good until the whole answer is there: after it was broken off
    /// nobody knows whether it goes on or begins again.
    is_frozen: bool,
    /// Words of what the model thinks.
    pub(crate) thought: usize,
}

/// The answers of all tasks.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    streams: BTreeMap<String, Stream>,
    /// Whose answer is shown for good as it comes.
    front: Option<String>,
}

// === impl Streams ===

impl Streams {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Stream)> {
        self.streams.iter()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn thought(&mut self, task: &str, text: &str) {
        let stream = self.streams.entry(task.to_owned()).or_default();
        stream.thought += text.split_whitespace().count();
    }

    /// More of an answer, and what of it can be shown for good.
    pub(crate) fn delta(&mut self, task: &str, text: &str) -> Option<Print> {
        let stream = self.streams.entry(task.to_owned()).or_default();
        if !stream.push(text) || stream.is_frozen {
            return None;
        }
        let front = self.front.get_or_insert_with(|| task.to_owned());
        (front == task).then(|| stream.grown(task)).flatten()
    }

    /// An answer, or a part of it, is there as an entry: what of it was not shown yet.
    pub(crate) fn said(&mut self, cell: &Cell) -> Vec<Print> {
        let whole = vec![Print::whole(cell.clone())];
        let (Some(task), Piece::Words(text)) = (&cell.task, &cell.piece) else {
            return whole;
        };
        if cell.who != Who::Model {
            return whole;
        }
        let Some(stream) = self.streams.get_mut(task) else {
            return whole;
        };
        let shown = stream.text.get(..stream.shown).unwrap_or_default();
        let fits = text.starts_with(shown) || text.trim_end() == shown.trim_end();
        let prints = match fits {
            true => stream.rest(cell, text),
            false => whole,
        };
        if self.front.as_deref() == Some(task) {
            self.front = None;
        }
        if cell.is_partial {
            stream.broken_off(text);
        } else {
            self.streams.remove(task);
        }
        prints
    }

    /// A task writes no more.
    pub(crate) fn over(&mut self, task: &str) {
        self.streams.remove(task);
        self.resting(task);
    }

    /// A task writes nothing for a while.
    pub(crate) fn resting(&mut self, task: &str) {
        if self.front.as_deref() == Some(task) {
            self.front = None;
        }
    }
}

// === impl Stream ===

impl Stream {
    /// Whether a line was ended.
    fn push(&mut self, text: &str) -> bool {
        self.tail.push_str(text);
        let Some(end) = self.tail.rfind('\n') else {
            return false;
        };
        let rest = self.tail.split_off(end + 1);
        let whole = std::mem::replace(&mut self.tail, rest);
        self.text.push_str(&clean(&whole));
        true
    }

    /// What has found its form since the last look.
    fn grown(&mut self, task: &str) -> Option<Print> {
        let (block, end) = settled(self.text.get(self.base..)?);
        let until = self.base + end;
        if until <= self.shown {
            return None;
        }
        let print = self.print(task, until);
        self.shown = until;
        self.base += block;
        Some(print)
    }

    fn print(&self, task: &str, until: usize) -> Print {
        let text = self.text.get(self.base..until).unwrap_or_default();
        Print {
            cell: Cell {
                seq: None,
                task: Some(task.to_owned()),
                who: Who::Model,
                piece: Piece::Words(text.to_owned()),
                is_partial: false,
            },
            from: self.shown - self.base,
            is_named: true,
        }
    }

    /// What of the whole answer was not shown yet.
    fn rest(&self, cell: &Cell, text: &str) -> Vec<Print> {
        if text.len() <= self.shown {
            return Vec::new();
        }
        let rest = text.get(self.base..).unwrap_or_default();
        let print = Print {
            cell: Cell {
                piece: Piece::Words(rest.to_owned()),
                ..cell.clone()
            },
            from: self.shown - self.base,
            is_named: true,
        };
        vec![print]
    }

    /// After a break the block that was broken is shown once more, from its beginning.
    fn broken_off(&mut self, text: &str) {
        let whole = match text.ends_with('\n') {
            true => text.to_owned(),
            false => format!("{text}\n"),
        };
        let (block, _) = settled(&whole);
        *self = Self {
            tail: text.get(block..).unwrap_or_default().to_owned(),
            text: text.get(..block).unwrap_or_default().to_owned(),
            base: block,
            shown: block,
            is_frozen: true,
            ..Self::default()
        };
    }

    /// What is not shown for good yet: the words, and how many of them were.
    pub(crate) fn open(&self) -> (String, usize) {
        let text = self.text.get(self.base..).unwrap_or_default();
        let open = format!("{text}{}", clean(&self.tail));
        (open, self.shown - self.base)
    }

    /// Whole blocks, which change no more.
    pub(crate) fn blocks(&self) -> &str {
        self.text.get(..self.base).unwrap_or_default()
    }

    /// Everything that was written so far.
    pub(crate) fn whole(&self) -> String {
        format!("{}{}", self.text, clean(&self.tail))
    }
}
