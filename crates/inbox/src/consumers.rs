//! All consumers, and their files.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use legation_core::home::{HomeError, write_private};
use legation_core::{Moment, Wall};
use serde::{Deserialize, Serialize};

use crate::consumer::{Batch, Consumer, ConsumerName, Fate, Handed};
use crate::error::ReadError;
use crate::ranges::Ranges;

/// Most consumers of one inbox: each has a file.
pub(crate) const CONSUMERS_MAX: usize = 1_024;
/// Most readers of one client, so that none takes the places of others.
pub(crate) const READERS_MAX: usize = 32;
/// One that was used within this time gives its place to nobody, in milliseconds.
const IN_USE_MS: i64 = 24 * HOUR_MS;
/// How exact it is when a consumer was last used: each change is a file.
const HOUR_MS: i64 = 60 * 60 * 1000;

/// A consumer as its file has it.
#[derive(Serialize, Deserialize)]
struct Stored {
    consumer: String,
    read: BTreeMap<String, Vec<(u64, u64)>>,
    #[serde(default)]
    batches: Vec<StoredBatch>,
    last: Option<u64>,
    #[serde(default)]
    used_ms: i64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    person: bool,
}

/// What one call returned, as the file has it.
#[derive(Serialize, Deserialize)]
struct StoredBatch {
    messages: Vec<Handed>,
    /// Whether the answer was written out.
    written: bool,
}

/// A consumer's file on its way to the disk.
#[derive(Debug)]
pub(crate) struct ConsumerFile {
    pub(crate) name: ConsumerName,
    path: PathBuf,
    /// `None` where there is to be no such file.
    text: Option<Vec<u8>>,
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
    /// The number of the last batch.
    batches: u64,
}

// === impl Consumers ===

impl Consumers {
    /// Those whose files are in a folder, and what is wrong with the others. A
    /// file that cannot be read is put aside: its consumer begins anew, which
    /// repeats messages and loses none.
    pub(crate) fn load(folder: PathBuf, now: Wall) -> io::Result<(Self, Vec<String>)> {
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
            let (name, consumer) = all.restored(stored, now);
            all.known.insert(name, consumer);
        }
        Ok((all, problems))
    }

    fn restored(&mut self, stored: Stored, now: Wall) -> (ConsumerName, Consumer) {
        let read = stored.read.into_iter();
        let read = read.map(|(channel, pairs)| (channel, Ranges::from_pairs(pairs)));
        let handed = stored.batches.into_iter().map(|batch| {
            self.batches += 1;
            Batch {
                number: self.batches,
                messages: batch.messages,
                fate: match batch.written {
                    true => Fate::Written(Moment::START),
                    // Its process ended before it knew.
                    false => Fate::Unknown,
                },
            }
        });
        let consumer = Consumer {
            read: read.collect(),
            handed: handed.collect(),
            last: stored.last,
            used: if stored.used_ms > 0 {
                Wall(stored.used_ms)
            } else {
                now
            },
            is_persons: stored.person,
        };
        (ConsumerName::of_file(stored.consumer), consumer)
    }

    /// A consumer, which may be a new one; it is written when it was changed. Where
    /// there is no room, the one that was not used for the longest time makes some,
    /// if it was not used for a day and is no person's.
    pub(crate) fn get(
        &mut self,
        name: &ConsumerName,
        now: Wall,
    ) -> Result<&mut Consumer, ReadError> {
        if !self.known.contains_key(name) {
            self.make_room(name, now)?;
        }
        let gone = &self.gone;
        let known = self.known.entry(name.clone());
        let consumer = known.or_insert_with(|| Consumer::after(gone));
        if now.0 - consumer.used.0 >= HOUR_MS {
            consumer.used = now;
            if !self.dirty.contains(name) {
                self.dirty.push(name.clone());
            }
        }
        Ok(consumer)
    }

    fn make_room(&mut self, name: &ConsumerName, now: Wall) -> Result<(), ReadError> {
        let full = |most| ReadError::Consumers { most };
        let before = Wall(now.0 - IN_USE_MS);
        let client = name.client();
        if client.is_some() {
            let readers = self.known.keys().filter(|known| known.client() == client);
            if readers.count() >= READERS_MAX
                && !self.expire_one(before, |name| name.client() == client)
            {
                return Err(full(READERS_MAX));
            }
        }
        if self.known.len() >= CONSUMERS_MAX && !self.expire_one(before, |_| true) {
            return Err(full(CONSUMERS_MAX));
        }
        Ok(())
    }

    /// Forgets the consumer that was not used for the longest time, if that was
    /// before a time; whether there was one.
    fn expire_one(&mut self, before: Wall, of: impl Fn(&ConsumerName) -> bool) -> bool {
        let unused = self
            .known
            .iter()
            .filter(|(name, consumer)| !consumer.is_persons && consumer.used < before && of(name));
        let oldest = unused.min_by_key(|(name, consumer)| (consumer.used, *name));
        let Some(name) = oldest.map(|(name, _)| name.clone()) else {
            return false;
        };
        tracing::warn!(
            consumer = name.as_str(),
            "a reader of the inbox that was not used for the longest time made room for another; if it comes back, it is offered everything again"
        );
        self.remove(&name);
        true
    }

    /// Forgets consumers that were not used since a time, but for those that a
    /// person named; their names.
    pub(crate) fn expire(&mut self, before: Wall) -> Vec<ConsumerName> {
        let unused = self.known.iter().filter(|(_, consumer)| {
            !consumer.is_persons && consumer.used < before && consumer.handed.is_empty()
        });
        let mut names: Vec<ConsumerName> = unused.map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        for name in &names {
            self.remove(name);
        }
        names
    }

    /// Forgets a consumer; whether it was known.
    pub(crate) fn remove(&mut self, name: &ConsumerName) -> bool {
        let was_known = self.known.remove(name).is_some();
        self.changed(name);
        was_known
    }

    /// A consumer that there is.
    pub(crate) fn find(&mut self, name: &ConsumerName) -> Option<&mut Consumer> {
        self.known.get_mut(name)
    }

    /// Hands messages out to a consumer that there is; the number of the batch.
    pub(crate) fn hand(&mut self, name: &ConsumerName, messages: Vec<Handed>) -> u64 {
        self.batches += 1;
        let number = self.batches;
        if let Some(consumer) = self.known.get_mut(name) {
            consumer.handed.push(Batch {
                number,
                messages,
                fate: Fate::UnderWay,
            });
        }
        self.changed(name);
        number
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
            for batch in &mut consumer.handed {
                let there = |one: &Handed| one.number < total(&one.channel);
                batch.messages.retain(there);
            }
            consumer.handed.retain(|batch| !batch.messages.is_empty());
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

    /// The files that have to be written.
    pub(crate) fn dirty(&mut self) -> Vec<ConsumerFile> {
        let names = std::mem::take(&mut self.dirty);
        let files = names.into_iter().map(|name| ConsumerFile {
            path: name.path(&self.folder),
            text: self
                .known
                .get(&name)
                .map(|consumer| stored(&name, consumer)),
            name,
        });
        files.collect()
    }
}

fn stored(name: &ConsumerName, consumer: &Consumer) -> Vec<u8> {
    let read = consumer.read.iter();
    let batches = consumer.handed.iter().map(|batch| StoredBatch {
        messages: batch.messages.clone(),
        written: matches!(batch.fate, Fate::Written(_)),
    });
    let stored = Stored {
        consumer: name.as_str().to_owned(),
        read: read
            .map(|(key, all)| (key.clone(), all.pairs().to_vec()))
            .collect(),
        batches: batches.collect(),
        last: consumer.last,
        used_ms: consumer.used.0,
        person: consumer.is_persons,
    };
    serde_json::to_vec(&stored).expect("names and numbers always serialise")
}

// === impl ConsumerFile ===

impl ConsumerFile {
    /// Puts it on disk, or takes it away.
    pub(crate) fn write(&self) -> Result<(), HomeError> {
        let Some(text) = &self.text else {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(HomeError {
                    what: "removing",
                    path: self.path.clone(),
                    source: error,
                }),
                _ => Ok(()),
            };
        };
        write_private(&self.path, text)
    }
}

/// Whether a consumer has a message, or was handed it and has not said that it did
/// not arrive, as the files of an inbox in `folder` say. `lane` is the message's
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
    let mut handed = stored.batches.iter().flat_map(|batch| &batch.messages);
    if handed.any(|one| one.seq == seq.0) {
        return Ok(true);
    }
    let Some(read) = stored.read.get(lane) else {
        return Ok(false);
    };
    let number = crate::index::ordinal(&folder.join("index"), lane, seq.0)?;
    let within = |number: u64| read.iter().any(|(from, to)| (*from..*to).contains(&number));
    Ok(number.is_some_and(within))
}
