//! Messages as models see them.

use std::collections::BTreeMap;

use legation_core::EntityId;
use legation_inbox::{Message, Unread, summary};
use serde::Serialize;

use crate::feeds::is_event_data;

/// Characters of a message that the resource shows.
const SUMMARY: usize = 200;

/// What `pull` and `wait` answer.
#[derive(Serialize)]
pub(super) struct Answer {
    pub(super) unread_remaining: u64,
    pub(super) messages: Vec<Shown>,
    /// What waits of entities that were not asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) other_entities: Vec<Counted>,
}

/// One message.
#[derive(Serialize)]
pub(super) struct Shown {
    id: String,
    seq: u64,
    version: String,
    kind: &'static str,
    received_at: String,
    channel: String,
    chat_id: String,
    from: String,
    ts: String,
    content_text_sanitized: String,
    meta: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entity: Option<String>,
    /// What it says is somebody else's word.
    trust: &'static str,
}

/// How many are unread.
#[derive(Serialize)]
pub(super) struct Counted {
    pub(super) channel: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) entity: Option<String>,
    pub(super) unread: u64,
}

/// What the resource shows.
#[derive(Serialize)]
pub(super) struct Standing {
    pub(super) unread: Vec<Counted>,
    /// Newest first.
    pub(super) recent: Vec<Line>,
}

/// One message in a line.
#[derive(Serialize)]
pub(super) struct Line {
    pub(super) id: String,
    pub(super) channel: String,
    pub(super) from: String,
    pub(super) ts: String,
    pub(super) summary: String,
}

// === impl Shown ===

impl From<&Message> for Shown {
    fn from(message: &Message) -> Self {
        Self {
            id: message.id.clone(),
            seq: message.seq.0,
            version: message.version.clone(),
            kind: message.kind.as_str(),
            received_at: message.received_at.to_string(),
            channel: message.channel.to_string(),
            chat_id: message.chat_id.clone(),
            from: message.from.clone(),
            ts: message.ts.clone(),
            content_text_sanitized: message.text.clone(),
            // The text says what an event's data does.
            meta: message
                .meta
                .iter()
                .filter(|(key, _)| !is_event_data(key))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            entity: message.entity.as_ref().map(EntityId::to_string),
            trust: "untrusted",
        }
    }
}

// === impl Counted ===

impl From<Unread> for Counted {
    fn from(unread: Unread) -> Self {
        Self {
            channel: unread.channel,
            entity: unread.entity.map(|entity| entity.to_string()),
            unread: unread.count,
        }
    }
}

// === impl Line ===

impl From<&Message> for Line {
    fn from(message: &Message) -> Self {
        Self {
            id: message.id.clone(),
            channel: message.channel.to_string(),
            from: message.from.clone(),
            ts: message.ts.clone(),
            summary: summary(&message.text, SUMMARY),
        }
    }
}
