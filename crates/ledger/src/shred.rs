//! Retention: destroying keys, so that commitments say nothing any more.
//!
//! Records stay, and the chains verify as before. What is lost is the one thing
//! in them that could be held against a given argument or result.

use std::sync::Arc;

use legation_core::EntityId;

use crate::error::LedgerError;
use crate::keys::Month;
use crate::ledger::Ledger;

/// What was, or would be, destroyed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shredded {
    /// The months whose keys there were, oldest first.
    pub months: Vec<Month>,
}

const SHREDDED: &str = "commitments_shredded";
const FAILED: &str = "commitments_not_shredded";

// === impl Ledger ===

impl Ledger {
    /// Which keys of an entity's commitments [`Ledger::shred`] would destroy.
    ///
    /// # Errors
    /// [`LedgerError::Key`].
    pub fn shreddable(&self, entity: &EntityId, before: Month) -> Result<Shredded, LedgerError> {
        let present = Month::of(self.inner.clock.wall().0);
        let months = self.inner.keys.months(entity, before.min(present));
        let mut months = months.map_err(LedgerError::key)?;
        months.sort_unstable();
        Ok(Shredded { months })
    }

    /// Destroys the keys of an entity's commitments of every month before
    /// `before`, but never the present month's, and records it. Blocks.
    ///
    /// # Errors
    /// [`LedgerError::Write`] before anything is destroyed; [`LedgerError::Key`]
    /// when a key could not be destroyed, which is recorded too.
    pub fn shred(&self, entity: &EntityId, before: Month) -> Result<Shredded, LedgerError> {
        let found = self.shreddable(entity, before)?;
        if found.months.is_empty() {
            return Ok(found);
        }
        let names: Vec<String> = found.months.iter().map(ToString::to_string).collect();
        self.inner.note_now(entity, SHREDDED, &names.join(" "))?;
        for month in &found.months {
            if let Err(error) = self.inner.keys.destroy(entity, *month) {
                let noted = self.inner.note_now(entity, FAILED, &month.to_string());
                if let Err(error) = noted {
                    tracing::error!(%error, "that a key was not destroyed could not be recorded");
                }
                return Err(LedgerError::Key {
                    source: Arc::new(error),
                });
            }
        }
        Ok(found)
    }
}
