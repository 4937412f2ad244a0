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
    /// While more waits than is read at once: what changed before this time
    /// was read, `until` stands where it stood, and `recent` has everything
    /// read since. So a message that is reacted to meanwhile is told from one
    /// that was seen, and from one that is old.
    pub read_to: Option<Wall>,
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
    /// Nothing seen, and nothing before this time is news.
    #[must_use]
    pub fn begin(at: Wall) -> Self {
        Self {
            until: Some(at),
            ..Self::default()
        }
    }

    /// From when to read.
    #[must_use]
    pub fn since(&self) -> Option<Wall> {
        // The end of a window is not in it.
        let next = self.read_to.map(|read_to| Wall(read_to.0 - 1));
        next.or(self.old_before())
    }

    /// What was written before and never seen is no news.
    fn old_before(&self) -> Option<Wall> {
        self.until.map(|until| Wall(until.0 - OVERLAP_MS))
    }

    /// What of it is new; it is seen then. Reactions are no news, and neither
    /// is what was taken back before anybody saw it.
    pub fn take(&mut self, messages: Vec<Message>) -> Vec<News> {
        self.take_window(messages, None)
    }

    /// The same for a window ([`super::Window`]) that ends at `end`, behind
    /// which more waits.
    pub fn take_window(&mut self, messages: Vec<Message>, end: Option<Wall>) -> Vec<News> {
        let before = self.old_before();
        let mut until = self.until;
        let mut news = Vec::new();
        for message in messages {
            until = until.max(Some(message.modified));
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
        self.read_to = end;
        if end.is_some() {
            return news;
        }
        // What was read in windows may have ended with an empty one.
        let recent = self.recent.values().map(|(_, modified)| *modified);
        self.until = until.max(recent.max());
        if let Some(since) = self.old_before() {
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
