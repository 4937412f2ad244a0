//! Where each record is, by number, by name and by channel.
//!
//! All of it can be made again from the day files; `mark.json` says up to which
//! record it is on disk, and what came later is read again at the start. Records
//! are looked up with reads of files, not of memory: a million of them costs the
//! page cache something and the process nothing.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use legation_core::home::{HomeError, create_private_dir, write_private};

use crate::day::Day;
use crate::message::Message;

mod keys;
mod mark;
mod names;

pub(crate) use keys::Gone;
use keys::{id_hash, is_same, key_hash};
pub(crate) use mark::{DayMark, Mark};
use mark::{FORMAT, mark_path};
use names::Names;

const PLACE: u64 = 16;
const MEMBER: u64 = 8;
/// Files of days that are kept open for readers.
const OPEN_MAX: usize = 8;

/// Where a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) day: Day,
    pub(crate) offset: u64,
    /// Without the end of the line. 0: the record was taken out by retention.
    pub(crate) len: u32,
}

#[derive(Debug)]
pub(crate) struct Index {
    days: PathBuf,
    folder: PathBuf,
    places: File,
    names: Names,
    channels: RwLock<BTreeMap<String, Arc<File>>>,
    open: RwLock<Vec<(Day, Arc<File>)>>,
}

// === impl Index ===

impl Index {
    /// Opens the index as it was at a mark, or makes an empty one.
    pub(crate) fn open(days: &Path, mark: &Mark) -> io::Result<Self> {
        let folder = days.join("index");
        if mark.seq == 0 && folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        create_private_dir(&folder).map_err(io_error)?;
        let channels: io::Result<BTreeMap<_, _>> = mark
            .channels
            .keys()
            .map(|name| Ok((name.clone(), Arc::new(channel_file(&folder, name)?))))
            .collect();
        Ok(Self {
            days: days.to_owned(),
            places: file(&folder.join("places.idx"))?,
            names: Names::open(&folder, &mark.names)?,
            channels: RwLock::new(channels?),
            open: RwLock::default(),
            folder,
        })
    }

    /// Notes where a record is. `ordinal` is its number in its channel, from 0.
    pub(crate) fn insert(&self, message: &Message, place: Place, ordinal: u64) -> io::Result<()> {
        let seq = message.seq.0;
        self.place(seq, place)?;
        self.join(&message.lane(), ordinal, seq)?;
        self.names.insert(key_hash(message), seq)?;
        let later = self.versions(&message.id, Some(seq))?;
        self.names.insert(id_hash(&message.id, later), seq)
    }

    /// Notes a record that retention took out, known by the hash of its key.
    pub(crate) fn insert_gone(&self, gone: &Gone, ordinal: u64) -> io::Result<()> {
        let place = Place {
            day: Day(0),
            offset: 0,
            len: 0,
        };
        self.place(gone.seq, place)?;
        if gone.channel.is_empty() {
            // Lost, not taken out: nobody knows what it was.
            return Ok(());
        }
        self.join(&gone.channel, ordinal, gone.seq)?;
        self.names.insert(gone.key, gone.seq)
    }

    /// Writes where a record is.
    pub(crate) fn place(&self, seq: u64, place: Place) -> io::Result<()> {
        let mut bytes = [0; PLACE as usize];
        bytes[..8].copy_from_slice(&place.offset.to_le_bytes());
        bytes[8..12].copy_from_slice(&place.len.to_le_bytes());
        bytes[12..].copy_from_slice(&place.day.0.to_le_bytes());
        self.places.write_all_at(&bytes, (seq - 1) * PLACE)
    }

    fn join(&self, channel: &str, ordinal: u64, seq: u64) -> io::Result<()> {
        let known = self.channel(channel);
        let file = match known {
            Some(file) => file,
            None => {
                let file = Arc::new(channel_file(&self.folder, channel)?);
                let mut channels = self
                    .channels
                    .write()
                    .unwrap_or_else(PoisonError::into_inner);
                channels.insert(channel.to_owned(), Arc::clone(&file));
                file
            }
        };
        file.write_all_at(&seq.to_le_bytes(), ordinal * MEMBER)
    }

    /// Where a record is; `None` for one that retention took out.
    pub(crate) fn find(&self, seq: u64) -> io::Result<Option<Place>> {
        let mut bytes = [0; PLACE as usize];
        self.places.read_exact_at(&mut bytes, (seq - 1) * PLACE)?;
        let part =
            |range: std::ops::Range<usize>| bytes[range].try_into().map_or(0, u32::from_le_bytes);
        let offset = bytes[..8].try_into().map_or(0, u64::from_le_bytes);
        let place = Place {
            offset,
            len: part(8..12),
            day: Day(part(12..16)),
        };
        Ok((place.len > 0).then_some(place))
    }

    /// The bytes of a record.
    pub(crate) fn bytes(&self, place: Place) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; place.len as usize];
        self.day(place.day)?
            .read_exact_at(&mut bytes, place.offset)?;
        Ok(bytes)
    }

    /// The record with the key of this message, if there is one up to `last`.
    pub(crate) fn same(&self, message: &Message, last: u64) -> io::Result<Option<u64>> {
        self.names.find(key_hash(message), |seq| {
            if seq > last {
                return Ok(false);
            }
            let Some(place) = self.find(seq)? else {
                return Ok(true);
            };
            let line = crate::line::decode(&self.bytes(place)?);
            Ok(line.is_ok_and(|line| is_same(&line.message, message)))
        })
    }

    /// The newest record with an id.
    pub(crate) fn by_id(&self, id: &str, last: u64) -> io::Result<Option<u64>> {
        let versions = self.versions(id, None)?;
        // The newest may not be announced yet; the one before it still is there.
        for number in (0..versions).rev() {
            let found = self.version(id, number, None)?;
            if let Some(seq) = found.filter(|seq| *seq <= last) {
                return Ok(Some(seq));
            }
        }
        Ok(None)
    }

    /// How many records have this id, or the number of `own` among them.
    fn versions(&self, id: &str, own: Option<u64>) -> io::Result<u64> {
        let there = |number| self.version(id, number, own).map(|seq| seq.is_some());
        let mut above = 1;
        while there(above - 1)? {
            above *= 2;
        }
        // Known to be there below `low`, known to be absent at `high`.
        let (mut low, mut high) = (above / 2, above - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if there(middle)? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The `number`-th record with this id, but for `own`.
    fn version(&self, id: &str, number: u64, own: Option<u64>) -> io::Result<Option<u64>> {
        self.names.find(id_hash(id, number), |seq| {
            if own.is_some_and(|own| seq >= own) {
                return Ok(false);
            }
            let place = match self.find(seq) {
                Ok(Some(place)) => place,
                Ok(None) => return Ok(true),
                // A slot of a record that a crash took away.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                Err(error) => return Err(error),
            };
            let line = match self.bytes(place) {
                Ok(bytes) => crate::line::decode(&bytes),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                Err(error) => return Err(error),
            };
            Ok(line.is_ok_and(|line| line.message.seq.0 == seq && line.message.id == id))
        })
    }

    /// The records of a channel from one number on, at most so many.
    pub(crate) fn members(&self, channel: &str, from: u64, most: usize) -> io::Result<Vec<u64>> {
        let Some(file) = self.channel(channel) else {
            return Ok(Vec::new());
        };
        let mut bytes = vec![0; most * 8];
        let mut filled = 0;
        while filled < bytes.len() {
            match file.read_at(&mut bytes[filled..], from * MEMBER + filled as u64)? {
                0 => break,
                count => filled += count,
            }
        }
        let members = bytes[..filled].chunks_exact(8);
        Ok(members
            .map(|seq| seq.try_into().map_or(0, u64::from_le_bytes))
            .collect())
    }

    /// The first number of a channel, of which there are `total`, whose record is
    /// not before one.
    pub(crate) fn first_from(&self, channel: &str, total: u64, seq: u64) -> io::Result<u64> {
        let (mut low, mut high) = (0, total);
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.members(channel, middle, 1)?;
            if found.first().is_some_and(|found| *found < seq) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Puts everything up to a record on disk, and then says so.
    pub(crate) fn sync(&self, mark: &mut Mark) -> io::Result<()> {
        self.places.sync_data()?;
        let channels: Vec<Arc<File>> = {
            let channels = self.channels.read().unwrap_or_else(PoisonError::into_inner);
            channels.values().cloned().collect()
        };
        for file in channels {
            file.sync_data()?;
        }
        mark.names = self.names.sync()?;
        mark.format = FORMAT;
        File::open(&self.folder)?.sync_all()?;
        let text = serde_json::to_vec(mark)?;
        write_private(&mark_path(&self.days), &text).map_err(io_error)
    }

    /// Forgets the open files of days, for their names mean other files now.
    pub(crate) fn reopen(&self) {
        self.open
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    fn day(&self, day: Day) -> io::Result<Arc<File>> {
        let known = {
            let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
            let mut open = open.iter();
            open.find(|(other, _)| *other == day)
                .map(|(_, file)| Arc::clone(file))
        };
        if let Some(file) = known {
            return Ok(file);
        }
        let file = Arc::new(File::open(day.path(&self.days))?);
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= OPEN_MAX {
            open.remove(0);
        }
        open.push((day, Arc::clone(&file)));
        Ok(file)
    }

    fn channel(&self, name: &str) -> Option<Arc<File>> {
        let channels = self.channels.read();
        channels
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
    }
}

fn channel_file(folder: &Path, name: &str) -> io::Result<File> {
    file(&channel_path(folder, name))
}

fn channel_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("channel-{name}.idx"))
}

/// A record's number in its channel, from 0, looked up without an index that is
/// open; `None` when the file does not have it.
pub(crate) fn ordinal(folder: &Path, channel: &str, seq: u64) -> io::Result<Option<u64>> {
    let file = match File::open(channel_path(folder, channel)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let at = |ordinal: u64| {
        let mut bytes = [0; MEMBER as usize];
        file.read_exact_at(&mut bytes, ordinal * MEMBER)?;
        Ok::<_, io::Error>(u64::from_le_bytes(bytes))
    };
    let (mut from, mut to) = (0, file.metadata()?.len() / MEMBER);
    while from < to {
        let middle = from + (to - from) / 2;
        match at(middle)?.cmp(&seq) {
            std::cmp::Ordering::Equal => return Ok(Some(middle)),
            std::cmp::Ordering::Less => from = middle + 1,
            std::cmp::Ordering::Greater => to = middle,
        }
    }
    Ok(None)
}

fn file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(path)
}

fn io_error(error: HomeError) -> io::Error {
    io::Error::new(error.source.kind(), error)
}
