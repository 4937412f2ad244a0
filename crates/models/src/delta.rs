//! What comes while a model answers, and the answer it adds up to.

use std::fmt;

use crate::request::{ToolCall, Turn};

/// One step of an answer. Like requests it does not print what it holds.
#[derive(Clone, PartialEq, Eq)]
pub enum Delta {
    /// More of its words.
    Text(String),
    /// More of its thoughts.
    Reasoning(String),
    /// The mark of its thoughts; see [`Turn::reasoning_seal`].
    ReasoningSeal(String),
    /// It begins a call. Calls are numbered as they begin, from 0.
    Call {
        /// Which of this answer's.
        index: usize,
        /// Its id; unique in this answer.
        id: String,
        /// The tool.
        name: String,
    },
    /// More of a call's arguments. Those of several calls may mix.
    Arguments {
        /// Which call's.
        index: usize,
        /// The text.
        text: String,
    },
    /// What it cost so far; a later one replaces an earlier one.
    Usage(Usage),
    /// It is done, and nothing follows.
    Done(Finish),
}

/// Tokens, as the server counts them; `None` where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// What was read, cached tokens included.
    pub input: Option<u64>,
    /// What of it the server had from before.
    pub cached: Option<u64>,
    /// What was written, thoughts included.
    pub output: Option<u64>,
    /// What of it were thoughts.
    pub reasoning: Option<u64>,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model had nothing more to say.
    Stop,
    /// It waits for results of its calls.
    Calls,
    /// It was as long as it may be.
    Length,
    /// The provider's filter cut it.
    Filtered,
}

/// Puts deltas together.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// What the model said so far.
    pub turn: Turn,
    /// What it cost, as far as the server said.
    pub usage: Usage,
    /// How it ended; `None` while it has not, and for ever where it broke off.
    pub finish: Option<Finish>,
}

// === impl Delta ===

impl Delta {
    /// Whether somebody who reads along has seen something of the model's:
    /// from there on no other model can take over unnoticed.
    #[must_use]
    pub fn is_content(&self) -> bool {
        match self {
            Self::Text(_)
            | Self::Reasoning(_)
            | Self::ReasoningSeal(_)
            | Self::Call { .. }
            | Self::Arguments { .. } => true,
            Self::Usage(_) | Self::Done(_) => false,
        }
    }
}

impl fmt::Debug for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Reasoning(text) => write!(f, "Reasoning({} bytes)", text.len()),
            Self::ReasoningSeal(_) => f.write_str("ReasoningSeal"),
            Self::Call { index, name, .. } => write!(f, "Call({index}, {name})"),
            Self::Arguments { index, text } => {
                write!(f, "Arguments({index}, {} bytes)", text.len())
            }
            Self::Usage(usage) => usage.fmt(f),
            Self::Done(finish) => write!(f, "Done({finish:?})"),
        }
    }
}

// === impl Usage ===

impl Usage {
    /// Takes over what a later word says and keeps what it leaves out.
    pub fn update(&mut self, later: Self) {
        self.input = later.input.or(self.input);
        self.cached = later.cached.or(self.cached);
        self.output = later.output.or(self.output);
        self.reasoning = later.reasoning.or(self.reasoning);
    }
}

// === impl Answer ===

impl Answer {
    /// Adds a step. How much comes is bounded where it is read.
    pub fn push(&mut self, delta: Delta) {
        match delta {
            Delta::Text(text) => self.turn.text.push_str(&text),
            Delta::Reasoning(text) => self.turn.reasoning.push_str(&text),
            Delta::ReasoningSeal(seal) => self.turn.reasoning_seal = Some(seal),
            Delta::Call { id, name, .. } => self.turn.calls.push(ToolCall {
                id,
                name,
                arguments: String::new(),
            }),
            Delta::Arguments { index, text } => {
                if let Some(call) = self.turn.calls.get_mut(index) {
                    call.arguments.push_str(&text);
                }
            }
            Delta::Usage(usage) => self.usage.update(usage),
            Delta::Done(finish) => self.finish = Some(finish),
        }
    }
}
