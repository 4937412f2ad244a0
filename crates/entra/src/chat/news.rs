//! What of the messages read is new: without IO.

use std::collections::BTreeMap;

use legation_core::Wall;

use super::Message;

/// Reading goes back so far: Teams' clocks are several, and a message may be
/// seen later than one with a later time.
pub const OVERLAP_MS: i64 = 10_000;

/// What was seen of one chat: how far, and which versions of what is in the
/// overlap. The caller keeps it with what it made of the messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The latest change that was seen.
    pub until: Option<Wall>,
    /// Version and time of the messages in the overlap, by id.
    pub recent: BTreeMap<String, (String, Wall)>,
}

/// A message that was not seen before, or not in this version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// The message.
    pub message: Message,
    /// Whether an earlier version of it was seen.
    pub is_change: bool,
}

// === impl Seen ===

impl Seen {
    /// From when to read.
    #[must_use]
    pub fn since(&self) -> Option<Wall> {
        self.until.map(|until| Wall(until.0 - OVERLAP_MS))
    }

    /// What of it is new; it is seen then.
    pub fn take(&mut self, messages: Vec<Message>) -> Vec<News> {
        let before = self.until;
        let mut news = Vec::new();
        for message in messages {
            self.until = self.until.max(Some(message.modified));
            let version = (message.etag.clone(), message.modified);
            let known = self.recent.insert(message.id.clone(), version.clone());
            if known.as_ref() == Some(&version) {
                continue;
            }
            // Of an older message only the change is new.
            let older = before.is_some_and(|before| message.created.0 + OVERLAP_MS < before.0);
            let is_change = known.is_some() || older;
            news.push(News { message, is_change });
        }
        if let Some(since) = self.since() {
            self.recent.retain(|_, (_, modified)| *modified >= since);
        }
        news
    }
}
