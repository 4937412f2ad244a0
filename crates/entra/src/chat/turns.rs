//! One message at a time: Teams takes one a second from a user into a chat,
//! and whoever looks for what was sent must not find another's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Teams' limit for messages of a user into a chat.
pub(super) const APART: Duration = Duration::from_secs(1);

/// By chat, when the last message was posted; whoever holds one posts. There
/// are as many chats as the account talks in.
#[derive(Default)]
pub(crate) struct ChatTurns(Mutex<HashMap<Box<str>, Turn>>);

pub(super) type Turn = Arc<tokio::sync::Mutex<Option<Instant>>>;

// === impl ChatTurns ===

impl ChatTurns {
    pub(super) fn of(&self, chat: &str) -> Turn {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(chat.into()).or_default())
    }
}
