//! Who sits where: the running instances of clients, as the servers know them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use legation_core::{Caller, QuickMap, SeatId};
use legation_gate::{Peer, ServerSet};

/// The name of a seat, of 128 bits: so short that it lies where it is used, for a text that is shared
/// has a count of its holders, to which every call would write.
pub(crate) fn of(bits: &[u8; 16]) -> SeatId {
    SeatId::new(URL_SAFE_NO_PAD.encode(bits).as_str())
}

/// The name of a seat that nobody has had.
///
/// # Errors
/// When the operating system has no randomness to give.
pub(crate) fn random() -> Result<SeatId, getrandom::Error> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits)?;
    Ok(of(&bits))
}

/// Taken seats.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    held: Mutex<QuickMap<SeatId, Held>>,
}

#[derive(Debug)]
struct Held {
    caller: Caller,
    /// Connections and sessions that hold the seat. A bridge that reconnects
    /// may hold it twice for a moment.
    holders: usize,
    /// For seats nobody holds: when they were last used.
    used: Instant,
}

// === impl Seats ===

impl Seats {
    /// A connection or session sits down, until [`Seats::release`].
    pub(crate) fn hold(
        &self,
        servers: &dyn ServerSet,
        caller: &Caller,
        peer: Arc<dyn Peer>,
        now: Instant,
    ) {
        self.entry(caller, now, 1);
        servers.seat_opened(caller, peer);
    }

    /// A connection or session is over.
    pub(crate) fn release(&self, servers: &dyn ServerSet, caller: &Caller) {
        let gone = {
            let mut held = self.lock();
            let Some(seat) = held.get_mut(&caller.seat) else {
                return;
            };
            seat.holders = seat.holders.saturating_sub(1);
            if seat.holders > 0 {
                return;
            }
            held.remove(&caller.seat)
        };
        if gone.is_some() {
            servers.seat_closed(caller);
        }
    }

    /// A request of a client that holds no seat by a connection.
    pub(crate) fn touch(
        &self,
        servers: &dyn ServerSet,
        caller: &Caller,
        peer: impl FnOnce() -> Arc<dyn Peer>,
        now: Instant,
    ) {
        if self.entry(caller, now, 0) {
            servers.seat_opened(caller, peer());
        }
    }

    /// Gives up the seats that nobody holds and nobody used.
    pub(crate) fn sweep(&self, servers: &dyn ServerSet, now: Instant, idle: Duration) {
        let gone: Vec<Caller> = {
            let mut held = self.lock();
            let over: Vec<SeatId> = held
                .iter()
                .filter(|(_, seat)| {
                    seat.holders == 0 && now.saturating_duration_since(seat.used) >= idle
                })
                .map(|(id, _)| id.clone())
                .collect();
            over.iter()
                .filter_map(|id| held.remove(id))
                .map(|seat| seat.caller)
                .collect()
        };
        for caller in gone {
            servers.seat_closed(&caller);
        }
    }

    /// Whether the seat was free.
    fn entry(&self, caller: &Caller, now: Instant, holders: usize) -> bool {
        let mut held = self.lock();
        if let Some(seat) = held.get_mut(&caller.seat) {
            seat.holders += holders;
            seat.used = now;
            return false;
        }
        held.insert(
            caller.seat.clone(),
            Held {
                caller: caller.clone(),
                holders,
                used: now,
            },
        );
        true
    }

    fn lock(&self) -> MutexGuard<'_, QuickMap<SeatId, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
