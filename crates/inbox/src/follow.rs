//! Following the day files from outside: for people's terminals, and for
//! programs that wait for a message, without the hub.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use legation_keystore::Keystore;

use crate::day::{Day, days};
use crate::message::{Message, Seq};
use crate::scan::{Scan, Step};
use crate::seal::Seals;

/// A place in a day file is looked for down to so many bytes, and read to from there.
const NEAR: u64 = 64 * 1024;
/// How much of the end of a file is looked at for its last record, in bytes.
const ENDS: [u64; 3] = [64 * 1024, 4 * 1024 * 1024, u64::MAX];

/// A reader of the day files with a place of its own.
#[derive(Debug)]
pub struct Follow {
    folder: PathBuf,
    seals: Seals,
    at: Option<At>,
    last: Seq,
    /// The last record of an inbox that was found in the place of another.
    anew: Option<Seq>,
}

/// A place in a day file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct At {
    day: Day,
    offset: u64,
    /// Which file it was: another one of the same name was mended, or put back.
    file: u64,
}

/// A whole record, and where it ends.
struct Found {
    seq: Seq,
    end: u64,
}

// === impl Follow ===

impl Follow {
    /// Begins behind the last record there is.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn from_end(folder: &Path, keystore: Arc<Keystore>) -> io::Result<Self> {
        let mut follow = Self::after(folder, keystore, Seq(0));
        for day in known_days(folder)?.into_iter().rev() {
            let Some((size, file)) = size(folder, day)? else {
                continue;
            };
            if let Some(found) = last_record(folder, day, size)? {
                follow.last = found.seq;
                follow.at = Some(At {
                    day,
                    offset: found.end,
                    file,
                });
                break;
            }
        }
        Ok(follow)
    }

    /// Begins behind a record.
    #[must_use]
    pub fn after(folder: &Path, keystore: Arc<Keystore>, last: Seq) -> Self {
        Self {
            folder: folder.to_owned(),
            seals: Seals(keystore),
            at: None,
            last,
            anew: None,
        }
    }

    /// The last record that was read.
    #[must_use]
    pub fn last(&self) -> Seq {
        self.last
    }

    /// The last record there was when another inbox was found where the one stood that
    /// was followed, which is said once. Its numbers begin anew, and so does reading.
    pub fn found_anew(&mut self) -> Option<Seq> {
        self.anew.take()
    }

    /// What came since, oldest first, at most so many. A record that is being
    /// written is left for the next time, one that is damaged is stepped over.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn read(&mut self, most: usize) -> io::Result<Vec<Message>> {
        let mut messages = Vec::new();
        let days = known_days(&self.folder)?;
        let begin = self.begin(&days)?;
        let first = begin.map(|at| at.day);
        for day in days.into_iter().filter(|day| Some(*day) >= first) {
            let from = begin.filter(|at| at.day == day);
            let mut offset = from.map_or(0, |at| at.offset);
            let known = size(&self.folder, day)?;
            let scan = there(Scan::open(&self.folder, day, offset))?;
            // What was too old is gone since the days were listed.
            let (Some((size, file)), Some(mut scan)) = (known, scan) else {
                continue;
            };
            while messages.len() < most {
                match scan.step()? {
                    Step::End => break,
                    Step::Record(line, place) => {
                        offset = place.offset + u64::from(place.len) + 1;
                        if line.message.seq > self.last {
                            self.last = line.message.seq;
                            messages.push(line.open(&self.seals));
                        }
                    }
                    Step::Bad {
                        offset: at, len, ..
                    } if at + len < size => offset = at + len,
                    Step::Bad { .. } => break,
                }
            }
            self.at = Some(At { day, offset, file });
            if messages.len() >= most {
                // The rest of this day comes before the next.
                break;
            }
        }
        Ok(messages)
    }

    /// Where to read on. The place is looked for again where there is none yet, and where the file
    /// is another or shorter: it was mended, and the numbers say what is new.
    fn begin(&mut self, days: &[Day]) -> io::Result<Option<At>> {
        let mut gone = None;
        if let Some(at) = self.at {
            match size(&self.folder, at.day)? {
                Some((size, file)) if file == at.file && size >= at.offset => return Ok(Some(at)),
                Some(_) => {}
                None => gone = Some(at),
            }
        }
        if let Some(newest) = self.newest(days)?
            && newest < self.last
        {
            // Numbers only grow within an inbox.
            (self.last, self.anew) = (Seq(0), Some(newest));
            return Ok(None);
        }
        if gone.is_some() {
            return Ok(gone);
        }
        for day in days.iter().rev().copied() {
            let Some((size, file)) = size(&self.folder, day)? else {
                continue;
            };
            let first = record_from(&self.folder, day, 0, size)?;
            if first.is_some_and(|first| first.seq.0 <= self.last.0 + 1) {
                let offset = self.place(day, size)?;
                return Ok(Some(At { day, offset, file }));
            }
        }
        Ok(None)
    }

    /// The last record there is.
    fn newest(&self, days: &[Day]) -> io::Result<Option<Seq>> {
        for day in days.iter().rev().copied() {
            let Some((size, _)) = size(&self.folder, day)? else {
                continue;
            };
            if let Some(found) = last_record(&self.folder, day, size)? {
                return Ok(Some(found.seq));
            }
        }
        Ok(None)
    }

    /// A place of a day shortly before the first record that is new.
    fn place(&self, day: Day, size: u64) -> io::Result<u64> {
        let (mut low, mut high) = (0, size);
        while high - low > NEAR {
            let middle = low + (high - low) / 2;
            match record_from(&self.folder, day, middle, high)? {
                Some(found) if found.seq <= self.last => low = found.end,
                _ => high = middle,
            }
        }
        Ok(low)
    }
}

/// How long a day file is, and which file it is, if it is there.
fn size(folder: &Path, day: Day) -> io::Result<Option<(u64, u64)>> {
    let metadata = there(fs::metadata(day.path(folder)))?;
    Ok(metadata.map(|metadata| (metadata.len(), metadata.ino())))
}

/// A file that somebody may have removed meanwhile.
fn there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// The first whole record that begins between two places of a day.
fn record_from(folder: &Path, day: Day, from: u64, to: u64) -> io::Result<Option<Found>> {
    let Some(mut scan) = there(Scan::open(folder, day, from))? else {
        return Ok(None);
    };
    loop {
        match scan.step()? {
            Step::Record(line, place) if place.offset < to => {
                return Ok(Some(Found {
                    seq: line.message.seq,
                    end: place.offset + u64::from(place.len) + 1,
                }));
            }
            // The rest of a line, or one that is damaged.
            Step::Bad { offset, .. } if offset < to => {}
            Step::Record(..) | Step::Bad { .. } | Step::End => return Ok(None),
        }
    }
}

/// The last whole record of a day.
fn last_record(folder: &Path, day: Day, size: u64) -> io::Result<Option<Found>> {
    for end in ENDS {
        let Some(mut scan) = there(Scan::open(folder, day, size.saturating_sub(end)))? else {
            return Ok(None);
        };
        let mut last = None;
        loop {
            match scan.step()? {
                Step::End => break,
                Step::Record(line, place) => {
                    last = Some(Found {
                        seq: line.message.seq,
                        end: place.offset + u64::from(place.len) + 1,
                    });
                }
                // The rest of a line, one that is damaged, or one that is being written.
                Step::Bad { .. } => {}
            }
        }
        if last.is_some() {
            return Ok(last);
        }
    }
    Ok(None)
}

fn known_days(folder: &Path) -> io::Result<Vec<Day>> {
    Ok(there(days(folder))?.unwrap_or_default())
}
