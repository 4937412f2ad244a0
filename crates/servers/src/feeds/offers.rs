//! What servers offer to tell of, as they last said.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use legation_core::ServerName;
use legation_wire::json::Raw;
use tokio::sync::watch;

/// Longest description of an event's data that is kept, in bytes.
const SCHEMA_MAX: usize = 16 * 1024;

/// A kind of event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The server's name of it.
    pub name: String,
    /// JSON Schema of its data, where the server says it.
    pub payload_schema: Option<Raw>,
}

/// See the module. A server that is away for a while still offers what it did.
#[derive(Debug)]
pub struct Offers {
    known: Mutex<BTreeMap<ServerName, Vec<Offer>>>,
    changes: watch::Sender<u64>,
}

// === impl Offer ===

impl Offer {
    /// What stands in a server's list.
    pub(super) fn of(name: String, event: &Raw) -> Self {
        let schema = event.get("payloadSchema");
        let schema = schema.filter(|schema| schema.as_text().len() <= SCHEMA_MAX);
        Self {
            name,
            payload_schema: schema.filter(|schema| schema.to_object().is_some()),
        }
    }
}

// === impl Offers ===

impl Offers {
    /// Everything, by server.
    #[must_use]
    pub fn all(&self) -> Vec<(ServerName, Offer)> {
        let known = self.lock();
        let all = known.iter().flat_map(|(server, offers)| {
            let offers = offers.iter();
            offers.map(|offer| (server.clone(), offer.clone()))
        });
        all.collect()
    }

    /// Whether a server offers a kind; `None` where it has not said yet.
    #[must_use]
    pub fn is_offered(&self, server: &ServerName, name: &str) -> Option<bool> {
        let known = self.lock();
        let offers = known.get(server)?;
        Some(offers.iter().any(|offer| offer.name == name))
    }

    /// Changes whenever a server offers something else than before.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Notes what a server says.
    pub(super) fn note(&self, server: &ServerName, offers: &[Offer]) {
        let mut known = self.lock();
        if known.get(server).is_some_and(|known| known == offers) {
            return;
        }
        known.insert(server.clone(), offers.to_vec());
        drop(known);
        self.changes.send_modify(|version| *version += 1);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ServerName, Vec<Offer>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Offers {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }
}
