//! Rows that are there and cannot be read, as far as they were come across: what is made of others
//! says that they are missing.

use std::collections::{HashMap, HashSet};
use std::sync::{PoisonError, RwLock};

use legation_core::EntityId;

use super::Kind;

/// Their ids, by kind and whose they are. Bounded by the rows that are listed.
#[derive(Default)]
pub(super) struct Damaged(RwLock<HashMap<(Kind, EntityId), HashSet<String>>>);

// === impl Damaged ===

impl Damaged {
    /// How many of an entity's could not be read when they were last listed.
    pub(super) fn count(&self, kind: Kind, entity: &EntityId) -> usize {
        let damaged = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let of_it = damaged.get(&(kind, entity.clone()));
        of_it.map_or(0, HashSet::len)
    }

    /// Notes which of some rows could be read.
    pub(super) fn looked_at(
        &self,
        kind: Kind,
        entity: &EntityId,
        (good, bad): (Vec<&str>, Vec<String>),
    ) {
        let key = (kind, entity.clone());
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if bad.is_empty() && !known.contains_key(&key) {
            return;
        }
        drop(known);
        let mut damaged = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let of_it = damaged.entry(key).or_default();
        for id in good {
            of_it.remove(id);
        }
        of_it.extend(bad);
    }

    /// Knows no more of a row, or of all of a kind: what is still there is come across again.
    pub(super) fn gone(&self, kind: Kind, id: Option<&str>) {
        let mut damaged = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for ((_, _), ids) in damaged.iter_mut().filter(|((of, _), _)| *of == kind) {
            match id {
                Some(id) => drop(ids.remove(id)),
                None => ids.clear(),
            }
        }
    }
}
