//! Who has read what.
//!
//! Each consumer has, for each channel, the numbers within that channel that it
//! has read: mostly one range from the first on, with holes where something was
//! pushed to it before its turn. What a call returned is not read yet: it is a
//! batch, which is read once a call of the same consumer begins after its answer
//! was written out. A call that ran beside it says nothing of it, whichever of
//! them ended first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use legation_core::id::hex;
use legation_core::{Moment, Wall};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::ranges::Ranges;

/// Longest name.
const NAME_MAX: usize = 100;

/// A consumer's name: a client, or one of several readers a client has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConsumerName(String);

/// One message that was handed out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Handed {
    pub(crate) seq: u64,
    pub(crate) channel: String,
    /// Its number in its channel, from 0.
    pub(crate) number: u64,
}

/// What one call returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Names it in this process.
    pub(crate) number: u64,
    pub(crate) messages: Vec<Handed>,
    pub(crate) fate: Fate,
}

/// How far an answer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is on its way to where it is written out.
    UnderWay,
    /// It was written out then.
    Written(Moment),
    /// It was not written out, or nobody knows.
    Unknown,
}

/// One reader. Bounded by the calls that are under way at once, for every later
/// one settles what it finds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Consumer {
    pub(crate) read: BTreeMap<String, Ranges>,
    /// What calls returned and nobody has said to have arrived.
    pub(crate) handed: Vec<Batch>,
    /// The last message that is read.
    pub(crate) last: Option<u64>,
    /// When it was last used, to the hour.
    pub(crate) used: Wall,
    /// A person named it, and so nothing but a person's word ends it.
    pub(crate) is_persons: bool,
}

// === impl ConsumerName ===

impl ConsumerName {
    /// A reader of a client's. A name that is too long is cut and ends in its own
    /// digest, so that no two readers share a place.
    #[must_use]
    pub fn new(client: &str, reader: Option<&str>) -> Self {
        let mut name = match reader.filter(|reader| !reader.is_empty()) {
            Some(reader) => format!("{client}/{reader}"),
            None => client.to_owned(),
        };
        if name.len() > NAME_MAX {
            let digest = Sha256::digest(name.as_bytes());
            let digest = hex(&digest[..16]);
            name.truncate(name.floor_char_boundary(NAME_MAX - digest.len()));
            name.push_str(&digest);
        }
        Self(name)
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn of_file(name: String) -> Self {
        Self(name)
    }

    /// The client of a reader that the client named.
    pub(crate) fn client(&self) -> Option<&str> {
        self.0.split_once('/').map(|(client, _)| client)
    }

    pub(crate) fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", hex(self.0.as_bytes())))
    }
}

// === impl Consumer ===

impl Consumer {
    /// One that begins behind what is gone.
    pub(crate) fn after(gone: &BTreeMap<String, u64>) -> Self {
        let mut new = Self::default();
        for (channel, below) in gone {
            let read = new.read.entry(channel.clone()).or_default();
            read.insert_range(0, *below);
        }
        new
    }

    /// What a call that began at a moment says of earlier ones; whether that changed
    /// anything. What was written out before it began has arrived, up to a message or
    /// all of it, and the rest comes again. What is still on its way stays there,
    /// unless the call names a message of it.
    pub(crate) fn settle(&mut self, began: Moment, through: Option<u64>) -> bool {
        let mut changed = false;
        for batch in std::mem::take(&mut self.handed) {
            let names = |seq| batch.messages.iter().any(|one| one.seq == seq);
            let arrived = match (batch.fate, through) {
                (Fate::Written(written), _) if began > written => through.unwrap_or(u64::MAX),
                (Fate::Unknown, _) => through.unwrap_or(0),
                (Fate::UnderWay | Fate::Written(_), Some(through)) if names(through) => through,
                (Fate::UnderWay | Fate::Written(_), _) => {
                    self.handed.push(batch);
                    continue;
                }
            };
            changed = true;
            for one in batch.messages.iter().filter(|one| one.seq <= arrived) {
                self.take(one);
            }
        }
        changed
    }

    /// Notes what became of an answer; whether it was still of interest.
    pub(crate) fn tell(&mut self, number: u64, fate: Fate) -> bool {
        let mut batches = self.handed.iter_mut();
        let batch = batches.find(|batch| batch.number == number);
        if let Some(batch) = batch {
            batch.fate = fate;
            return true;
        }
        false
    }

    /// Whether a record was given to it: it is read, or was handed out.
    pub(crate) fn was_given(&self, channel: &str, number: u64) -> bool {
        let read = self.read.get(channel);
        read.is_some_and(|read| read.first_absent(number) > number)
            || self.is_handed(channel, number)
    }

    /// Whether it was handed a record whose answer nobody has said to have arrived.
    pub(crate) fn was_handed(&self, seq: u64) -> bool {
        self.all_handed().any(|one| one.seq == seq)
    }

    /// Takes one message as read.
    pub(crate) fn take(&mut self, one: &Handed) {
        let read = self.read.entry(one.channel.clone()).or_default();
        read.insert(one.number);
        self.last = self.last.max(Some(one.seq));
    }

    /// How many of a channel's first `total` are unread.
    pub(crate) fn unread(&self, channel: &str, total: u64) -> u64 {
        let read = self.read.get(channel);
        total - read.map_or(0, |read| read.count_below(total))
    }

    fn all_handed(&self) -> impl Iterator<Item = &Handed> {
        self.handed.iter().flat_map(|batch| &batch.messages)
    }

    fn is_handed(&self, channel: &str, number: u64) -> bool {
        let mut handed = self.all_handed();
        handed.any(|one| one.number == number && one.channel == channel)
    }

    /// The first number of a channel that is not read.
    pub(crate) fn first_unread(&self, channel: &str) -> u64 {
        let read = self.read.get(channel);
        read.map_or(0, |read| read.first_absent(0))
    }

    /// The first number of a channel from `from` on that is neither read nor
    /// handed out.
    pub(crate) fn next(&self, channel: &str, from: u64) -> u64 {
        let mut at = from;
        loop {
            let read = self.read.get(channel);
            let absent = read.map_or(at, |read| read.first_absent(at));
            if !self.is_handed(channel, absent) {
                return absent;
            }
            at = absent + 1;
        }
    }
}
