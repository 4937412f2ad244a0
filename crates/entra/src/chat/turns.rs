//! One message at a time: Teams takes one a second from a user into a chat,
//! and whoever looks for what was sent must not find another's.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Teams' limit for messages of a user into a chat.
pub(super) const APART: Duration = Duration::from_secs(1);
/// So many of the last messages are remembered: more than fall into the time
/// in which a message whose answer was lost is looked for.
const KNOWN: usize = 64;

/// By chat, what was posted last; whoever holds one posts. There are as many
/// chats as the account talks in.
#[derive(Default)]
pub(crate) struct ChatTurns(Mutex<HashMap<Box<str>, Turn>>);

pub(super) type Turn = Arc<tokio::sync::Mutex<Posted>>;

/// What this process posted into a chat.
#[derive(Default)]
pub(super) struct Posted {
    /// When it last did.
    pub(super) last: Option<Instant>,
    /// The last messages that are known to have arrived.
    ids: VecDeque<Box<str>>,
}

// === impl ChatTurns ===

impl ChatTurns {
    pub(super) fn of(&self, chat: &str) -> Turn {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(chat.into()).or_default())
    }
}

// === impl Posted ===

impl Posted {
    pub(super) fn add(&mut self, id: &str) {
        if self.ids.len() >= KNOWN {
            self.ids.pop_front();
        }
        self.ids.push_back(id.into());
    }

    /// Whether it is accounted for already: the same words were said twice.
    pub(super) fn has(&self, id: &str) -> bool {
        self.ids.iter().any(|known| **known == *id)
    }
}
