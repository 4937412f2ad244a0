//! What is kept, and what is brought to be kept.

use std::collections::BTreeMap;
use std::fmt;

use legation_core::id::hex;
use legation_core::{EntityId, Wall};

/// Longest text that is kept, in bytes; more is cut, and the record says so.
pub const BODY_MAX: usize = 16 * 1024 * 1024;

/// The member of `meta` that holds the data of a server's event as JSON; no producer may
/// say it, so that what has it is an event.
pub const EVENT_DATA: &str = "event_data";

/// Longest id, name or value of `meta`, in bytes.
pub(crate) const FIELD_MAX: usize = 64 * 1024;

/// A record's place in the inbox: 1, 2, 3, …, without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

/// Where messages come from: `teams`, `email`, `local`, ….
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(String);

/// No name of a channel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is no channel: a channel is 1 to 32 of a-z, 0-9 and -")]
pub struct BadChannel {
    /// What was given.
    pub name: String,
}

/// What a record tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A message.
    New,
    /// The same message with other words.
    Edited,
    /// The message is gone at its source.
    Deleted,
}

/// What a source brings. Texts may hold anything: they are cleaned on the way in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// Where it comes from.
    pub channel: Channel,
    /// The conversation at the source.
    pub chat_id: String,
    /// The message's id at the source.
    pub id: String,
    /// Which version of it (an etag, a time); the same version is kept once.
    pub version: String,
    /// What happened.
    pub kind: Kind,
    /// Who wrote it, as people read it.
    pub from: String,
    /// When, as the source says it.
    pub ts: String,
    /// Readable text.
    pub text: String,
    /// What else a reply or a display needs; keys of `[A-Za-z0-9_]`.
    pub meta: BTreeMap<String, String>,
    /// Whose data it is.
    pub entity: Option<EntityId>,
}

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its place.
    pub seq: Seq,
    /// The message's id at the source.
    pub id: String,
    /// Which version of it.
    pub version: String,
    /// What happened.
    pub kind: Kind,
    /// When it was kept.
    pub received_at: Wall,
    /// Where it came from.
    pub channel: Channel,
    /// The conversation at the source.
    pub chat_id: String,
    /// Who wrote it.
    pub from: String,
    /// When, as the source said it.
    pub ts: String,
    /// Its text, cleaned and escaped.
    pub text: String,
    /// What else there is, cleaned and escaped.
    pub meta: BTreeMap<String, String>,
    /// Whose data it is.
    pub entity: Option<EntityId>,
}

// === impl Seq ===

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// === impl Channel ===

impl Channel {
    /// Checks a name and takes it.
    ///
    /// # Errors
    /// [`BadChannel`].
    pub fn parse(name: &str) -> Result<Self, BadChannel> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if (1..=32).contains(&name.len()) && name.bytes().all(fits) {
            return Ok(Self(name.to_owned()));
        }
        Err(BadChannel { name: name.into() })
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl Message ===

impl Message {
    /// The lane it is counted in: its channel, and the entity whose data it is.
    /// Lanes are names of files.
    #[must_use]
    pub fn lane(&self) -> String {
        lane(&self.channel, self.entity.as_ref())
    }
}

/// What separates a channel from an entity in the name of a lane.
const OF: char = '.';

pub(crate) fn lane(channel: &Channel, entity: Option<&EntityId>) -> String {
    match entity {
        None => channel.0.clone(),
        Some(entity) => format!("{}{OF}{}", channel.0, hex(entity.as_str().as_bytes())),
    }
}

/// The channel and the entity of a lane.
pub(crate) fn of_lane(lane: &str) -> (&str, Option<EntityId>) {
    match lane.split_once(OF) {
        None => (lane, None),
        Some((channel, entity)) => (channel, unhex(entity).map(EntityId::new)),
    }
}

fn unhex(digits: &str) -> Option<String> {
    let bytes: Option<Vec<u8>> = digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    String::from_utf8(bytes?).ok()
}

// === impl Kind ===

impl Kind {
    /// The word in the record.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Edited => "edited",
            Self::Deleted => "deleted",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        [Self::New, Self::Edited, Self::Deleted]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}
