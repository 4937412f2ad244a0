//! The file of the day: opened, written at its end, and put back when somebody
//! deleted it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};

use legation_core::home::write_private;

use super::Writer;
use crate::day::Day;
use crate::error::AppendError;
use crate::index::DayMark;

impl Writer {
    /// The file of a day, ready to be written at its end.
    pub(super) fn open(&mut self, day: Day) -> Result<u64, AppendError> {
        if self.spoilt
            && let Some((open, file)) = &self.file
        {
            let known = self.mark.days.iter().find(|known| known.day == open.0);
            let end = known.map_or(0, |known| known.bytes);
            let cut = file.set_len(end).and_then(|()| file.sync_all());
            cut.map_err(AppendError::write("taking back what was half written"))?;
            self.spoilt = false;
        }
        let known = self.mark.days.last().filter(|known| known.day == day.0);
        let end = known.map_or(0, |known| known.bytes);
        if let Some((open, file)) = &self.file
            && *open == day
        {
            if is_deleted(file) {
                self.put_back(day, end).map_err(AppendError::write(
                    "putting back a day file that was deleted",
                ))?;
            }
        } else {
            let file = self.open_day(day);
            self.file = Some((
                day,
                file.map_err(AppendError::write("opening the day file"))?,
            ));
            if end == 0 {
                self.mark.days.retain(|known| known.day != day.0);
                self.mark.days.push(DayMark {
                    day: day.0,
                    first: self.tail.seq + 1,
                    bytes: 0,
                });
            }
        }
        Ok(end)
    }

    fn open_day(&self, day: Day) -> io::Result<File> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(day.path(&self.shared.folder))?;
        File::open(&self.shared.folder)?.sync_all()?;
        Ok(file)
    }

    /// Puts a day file back that somebody deleted, while what was in it is still at hand.
    pub(super) fn look_after(&mut self) {
        let Some((day, file)) = &self.file else {
            return;
        };
        let known = self.mark.days.iter().find(|known| known.day == day.0);
        let (day, end) = (*day, known.map_or(0, |known| known.bytes));
        if is_deleted(file)
            && end > 0
            && let Err(error) = self.put_back(day, end)
        {
            tracing::error!(%error, day = day.name(), "a day file was deleted and could not be put back; it is tried again");
        }
    }

    /// Writes a day file anew from what is still open of it.
    fn put_back(&mut self, day: Day, end: u64) -> io::Result<()> {
        let Some((_, file)) = &self.file else {
            return Ok(());
        };
        let mut bytes = vec![0; usize::try_from(end).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, 0)?;
        let path = day.path(&self.shared.folder);
        write_private(&path, &bytes).map_err(|error| error.source)?;
        self.shared.index.reopen();
        self.shared.problem(format!(
            "{} was deleted while the hub ran; it was put back",
            path.display()
        ));
        self.file = Some((day, self.open_day(day)?));
        Ok(())
    }

    pub(super) fn write(&mut self, bytes: &[u8], start: u64) -> Result<(), AppendError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let Some((_, file)) = &self.file else {
            return Err(AppendError::Closed);
        };
        let written = file
            .write_all_at(bytes, start)
            .map_err(AppendError::write("writing"))
            .and_then(|()| file.sync_data().map_err(AppendError::write("syncing")));
        if written.is_err() {
            self.spoilt = file.set_len(start).and_then(|()| file.sync_all()).is_err();
        }
        written
    }
}

/// Whether nothing leads to a file any more.
fn is_deleted(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
}
