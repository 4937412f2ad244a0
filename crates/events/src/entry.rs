//! What happened, in the order in which it did.

use std::fmt;

use legation_core::{ClientId, EntityId, Wall};
use legation_wire::json::{Object, Raw};
use tokio::sync::watch;

use crate::{Kind, Topic};

/// Something that happened. What it holds is never a body: whoever is told reads
/// that where its rules apply.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its place in its log: 1, 2, 3, …
    pub place: u64,
    /// What happened.
    pub kind: Kind,
    /// The same for the same occurrence, whoever is told and however often:
    /// visible ASCII, because it is a header of webhooks.
    pub event_id: Box<str>,
    /// When.
    pub at: Wall,
    /// Whose data it is about.
    pub entity: Option<EntityId>,
    /// The only client it concerns.
    pub client: Option<ClientId>,
    /// The channel of a message.
    pub channel: Option<Box<str>>,
    /// What everybody may know who may know of it at all.
    pub notice: Object,
    /// What else those are told who may read the entity's data as it is.
    pub details: Object,
    /// What a server told, where that is what happened.
    pub of_server: Option<Told>,
}

/// An event of a server's.
#[derive(Debug, Clone)]
pub struct Told {
    /// Which.
    pub topic: Topic,
    /// As [`Entry::event_id`], for whoever asked for it as the server's.
    pub event_id: Box<str>,
    /// Its data.
    pub data: Object,
}

/// Part of a log.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// In their order.
    pub entries: Vec<Entry>,
    /// Everything up to this place was looked at.
    pub reached: u64,
    /// Something between where reading began and where it ended is gone.
    pub gap: bool,
}

/// What happened, by places that only grow.
pub trait Log: Send + Sync + fmt::Debug {
    /// Tells this log from what had its places before: a place under another
    /// epoch leads nowhere.
    fn epoch(&self) -> u64;

    /// The last place.
    fn end(&self) -> u64;

    /// What came after a place, having looked at no more than `most` places.
    /// May read files.
    ///
    /// # Errors
    /// [`LogError`].
    fn read(&self, after: u64, most: usize) -> Result<Batch, LogError>;

    /// The last place of what is older than this. May read files.
    ///
    /// # Errors
    /// [`LogError`].
    fn older_than(&self, at: Wall) -> Result<u64, LogError>;

    /// Changes whenever the log grows.
    fn changed(&self) -> watch::Receiver<u64>;
}

/// A log that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("what happened cannot be read: {what}")]
pub struct LogError {
    /// Why.
    pub what: String,
}

// === impl Entry ===

impl Entry {
    /// Its id for those who asked for a topic.
    pub(crate) fn id(&self, topic: &Topic) -> &str {
        match (topic, &self.of_server) {
            (Topic::OfServer(_), Some(told)) => &told.event_id,
            (Topic::OfServer(_), None) | (Topic::Own(_), _) => &self.event_id,
        }
    }

    /// The occurrence as it is told to those who asked for a topic, with this data.
    pub(crate) fn occurrence(&self, topic: &Topic, data: &Object) -> Object {
        Object::new()
            .with("eventId", Raw::str(self.id(topic)))
            .with("name", Raw::str(topic.as_str()))
            .with("timestamp", Raw::str(&self.at.to_string()))
            .with("data", data.to_raw())
    }

    /// Everything there is to say.
    pub(crate) fn whole(&self) -> Object {
        let mut data = self.notice.clone();
        data.merge(&self.details);
        data
    }
}
