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
    /// What happened to it.
    pub change: Change,
}

/// What happened to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// It was written.
    New,
    /// Its writer wrote it anew.
    Edited,
    /// Its writer took it back.
    Deleted,
}

// === impl Seen ===

impl Seen {
    /// From when to read.
    #[must_use]
    pub fn since(&self) -> Option<Wall> {
        self.until.map(|until| Wall(until.0 - OVERLAP_MS))
    }

    /// What of it is new; it is seen then. Reactions are no news, and neither
    /// is what was taken back before anybody saw it.
    pub fn take(&mut self, messages: Vec<Message>) -> Vec<News> {
        let before = self.since();
        let mut news = Vec::new();
        for message in messages {
            self.until = self.until.max(Some(message.modified));
            let version = (message.etag.clone(), message.modified);
            let known = self.recent.insert(message.id.clone(), version.clone());
            if known.as_ref() == Some(&version) {
                continue;
            }
            // Of an older message only what was done to it since is new.
            let last = match known {
                Some((_, modified)) => Some(modified),
                None => before.filter(|before| message.created < *before),
            };
            if let Some(change) = Change::of(&message, last) {
                news.push(News { message, change });
            }
        }
        if let Some(since) = self.since() {
            self.recent.retain(|_, (_, modified)| *modified >= since);
        }
        news
    }
}

// === impl Change ===

impl Change {
    /// What happened to a message since it was last seen, if it was.
    fn of(message: &Message, seen: Option<Wall>) -> Option<Self> {
        match seen {
            None => (!message.is_deleted).then_some(Self::New),
            Some(_) if message.is_deleted => Some(Self::Deleted),
            Some(seen) => {
                let edited = message.edited.is_some_and(|edited| edited > seen);
                edited.then_some(Self::Edited)
            }
        }
    }

    /// The word in tools and records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Edited => "edited",
            Self::Deleted => "deleted",
        }
    }
}
