//! The hub's log: a file that is put aside when it has grown, and forgotten when it is old.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, UNIX_EPOCH};

use legation_core::SharedClock;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::SubscriberBuilder;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object each, for programs.
    Json,
}

/// How much is kept of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// How lines are written.
    pub format: LogFormat,
    /// How large a file may be, in bytes.
    pub file_bytes: u64,
    /// How many files are kept beside the one that is written.
    pub files: u32,
    /// For how many days those are kept; none: until they are too many.
    pub days: Option<u32>,
}

/// A log file that puts itself aside: `hub.log`, before it `hub.log.1`, ….
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    file: File,
    size: u64,
    settings: LogSettings,
    clock: SharedClock,
}

// === impl LogFile ===

impl LogFile {
    /// Opens the log of this name, and goes on where it ended.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn open(path: &Path, settings: LogSettings, clock: SharedClock) -> io::Result<Self> {
        let file = append(path)?;
        let size = file.metadata()?.len();
        let mut log = Self {
            path: path.to_owned(),
            file,
            size,
            settings,
            clock,
        };
        log.forget();
        if log.size >= log.settings.file_bytes {
            log.put_aside();
        }
        Ok(log)
    }

    /// Logs into it from here on, as the program's log; whether nobody did so before.
    pub fn start(self, level: &str) -> bool {
        let format = self.settings.format;
        let builder = builder(level)
            .with_ansi(false)
            .with_writer(Mutex::new(self));
        match format {
            LogFormat::Text => builder.with_target(false).try_init().is_ok(),
            LogFormat::Json => builder
                .json()
                .flatten_event(true)
                .with_current_span(false)
                .with_span_list(false)
                .try_init()
                .is_ok(),
        }
    }

    /// Logs to standard error, where there is no file to log into.
    pub fn start_without(level: &str) {
        let started = builder(level)
            .with_target(false)
            .with_writer(io::stderr)
            .try_init();
        // Another hub of this process may have begun before, and goes on.
        drop(started);
    }

    /// Puts the file aside and begins another. A log that cannot be put aside is written on, and
    /// tried again when it has grown as much once more.
    fn put_aside(&mut self) {
        self.size = 0;
        let moved = (1..=self.settings.files).rev().try_for_each(|number| {
            let from = match number {
                1 => self.path.clone(),
                _ => self.aside(number - 1),
            };
            match fs::rename(from, self.aside(number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                Ok(()) | Err(_) => Ok(()),
            }
        });
        let begun = match (moved, self.settings.files) {
            (Err(error), _) => Err(error),
            (Ok(()), 0) => self.file.set_len(0),
            (Ok(()), _) => append(&self.path).map(|file| self.file = file),
        };
        if begun.is_ok() {
            self.forget();
        }
    }

    /// Removes what is too old or too many. What cannot be removed stays, and is tried again.
    fn forget(&self) {
        let now_ms = u64::try_from(self.clock.wall().0).unwrap_or(0);
        let oldest = self
            .settings
            .days
            .map(|days| UNIX_EPOCH + Duration::from_millis(now_ms).saturating_sub(DAY * days));
        let beyond = self.settings.files.saturating_add(1);
        // A number that was kept under other settings may be larger; gaps are of no interest.
        for number in 1..=beyond.saturating_add(64) {
            let path = self.aside(number);
            let Ok(metadata) = fs::metadata(&path) else {
                continue;
            };
            let changed = metadata.modified().ok();
            let is_old = matches!((changed, oldest), (Some(at), Some(oldest)) if at < oldest);
            if number > self.settings.files || is_old {
                drop(fs::remove_file(&path));
            }
        }
    }

    fn aside(&self, number: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

fn builder(level: &str) -> SubscriberBuilder {
    let level = level.parse().unwrap_or(LevelFilter::INFO);
    tracing_subscriber::fmt().with_max_level(level)
}

impl Write for LogFile {
    /// One line each, which stays in one file.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let length = line.len() as u64;
        if self.size > 0 && self.size.saturating_add(length) > self.settings.file_bytes {
            self.put_aside();
        }
        let written = self.file.write(line)?;
        self.size = self.size.saturating_add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
