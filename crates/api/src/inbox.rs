//! The inbox of the running hub.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request;

/// A message as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// Its place in the inbox.
    pub seq: u64,
    /// Its id at its source.
    pub id: String,
    /// Which version of it.
    pub version: String,
    /// `new`, `edited` or `deleted`.
    pub kind: String,
    /// When it was kept, RFC 3339.
    pub received_at: String,
    /// Where it came from.
    pub channel: String,
    /// The conversation at its source.
    pub chat_id: String,
    /// Who wrote it.
    pub from: String,
    /// When, as its source said it.
    pub ts: String,
    /// Its text; `<`, `>` and `&` are escaped.
    pub content_text_sanitized: String,
    /// What else there is.
    pub meta: BTreeMap<String, String>,
    /// Whose data it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
}

/// Keep a message of a local producer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Post {
    /// The channel: `local`, or a name of the producer's.
    pub channel: String,
    /// The conversation it belongs to.
    pub chat_id: String,
    /// Its id; a new one when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Which version of it.
    pub version: String,
    /// Who says it.
    pub from: String,
    /// What is said.
    pub text: String,
    /// What else there is.
    #[serde(default)]
    pub meta: BTreeMap<String, String>,
    /// Whose data it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
}

/// What became of it; on disk by then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PostAnswer {
    /// Its place.
    pub seq: u64,
    /// Its id.
    pub id: String,
    /// This version was there before.
    pub duplicate: bool,
}

/// The newest messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct List {
    /// Only those before this place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// At most so many.
    pub limit: usize,
}

/// Messages, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListAnswer {
    /// Newest first.
    pub messages: Vec<Message>,
}

/// One message, in its newest version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Show {
    /// Its id.
    pub id: String,
}

/// What a consumer has not read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pull {
    /// Whose place it is.
    pub consumer: String,
    /// Everything up to this message arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_id: Option<String>,
    /// At most so many.
    pub limit: usize,
    /// Whether they are read once the consumer asks again.
    pub mark_consumed: bool,
    /// Only of this channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Of this entity, or of nobody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
}

/// What a consumer has not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PullAnswer {
    /// How many more there are.
    pub unread_remaining: u64,
    /// Oldest first.
    pub messages: Vec<Message>,
}

/// Everything, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Export {
    /// Only what came after this place.
    pub after: u64,
    /// At most so many.
    pub limit: usize,
}

/// Messages, oldest first; none when there are no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportAnswer {
    /// Oldest first.
    pub messages: Vec<Message>,
}

/// Take out old days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prune {
    /// Whole days before this time, in milliseconds since 1970.
    pub before_ms: i64,
    /// Days too that somebody has not read.
    pub unread_too: bool,
}

/// What was taken out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PruneAnswer {
    /// The days.
    pub days: Vec<String>,
    /// How many messages were in them.
    pub records: u64,
    /// The first day that stayed because somebody has not read all of it.
    pub unread: Vec<String>,
}

request!(Post, "inbox.post", PostAnswer);
request!(List, "inbox.list", ListAnswer);
request!(Show, "inbox.show", Message);
request!(Pull, "inbox.pull", PullAnswer);
request!(Export, "inbox.export", ExportAnswer);
request!(Prune, "inbox.prune", PruneAnswer);
