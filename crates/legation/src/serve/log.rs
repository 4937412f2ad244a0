//! The hub's log file, `logs/hub.log`.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Mutex;

use legation_core::Home;
use tracing_subscriber::filter::LevelFilter;

/// A log that has grown past this at a start is put aside.
const ROTATE_AT: u64 = 8 << 20;

/// Starts logging. A hub that cannot log still runs; it says so on standard error.
pub(crate) fn start(home: &Home, level: &str) {
    let level = level.parse().unwrap_or(LevelFilter::INFO);
    let builder = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false);
    let started = match open(home) {
        Ok(file) => builder
            .with_ansi(false)
            .with_writer(Mutex::new(file))
            .try_init(),
        Err(error) => {
            let started = builder.with_writer(io::stderr).try_init();
            tracing::warn!(%error, "the log file cannot be written; logging to standard error");
            started
        }
    };
    // A second hub in one process, as in the demo, goes on with the first one's log.
    drop(started);
}

fn open(home: &Home) -> io::Result<File> {
    let path = home.logs().join("hub.log");
    if fs::metadata(&path).is_ok_and(|metadata| metadata.len() > ROTATE_AT) {
        fs::rename(&path, home.logs().join("hub.log.1"))?;
    }
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}
