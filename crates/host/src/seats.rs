//! Who is there: the clients that are connected, and where they work.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use legation_core::{Caller, SeatId};
use legation_gate::Peer;
use tokio::sync::watch;

/// The seats that are taken.
#[derive(Debug)]
pub(crate) struct Seats {
    taken: Mutex<HashMap<SeatId, Seat>>,
    folders: watch::Sender<BTreeSet<Arc<Path>>>,
}

#[derive(Debug)]
struct Seat {
    peer: Arc<dyn Peer>,
    workspace: Option<Arc<Path>>,
}

// === impl Seats ===

impl Default for Seats {
    fn default() -> Self {
        Self {
            taken: Mutex::default(),
            folders: watch::Sender::new(BTreeSet::new()),
        }
    }
}

impl Seats {
    /// Seats a client, or gives its seat a new peer.
    pub(crate) fn open(&self, caller: &Caller, peer: Arc<dyn Peer>) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let seat = Seat {
            peer,
            workspace: caller.workspace.clone(),
        };
        taken.insert(caller.seat.clone(), seat);
        self.tell(&taken);
    }

    /// Frees a seat.
    pub(crate) fn close(&self, seat: &SeatId) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.remove(seat);
        self.tell(&taken);
    }

    /// The client in a seat.
    pub(crate) fn peer(&self, seat: &SeatId) -> Option<Arc<dyn Peer>> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.get(seat).map(|seat| Arc::clone(&seat.peer))
    }

    /// The folders clients work in, now and as they change.
    pub(crate) fn folders(&self) -> watch::Receiver<BTreeSet<Arc<Path>>> {
        self.folders.subscribe()
    }

    fn tell(&self, taken: &HashMap<SeatId, Seat>) {
        let folders: BTreeSet<_> = taken
            .values()
            .filter_map(|seat| seat.workspace.clone())
            .collect();
        self.folders.send_if_modified(|known| {
            let changed = *known != folders;
            *known = folders;
            changed
        });
    }
}
