//! What the book holds of tasks and conversations.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use legation_api::conversation::{Body, MessageView, Source};
use legation_api::tasks::{BackgroundView, CheckView, Failure, NewTask, TokenUsage, ToolCallView};
use legation_core::{ClientId, EntityLabels, SessionId, TaskId, Wall};
use legation_models::{ToolCall, Turn};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything a run needs to begin a task or to go on with it.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    /// The task.
    pub(crate) task: TaskId,
    /// Its session.
    pub(crate) session: SessionId,
    /// The client that delegated it, whose authority it has at most.
    pub(crate) client: ClientId,
    /// The folder it is done in.
    pub(crate) workspace: Option<PathBuf>,
    /// What is to be done.
    pub(crate) new: Arc<NewTask>,
    /// How long it was worked on before.
    pub(crate) worked: Duration,
    /// Whose data it holds so far.
    pub(crate) labels: EntityLabels,
    /// The end of its session's conversation as it is now, oldest first; the task's own message is
    /// in it.
    pub(crate) log: Vec<Entry>,
    /// What its model said so far, in order.
    pub(crate) turns: Vec<TurnRecord>,
    /// What it called, in order.
    pub(crate) calls: Vec<CallRecord>,
    /// What its model said of a turn that was broken off.
    pub(crate) partial: Option<Partial>,
    /// What became of it so far.
    pub(crate) outcome: Outcome,
}

/// An entry of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its number.
    pub(crate) seq: u64,
    /// When it was said.
    pub(crate) at: Wall,
    /// What it is.
    pub(crate) entry: NewEntry,
}

/// An entry that has no number yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewEntry {
    /// The session.
    pub(crate) session: SessionId,
    /// The task it belongs to.
    pub(crate) task: Option<TaskId>,
    /// Who said it.
    pub(crate) source: Source,
    /// Whose data it holds.
    pub(crate) labels: EntityLabels,
    /// What it is.
    pub(crate) body: Body,
}

/// A turn of the model that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TurnRecord {
    /// Which, counted from 1.
    pub(crate) step: u32,
    /// Up to which entry of the conversation its prompt went.
    pub(crate) until: u64,
    /// What the model said.
    pub(crate) said: Said,
    /// What else the run has to know when it goes on.
    pub(crate) memo: Value,
}

/// What a model said in one turn, as it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Said {
    pub(crate) text: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) reasoning: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seal: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) calls: Vec<Called>,
}

/// A call as a model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Called {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// A call of a tool that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Intent {
    /// In which turn.
    pub(crate) step: u32,
    /// Which of that turn's calls, counted from 1.
    pub(crate) place: u32,
    /// Its id within the task.
    pub(crate) call_id: String,
    /// The tool.
    pub(crate) tool: String,
    /// Its arguments as JSON.
    pub(crate) arguments: String,
    /// Whether making it twice would be more than making it once. Of a call that is not known to
    /// only read it is said that it changes something.
    pub(crate) changes: bool,
    /// The call as people see it.
    pub(crate) view: ToolCallView,
    /// Whose data it holds.
    pub(crate) labels: EntityLabels,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallEnd {
    /// What the model is told.
    pub(crate) text: String,
    /// Whether it failed.
    pub(crate) is_error: bool,
    /// The call as people see it.
    pub(crate) view: ToolCallView,
    /// The task that its server began instead of answering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) background: Option<Background>,
}

/// A server's task that runs beside a task of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Background {
    /// The hub's name for it.
    pub(crate) handle: String,
    /// As others see it.
    pub(crate) view: BackgroundView,
    /// What it brought, once it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<String>,
}

/// A call and what it came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallRecord {
    /// The call.
    pub(crate) intent: Intent,
    /// What it came to; `None` where that is not known, and then it changes nothing: a person was
    /// asked about every other.
    pub(crate) end: Option<CallEnd>,
}

/// What a model said of a turn that is not over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Partial {
    /// Which turn.
    pub(crate) step: u32,
    /// Up to which entry of the conversation its prompt went.
    pub(crate) until: u64,
    /// Its words, without a call it had begun.
    pub(crate) text: String,
    /// Its thoughts.
    #[serde(default)]
    pub(crate) reasoning: String,
}

/// What has become of a task; kept whenever it changes state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Outcome {
    /// The answer.
    pub(crate) response: Option<String>,
    /// Why it failed or was cancelled.
    pub(crate) error: Option<String>,
    /// Which kind of failure that is.
    pub(crate) failure: Option<Failure>,
    /// What can be done next.
    pub(crate) hint: Option<String>,
    /// What it asks a person.
    pub(crate) question: Option<Question>,
    /// Provider and model, as `provider/model`.
    pub(crate) model: Option<String>,
    /// Tokens so far.
    pub(crate) usage: TokenUsage,
    /// What became of its check.
    pub(crate) check: Option<CheckView>,
    /// Files it changed, relative to its folder.
    pub(crate) changed_files: Vec<String>,
}

/// What a task asks a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub(crate) enum Question {
    /// Whatever its run wants to know; the answer is an entry of the conversation.
    Run {
        /// In words.
        text: String,
    },
    /// Whether a call ran that the hub did not see the end of.
    Call {
        /// In words.
        text: String,
        /// In which turn.
        step: u32,
        /// Which of that turn's calls.
        place: u32,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// It is done, and its check passed where it has one. The answer is an entry already.
    Completed {
        /// The answer.
        response: String,
    },
    /// It cannot be done.
    Failed {
        /// Which kind of failure it is.
        failure: Failure,
        /// Why.
        error: String,
        /// What can be done next.
        hint: Option<String>,
    },
    /// It was called off, as [`Control::cancelled`](crate::control::Control::cancelled) said.
    Cancelled,
    /// A person has to say something first.
    InputRequired {
        /// What it asks.
        question: String,
    },
    /// The hub stops; the next one goes on with it.
    Paused,
}

// === impl Entry ===

impl Entry {
    /// The entry as others see it.
    pub(crate) fn view(&self) -> MessageView {
        let NewEntry {
            session,
            task,
            source,
            labels,
            body,
        } = &self.entry;
        MessageView {
            seq: self.seq,
            session: session.to_string(),
            task_id: task.as_ref().map(TaskId::to_string),
            source: source.clone(),
            at: self.at.to_string(),
            entities: labels.iter().map(ToString::to_string).collect(),
            body: body.clone(),
        }
    }
}

// === impl Said ===

impl From<&Turn> for Said {
    fn from(turn: &Turn) -> Self {
        let calls = turn.calls.iter().map(|call| Called {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        });
        Self {
            text: turn.text.clone(),
            reasoning: turn.reasoning.clone(),
            seal: turn.reasoning_seal.clone(),
            calls: calls.collect(),
        }
    }
}

impl From<&Said> for Turn {
    fn from(said: &Said) -> Self {
        let calls = said.calls.iter().map(|call| ToolCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        });
        Self {
            text: said.text.clone(),
            reasoning: said.reasoning.clone(),
            reasoning_seal: said.seal.clone(),
            calls: calls.collect(),
        }
    }
}

// === impl Question ===

impl Question {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Run { text } | Self::Call { text, .. } => text,
        }
    }
}
