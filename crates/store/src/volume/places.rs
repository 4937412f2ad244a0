//! Where rows stand in the file, one in a few hundred.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Rows from one place that is kept to the next.
const EVERY: i64 = 256;

/// The end of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Which row, in the order of commits.
    pub(crate) position: i64,
    /// Where the next one begins.
    pub(crate) end: u64,
}

/// Places in their order. Whoever reads the file adds what it passes.
#[derive(Debug, Default)]
pub(crate) struct Places {
    kept: Mutex<Vec<Place>>,
}

// === impl Place ===

impl Place {
    /// Before the first row.
    pub(crate) const START: Self = Self {
        position: 0,
        end: 0,
    };
}

// === impl Places ===

impl Places {
    /// Takes places that were stored.
    pub(crate) fn new(stored: Vec<Place>) -> Self {
        Self {
            kept: Mutex::new(stored),
        }
    }

    /// The last kept place up to a position.
    pub(crate) fn before(&self, position: i64) -> Place {
        let kept = self.kept();
        let after = kept.partition_point(|place| place.position <= position);
        let found = after.checked_sub(1).and_then(|index| kept.get(index));
        found.copied().unwrap_or(Place::START)
    }

    /// Keeps a place behind those that are there, if it is time for one; whether it was.
    pub(crate) fn pass(&self, place: Place) -> bool {
        let mut kept = self.kept();
        let last = kept.last().map_or(0, |last| last.position);
        let is_due = place.position >= last + EVERY;
        if is_due {
            kept.push(place);
        }
        is_due
    }

    /// Forgets all after a place.
    pub(crate) fn cut(&self, last: Place) {
        self.kept()
            .retain(|place| place.position <= last.position && place.end <= last.end);
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Place>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
