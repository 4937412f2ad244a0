//! Making checkpoints all the while, and at the end.

use std::sync::Arc;
use std::time::Duration;

use legation_core::Cancel;

use crate::checkpoint::{Made, PublicKey};
use crate::error::LedgerError;
use crate::ledger::{Inner, Ledger};
use crate::publish::{PublishSettings, Publisher};

/// How often a checkpoint is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// After so many records, but not more often than once a second.
    pub records: u32,
    /// After so long, when there is something new.
    pub every: Duration,
}

/// Checkpoints that the number of records asks for are made this far apart at
/// least: each waits for the disk, and so do calls meanwhile.
const APART: Duration = Duration::from_secs(1);
/// How long a program may take that exports a checkpoint.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(20);
/// The same while the hub ends; what is missing is exported by the next start.
const LAST_TIMEOUT: Duration = Duration::from_secs(4);
/// A failed export is tried again after this long, or the pace, if shorter.
const RETRY_AFTER: Duration = Duration::from_secs(30);

// === impl Ledger ===

impl Ledger {
    /// Says where checkpoints are exported to; only the first call counts.
    pub fn publish_to(&self, settings: PublishSettings) {
        self.inner.publisher.get_or_init(|| {
            let (store, clock) = (Arc::clone(&self.inner.store), self.inner.clock.clone());
            Publisher::new(settings, store, clock)
        });
    }

    /// Makes a checkpoint of everything recorded so far, exports it, and tells
    /// what it says; `None` when the last one covers everything. Blocks.
    ///
    /// # Errors
    /// [`LedgerError::Key`], [`LedgerError::Write`]. An export that fails is no
    /// error: see [`Ledger::problems`].
    pub fn checkpoint(&self) -> Result<Option<Made>, LedgerError> {
        let made = self.inner.checkpoint()?;
        self.inner.publish(EXPORT_TIMEOUT);
        Ok(made)
    }

    /// Makes and exports checkpoints until cancelled.
    pub async fn run_checkpoints(&self, pace: Pace, cancel: Cancel) {
        let inner = &self.inner;
        let mut pause = pace.every;
        // What an earlier start could not export goes first.
        inner.maker.nudge.notify_one();
        loop {
            tokio::select! {
                _ = cancel.cancelled() => return,
                () = inner.maker.nudge.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
            let working = Arc::clone(inner);
            let worked = tokio::task::spawn_blocking(move || working.work(EXPORT_TIMEOUT)).await;
            pause = match worked {
                Ok(true) => pace.every,
                Ok(false) | Err(_) => RETRY_AFTER.min(pace.every),
            };
            tokio::select! {
                _ = cancel.cancelled() => return,
                () = tokio::time::sleep(APART) => {}
            }
            let position = inner.chain().position();
            inner.maker.due_at(position + i64::from(pace.records));
        }
    }

    /// Makes the last checkpoint of a hub that ends, and exports it if that goes
    /// quickly. Blocks.
    pub fn close_checkpoints(&self) {
        self.inner.work(LAST_TIMEOUT);
    }

    /// Changes the key that signs checkpoints, and answers with the new one.
    /// Blocks.
    ///
    /// # Errors
    /// See [`LedgerError`].
    pub fn rotate_key(&self) -> Result<PublicKey, LedgerError> {
        let key = self.inner.rotate()?;
        self.inner.publish(EXPORT_TIMEOUT);
        Ok(key)
    }

    /// The key that signs checkpoints.
    ///
    /// # Errors
    /// [`LedgerError::Key`], [`LedgerError::Read`].
    pub fn public_key(&self) -> Result<PublicKey, LedgerError> {
        self.inner.public_key()
    }

    /// What is wrong with checkpoints and their export at the moment.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.inner.maker.problems();
        if let Some(publisher) = self.inner.publisher.get() {
            problems.extend(publisher.problems());
        }
        problems
    }
}

// === impl Inner ===

impl Inner {
    /// Makes and exports one; whether all went well.
    fn work(self: &Arc<Self>, timeout: Duration) -> bool {
        let made = self.checkpoint();
        let trouble = made.as_ref().err().map(|error| {
            let what = legation_core::error::chain(error);
            tracing::error!(
                error = what,
                "no checkpoint of the ledger was made; it is tried again"
            );
            what
        });
        self.maker.is_troubled_by(trouble);
        self.publish(timeout) && made.is_ok()
    }

    fn publish(&self, timeout: Duration) -> bool {
        self.publisher
            .get()
            .is_none_or(|publisher| publisher.publish(timeout))
    }
}
