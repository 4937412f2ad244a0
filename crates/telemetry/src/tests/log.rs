//! Logs that have grown, and old ones.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use legation_core::Wall;
use legation_core::clock::{Clock as _, ManualClock, SystemClock};

use crate::{LogFile, LogFormat, LogSettings};

const LINE: &[u8] = b"0123456789012345678901234567890123456789\n";

fn settings(files: u32, days: Option<u32>) -> LogSettings {
    LogSettings {
        format: LogFormat::Text,
        file_bytes: 100,
        files,
        days,
    }
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

#[test]
fn a_log_is_put_aside_before_a_line_would_be_too_much() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.log");
    let aside = |number: u32| folder.path().join(format!("hub.log.{number}"));
    let clock = Arc::new(SystemClock);
    let mut log = LogFile::open(&path, settings(2, None), clock.clone()).unwrap();
    for _ in 0..9 {
        log.write_all(LINE).unwrap();
    }
    assert_eq!(
        [lines(&path), lines(&aside(1)), lines(&aside(2))],
        [1, 2, 2]
    );
    assert!(!aside(3).exists(), "no more than two are kept");
    drop(log);
    // One that is opened again goes on.
    let mut log = LogFile::open(&path, settings(2, None), clock.clone()).unwrap();
    log.write_all(LINE).unwrap();
    assert_eq!(lines(&path), 2);
    // A line that is longer than a file is one all the same.
    log.write_all(&[b'x'; 500]).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 500);
    drop(log);
    let mut log = LogFile::open(&path, settings(0, None), clock).unwrap();
    assert!(
        !aside(1).exists() && !aside(2).exists(),
        "fewer are kept now"
    );
    log.write_all(LINE).unwrap();
    assert_eq!(lines(&path), 1);
}

#[test]
fn old_logs_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.log");
    let old = folder.path().join("hub.log.1");
    fs::write(&old, LINE).unwrap();
    let clock = Arc::new(ManualClock::at(SystemClock.wall()));
    drop(LogFile::open(&path, settings(3, Some(2)), clock.clone()).unwrap());
    assert!(old.exists());
    clock.advance(Duration::from_secs(3 * 24 * 60 * 60));
    drop(LogFile::open(&path, settings(3, None), clock.clone()).unwrap());
    assert!(old.exists());
    drop(LogFile::open(&path, settings(3, Some(2)), clock).unwrap());
    assert!(!old.exists());
}

#[test]
fn a_log_is_nobody_else_s() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.log");
    let clock = Arc::new(ManualClock::at(Wall(0)));
    drop(LogFile::open(&path, settings(1, Some(1)), clock).unwrap());
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
