//! A burst of a hundred thousand messages: how long it takes is not decided here, what
//! memory it costs is.

use std::sync::Arc;

use legation_core::Wall;
use legation_core::clock::ManualClock;
use legation_inbox::{Inbox, Incoming};

use crate::book;
use crate::check::LATER_MS;
use crate::messages::incoming;

/// Sources that bring messages at once, and how many they bring at a time.
const SOURCES: u32 = 8;
const BATCH: u32 = 250;
/// Messages after which memory is looked at, and at the end.
const FIRST: u32 = 10_000;
const LAST: u32 = 100_000;
/// What the rest may add, in kilobytes.
const ADDED_KB: u64 = 16 * 1024;

/// Brings them; what it cost, in words.
pub(crate) fn run(_seed: u64) -> Result<String, String> {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.map_err(|error| error.to_string())?;
    let clock = Arc::new(ManualClock::at(Wall(LATER_MS)));
    let inbox = book::open(folder.path(), clock).map_err(|error| format!("{error:?}"))?;
    bring(&inbox, 0, FIRST);
    let first = most_kb()?;
    bring(&inbox, FIRST, LAST);
    let last = most_kb()?;
    let announced = *inbox.announced().borrow();
    if announced != u64::from(LAST) {
        return Err(format!("{announced} of {LAST} are announced"));
    }
    if last - first > ADDED_KB {
        return Err(format!("{first} kB became {last} kB"));
    }
    Ok(format!("{LAST} messages, {first} kB became {last} kB"))
}

fn bring(inbox: &Inbox, from: u32, to: u32) {
    std::thread::scope(|scope| {
        for source in 0..SOURCES {
            scope.spawn(move || {
                let batches = (from / BATCH..to / BATCH).filter(|at| at % SOURCES == source);
                for batch in batches {
                    let numbers = batch * BATCH..(batch + 1) * BATCH;
                    let messages = numbers.map(short).collect();
                    inbox.append_blocking(messages).expect("kept");
                }
            });
        }
    });
}

/// A line of nobody's, because it is not looked at how long sealing takes either.
fn short(number: u32) -> Incoming {
    Incoming {
        text: "the build is green".to_owned(),
        entity: None,
        ..incoming(number)
    }
}

/// The most memory that this process ever had.
fn most_kb() -> Result<u64, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
    number.ok_or_else(|| "nobody says how much memory it has".to_owned())
}
