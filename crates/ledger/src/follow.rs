//! Records as they are made.

use std::fmt;
use std::sync::Arc;

use legation_store::Store;
use tokio::sync::watch;

use crate::error::LedgerError;
use crate::read::Entry;

/// Most records handed out at a time.
const CHUNK: usize = 256;

/// Hands out every record once, in order, however slow its reader is: records
/// are read from the file, only their number is announced.
pub struct Follow {
    store: Arc<Store>,
    seen: watch::Receiver<i64>,
    position: i64,
}

// === impl Follow ===

impl Follow {
    pub(crate) fn new(store: Arc<Store>, seen: watch::Receiver<i64>, position: i64) -> Self {
        Self {
            store,
            seen,
            position,
        }
    }

    /// The next records, at least one; `None` once the ledger is closed. Safe
    /// to cancel. Each time it blocks for a read of at most 256 records.
    ///
    /// # Errors
    /// [`LedgerError::Read`].
    pub async fn next(&mut self) -> Result<Option<Vec<Entry>>, LedgerError> {
        loop {
            let rows = self
                .store
                .reader()
                .ledger_after(self.position, CHUNK)
                .map_err(LedgerError::read)?;
            if let Some(last) = rows.last() {
                self.position = last.position;
                return Ok(Some(rows.into_iter().map(Entry::from_row).collect()));
            }
            let position = self.position;
            let more = self.seen.wait_for(|written| *written > position).await;
            if more.is_err() {
                return Ok(None);
            }
        }
    }
}

impl fmt::Debug for Follow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follow")
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
