//! What the writer and the readers share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

use arc_swap::{ArcSwap, Guard};
use legation_core::SharedClock;
use tokio::sync::watch;

use super::{Governor, lock};
use crate::consumers::Consumers;
use crate::error::ReadError;
use crate::index::Index;
use crate::line::{self, Line};
use crate::message::Message;
use crate::seal::Seals;

/// What the writer and the readers share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) folder: PathBuf,
    pub(crate) index: Index,
    pub(crate) seals: Seals,
    pub(crate) clock: SharedClock,
    pub(crate) governor: Arc<dyn Governor>,
    pub(super) tail: ArcSwap<Tail>,
    pub(super) announced: watch::Sender<u64>,
    pub(super) consumers: Mutex<Consumers>,
    pub(super) problems: Mutex<Vec<String>>,
    pub(crate) stopping: AtomicBool,
}

/// What readers may see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tail {
    pub(crate) seq: u64,
    /// Records of each lane.
    pub(crate) channels: BTreeMap<String, u64>,
}

// === impl Shared ===

impl Shared {
    pub(crate) fn tail(&self) -> Guard<Arc<Tail>> {
        self.tail.load()
    }

    /// Lets readers see what is on disk, and tells those who wait.
    pub(crate) fn publish(&self, tail: Tail) {
        let seq = tail.seq;
        self.tail.store(Arc::new(tail));
        self.announced.send_replace(seq);
    }

    /// Notes up to where the last process announced.
    pub(crate) fn announced_before(&self, seq: u64) {
        self.announced.send_replace(seq);
    }

    /// Has those who wait look again: something is unread that was not.
    pub(crate) fn stir(&self) {
        self.announced.send_modify(|_| {});
    }

    pub(crate) fn consumers(&self) -> MutexGuard<'_, Consumers> {
        lock(&self.consumers)
    }

    pub(crate) fn problem(&self, problem: String) {
        tracing::warn!(problem, "the inbox mended itself");
        let mut problems = lock(&self.problems);
        if problems.len() < 64 && !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    pub(crate) fn members(
        &self,
        channel: &str,
        from: u64,
        most: usize,
    ) -> Result<Vec<u64>, ReadError> {
        let path = self.folder.join("index");
        let members = self.index.members(channel, from, most);
        members.map_err(|source| ReadError::Io { path, source })
    }

    pub(crate) fn seq_of(&self, id: &str) -> Result<u64, ReadError> {
        let seq = self.seq_until(id, self.tail().seq)?;
        seq.ok_or_else(|| ReadError::Unknown { id: id.to_owned() })
    }

    /// The newest record with an id, up to one.
    pub(crate) fn seq_until(&self, id: &str, last: u64) -> Result<Option<u64>, ReadError> {
        let path = self.folder.join("index");
        let seq = self.index.by_id(id, last);
        seq.map_err(|source| ReadError::Io { path, source })
    }

    /// A record; `None` when retention took it out.
    pub(crate) fn message(&self, seq: u64) -> Result<Option<Message>, ReadError> {
        Ok(self.line(seq)?.map(|line| line.open(&self.seals)))
    }

    pub(crate) fn line(&self, seq: u64) -> Result<Option<Line>, ReadError> {
        let fail = |what: String| ReadError::Damaged { seq, what };
        let place = self
            .index
            .find(seq)
            .map_err(|error| fail(error.to_string()))?;
        let Some(place) = place else {
            return Ok(None);
        };
        let name = place.day.name();
        let bytes = self.index.bytes(place);
        let bytes = bytes.map_err(|error| fail(format!("{name}.jsonl: {error}")))?;
        let line = line::decode(&bytes).map_err(|bad| fail(format!("{name}.jsonl: {bad}")))?;
        if line.message.seq.0 != seq {
            return Err(fail(format!("{name}.jsonl holds another record there")));
        }
        Ok(Some(line))
    }
}
