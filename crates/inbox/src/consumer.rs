//! Who has read what.
//!
//! Each consumer has, for each channel, the numbers within that channel that it
//! has read: mostly one range from the first on, with holes where something was
//! pushed to it before its turn. What a call returned is not read yet; the next
//! call of the same consumer says that the answer arrived.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use legation_core::home::{HomeError, write_private};
use legation_core::id::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::ReadError;
use crate::ranges::Ranges;

/// Most consumers of one inbox: each has a file.
pub(crate) const CONSUMERS_MAX: usize = 1_024;
/// Most readers of one client, so that none takes the places of others.
pub(crate) const READERS_MAX: usize = 32;
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

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Consumer {
    pub(crate) read: BTreeMap<String, Ranges>,
    /// What the last call returned.
    pub(crate) handed: Vec<Handed>,
    /// The last message that is read.
    pub(crate) last: Option<u64>,
}

/// A consumer as its file has it.
#[derive(Serialize, Deserialize)]
struct Stored {
    consumer: String,
    read: BTreeMap<String, Vec<(u64, u64)>>,
    handed: Vec<Handed>,
    last: Option<u64>,
}

/// All that were seen since the start, and those with files.
#[derive(Debug, Default)]
pub(crate) struct Consumers {
    folder: PathBuf,
    known: HashMap<ConsumerName, Consumer>,
    /// How many of each channel's first records retention took out: read by
    /// whoever comes.
    gone: BTreeMap<String, u64>,
    dirty: Vec<ConsumerName>,
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

    /// The client of a reader that the client named.
    fn client(&self) -> Option<&str> {
        self.0.split_once('/').map(|(client, _)| client)
    }

    fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", hex(self.0.as_bytes())))
    }
}

// === impl Consumer ===

impl Consumer {
    /// One that begins behind what is gone.
    fn after(gone: &BTreeMap<String, u64>) -> Self {
        let mut new = Self::default();
        for (channel, below) in gone {
            let read = new.read.entry(channel.clone()).or_default();
            read.insert_range(0, *below);
        }
        new
    }

    /// Takes what was handed out as read, up to a message or all of it.
    pub(crate) fn acknowledge(&mut self, through: Option<u64>) -> bool {
        let handed = std::mem::take(&mut self.handed);
        let mut changed = !handed.is_empty();
        for one in handed {
            if through.is_none_or(|through| one.seq <= through) {
                self.take(&one);
                changed = true;
            }
        }
        changed
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

    fn is_handed(&self, channel: &str, number: u64) -> bool {
        let mut handed = self.handed.iter();
        handed.any(|one| one.number == number && one.channel == channel)
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

// === impl Consumers ===

impl Consumers {
    /// Those whose files are in a folder, and what is wrong with the others. A
    /// file that cannot be read is put aside: its consumer begins anew, which
    /// repeats messages and loses none.
    pub(crate) fn load(folder: PathBuf) -> io::Result<(Self, Vec<String>)> {
        let mut all = Self {
            folder,
            ..Self::default()
        };
        let mut problems = Vec::new();
        for entry in fs::read_dir(&all.folder)? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let stored: Option<Stored> = serde_json::from_slice(&fs::read(&path)?).ok();
            let Some(stored) = stored else {
                let aside = path.with_extension("broken");
                fs::rename(&path, &aside)?;
                problems.push(format!(
                    "what a consumer of the inbox had read could not be read itself; it is kept as {}, and the consumer is offered everything again",
                    aside.display()
                ));
                continue;
            };
            let read = stored.read.into_iter();
            let consumer = Consumer {
                read: read
                    .map(|(channel, pairs)| (channel, Ranges::from_pairs(pairs)))
                    .collect(),
                handed: stored.handed,
                last: stored.last,
            };
            all.known.insert(ConsumerName(stored.consumer), consumer);
        }
        Ok((all, problems))
    }

    /// A consumer, which may be a new one; it is written when it was changed.
    pub(crate) fn get(&mut self, name: &ConsumerName) -> Result<&mut Consumer, ReadError> {
        if !self.known.contains_key(name) && self.known.len() >= CONSUMERS_MAX {
            return Err(ReadError::Consumers {
                most: CONSUMERS_MAX,
            });
        }
        let client = name.client();
        if client.is_some() && !self.known.contains_key(name) {
            let readers = self.known.keys().filter(|known| known.client() == client);
            if readers.count() >= READERS_MAX {
                return Err(ReadError::Consumers { most: READERS_MAX });
            }
        }
        let gone = &self.gone;
        let known = self.known.entry(name.clone());
        Ok(known.or_insert_with(|| Consumer::after(gone)))
    }

    /// How many of a channel's first `total` a consumer, seen before or not, has
    /// not read.
    pub(crate) fn unread(&self, name: &ConsumerName, channel: &str, total: u64) -> u64 {
        match self.known.get(name) {
            Some(known) => known.unread(channel, total),
            None => total - self.gone_of(channel).min(total),
        }
    }

    fn gone_of(&self, channel: &str) -> u64 {
        self.gone.get(channel).copied().unwrap_or(0)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&ConsumerName, &Consumer)> {
        self.known.iter()
    }

    /// Takes the first records of a channel as read by everybody: they are gone.
    pub(crate) fn forget(&mut self, channel: &str, below: u64) {
        let gone = self.gone.entry(channel.to_owned()).or_default();
        *gone = below.max(*gone);
        let mut changed = Vec::new();
        for (name, consumer) in &mut self.known {
            let read = consumer.read.entry(channel.to_owned()).or_default();
            if read.first_absent(0) < below {
                read.insert_range(0, below);
                changed.push(name.clone());
            }
        }
        for name in changed {
            self.changed(&name);
        }
    }

    /// Takes nothing as read that does not exist; whether something was.
    pub(crate) fn clamp(&mut self, totals: &BTreeMap<String, u64>) -> bool {
        let mut beyond = Vec::new();
        for (name, consumer) in &mut self.known {
            for (channel, read) in &mut consumer.read {
                let total = totals.get(channel).copied().unwrap_or(0);
                if read.truncate(total) && !beyond.contains(name) {
                    beyond.push(name.clone());
                }
            }
            let total = |channel: &str| totals.get(channel).copied().unwrap_or(0);
            consumer
                .handed
                .retain(|one| one.number < total(&one.channel));
        }
        let some = !beyond.is_empty();
        self.dirty.extend(beyond);
        some
    }

    /// How many of a channel's first `total` nobody has read.
    pub(crate) fn unread_by_all(&self, channel: &str, total: u64) -> u64 {
        let read = self.known.values().filter_map(|one| one.read.get(channel));
        let pairs = read.flat_map(|read| read.pairs().iter().copied());
        let pairs = pairs.chain([(0, self.gone_of(channel))]);
        total - Ranges::from_pairs(pairs).count_below(total)
    }

    /// Notes that a consumer's file is older than it is.
    pub(crate) fn changed(&mut self, name: &ConsumerName) {
        if !self.dirty.contains(name) {
            self.dirty.push(name.clone());
        }
    }

    /// The files that have to be written, and what with.
    pub(crate) fn dirty(&mut self) -> Vec<(ConsumerName, PathBuf, Vec<u8>)> {
        let names = std::mem::take(&mut self.dirty);
        let files = names.into_iter().filter_map(|name| {
            let consumer = self.known.get(&name)?;
            let pairs = |ranges: &Ranges| ranges.pairs().to_vec();
            let read = consumer.read.iter();
            let stored = Stored {
                consumer: name.0.clone(),
                read: read.map(|(key, all)| (key.clone(), pairs(all))).collect(),
                handed: consumer.handed.clone(),
                last: consumer.last,
            };
            let text = serde_json::to_vec(&stored).ok()?;
            Some((name.clone(), name.path(&self.folder), text))
        });
        files.collect()
    }
}

/// Whether a consumer has a message, or was handed it by its last call, as the
/// files of an inbox in `folder` say. `lane` is the message's
/// ([`crate::Message::lane`]). It needs no inbox that is open, and says "no" where
/// the files do not know better yet.
///
/// # Errors
/// When a file that is there cannot be read.
pub fn has_read(
    folder: &Path,
    consumer: &ConsumerName,
    lane: &str,
    seq: crate::Seq,
) -> io::Result<bool> {
    let path = consumer.path(&folder.join("consumers"));
    let stored = match fs::read(path) {
        Ok(text) => serde_json::from_slice::<Stored>(&text).ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let Some(stored) = stored else {
        return Ok(false);
    };
    if stored.handed.iter().any(|one| one.seq == seq.0) {
        return Ok(true);
    }
    let Some(read) = stored.read.get(lane) else {
        return Ok(false);
    };
    let number = crate::index::ordinal(&folder.join("index"), lane, seq.0)?;
    let within = |number: u64| read.iter().any(|(from, to)| (*from..*to).contains(&number));
    Ok(number.is_some_and(within))
}

/// Writes a consumer's file.
pub(crate) fn write(path: &Path, text: &[u8]) -> Result<(), HomeError> {
    write_private(path, text)
}
