//! The requests of one client that have no answer yet.

use std::collections::HashMap;

use legation_core::{Cancel, CancelReason};
use legation_wire::codes;
use legation_wire::message::{ErrorObject, Id};

/// Most requests of one session at once.
const FLIGHTS_MAX: usize = 1024;

/// Ids in use, each with what calls it off; `None` once it was.
#[derive(Debug, Default)]
pub(super) struct Flights {
    by_id: HashMap<Id, Option<Cancel>>,
}

// === impl Flights ===

impl Flights {
    pub(super) fn begin(&mut self, id: &Id, cancel: &Cancel) -> Result<(), ErrorObject> {
        if self.by_id.contains_key(id) {
            return Err(ErrorObject::new(
                codes::INVALID_REQUEST,
                &format!("id {id} is in use by a request that has no answer yet; nothing was done"),
            ));
        }
        if self.by_id.len() >= FLIGHTS_MAX {
            return Err(ErrorObject::new(
                codes::OVERLOADED,
                &format!("{FLIGHTS_MAX} requests are under way already; nothing was done"),
            ));
        }
        self.by_id.insert(id.clone(), Some(cancel.clone()));
        Ok(())
    }

    pub(super) fn end(&mut self, id: &Id) -> bool {
        matches!(self.by_id.remove(id), Some(Some(_)))
    }

    pub(super) fn cancel(&mut self, id: &Id) -> Option<Cancel> {
        self.by_id.get_mut(id)?.take()
    }

    pub(super) fn cancel_all(self, reason: CancelReason) {
        for cancel in self.by_id.into_values().flatten() {
            cancel.cancel(reason);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }
}
