//! The file that the ledger's rows stand in, one after the other: the *volume*, beside the database.
//!
//! Rows of a table were rejected after they had been measured: a row costs a commit's share of the log's pages, their
//! sums, two writes each, and the same again when the log is moved into the database, a fifth of what a
//! governed call costs. Here a commit is one write of what is new. What SQLite is good for stays with it: who an entity
//! is, up to where every call is closed, and what is used up in the same transaction as a row is added (such rows stand in
//! the table `ledger` first, see [`crate::sqlite`]).
//!
//! Nothing in the file is changed once it is written. What a power failure tore is cut off by the next who opens it to
//! write, but never before a place that is known to be on disk.

pub(crate) mod frame;
mod open;
mod places;
mod reader;
mod walk;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

pub(crate) use self::places::Place;
use self::places::Places;
pub(crate) use self::reader::VolumeReader;
use crate::{DatabaseError, LedgerMark, NewLedgerRow};

/// Zeros are written in such pieces.
const ZEROS: usize = 64 << 10;

/// The volume, opened by whoever writes it.
#[derive(Debug)]
pub(crate) struct Volume {
    path: PathBuf,
    written: Mutex<Written>,
    places: Arc<Places>,
    /// Where the next row will begin; readers look no further.
    end: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Written {
    file: File,
    last: Place,
    /// Up to here it is known to be on disk.
    durable: u64,
    /// How long the file is: rows are written over zeros, because syncing a file that grows costs its metadata too.
    room: u64,
    /// How much longer it is made at a time.
    ahead: u64,
    /// How long it may become.
    limit: Option<u64>,
    /// A write has failed, and nobody has looked after it yet.
    failed: bool,
    notes: Notes,
    /// The rows being written; kept for its memory.
    buffer: Vec<u8>,
}

/// What the database shall be told once the rows are on disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes {
    pub(crate) marks: Vec<Mark>,
    pub(crate) places: Vec<Place>,
}

/// See [`LedgerMark`].
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    pub(crate) position: i64,
    pub(crate) ends: Vec<(i64, i64, i64)>,
}

/// How large a volume may be and grow at a time, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) ahead: u64,
    pub(crate) limit: Option<u64>,
}

/// More memory than this is not kept from one batch to the next.
const BUFFER_KEPT: usize = 256 << 10;

/// Where the volume of a database lies.
pub(crate) fn volume_path(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-ledger");
    PathBuf::from(name)
}

// === impl Volume ===

impl Volume {
    /// Adds rows, behind the last one, in one write that `count` then gives a number. With an error they may be there or
    /// not until [`Volume::repair`].
    pub(crate) fn append<T>(
        &self,
        rows: &[NewLedgerRow<'_>],
        mark: Option<LedgerMark<'_>>,
        count: impl FnOnce() -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let mut written = self.written();
        if written.failed {
            return Err(DatabaseError::Moved);
        }
        let done = written.append(rows).and_then(|last| {
            let counted = count()?;
            written.last = last;
            Ok(counted)
        });
        let counted = match done {
            Ok(counted) => counted,
            Err(error) => {
                written.failed = true;
                return Err(error);
            }
        };
        let last = written.last;
        // Before readers can come so far.
        if self.places.pass(last) {
            written.notes.places.push(last);
        }
        self.end.store(last.end, Ordering::Release);
        if let Some(mark) = mark {
            written.notes.marks.push(Mark {
                position: mark.position,
                ends: mark.ends.to_vec(),
            });
        }
        Ok(counted)
    }

    /// Sees to it that rows find room which are not added yet.
    pub(crate) fn reserve(&self, rows: &[NewLedgerRow<'_>]) -> Result<(), DatabaseError> {
        let mut written = self.written();
        let size: usize = rows.iter().map(|row| frame::HEAD + row.bytes.len()).sum();
        let end = written.last.end + size as u64;
        written.within_limit(end)?;
        Ok(written.take_room(end)?)
    }

    /// The last row's end.
    pub(crate) fn last(&self) -> Place {
        self.written().last
    }

    pub(crate) fn is_failed(&self) -> bool {
        self.written().failed
    }

    /// Says that what was written last may not be on the disk.
    pub(crate) fn set_failed(&self) {
        self.written().failed = true;
    }

    pub(crate) fn set_limit(&self, limit: Option<u64>) {
        self.written().limit = limit;
    }

    /// After a failure: cuts off what nobody was told of, and forces the rest to disk. What may not be there is written
    /// again: after a sync that failed the system takes it for written, and the next sync would leave it out.
    pub(crate) fn repair(&self) -> io::Result<()> {
        let mut written = self.written();
        let end = written.last.end;
        written.file.set_len(end)?;
        written.room = end;
        let mut piece = [0; ZEROS];
        let mut at = written.durable;
        while at < end {
            let size = usize::try_from(end - at).unwrap_or(ZEROS).min(ZEROS);
            written.file.read_exact_at(&mut piece[..size], at)?;
            written.file.write_all_at(&piece[..size], at)?;
            at += size as u64;
        }
        written.file.sync_all()?;
        written.durable = end;
        written.failed = false;
        Ok(())
    }

    /// Says that a row, and all before it, are on disk.
    pub(crate) fn set_durable(&self, last: Place) {
        let mut written = self.written();
        written.durable = written.durable.max(last.end);
    }

    /// Forces what has been written to disk.
    pub(crate) fn force(&self) -> io::Result<()> {
        self.written().file.sync_data()
    }

    /// Gives back the room that was taken in advance.
    pub(crate) fn close(&self) -> io::Result<()> {
        self.repair()
    }

    /// A handle for syncing.
    pub(crate) fn handle(&self) -> io::Result<File> {
        self.written().file.try_clone()
    }

    /// For reading beside the writer.
    pub(crate) fn reader(&self) -> io::Result<VolumeReader> {
        let file = File::open(&self.path)?;
        let (places, end) = (Arc::clone(&self.places), Arc::clone(&self.end));
        Ok(VolumeReader::beside(file, places, end))
    }

    /// What has not been noted.
    pub(crate) fn notes(&self) -> Notes {
        self.written().notes.clone()
    }

    /// Forgets what has been noted: what was there first.
    pub(crate) fn noted(&self, notes: &Notes) {
        let mut written = self.written();
        let own = &mut written.notes;
        own.marks.drain(..notes.marks.len().min(own.marks.len()));
        own.places.drain(..notes.places.len().min(own.places.len()));
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(|poisoned| {
            let mut written = poisoned.into_inner();
            written.failed = true;
            self.written.clear_poison();
            written
        })
    }
}

// === impl Written ===

impl Written {
    /// Writes rows; where the last one ends.
    fn append(&mut self, rows: &[NewLedgerRow<'_>]) -> Result<Place, DatabaseError> {
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER_KEPT);
        let mut last = self.last;
        for row in rows {
            if row.position != last.position + 1 {
                return Err(DatabaseError::Moved);
            }
            frame::write(&mut self.buffer, row)
                .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
            last.position = row.position;
        }
        last.end += self.buffer.len() as u64;
        self.within_limit(last.end)?;
        // Where that fails, the rows themselves may still be written.
        drop(self.take_room(last.end));
        self.file.write_all_at(&self.buffer, self.last.end)?;
        self.room = self.room.max(last.end);
        Ok(last)
    }

    fn within_limit(&self, end: u64) -> io::Result<()> {
        match self.limit {
            Some(limit) if end > limit => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }

    /// Makes the file longer where it is too short.
    fn take_room(&mut self, end: u64) -> io::Result<()> {
        if end <= self.room {
            return Ok(());
        }
        let zeros = [0; ZEROS];
        let until = self.limit.unwrap_or(u64::MAX).min(end + self.ahead);
        while self.room < until {
            let size = usize::try_from(until - self.room).unwrap_or(ZEROS);
            let size = size.min(ZEROS);
            self.file.write_all_at(&zeros[..size], self.room)?;
            self.room += size as u64;
        }
        Ok(())
    }
}

// === impl Notes ===

impl Notes {
    pub(crate) fn is_empty(&self) -> bool {
        self.marks.is_empty() && self.places.is_empty()
    }
}
