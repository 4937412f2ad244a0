//! A disk that fills up in the middle of a burst: a small file system of its own
//! where that may be mounted, and else calls that fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use legation_core::Wall;
use legation_core::clock::ManualClock;
use legation_inbox::{AppendError, Inbox};

use crate::book;
use crate::check::LATER_MS;
use crate::messages::{everything, incoming, number};

/// The file system, in bytes, and what of it is taken at first.
const SIZE: usize = 8 * 1024 * 1024;
const BALLAST: usize = 5 * 1024 * 1024;
/// Messages that are brought at a time.
const BATCH: u32 = 50;
/// Batches that fail until there is room again.
const REFUSED: usize = 20;
/// Batches that are brought at most.
const MOST: u32 = 1_000;

/// A file system that is gone with it.
struct Mounted(PathBuf);

/// Fills a disk; what was seen, in words.
pub(crate) fn run(seed: u64) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let Some(disk) = mounted(folder.path()) else {
        return crate::faults(|faults| faults.some(seed ^ 1));
    };
    fill(&disk.0).map_err(|told| format!("seed {seed}: {told}"))
}

fn fill(disk: &Path) -> Result<String, String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let ballast = disk.join("ballast");
    fs::write(&ballast, vec![0; BALLAST]).map_err(|error| told(&error))?;
    let inbox = open(disk)?;
    let mut cursor = 0;
    let mut refused = 0;
    while refused < REFUSED {
        if cursor / BATCH > MOST {
            return Err("the disk is never full".to_owned());
        }
        match bring(&inbox, cursor) {
            Ok(()) => cursor += BATCH,
            Err(error) => {
                refused += 1;
                if !error.hint().contains("room") {
                    return Err(format!("no hint: {error}"));
                }
                // Nothing of what failed is shown to anybody.
                let announced = *inbox.announced().borrow();
                if announced > u64::from(cursor) {
                    return Err(format!("{announced} are announced, {cursor} were kept"));
                }
            }
        }
    }
    if cursor == 0 {
        return Err("nothing was kept before".to_owned());
    }
    // What there is can be read meanwhile.
    let there = everything(&inbox)?.len();
    fs::remove_file(&ballast).map_err(|error| told(&error))?;
    let full_at = cursor;
    while cursor < full_at + 4 * BATCH {
        // The source brings the same again until it is kept.
        if bring(&inbox, cursor).is_ok() {
            cursor += BATCH;
        }
    }
    check(&inbox, cursor)?;
    drop(inbox);
    check(&open(disk)?, cursor)?;
    Ok(format!(
        "full after {there} messages, {refused} times refused, {cursor} kept once each"
    ))
}

fn open(disk: &Path) -> Result<Inbox, String> {
    let clock = Arc::new(ManualClock::at(Wall(LATER_MS)));
    book::open(disk, clock).map_err(|error| format!("{error:?}"))
}

fn bring(inbox: &Inbox, from: u32) -> Result<(), AppendError> {
    let messages = (from..from + BATCH).map(incoming).collect();
    inbox.append_blocking(messages).map(drop)
}

fn check(inbox: &Inbox, cursor: u32) -> Result<(), String> {
    let numbers: Result<Vec<u32>, String> = everything(inbox)?.iter().map(number).collect();
    match numbers? == (0..cursor).collect::<Vec<u32>>() {
        true => Ok(()),
        false => Err("something is lost or there twice".to_owned()),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test mounts a disk of its own, and ends with it"
)]
fn system(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    let command = command.args(arguments).stdin(Stdio::null());
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// A small disk, where this user may have one.
fn mounted(folder: &Path) -> Option<Mounted> {
    let place = folder.join("disk");
    fs::create_dir(&place).ok()?;
    let name = place.to_str()?;
    let size = format!("size={SIZE}");
    let done = system("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", name]);
    done.then_some(Mounted(place))
}

// === impl Mounted ===

impl Drop for Mounted {
    fn drop(&mut self) {
        let name = self.0.to_string_lossy().into_owned();
        assert!(system("umount", &[&name]), "{name} is still mounted");
    }
}
