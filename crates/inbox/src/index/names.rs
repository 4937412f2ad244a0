//! Which record a name belongs to: a hash table in files.
//!
//! It grows by whole tables, each twice as large as the one before, so that
//! nothing ever has to be put in order again while messages come in; a lookup
//! asks each of the few tables. A slot is a hash and a record; what a hash leads
//! to is compared with the record itself, so that a slot that a crash left
//! behind, or another name with the same hash, does no harm.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Slots of the first table.
const FIRST: u64 = 1 << 16;
/// Tables stop doubling here.
const LARGEST: u64 = 1 << 26;
const SLOT: usize = 16;
/// Slots that are read at a time.
const CHUNK: u64 = 16;

#[derive(Debug)]
pub(crate) struct Names {
    folder: PathBuf,
    tables: RwLock<Vec<Arc<Table>>>,
}

#[derive(Debug)]
struct Table {
    file: File,
    slots: u64,
    used: AtomicU64,
    /// Whether something was written that may not be on disk.
    dirty: AtomicBool,
}

// === impl Names ===

impl Names {
    /// Opens the tables of which so many slots were used each.
    pub(crate) fn open(folder: &Path, used: &[u64]) -> io::Result<Self> {
        let tables: io::Result<Vec<_>> = used
            .iter()
            .enumerate()
            .map(|(at, used)| Table::open(folder, at, *used).map(Arc::new))
            .collect();
        Ok(Self {
            folder: folder.to_owned(),
            tables: RwLock::new(tables?),
        })
    }

    /// The record behind a hash that `is` the one meant.
    pub(crate) fn find(
        &self,
        hash: u64,
        mut is: impl FnMut(u64) -> io::Result<bool>,
    ) -> io::Result<Option<u64>> {
        for table in self.tables().iter().rev() {
            let found = table.walk(hash, |seq| is(seq).map(|is| is.then_some(seq)))?;
            if let Walk::Found(seq) = found {
                return Ok(Some(seq));
            }
        }
        Ok(None)
    }

    /// Adds a record under a hash. Adding it again changes nothing.
    pub(crate) fn insert(&self, hash: u64, seq: u64) -> io::Result<()> {
        let tables = self.tables();
        for table in tables.iter().rev() {
            let there = table.walk(hash, |other| Ok((other == seq).then_some(seq)))?;
            if let Walk::Found(_) = there {
                // It is there because a crash came between it and the count of it.
                table.used.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
        }
        let table = match tables.last() {
            Some(table) if table.used.load(Ordering::Relaxed) < table.slots / 2 => {
                Arc::clone(table)
            }
            _ => self.grow(tables.len())?,
        };
        let Walk::Empty(slot) = table.walk(hash, |_| Ok(None))? else {
            return Err(io::Error::other("a table of the index has no room"));
        };
        let mut bytes = [0; SLOT];
        bytes[..8].copy_from_slice(&hash.to_le_bytes());
        bytes[8..].copy_from_slice(&seq.to_le_bytes());
        table.dirty.store(true, Ordering::Relaxed);
        table.file.write_all_at(&bytes, slot * SLOT as u64)?;
        table.used.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Puts the tables on disk; how many slots each uses.
    pub(crate) fn sync(&self) -> io::Result<Vec<u64>> {
        let tables = self.tables();
        for table in &tables {
            // One burst may have filled several.
            if table.dirty.swap(false, Ordering::Relaxed) {
                table.file.sync_data().inspect_err(|_| {
                    table.dirty.store(true, Ordering::Relaxed);
                })?;
            }
        }
        let used = tables
            .iter()
            .map(|table| table.used.load(Ordering::Relaxed));
        Ok(used.collect())
    }

    fn grow(&self, at: usize) -> io::Result<Arc<Table>> {
        let table = Arc::new(Table::open(&self.folder, at, 0)?);
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.push(Arc::clone(&table));
        Ok(table)
    }

    /// The tables there are; a lookup goes on beside a writer.
    fn tables(&self) -> Vec<Arc<Table>> {
        let tables = self.tables.read();
        tables.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Where a walk through a table ended.
enum Walk {
    Found(u64),
    Empty(u64),
    Full,
}

// === impl Table ===

impl Table {
    fn open(folder: &Path, at: usize, used: u64) -> io::Result<Self> {
        let slots = (FIRST << at.min(32)).min(LARGEST);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(folder.join(format!("names-{at}.idx")))?;
        if used == 0 {
            // Left by a start that never came to count it.
            file.set_len(0)?;
        }
        file.set_len(slots * SLOT as u64)?;
        Ok(Self {
            file,
            slots,
            used: AtomicU64::new(used),
            dirty: AtomicBool::new(true),
        })
    }

    /// Goes through the slots of a hash until `take` takes one or one is empty.
    fn walk(
        &self,
        hash: u64,
        mut take: impl FnMut(u64) -> io::Result<Option<u64>>,
    ) -> io::Result<Walk> {
        let start = hash % self.slots;
        let mut slot = start;
        let mut buffer = [0u8; CHUNK as usize * SLOT];
        let mut seen = 0;
        while seen < self.slots {
            let count = CHUNK.min(self.slots - slot);
            let bytes = &mut buffer[..usize::try_from(count).unwrap_or(0) * SLOT];
            self.file.read_exact_at(bytes, slot * SLOT as u64)?;
            for (at, entry) in bytes.chunks_exact(SLOT).enumerate() {
                let (key, seq) = (number(&entry[..8]), number(&entry[8..]));
                if seq == 0 {
                    return Ok(Walk::Empty(slot + at as u64));
                }
                if key == hash
                    && let Some(found) = take(seq)?
                {
                    return Ok(Walk::Found(found));
                }
            }
            seen += count;
            slot = (slot + count) % self.slots;
        }
        Ok(Walk::Full)
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}
