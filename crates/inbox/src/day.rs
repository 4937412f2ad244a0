//! Days and their files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use legation_core::Wall;

/// Days since 1970-01-01, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Day(pub(crate) u32);

const SUFFIX: &str = ".jsonl";
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

// === impl Day ===

impl Day {
    pub(crate) fn of(wall: Wall) -> Self {
        Self(u32::try_from(wall.0.max(0) / DAY_MS).unwrap_or(u32::MAX))
    }

    /// `YYYY-MM-DD`
    pub(crate) fn name(self) -> String {
        let stamp = Timestamp::from_millisecond(i64::from(self.0) * DAY_MS);
        let date = stamp.map(|stamp| stamp.to_zoned(TimeZone::UTC).date());
        date.map_or_else(|_| "9999-12-30".to_owned(), |date| date.to_string())
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        if name.len() != 10 {
            return None;
        }
        let date: Date = name.parse().ok()?;
        let zoned = date.to_zoned(TimeZone::UTC).ok()?;
        let day = zoned.timestamp().as_millisecond() / DAY_MS;
        u32::try_from(day).ok().map(Self)
    }

    pub(crate) fn path(self, folder: &Path) -> PathBuf {
        folder.join(format!("{}{SUFFIX}", self.name()))
    }
}

/// The days that have files, oldest first.
pub(crate) fn days(folder: &Path) -> io::Result<Vec<Day>> {
    let mut days = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let day = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
        days.extend(day.and_then(Day::parse));
    }
    days.sort_unstable();
    Ok(days)
}
