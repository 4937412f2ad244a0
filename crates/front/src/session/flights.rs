//! The requests of one client that have no answer yet.

use std::collections::{HashMap, HashSet};

use legation_core::{Cancel, CancelReason};
use legation_wire::codes;
use legation_wire::message::{ErrorObject, Id};

/// Most requests of one session at once.
const FLIGHTS_MAX: usize = 1024;
/// Most of them that are held open, which do not count among the others: a client
/// with many streams can still call.
const HELD_MAX: usize = 256;

/// Ids in use, each with what calls it off; `None` once it was.
#[derive(Debug, Default)]
pub(super) struct Flights {
    by_id: HashMap<Id, Option<Cancel>>,
    held: HashSet<Id>,
}

// === impl Flights ===

impl Flights {
    pub(super) fn begin(
        &mut self,
        id: &Id,
        cancel: &Cancel,
        held: bool,
    ) -> Result<(), ErrorObject> {
        if self.by_id.contains_key(id) {
            return Err(ErrorObject::new(
                codes::INVALID_REQUEST,
                &format!("id {id} is in use by a request that has no answer yet; nothing was done"),
            ));
        }
        let (open, most, what) = match held {
            true => (self.held.len(), HELD_MAX, "streams are open"),
            false => (
                self.by_id.len() - self.held.len(),
                FLIGHTS_MAX,
                "requests are under way",
            ),
        };
        if open >= most {
            return Err(ErrorObject::new(
                codes::OVERLOADED,
                &format!("{most} {what} already; nothing was done"),
            ));
        }
        if held {
            self.held.insert(id.clone());
        }
        self.by_id.insert(id.clone(), Some(cancel.clone()));
        Ok(())
    }

    pub(super) fn end(&mut self, id: &Id) -> bool {
        self.held.remove(id);
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
