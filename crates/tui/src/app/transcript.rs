//! What was said, as long as somebody may want to read it again.

use std::collections::{HashMap, VecDeque};

use legation_api::conversation::{Body, MessageView, Source};
use legation_api::tasks::ToolCallView;

use crate::text::{clean, one_line};

/// Entries that are kept; the hub keeps the rest.
const KEPT: usize = 20_000;

/// Who said something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Who {
    You,
    Client(String),
    Model,
    Hub,
}

/// What was said. Every text is cleaned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Words, in Markdown where a model wrote them.
    Words(String),
    /// A call, with its arguments and result.
    Tool(Box<Call>),
    /// A remark of the hub's or the terminal's.
    Note(String),
    /// What a command answered, a line each.
    Listing(Vec<String>),
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// What was called and about what, in one line.
    pub(crate) title: String,
    /// What it came to, in a few words.
    pub(crate) end: String,
    pub(crate) is_over: bool,
    pub(crate) is_good: bool,
    pub(crate) arguments: String,
    pub(crate) result: String,
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Its number at the hub; none for what the terminal itself says.
    pub(crate) seq: Option<u64>,
    pub(crate) task: Option<String>,
    pub(crate) who: Who,
    pub(crate) piece: Piece,
    /// Whether it was broken off.
    pub(crate) is_partial: bool,
}

/// The entries, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    /// Each with a number that is another one after every change.
    cells: VecDeque<(Cell, u64)>,
    /// Where each is, counted from the first that ever was.
    places: HashMap<u64, usize>,
    dropped: usize,
    version: u64,
}

// === impl Cell ===

impl Cell {
    pub(crate) fn note(text: &str) -> Self {
        Self::own(Piece::Note(clean(text)))
    }

    pub(crate) fn listing(lines: Vec<String>) -> Self {
        Self::own(Piece::Listing(
            lines.iter().map(|line| clean(line)).collect(),
        ))
    }

    fn own(piece: Piece) -> Self {
        Self {
            seq: None,
            task: None,
            who: Who::Hub,
            piece,
            is_partial: false,
        }
    }

    pub(crate) fn of(message: MessageView) -> Self {
        let who = match message.source {
            Source::Human => Who::You,
            Source::Client(name) => Who::Client(one_line(&name)),
            Source::Model => Who::Model,
            Source::System => Who::Hub,
        };
        let mut is_partial = false;
        let piece = match message.body {
            Body::Text { text, partial } => {
                is_partial = partial;
                Piece::Words(clean(text.trim_end()))
            }
            Body::Tool {
                call,
                arguments,
                result,
                ..
            } => Piece::Tool(Box::new(Call::of(&call, &arguments, &result))),
            Body::Summary { text, until } => Piece::Note(clean(&format!(
                "what came before entry {until} was put together for the model: {text}"
            ))),
            Body::Note { text } => Piece::Note(clean(&text)),
        };
        Self {
            seq: Some(message.seq),
            task: message.task_id,
            who,
            piece,
            is_partial,
        }
    }

    /// The task whose answer it is a part of.
    pub(crate) fn speaker(&self) -> Option<String> {
        match (&self.piece, &self.who) {
            (Piece::Tool(_), _) | (Piece::Words(_), Who::Model) => self.task.clone(),
            (Piece::Words(_) | Piece::Note(_) | Piece::Listing(_), _) => None,
        }
    }

    /// Whether nothing about it will change.
    pub(crate) fn is_over(&self) -> bool {
        match &self.piece {
            Piece::Tool(call) => call.is_over,
            Piece::Words(_) | Piece::Note(_) | Piece::Listing(_) => true,
        }
    }
}

// === impl Call ===

impl Call {
    fn of(call: &ToolCallView, arguments: &str, result: &str) -> Self {
        let about = call.path.as_deref().or(call.command.as_deref());
        let title = match about {
            Some(about) => format!("{}: {}", one_line(&call.tool), one_line(about)),
            None => one_line(&call.tool),
        };
        // Any other word is of a call that still runs.
        let (word, is_good) = match call.status.as_str() {
            "success" => ("ok", true),
            "error" => ("failed", false),
            "denied" => ("denied", false),
            "skipped" => ("skipped", false),
            "unknown" => ("nobody knows whether it was done", false),
            _ => ("", true),
        };
        let mut end = word.to_owned();
        if let Some(code) = call.exit_code {
            end = match call.status.as_str() {
                "success" | "error" => format!("exit {code}"),
                _ => format!("{end}, exit {code}"),
            };
        }
        if let Some(lines) = call.lines {
            let unit = if lines == 1 { "line" } else { "lines" };
            end.push_str(&format!(", {lines} {unit}"));
        }
        let mut result = clean(result.trim_end());
        if let Some(uri) = &call.result_uri {
            result.push_str(&format!("\nthe whole of it: {}", one_line(uri)));
        }
        Self {
            title,
            end,
            is_over: !word.is_empty(),
            is_good,
            arguments: clean(arguments.trim_end()),
            result,
        }
    }
}

// === impl Transcript ===

impl Transcript {
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// An entry, and a number that is another one once it has changed.
    pub(crate) fn get(&self, at: usize) -> Option<(&Cell, u64)> {
        self.cells.get(at).map(|(cell, stamp)| (cell, *stamp))
    }

    /// How many of the oldest were forgotten.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped
    }

    /// Adds an entry, or puts it in place of the one with its number, which comes back.
    pub(crate) fn add(&mut self, cell: Cell) -> Option<Cell> {
        self.version += 1;
        if let Some(seq) = cell.seq {
            if let Some(place) = self.places.get(&seq)
                && let Some(known) = self.cells.get_mut(place.saturating_sub(self.dropped))
            {
                return Some(std::mem::replace(known, (cell, self.version)).0);
            }
            self.places.insert(seq, self.dropped + self.cells.len());
        }
        self.cells.push_back((cell, self.version));
        while self.cells.len() > KEPT {
            let gone = self.cells.pop_front();
            self.dropped += 1;
            if let Some(seq) = gone.and_then(|(cell, _)| cell.seq) {
                self.places.remove(&seq);
            }
        }
        None
    }

    pub(crate) fn clear(&mut self) {
        *self = Self {
            version: self.version + 1,
            ..Self::default()
        };
    }

    /// Calls that run, oldest first.
    pub(crate) fn running(&self) -> impl Iterator<Item = &Cell> {
        // What runs is among the newest: a call is over before its task goes on.
        let newest = self.cells.iter().rev().take(64);
        let running: Vec<&Cell> = newest
            .map(|(cell, _)| cell)
            .filter(|cell| !cell.is_over())
            .collect();
        running.into_iter().rev()
    }
}
