//! What is told to those who look on, as it happens.
//!
//! The store is the truth and can be read again at any time, so nothing waits for a reader: one who
//! is too slow is told so and begins again.

use std::sync::Arc;

use legation_api::conversation::Event;
use legation_core::SessionId;
use tokio::sync::broadcast;

/// How far behind a reader may be.
const KEPT: usize = 2048;

/// Tells everybody. Clones are the same one.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    sender: broadcast::Sender<Arc<Told>>,
}

/// What is told, and of which session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) session: SessionId,
    pub(crate) event: Event,
}

// === impl Live ===

impl Live {
    pub(crate) fn new() -> Self {
        Self {
            sender: broadcast::Sender::new(KEPT),
        }
    }

    /// Tells those who look on; nobody may be there.
    pub(crate) fn tell(&self, session: &SessionId, event: Event) {
        if self.sender.receiver_count() == 0 {
            return;
        }
        let session = session.clone();
        drop(self.sender.send(Arc::new(Told { session, event })));
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Arc<Told>> {
        self.sender.subscribe()
    }
}
