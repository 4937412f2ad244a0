//! What GitHub posts. Members that are of no use here are passed over, whatever they are.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Most messages that are looked at, from the last one back.
const MESSAGES_MAX: usize = 64;
/// Most characters of a thread's id.
const THREAD_MAX: usize = 128;

/// A request.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Payload {
    #[serde(default)]
    copilot_thread_id: Option<String>,
    #[serde(default)]
    messages: Vec<Message>,
}

/// One message of the conversation.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Message {
    #[serde(default)]
    pub(crate) role: String,
    #[serde(default)]
    pub(crate) content: Option<String>,
    #[serde(default)]
    pub(crate) copilot_confirmations: Option<Vec<Pressed>>,
}

/// A button that a person pressed.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Pressed {
    pub(crate) state: State,
    /// What the question was asked with.
    #[serde(default)]
    pub(crate) confirmation: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Accepted,
    Dismissed,
    /// A word of a later day, which is no yes.
    #[serde(other)]
    Other,
}

// === impl Payload ===

impl Payload {
    pub(crate) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body)
    }

    /// The thread, as it may stand in a record.
    pub(crate) fn thread(&self) -> Option<String> {
        let thread = self.copilot_thread_id.as_deref()?;
        let plain = thread
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'));
        let plain: String = plain.take(THREAD_MAX).collect();
        (!plain.is_empty()).then_some(plain)
    }

    /// The last message, which is what is wanted; only a person's.
    pub(crate) fn last(&self) -> Option<&Message> {
        self.messages.last().filter(|last| last.role == "user")
    }

    /// What the person wrote before, where the answer to it was this agent's question `asked`.
    pub(crate) fn before(&self, asked: &str) -> Option<&str> {
        let mut back = self.messages.iter().rev().skip(1).take(MESSAGES_MAX);
        let question = back.find(|message| message.role == "assistant")?;
        if !question.content.as_deref()?.starts_with(asked) {
            return None;
        }
        let before = back.find(|message| message.role == "user")?;
        before.content.as_deref()
    }
}

// === impl Message ===

impl Message {
    pub(crate) fn text(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }
}
