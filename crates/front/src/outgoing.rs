//! A message on its way out, and who wants to know when it is.
//!
//! Whoever hands something over with an answer must not take it as arrived because
//! the answer was made: between the two are a gate that may withhold it, a queue and
//! a connection that may break. So the wish to know travels with the bytes, and is
//! dropped wherever they are.

use bytes::Bytes;
use legation_gate::Delivery;

/// Who wants to know.
#[derive(Debug, Default)]
pub(crate) struct Deliveries(Vec<Box<dyn Delivery>>);

/// A message and who wants to know that it was written out.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) bytes: Bytes,
    pub(crate) deliveries: Deliveries,
}

// === impl Deliveries ===

impl Deliveries {
    pub(crate) fn add(&mut self, delivery: Box<dyn Delivery>) {
        self.0.push(delivery);
    }

    pub(crate) fn join(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Says that all of it was written out.
    pub(crate) fn written(self) {
        for delivery in self.0 {
            delivery.written();
        }
    }
}

// === impl Outgoing ===

impl From<Bytes> for Outgoing {
    fn from(bytes: Bytes) -> Self {
        Self {
            bytes,
            deliveries: Deliveries::default(),
        }
    }
}
