//! The program that is killed: sources with cursors that bring messages as fast as
//! they can, and a reader that writes down what it got.
//!
//! A cursor is a file that is replaced once `append` has returned. A source begins a
//! little before its cursor, as pollers do that reconcile.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use legation_core::clock::ManualClock;
use legation_core::home::write_private;
use legation_core::{Moment, Wall};
use legation_crash::Random;
use legation_inbox::{ConsumerName, Inbox, Pull};

use crate::book;
use crate::messages::incoming;

/// Sources at once.
pub(crate) const SOURCES: u32 = 3;
/// The numbers of each source begin at a multiple of this.
pub(crate) const APART: u32 = 4_000_000;
/// How far before its cursor a source begins.
const OVERLAP: u32 = 6;
/// A day has so many messages.
const OF_A_DAY: u32 = 6_000;

/// 2026-11-21T23:59:00Z
const BEGUN_MS: i64 = 1_795_305_540_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Bytes of what the reader writes down for each message.
const ENTRY: usize = 8;

/// Where a source keeps its cursor: how many of its messages are acknowledged.
pub(crate) fn cursor(folder: &Path, source: u32) -> u32 {
    let text = fs::read_to_string(cursor_path(folder, source)).unwrap_or_default();
    text.parse().unwrap_or(0)
}

fn cursor_path(folder: &Path, source: u32) -> PathBuf {
    folder.join(format!("cursor-{source}"))
}

/// What the reader got, in order.
pub(crate) fn got(folder: &Path) -> Vec<u64> {
    let bytes = fs::read(folder.join("got")).unwrap_or_default();
    let entries = bytes.chunks_exact(ENTRY);
    entries
        .map(|entry| entry.try_into().map_or(0, u64::from_le_bytes))
        .collect()
}

/// The reader, whose messages are those of nobody.
pub(crate) fn reader() -> ConsumerName {
    ConsumerName::new("reader", None)
}

/// The clock of a burst: the days pass as messages come in.
pub(crate) fn clock(folder: &Path) -> Arc<ManualClock> {
    let kept: u32 = (0..SOURCES).map(|source| cursor(folder, source)).sum();
    let begun = Wall(BEGUN_MS + i64::from(kept / OF_A_DAY) * DAY_MS);
    Arc::new(ManualClock::at(begun))
}

/// Brings messages until it is killed.
pub(crate) fn burst(folder: &Path, seed: u64) -> ExitCode {
    let inbox = book::open(folder, clock(folder)).expect("opened");
    std::thread::scope(|scope| {
        for source in 0..SOURCES {
            let inbox = &inbox;
            scope.spawn(move || bring(inbox, folder, source, seed));
        }
        scope.spawn(|| read(&inbox, folder));
    });
    ExitCode::FAILURE
}

fn bring(inbox: &Inbox, folder: &Path, source: u32, seed: u64) {
    let mut random = Random::new(seed ^ u64::from(source));
    let mut known = cursor(folder, source);
    loop {
        let to = known + 1 + random.below(20) as u32;
        let numbers = known.saturating_sub(OVERLAP)..to;
        let messages = numbers.map(|number| incoming(source * APART + number));
        if inbox.append_blocking(messages.collect()).is_err() {
            // Nothing of it is kept: the same comes again.
            continue;
        }
        known = to;
        let text = known.to_string();
        write_private(&cursor_path(folder, source), text.as_bytes()).expect("written");
    }
}

fn read(inbox: &Inbox, folder: &Path) {
    let mut options = OpenOptions::new();
    let mut file = options.create(true).append(true).open(folder.join("got"));
    let file = file.as_mut().expect("opened");
    let mut last = got(folder).last().copied();
    loop {
        let messages = pulled(inbox, last, 7);
        if messages.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        let bytes: Vec<u8> = messages.iter().flat_map(|seq| seq.to_le_bytes()).collect();
        file.write_all(&bytes).expect("written");
        last = messages.last().copied();
    }
}

/// What is unread after the last message that arrived.
pub(crate) fn pulled(inbox: &Inbox, last: Option<u64>, limit: usize) -> Vec<u64> {
    let since_id = last.map(|seq| {
        let before = inbox.after(legation_inbox::Seq(seq - 1), 1).expect("read");
        before[0].id.clone()
    });
    let pull = Pull {
        consumer: reader(),
        since_id,
        limit,
        mark_consumed: true,
        channel: None,
        entity: None,
        began: Moment::now(),
        is_persons: false,
    };
    let pulled = inbox.pull(&pull).expect("pulled");
    if let Some(handed) = pulled.handed {
        handed.written();
    }
    let messages = pulled.messages.iter();
    messages.map(|message| message.seq.0).collect()
}
