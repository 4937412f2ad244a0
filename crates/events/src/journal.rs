//! What happens to approvals and tasks, for as long as the hub runs.
//!
//! Their own tables are the durable truth and can be read at any time; kept here
//! is only that something changed. So the journal is in memory and bounded, and
//! a client that comes with a place of an earlier run is told that it may have
//! missed something.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use legation_core::id::hex;
use legation_core::{BootId, ClientId, EntityId, Wall};
use legation_wire::json::Object;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use crate::{Batch, Entry, Kind, Log, LogError};

/// Entries that are kept; who is further behind has a gap.
const KEPT: usize = 4096;

/// See the module.
#[derive(Debug)]
pub struct Journal {
    epoch: u64,
    entries: Mutex<VecDeque<Entry>>,
    end: watch::Sender<u64>,
}

/// Something to be noted.
#[derive(Debug, Clone)]
pub struct Noted {
    /// What happened.
    pub kind: Kind,
    /// To what: an id of an approval or a task, and its state. Equal texts are
    /// one occurrence.
    pub of: String,
    /// When.
    pub at: Wall,
    /// Whose data it is about.
    pub entity: Option<EntityId>,
    /// Whose approval or task it is.
    pub client: ClientId,
    /// What the client is told.
    pub data: Object,
}

// === impl Journal ===

impl Journal {
    /// The journal of one run of the hub.
    #[must_use]
    pub fn new(boot: &BootId) -> Self {
        let digest = Sha256::digest(boot.as_str().as_bytes());
        let mut epoch = [0; 8];
        epoch.copy_from_slice(&digest[..8]);
        Self {
            epoch: u64::from_be_bytes(epoch),
            entries: Mutex::default(),
            end: watch::Sender::new(0),
        }
    }

    /// Notes something.
    pub fn note(&self, noted: Noted) {
        let mut entries = self.lock();
        let place = *self.end.borrow() + 1;
        entries.push_back(Entry {
            place,
            kind: noted.kind,
            event_id: event_id(&[noted.kind.as_str(), &noted.of]).into(),
            at: noted.at,
            entity: noted.entity,
            client: Some(noted.client),
            channel: None,
            notice: noted.data,
            details: Object::new(),
            of_server: None,
        });
        if entries.len() > KEPT {
            entries.pop_front();
        }
        // Under the lock, so that no place is given twice.
        self.end.send_replace(place);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log for Journal {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn end(&self) -> u64 {
        *self.end.borrow()
    }

    fn read(&self, after: u64, most: usize) -> Result<Batch, LogError> {
        let entries = self.lock();
        let first = entries.front().map_or(after + 1, |entry| entry.place);
        let later = entries.iter().filter(|entry| entry.place > after);
        let entries: Vec<Entry> = later.take(most).cloned().collect();
        Ok(Batch {
            reached: entries.last().map_or(after, |entry| entry.place),
            entries,
            gap: first > after + 1,
        })
    }

    fn older_than(&self, at: Wall) -> Result<u64, LogError> {
        let entries = self.lock();
        let older = entries.iter().take_while(|entry| entry.at < at);
        Ok(older.last().map_or(0, |entry| entry.place))
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.end.subscribe()
    }
}

/// An id that is the same whenever its parts are.
#[must_use]
pub fn event_id(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    format!("evt_{}", hex(&digest.finalize()[..16]))
}
