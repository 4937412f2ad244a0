//! What the gate does when nobody calls: what is over is closed, and what
//! happened beside calls is recorded.

use std::time::Duration;

use legation_core::Cancel;

use super::*;
use crate::journal::Happened;

/// How often is looked whether something has expired. Nothing that has is
/// honoured meanwhile; this is for those who look at lists and records.
const SWEEP: Duration = Duration::from_secs(15);
/// How long is waited after a record could not be written.
const RETRY: Duration = Duration::from_secs(1);

impl Gate {
    /// Closes what expires and records what happens, until cancelled; then once
    /// more.
    pub async fn run_upkeep(&self, cancel: Cancel) {
        loop {
            tokio::select! {
                _ = cancel.cancelled() => break,
                () = self.asking.journal.filled() => {}
                () = tokio::time::sleep(SWEEP) => self.sweep(),
            }
            if self.settle().await.is_err() {
                tokio::time::sleep(RETRY).await;
                self.asking.journal.wake();
            }
        }
        // What is left is in the log.
        drop(self.settle().await);
    }

    /// Closes and removes what has expired.
    pub fn sweep(&self) {
        self.asking.sweep();
        if let Some(spills) = &self.spills {
            spills.sweep();
        }
    }

    /// Records everything that happened beside calls so far.
    ///
    /// # Errors
    /// When it cannot be written; it stays queued then.
    pub async fn settle(&self) -> Result<(), LedgerError> {
        self.asking.journal.write(&self.ledger).await
    }

    /// Has something recorded, soon.
    pub fn happened(&self, happened: Happened) {
        self.asking.journal.add(happened);
    }
}
