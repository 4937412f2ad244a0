//! Outlook takes four requests of one application and mailbox at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use legation_core::OpContext;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::GraphError;

const AT_ONCE: usize = 4;

/// A place for each of the four, by mailbox. There are as many mailboxes as
/// the account reads.
#[derive(Default)]
pub(crate) struct Mailboxes(Mutex<HashMap<Box<str>, Arc<Semaphore>>>);

// === impl Mailboxes ===

impl Mailboxes {
    pub(super) async fn enter(
        &self,
        ctx: &OpContext,
        mailbox: &str,
        operation: &str,
    ) -> Result<OwnedSemaphorePermit, GraphError> {
        let places = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let places = all.entry(mailbox.into());
            Arc::clone(places.or_insert_with(|| Arc::new(Semaphore::new(AT_ONCE))))
        };
        let cancelled = |reason| GraphError::Cancelled {
            operation: operation.into(),
            reason,
        };
        tokio::select! {
            biased;
            reason = ctx.cancel.cancelled() => Err(cancelled(reason)),
            place = places.acquire_owned() => {
                place.map_err(|_| cancelled(legation_core::CancelReason::Shutdown))
            }
        }
    }
}
