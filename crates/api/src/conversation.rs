//! The conversation that people, agents and the local model share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tasks::{TaskView, ToolCallView};
use crate::{Done, request};

/// Who said something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", content = "name", rename_all = "snake_case")]
pub enum Source {
    /// The person at the terminal, shown as `[you]`.
    Human,
    /// A client, shown under its name.
    Client(String),
    /// The model, shown as `[legation]`.
    Model,
    /// The hub.
    System,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// Words, in Markdown where a model wrote them.
    Text {
        /// The words.
        text: String,
        /// Whether it was broken off and something may follow.
        #[serde(default)]
        partial: bool,
    },
    /// A call and what it came to.
    Tool {
        /// The call's id within its task.
        call_id: String,
        /// The call.
        call: ToolCallView,
        /// Its arguments as JSON, cut where they are long.
        arguments: String,
        /// What it answered, cut where it is long; empty while it runs.
        result: String,
    },
    /// Older entries put together for the model; people still see the entries.
    Summary {
        /// The summary.
        text: String,
        /// Up to which entry it goes.
        until: u64,
    },
    /// A remark of the hub's: paused, resumed, cancelled, a check that failed.
    Note {
        /// The remark.
        text: String,
    },
}

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageView {
    /// Its number; greater than that of every earlier entry of the hub.
    pub seq: u64,
    /// The session.
    pub session: String,
    /// The task it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Who said it.
    pub source: Source,
    /// When, RFC 3339.
    pub at: String,
    /// Whose data it holds.
    #[serde(default)]
    pub entities: Vec<String>,
    /// What it is.
    pub body: Body,
}

/// What somebody who looks on is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A new entry, or an entry with this number changed.
    Message {
        /// The entry.
        message: Box<MessageView>,
    },
    /// More of an answer that is being written; the finished answer follows as a message.
    Delta {
        /// The task.
        task_id: String,
        /// More of its words.
        text: String,
    },
    /// More of what the model thinks.
    Reasoning {
        /// The task.
        task_id: String,
        /// More of it.
        text: String,
    },
    /// A task changed.
    Task {
        /// How it is now.
        task: Box<TaskView>,
    },
    /// Everything that was there when the reader came has been told; what follows is new.
    Live {},
    /// The reader was too slow and missed something: begin again.
    Lagged {},
}

/// Follow a session: notifications `conversation.event` with an [`Event`] each, until the caller goes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Follow {
    /// The session; every one when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Tell what came after this entry first; the last 200 when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// The method of the notifications that [`Follow`] brings.
pub const EVENT: &str = "conversation.event";

/// Entries of a session, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct History {
    /// The session.
    pub session: String,
    /// At most so many, from the end.
    pub limit: usize,
    /// Only before this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
}

/// Entries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryAnswer {
    /// Oldest first.
    pub messages: Vec<MessageView>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionView {
    /// Its id.
    pub id: String,
    /// The folder it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// What it began with.
    pub title: String,
    /// When it began, RFC 3339.
    pub created: String,
    /// When somebody last said something, RFC 3339.
    pub active: String,
    /// How many entries it has.
    pub messages: u64,
    /// Whose data it holds.
    #[serde(default)]
    pub entities: Vec<String>,
    /// Whether it is the current one of its folder.
    pub current: bool,
}

/// List sessions, the most recently used first.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Sessions {}

/// Sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsAnswer {
    /// The most recently used first.
    pub sessions: Vec<SessionView>,
}

/// The current session of a folder, which is begun if there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Open {
    /// The folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// This one, which becomes the current one of its folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Begin a new one.
    #[serde(default)]
    pub new: bool,
}

/// Delete a session with everything in it. Refused while a task of it is open.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Delete {
    /// Its id.
    pub session: String,
}

/// A session with everything in it, as JSON, and nothing of any other.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Export {
    /// Its id.
    pub session: String,
}

request!(Follow, "conversation.follow", Done);
request!(History, "conversation.history", HistoryAnswer);
request!(Sessions, "conversation.sessions", SessionsAnswer);
request!(Open, "conversation.open", SessionView);
request!(Delete, "conversation.delete", Done);
request!(Export, "conversation.export", Value);
