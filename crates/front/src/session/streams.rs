//! The event streams of one session that a client may come back to.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::outbox::Outbox;

/// Most streams remembered; finished ones go first, oldest first.
const STREAMS_MAX: usize = 64;
/// Most bytes held by finished streams.
const FINISHED_BYTES: usize = 4 << 20;

/// A finished stream of more bytes is not kept once it was read.
const DELIVERED_BYTES: usize = 1 << 20;

/// Streams by number; 0 is the session's general one and not in here.
#[derive(Debug, Default)]
pub(super) struct Streams {
    last: u64,
    by_number: BTreeMap<u64, Arc<Outbox>>,
}

// === impl Streams ===

impl Streams {
    pub(super) fn open(&mut self, outbox: &Arc<Outbox>) -> u64 {
        self.sweep();
        self.last += 1;
        self.by_number.insert(self.last, Arc::clone(outbox));
        self.last
    }

    /// Forgets a stream that was read to its end, unless it is small enough to
    /// keep for a client that lost the last piece.
    pub(super) fn delivered(&mut self, number: u64) {
        let large = self
            .by_number
            .get(&number)
            .is_some_and(|outbox| outbox.held() > DELIVERED_BYTES);
        if large {
            self.by_number.remove(&number);
        }
    }

    pub(super) fn find(&self, number: u64) -> Option<Arc<Outbox>> {
        self.by_number.get(&number).cloned()
    }

    fn sweep(&mut self) {
        let mut bytes = 0;
        let mut kept = 0;
        // Newest first, so that the oldest are over the bounds.
        let gone: Vec<u64> = self
            .by_number
            .iter()
            .rev()
            .filter(|(_, outbox)| {
                kept += 1;
                if !outbox.is_finished() {
                    return false;
                }
                bytes += outbox.held();
                bytes > FINISHED_BYTES || kept > STREAMS_MAX
            })
            .map(|(number, _)| *number)
            .collect();
        for number in gone {
            self.by_number.remove(&number);
        }
    }
}
