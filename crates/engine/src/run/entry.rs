//! What a run keeps, so that it can be taken up where it stood.
//!
//! A run is the fold of its entries over what it began with. Nothing that was done is kept in two
//! places: the messages a model reads are made of these, whether the hub ended between or not.

use std::fmt;

use legation_models::{CallResult, Message, ToolCall, Turn};
use serde::{Deserialize, Serialize};

/// One thing that happened in a run, in order.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub(crate) enum Entry {
    /// The model finished a turn.
    Turn {
        /// Which step.
        step: u32,
        /// Its words.
        text: String,
        /// The mark of its thoughts, without which some providers do not go on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<String>,
        /// Its thoughts, where there is such a mark.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reasoning: String,
        /// What it calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Called>,
    },
    /// A call has its result.
    Result {
        /// Of which call.
        id: String,
        /// What the model is told.
        told: Told,
    },
    /// What ran beside the conversation is over, and the model was told what it brought.
    Brought {
        /// The call that began it.
        id: String,
        /// Its tool, as the model named it.
        tool: String,
        /// What the model is told.
        told: Told,
    },
    /// Somebody said something to the model between its steps.
    Said {
        /// The words.
        text: String,
    },
    /// Long results before the last ones were cut, because they no longer fit.
    Pruned {
        /// How many messages at the end stayed whole.
        kept: usize,
    },
    /// What was said before was put together.
    Summary {
        /// The summary.
        text: String,
        /// How many messages at the end stayed.
        kept: usize,
    },
    /// The check was tried.
    Checked {
        /// What it came to.
        passed: bool,
        /// The command's exit code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
        /// The end of what it said.
        output: String,
    },
}

/// A call as the model made it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Called {
    /// Its id within the task.
    pub(crate) id: String,
    /// The tool as the model named it.
    pub(crate) name: String,
    /// The arguments, an object as JSON; an empty one where the model wrote none that can be read,
    /// because servers refuse a conversation that holds anything else.
    pub(crate) arguments: String,
    /// Whether it was cut off or cannot be read, so that it must not be made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_cut: bool,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallStatus {
    /// It did what it was asked for.
    Success,
    /// The tool says that it failed, or the call was not fit to be made.
    Error,
    /// A rule or a person said no.
    Denied,
    /// It was not made.
    Skipped,
    /// Nobody knows whether it took effect.
    Unknown,
    /// Its server works on it beside the conversation.
    Background,
}

/// What came of a call.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Told {
    /// How it ended.
    pub(crate) status: CallStatus,
    /// What the model reads.
    pub(crate) text: String,
    /// Where the whole result is, when it was too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result_uri: Option<String>,
    /// A command's exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exit_code: Option<i64>,
    /// Lines read or written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lines: Option<u64>,
}

// === impl Entry ===

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Turn { .. } => "Turn",
            Self::Result { .. } => "Result",
            Self::Brought { .. } => "Brought",
            Self::Said { .. } => "Said",
            Self::Pruned { .. } => "Pruned",
            Self::Summary { .. } => "Summary",
            Self::Checked { .. } => "Checked",
        })
    }
}

// === impl Called ===

impl Called {
    pub(crate) fn to_call(&self) -> ToolCall {
        ToolCall {
            id: self.id.clone(),
            name: self.name.clone(),
            arguments: self.arguments.clone(),
        }
    }
}

impl fmt::Debug for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Called")
            .field("id", &self.id)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

// === impl CallStatus ===

impl CallStatus {
    /// The word that stands in views.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Skipped => "skipped",
            Self::Unknown => "unknown",
            Self::Background => "running",
        }
    }
}

// === impl Told ===

impl Told {
    /// A result that is all text.
    #[must_use]
    pub(crate) fn new(status: CallStatus, text: impl Into<String>) -> Self {
        Self {
            status,
            text: text.into(),
            result_uri: None,
            exit_code: None,
            lines: None,
        }
    }

    /// What a model reads of what a call brought that ran beside its conversation.
    pub(crate) fn to_news(&self, id: &str, tool: &str) -> Message {
        let how = match self.status {
            CallStatus::Success => "is done. Its result",
            _ => "came to nothing. What is known of it",
        };
        Message::User(format!(
            "(From the hub, not from a person:) the background task {id} of {tool} {how}:\n{}",
            self.text
        ))
    }

    pub(crate) fn to_message(&self, id: &str) -> Message {
        Message::Result(CallResult {
            call_id: id.to_owned(),
            text: self.text.clone(),
            is_error: !matches!(self.status, CallStatus::Success | CallStatus::Background),
        })
    }
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Told")
            .field("status", &self.status)
            .field("bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

/// A turn as messages hold it.
pub(crate) fn turn_message(
    text: &str,
    reasoning: &str,
    seal: Option<&str>,
    calls: &[Called],
) -> Message {
    Message::Assistant(Turn {
        text: text.to_owned(),
        reasoning: reasoning.to_owned(),
        reasoning_seal: seal.map(str::to_owned),
        calls: calls.iter().map(Called::to_call).collect(),
    })
}
