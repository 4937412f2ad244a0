//! Chats, their messages and presence.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::directory::ObjectId;

/// A chat.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Chat {
    pub(crate) id: String,
    /// `oneOnOne` or `group`.
    pub(crate) kind: String,
    pub(crate) topic: Option<String>,
    pub(crate) members: Vec<Member>,
    pub(crate) messages: Vec<Message>,
    pub(crate) created_ms: i64,
    pub(crate) updated_ms: i64,
}

/// A member of a chat.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Member {
    pub(crate) id: String,
    pub(crate) user: ObjectId,
    pub(crate) roles: Vec<String>,
}

/// A message of a chat.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Message {
    /// Milliseconds since 1970, as text.
    pub(crate) id: String,
    pub(crate) from: ObjectId,
    /// The application it was sent with, and that one's name.
    pub(crate) created_ms: i64,
    pub(crate) modified_ms: i64,
    pub(crate) edited_ms: Option<i64>,
    pub(crate) deleted_ms: Option<i64>,
    pub(crate) body: Value,
    pub(crate) subject: Option<String>,
    pub(crate) importance: String,
    pub(crate) attachments: Vec<Value>,
    pub(crate) mentions: Vec<Value>,
    pub(crate) hosted: Vec<Hosted>,
    #[serde(default)]
    pub(crate) reactions: Vec<Reaction>,
}

/// What somebody thinks of a message, in one character.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Reaction {
    pub(crate) user: ObjectId,
    pub(crate) kind: String,
    pub(crate) at_ms: i64,
}

/// A picture inside a message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Hosted {
    pub(crate) id: String,
    pub(crate) content_type: String,
    /// Base64.
    pub(crate) content: String,
}

/// What is known of somebody's presence.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Presence {
    pub(crate) sessions: Vec<PresenceSession>,
    pub(crate) preferred: Option<PresenceSession>,
    pub(crate) message: Value,
}

/// What one application says of somebody.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PresenceSession {
    /// The application's id; empty for what the person prefers.
    pub(crate) id: String,
    pub(crate) availability: String,
    pub(crate) activity: String,
    pub(crate) set_ms: i64,
    pub(crate) until_ms: i64,
}

// === impl Chat ===

impl Chat {
    pub(crate) fn has(&self, user: &ObjectId) -> bool {
        self.members.iter().any(|member| member.user == *user)
    }
}
