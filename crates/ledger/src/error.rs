//! What can go wrong with the ledger.

use std::sync::Arc;

use legation_keystore::KeystoreError;
use legation_store::StoreError;

/// A record was not made. Whoever waited for it must not run the call.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LedgerError {
    /// More callers wait than the ledger holds.
    #[error("{waiting} calls already wait for the ledger; this one was not recorded")]
    Busy {
        /// How many wait.
        waiting: usize,
    },
    /// The store failed. Recording goes on by itself once it works again.
    #[error("the ledger could not be written; the record was not made")]
    Write {
        /// Why it failed; shared by all who waited for the same commit.
        #[source]
        source: Arc<StoreError>,
    },
    /// The ledger could not be read.
    #[error("the ledger could not be read")]
    Read {
        /// Why it failed.
        #[source]
        source: Arc<StoreError>,
    },
    /// What the call was to use up is gone: another call used it, it was taken
    /// back, or its time has passed. Nothing was recorded.
    #[error("the {kind} {id} cannot be used any more; the call was not recorded")]
    Claimed {
        /// `grant`, `approval` or `proposal`.
        kind: &'static str,
        /// Which.
        id: String,
    },
    /// The key of the commitments cannot be had.
    #[error("no key to commit to the arguments with; the record was not made")]
    Key {
        /// Why.
        #[source]
        source: Arc<KeystoreError>,
    },
    /// The runtime that was to write the record has ended.
    #[error("the hub is stopping; the record was not made")]
    Stopped,
}

/// The ledger was not opened.
#[derive(Debug, thiserror::Error)]
pub enum LedgerOpenError {
    /// The store failed.
    #[error("the ledger's store failed; the ledger was not opened")]
    Store {
        /// Why it failed.
        #[source]
        source: StoreError,
    },
    /// The last row of a chain has no proper hash to go on from.
    #[error("the last record of entity {entity} is damaged at {seq}; the ledger was not opened")]
    DamagedHead {
        /// Whose chain.
        entity: String,
        /// The damaged record.
        seq: i64,
    },
    /// The operating system gave no random numbers.
    #[error("no random number for call ids; the ledger was not opened")]
    Random {
        /// Why it failed.
        #[source]
        source: getrandom::Error,
    },
}

// === impl LedgerError ===

impl LedgerError {
    pub(crate) fn read(source: StoreError) -> Self {
        Self::Read {
            source: Arc::new(source),
        }
    }

    pub(crate) fn key(source: KeystoreError) -> Self {
        Self::Key {
            source: Arc::new(source),
        }
    }

    /// What the owner can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "try again shortly",
            Self::Write { source } | Self::Read { source } => source.hint(),
            Self::Claimed { .. } => "ask for approval again",
            Self::Key { source } => source.hint(),
            Self::Stopped => "start the hub again",
        }
    }
}

// === impl LedgerOpenError ===

impl LedgerOpenError {
    /// What the owner can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Store { source } => source.hint(),
            Self::DamagedHead { .. } => {
                "run `legation audit verify`, keep the file as evidence, and restore a backup"
            }
            Self::Random { .. } => "check that the operating system's random source works",
        }
    }
}
