//! The one thread that writes.
//!
//! Whatever waits is written together and synced once: the sync is what takes
//! time. Then the index and the record are brought up to it, and only then is it
//! announced. A program thread and not a task, because a sync blocks and the
//! hub's own thread has everything else to do meanwhile.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use legation_core::Wall;
use tokio::sync::oneshot;

use crate::day::Day;
use crate::error::AppendError;
use crate::inbox::load::End;
use crate::inbox::{Added, Shared, Tail};
use crate::index::{Mark, Place};
use crate::message::{Incoming, Message};
use crate::prune::Pruned;

mod file;
mod plan;
mod state;

pub(crate) use state::recorded;

use plan::Plan;

/// Requests that are written together, in bytes of text; more wait for the next write.
const WRITE_BYTES: usize = 8 * 1024 * 1024;
/// Records after which the index is put on disk, so that a start reads no more again.
const MARK_RECORDS: u64 = 16 * 1024;
/// The same in bytes.
const MARK_BYTES: u64 = 32 * 1024 * 1024;
/// How long until what failed is tried again.
const AGAIN: Duration = Duration::from_secs(1);

type Told = oneshot::Sender<Result<Vec<Added>, AppendError>>;

/// What the writer is asked.
#[derive(Debug)]
pub(crate) enum Command {
    Append(Append),
    Prune {
        before: Wall,
        unread_too: bool,
        tell: oneshot::Sender<Result<Pruned, String>>,
    },
    /// Something else changed: a consumer, or the inbox is to be closed.
    Wake,
}

/// Messages to be kept.
#[derive(Debug)]
pub(crate) struct Append {
    pub(crate) messages: Vec<Incoming>,
    pub(crate) tell: Told,
}

#[derive(Debug)]
pub(crate) struct Writer {
    pub(super) shared: Arc<Shared>,
    /// Up to where records are on disk and in the index.
    pub(super) tail: Tail,
    pub(super) mark: Mark,
    file: Option<(Day, File)>,
    /// Where the file is as it should be; behind it may be what a failed write left.
    spoilt: bool,
    /// What is on disk and not in the index yet, because that failed.
    unindexed: Vec<(Message, Place)>,
    /// The last record that the ledger has.
    pub(super) recorded: u64,
    since: u64,
    since_bytes: u64,
    /// The last record when `state.json` was written.
    summed_up: Option<u64>,
}

// === impl Writer ===

impl Writer {
    pub(crate) fn new(shared: Arc<Shared>, end: End) -> Self {
        Self {
            shared,
            tail: end.tail,
            mark: end.mark,
            file: None,
            spoilt: false,
            unindexed: Vec::new(),
            recorded: 0,
            since: end.since,
            since_bytes: 0,
            summed_up: None,
        }
    }

    /// Serves commands until it is told to stop, and then what still waits.
    pub(crate) fn run(mut self, waiting: &Receiver<Command>) {
        self.bring_up();
        loop {
            let next = waiting.recv_timeout(AGAIN);
            let gone = matches!(next, Err(RecvTimeoutError::Disconnected));
            self.serve(next.ok(), waiting);
            self.look_after();
            self.bring_up();
            self.write_state();
            if gone || self.shared.stopping.load(Ordering::Acquire) {
                while let Ok(command) = waiting.try_recv() {
                    self.serve(Some(command), waiting);
                }
                self.look_after();
                self.bring_up();
                self.write_state();
                self.sync_index();
                return;
            }
            if self.since >= MARK_RECORDS || self.since_bytes >= MARK_BYTES {
                self.sync_index();
            }
        }
    }

    /// Serves a command and, with it, the appends that wait behind it.
    fn serve(&mut self, first: Option<Command>, waiting: &Receiver<Command>) {
        let mut appends = Vec::new();
        let mut size = 0;
        let mut next = first;
        while let Some(command) = next {
            match command {
                Command::Append(append) => {
                    let texts = append.messages.iter().map(|message| message.text.len());
                    size += texts.sum::<usize>();
                    appends.push(append);
                }
                Command::Prune {
                    before,
                    unread_too,
                    tell,
                } => {
                    self.append(std::mem::take(&mut appends));
                    self.bring_up();
                    // Who asked may have gone.
                    drop(tell.send(self.prune(before, unread_too)));
                }
                Command::Wake => {}
            }
            next = (size < WRITE_BYTES)
                .then(|| waiting.try_recv().ok())
                .flatten();
        }
        self.append(appends);
    }

    /// Writes what was brought, syncs it, and tells those who brought it.
    fn append(&mut self, appends: Vec<Append>) {
        if appends.is_empty() {
            return;
        }
        self.bring_up();
        if let Some(told) = self.behind() {
            for append in appends {
                drop(append.tell.send(Err(told.clone())));
            }
            return;
        }
        let now = self.shared.clock.wall();
        let last = self.mark.days.last().map(|known| Day(known.day));
        // A clock that runs backwards over midnight does not open an old day again.
        let day = last.map_or(Day::of(now), |last| last.max(Day::of(now)));
        let opened = self.open(day);
        let start = match opened {
            Ok(start) => start,
            Err(error) => {
                for append in appends {
                    drop(append.tell.send(Err(error.clone())));
                }
                return;
            }
        };
        let mut plan = Plan::default();
        for append in appends {
            self.plan(&mut plan, append, (day, start, now));
        }
        let written = self.write(&plan.bytes, start);
        match written {
            Ok(()) => self.written(plan),
            Err(error) => {
                tracing::error!(error = %legation_core::error::chain(&error), "messages were not kept; their sources bring them again");
                for (tell, _) in plan.tell {
                    drop(tell.send(Err(error.clone())));
                }
            }
        }
    }

    /// Why nothing can be kept at the moment: what was kept before is not yet
    /// where it must be.
    fn behind(&self) -> Option<AppendError> {
        let what = if !self.unindexed.is_empty() {
            "writing the index"
        } else if self.recorded < self.tail.seq {
            "recording earlier ones"
        } else {
            return None;
        };
        Some(AppendError::write(what)(io::Error::other(
            "earlier messages wait for it",
        )))
    }

    /// Notes what is on disk, and tells those who brought it.
    fn written(&mut self, plan: Plan) {
        self.since += plan.records.len() as u64;
        self.since_bytes += plan.bytes.len() as u64;
        if let Some(last) = self.mark.days.last_mut() {
            last.bytes += plan.bytes.len() as u64;
        }
        self.unindexed = plan.records;
        self.bring_up();
        for (tell, added) in plan.tell {
            // A source that has gone asks again, and is told that it is there.
            drop(tell.send(Ok(added)));
        }
    }

    /// Brings index, record and readers up to what is on disk.
    fn bring_up(&mut self) {
        let mut done = 0;
        for (message, place) in &self.unindexed {
            let channel = message.lane();
            let count = self.tail.channels.get(&channel).copied().unwrap_or(0);
            if let Err(error) = self.shared.index.insert(message, *place, count) {
                tracing::error!(%error, "the index of the inbox could not be written; it is tried again");
                break;
            }
            self.tail.channels.insert(channel, count + 1);
            self.tail.seq = message.seq.0;
            done += 1;
        }
        self.unindexed.drain(..done);
        match self.record() {
            Ok(true) => self.shared.publish(self.tail.clone()),
            Ok(false) => {}
            Err(error) => {
                tracing::error!(
                    error,
                    "messages could not be recorded; they are announced once they are"
                );
            }
        }
    }

    /// Puts the index on disk, so that a start need not read that far back.
    pub(super) fn sync_index(&mut self) {
        // Nothing depends on it but the time of the next start.
        if let Err(error) = self.try_sync_index() {
            tracing::warn!(%error, "the index of the inbox is not on disk");
        }
    }

    /// The same for those on whom something depends.
    pub(crate) fn try_sync_index(&mut self) -> io::Result<()> {
        if !self.unindexed.is_empty() {
            return Err(io::Error::other("earlier messages are not in it yet"));
        }
        if self.tail.seq == 0 {
            return Ok(());
        }
        self.mark.seq = self.tail.seq;
        self.mark.channels.clone_from(&self.tail.channels);
        self.shared.index.sync(&mut self.mark)?;
        (self.since, self.since_bytes) = (0, 0);
        Ok(())
    }

    /// Writes what readers outside want to know, and what consumers have read.
    fn write_state(&mut self) {
        let files = self.shared.consumers().dirty();
        for file in &files {
            if let Err(error) = file.write() {
                tracing::warn!(error = %legation_core::error::chain(&error), consumer = file.name.as_str(), "what a consumer has read is not on disk; it is tried again");
                self.shared.consumers().changed(&file.name);
            }
        }
        self.write_summary(!files.is_empty());
    }
}
