//! Following the day files from outside: for people's terminals, and for
//! programs that wait for a message, without the hub.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use legation_keystore::Keystore;

use crate::day::{Day, days};
use crate::message::{Message, Seq};
use crate::scan::{Scan, Step};
use crate::seal::Seals;

/// Messages that are stepped over at a time.
const AT_ONCE: usize = 100;

/// A reader of the day files with a place of its own.
#[derive(Debug)]
pub struct Follow {
    folder: PathBuf,
    seals: Seals,
    at: Option<(Day, u64)>,
    last: Seq,
}

// === impl Follow ===

impl Follow {
    /// Begins behind the last record there is.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn from_end(folder: &Path, keystore: Arc<Keystore>) -> io::Result<Self> {
        let mut follow = Self::after(folder, keystore, Seq(0));
        let Some(day) = known_days(folder)?.pop() else {
            return Ok(follow);
        };
        follow.at = Some((day, 0));
        while !follow.read(AT_ONCE)?.is_empty() {}
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
        }
    }

    /// The last record that was read.
    #[must_use]
    pub fn last(&self) -> Seq {
        self.last
    }

    /// What came since, oldest first, at most so many. A record that is being
    /// written is left for the next time, one that is damaged is stepped over.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn read(&mut self, most: usize) -> io::Result<Vec<Message>> {
        let mut messages = Vec::new();
        let days = known_days(&self.folder)?;
        let first = match self.at {
            Some((day, _)) => Some(day),
            None => self.first_day(&days)?,
        };
        for day in days.into_iter().filter(|day| Some(*day) >= first) {
            let from = self.at.filter(|(known, _)| *known == day);
            let mut offset = from.map_or(0, |(_, offset)| offset);
            let size = fs::metadata(day.path(&self.folder))?.len();
            // A file that shrank was cut or mended: its numbers say what is new.
            if size < offset {
                offset = 0;
            }
            let mut scan = Scan::open(&self.folder, day, offset)?;
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
            self.at = Some((day, offset));
            if messages.len() >= most {
                // The rest of this day comes before the next.
                break;
            }
        }
        Ok(messages)
    }

    /// The latest day that begins before what is wanted; years may lie before it.
    fn first_day(&self, days: &[Day]) -> io::Result<Option<Day>> {
        for day in days.iter().rev() {
            let first = Scan::open(&self.folder, *day, 0)?.step()?;
            if let Step::Record(line, _) = first
                && line.message.seq.0 <= self.last.0 + 1
            {
                return Ok(Some(*day));
            }
        }
        Ok(None)
    }
}

fn known_days(folder: &Path) -> io::Result<Vec<Day>> {
    match days(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        days => days,
    }
}
