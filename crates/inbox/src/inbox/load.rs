//! Finding the end of the inbox, whatever ended the last process.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use legation_core::home::{create_private_dir, sync_name};

use crate::consumers::Consumers;
use crate::day::{Day, days};
use crate::error::OpenError;
use crate::inbox::{Options, Tail};
use crate::index::{DayMark, Gone, Index, Mark, Place};
use crate::line::Line;
use crate::lock::{self, Lock};
use crate::prune;
use crate::scan::{Scan, Step};
use crate::writer::recorded;

/// An inbox that was read.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) lock: Lock,
    pub(super) index: Index,
    pub(super) consumers: Consumers,
    pub(super) problems: Vec<String>,
    pub(super) end: End,
}

/// Where the writer goes on.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) tail: Tail,
    pub(crate) mark: Mark,
    /// Records since the index was last on disk.
    pub(crate) since: u64,
}

pub(super) fn load(options: &Options) -> Result<Loaded, OpenError> {
    let folder = &options.folder;
    for path in [
        folder.clone(),
        folder.join("consumers"),
        folder.join("forgotten"),
    ] {
        create_private_dir(&path).map_err(OpenError::Home)?;
        // Who made it may have been killed before its name was on disk.
        sync_name(&path).map_err(OpenError::io("syncing the name of", &path))?;
    }
    let lock = lock::take(folder)
        .map_err(OpenError::io("locking", folder))?
        .map_err(|pid| OpenError::InUse { pid })?;
    let mut problems = Vec::new();
    let mark = Mark::read(folder).filter(|mark| mark.seq > 0);
    let mut reading = match mark {
        Some(mark) => Reading::at(folder, mark)?,
        None => Reading::anew(folder)?,
    };
    problems.extend(reading.read()?);
    reading.all_there()?;
    let (mut consumers, broken) = Consumers::load(folder.join("consumers"), options.clock.wall())
        .map_err(OpenError::io("reading the consumers of", folder))?;
    problems.extend(broken);
    if consumers.clamp(&reading.end.tail.channels) {
        problems.push(
            "consumers of the inbox had read more than there is; what is new is unread for them"
                .to_owned(),
        );
    }
    let end = &reading.end;
    let first = end.mark.days.first().map_or(1, |day| day.first);
    for (lane, total) in &end.tail.channels {
        let gone = reading.index.first_from(lane, *total, first);
        let gone = gone.map_err(OpenError::io("reading the index of", folder))?;
        if gone > 0 {
            consumers.forget(lane, gone);
        }
    }
    for problem in &problems {
        tracing::warn!(problem, "the inbox mended itself");
    }
    Ok(Loaded {
        lock,
        index: reading.index,
        consumers,
        problems,
        end: reading.end,
    })
}

/// An inbox that is being read.
struct Reading<'a> {
    folder: &'a Path,
    index: Index,
    end: End,
    /// What is known to be gone, by number; only where everything is read.
    gone: BTreeMap<u64, Gone>,
}

impl<'a> Reading<'a> {
    /// Goes on from a mark, if every day is as the mark has it.
    fn at(folder: &'a Path, mark: Mark) -> Result<Self, OpenError> {
        for (at, known) in mark.days.iter().enumerate() {
            let path = Day(known.day).path(folder);
            let damaged = |what: &str| OpenError::Damaged {
                path: path.clone(),
                offset: known.bytes,
                what: what.to_owned(),
            };
            let size = match fs::metadata(&path) {
                Ok(metadata) => metadata.len(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(damaged("the file is gone"));
                }
                Err(error) => return Err(OpenError::io("reading", path)(error)),
            };
            let last = at + 1 == mark.days.len();
            if size < known.bytes {
                return Err(damaged("the file is shorter than it was"));
            }
            if size > known.bytes && !last {
                return Err(damaged("something was added to a day that had ended"));
            }
        }
        let index = Index::open(folder, &mark);
        let index = index.map_err(OpenError::io("opening the index of", folder))?;
        let tail = Tail {
            seq: mark.seq,
            channels: mark.channels.clone(),
        };
        let end = End {
            tail,
            mark,
            since: 0,
        };
        Ok(Self {
            folder,
            index,
            end,
            gone: BTreeMap::new(),
        })
    }

    /// Begins with the first record there is.
    fn anew(folder: &'a Path) -> Result<Self, OpenError> {
        let mark = Mark::default();
        let index = Index::open(folder, &mark);
        let index = index.map_err(OpenError::io("making the index of", folder))?;
        let end = End {
            tail: Tail::default(),
            mark,
            since: 0,
        };
        let gone = prune::all_gone(folder)?;
        Ok(Self {
            folder,
            index,
            end,
            gone,
        })
    }

    /// Reads what came after the mark.
    fn read(&mut self) -> Result<Option<String>, OpenError> {
        let folder = self.folder;
        let days = days(folder).map_err(OpenError::io("listing", folder))?;
        let known = self.end.mark.days.last().copied();
        let first = known.map(|known| Day(known.day));
        let days: Vec<Day> = days.into_iter().filter(|day| Some(*day) >= first).collect();
        let mut cut = None;
        for (at, day) in days.iter().enumerate() {
            let from = match known {
                Some(known) if known.day == day.0 => known.bytes,
                _ => 0,
            };
            let last = at + 1 == days.len();
            cut = self.day(*day, from, last)?;
        }
        self.skip_gone()?;
        Ok(cut)
    }

    /// What was announced is there, or somebody took it away.
    fn all_there(&self) -> Result<(), OpenError> {
        let folder = self.folder;
        let announced = recorded(folder).map_err(OpenError::io("reading", folder))?;
        let last = self.end.tail.seq;
        if announced.is_none_or(|announced| announced <= last) {
            return Ok(());
        }
        let day = self.end.mark.days.last();
        Err(OpenError::Damaged {
            path: day.map_or_else(|| folder.to_owned(), |day| Day(day.day).path(folder)),
            offset: day.map_or(0, |day| day.bytes),
            what: format!(
                "record {} was announced, and the last there is is {last}",
                announced.unwrap_or_default()
            ),
        })
    }

    fn day(&mut self, day: Day, from: u64, last: bool) -> Result<Option<String>, OpenError> {
        let path = day.path(self.folder);
        let fail = |error| OpenError::io("reading", &path)(error);
        let mut scan = Scan::open(self.folder, day, from).map_err(fail)?;
        let mut end = from;
        loop {
            match scan.step().map_err(fail)? {
                Step::End => break,
                Step::Record(line, place) => {
                    end = place.offset + u64::from(place.len) + 1;
                    self.record(day, &line, place)?;
                }
                Step::Bad { offset, what, .. } => {
                    let seq = self.end.tail.seq + 1;
                    let rest = Scan::open(self.folder, day, offset).map_err(fail)?;
                    if !last || !rest.rest_is_torn(seq).map_err(fail)? {
                        return Err(OpenError::Damaged { path, offset, what });
                    }
                    cut_off(self.folder, &path, offset).map_err(fail)?;
                    self.enter(day, offset);
                    return Ok(Some(format!(
                        "{} ended within a record, which nobody had been told of; it was cut at byte {offset}, and what stood there is kept beside it",
                        path.display()
                    )));
                }
            }
        }
        self.enter(day, end);
        if last {
            // Somebody may have seen these records before they were on disk.
            let sync = File::open(&path).and_then(|file| file.sync_all());
            sync.map_err(fail)?;
        }
        Ok(None)
    }

    fn record(&mut self, day: Day, line: &Line, place: Place) -> Result<(), OpenError> {
        let message = &line.message;
        if self.gone.contains_key(&message.seq.0) {
            return Ok(());
        }
        self.skip_gone()?;
        let expected = self.end.tail.seq + 1;
        if message.seq.0 != expected {
            return Err(OpenError::Damaged {
                path: day.path(self.folder),
                offset: place.offset,
                what: format!("record {} stands where {expected} belongs", message.seq),
            });
        }
        let channel = message.lane();
        let count = self.end.tail.channels.entry(channel).or_default();
        let inserted = self.index.insert(message, place, *count);
        inserted.map_err(OpenError::io("writing the index of", self.folder))?;
        *count += 1;
        self.end.tail.seq = expected;
        self.end.since += 1;
        let first = self.end.mark.days.last();
        if first.is_none_or(|known| known.day != day.0) {
            self.end.mark.days.push(DayMark {
                day: day.0,
                first: expected,
                bytes: 0,
            });
        }
        Ok(())
    }

    /// Counts the records that are known to be gone and would come next.
    fn skip_gone(&mut self) -> Result<(), OpenError> {
        while let Some(gone) = self.gone.get(&(self.end.tail.seq + 1)) {
            let count = match gone.channel.as_str() {
                "" => 0,
                channel => {
                    let channel = channel.to_owned();
                    let count = self.end.tail.channels.entry(channel).or_default();
                    *count += 1;
                    *count - 1
                }
            };
            let inserted = self.index.insert_gone(gone, count);
            inserted.map_err(OpenError::io("writing the index of", self.folder))?;
            self.end.tail.seq += 1;
            self.end.since += 1;
        }
        Ok(())
    }

    /// Notes how much of a day is in the index.
    fn enter(&mut self, day: Day, bytes: u64) {
        match self.end.mark.days.last_mut() {
            Some(known) if known.day == day.0 => known.bytes = bytes,
            // A file without a record: the writer's first of a day.
            _ => self.end.mark.days.push(DayMark {
                day: day.0,
                first: self.end.tail.seq + 1,
                bytes,
            }),
        }
    }
}

/// Cuts a file and keeps what is cut off.
fn cut_off(folder: &Path, path: &Path, offset: u64) -> io::Result<()> {
    let bytes = fs::read(path)?;
    let from = usize::try_from(offset)
        .unwrap_or(usize::MAX)
        .min(bytes.len());
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let aside = folder.join(format!("{name}.cut-{offset}"));
    legation_core::home::write_private(&aside, &bytes[from..]).map_err(|error| error.source)?;
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(offset)?;
    file.sync_all()?;
    File::open(folder)?.sync_all()
}
