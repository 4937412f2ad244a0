//! Taking out old days, and remembering what was in them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use legation_core::Wall;
use legation_core::home::write_private;

use crate::day::Day;
use crate::error::OpenError;
use crate::index::{Gone, Mark, Place};
use crate::scan::{Scan, Step};
use crate::writer::Writer;

/// What became of old days.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Days that were taken out.
    pub days: Vec<String>,
    /// Records that were in them.
    pub records: u64,
    /// Days that stayed, because a consumer, or everybody, has not read all of them.
    pub unread: Vec<String>,
}

fn gone_path(folder: &Path, day: Day) -> PathBuf {
    folder
        .join("forgotten")
        .join(format!("{}.jsonl", day.name()))
}

/// Days that were being taken out when the last process ended.
pub(crate) fn unfinished(folder: &Path, mark: &Mark) -> io::Result<Vec<Day>> {
    let mut days = Vec::new();
    for day in crate::day::days(folder)? {
        if gone_path(folder, day).exists() {
            days.push(day);
        }
    }
    // One that the mark no longer has is only left over.
    days.retain(|day| {
        let known = mark.days.iter().any(|known| known.day == day.0);
        known || fs::remove_file(day.path(folder)).is_err()
    });
    Ok(days)
}

/// Everything that is known to be gone.
pub(crate) fn all_gone(folder: &Path) -> Result<BTreeMap<u64, Gone>, OpenError> {
    let place = folder.join("forgotten");
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(&place).map_err(OpenError::io("listing", &place))? {
        let path = entry.map_err(OpenError::io("listing", &place))?.path();
        let text = fs::read_to_string(&path).map_err(OpenError::io("reading", &path))?;
        for line in text.lines() {
            let gone: Gone = serde_json::from_str(line).map_err(|error| OpenError::Damaged {
                path: path.clone(),
                offset: 0,
                what: error.to_string(),
            })?;
            all.insert(gone.seq, gone);
        }
    }
    Ok(all)
}

/// Writes what is gone, one file for each reason.
pub(crate) fn write_gone(path: &Path, gone: &[Gone]) -> Result<(), legation_core::home::HomeError> {
    let mut text = Vec::new();
    for one in gone {
        let line = serde_json::to_vec(one).expect("numbers and a name always serialise");
        text.extend_from_slice(&line);
        text.push(b'\n');
    }
    write_private(path, &text)
}

impl Writer {
    /// Takes out whole days before one.
    pub(crate) fn prune(&mut self, before: Wall, unread_too: bool) -> Result<Pruned, String> {
        let end = Day::of(before);
        let mut pruned = Pruned::default();
        while let Some(first) = self.mark.days.first().copied() {
            // The last day is being written.
            if self.mark.days.len() < 2 || Day(first.day) >= end {
                break;
            }
            let day = Day(first.day);
            if !unread_too && self.is_unread(day)? {
                pruned.unread.push(day.name());
                break;
            }
            pruned.records += self.prune_day(day)?;
            pruned.days.push(day.name());
        }
        Ok(pruned)
    }

    /// Whether a consumer, or everybody, has not read all of a day, which is the
    /// first there is.
    fn is_unread(&self, day: Day) -> Result<bool, String> {
        let (_, ends) = self.contents(day)?;
        let consumers = self.shared.consumers();
        Ok(ends.iter().any(|(channel, end)| {
            let mut all = consumers.all();
            consumers.unread_by_all(channel, *end) > 0
                || all.any(|(_, consumer)| consumer.unread(channel, *end) > 0)
        }))
    }

    /// The records of the first day, and where each channel is after them.
    fn contents(&self, day: Day) -> Result<(Vec<Gone>, BTreeMap<String, u64>), String> {
        let fail = |error: &dyn std::fmt::Display| {
            format!(
                "{}.jsonl could not be read: {error}; it was not taken out",
                day.name()
            )
        };
        let mut scan = Scan::open(&self.shared.folder, day, 0).map_err(|error| fail(&error))?;
        let mut gone = Vec::new();
        loop {
            match scan.step().map_err(|error| fail(&error))? {
                Step::End => break,
                Step::Record(line, _) => gone.push(Gone::of(&line.message)),
                Step::Bad { offset, what, .. } => {
                    return Err(fail(&format!("at byte {offset}, {what}")));
                }
            }
        }
        let mut ends = BTreeMap::new();
        for one in &gone {
            let last = ends.entry(one.channel.clone()).or_insert(one.seq);
            *last = one.seq;
        }
        for (channel, end) in &mut ends {
            let ordinal = self.ordinal(channel, *end).map_err(|error| fail(&error))?;
            *end = ordinal + 1;
        }
        Ok((gone, ends))
    }

    /// The number of a record in its channel.
    fn ordinal(&self, channel: &str, seq: u64) -> io::Result<u64> {
        let total = self.tail.channels.get(channel).copied().unwrap_or(0);
        self.shared.index.first_from(channel, total, seq)
    }

    /// Takes out a day. Each step can be done again, so that a crash between two
    /// of them leaves what the next start finishes.
    pub(crate) fn prune_day(&mut self, day: Day) -> Result<u64, String> {
        let (gone, ends) = self.contents(day)?;
        let folder = self.shared.folder.clone();
        let fail = |error: &dyn std::fmt::Display| {
            format!("{}.jsonl was not taken out: {error}", day.name())
        };
        write_gone(&gone_path(&folder, day), &gone)
            .map_err(|error| fail(&legation_core::error::chain(&error)))?;
        let nowhere = Place {
            day: Day(0),
            offset: 0,
            len: 0,
        };
        for one in &gone {
            let placed = self.shared.index.place(one.seq, nowhere);
            placed.map_err(|error| fail(&error))?;
        }
        for (channel, end) in &ends {
            self.shared.consumers().forget(channel, *end);
        }
        let days = self.mark.days.clone();
        self.mark.days.retain(|known| known.day != day.0);
        if let Err(error) = self.try_sync_index() {
            // A mark on disk that has a day without a file would look like damage.
            self.mark.days = days;
            return Err(fail(&error));
        }
        self.shared.index.reopen();
        let removed =
            fs::remove_file(day.path(&folder)).and_then(|()| File::open(&folder)?.sync_all());
        removed.map_err(|error| fail(&error))?;
        Ok(gone.len() as u64)
    }
}
