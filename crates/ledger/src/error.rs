//! What can go wrong with the ledger.

use std::path::PathBuf;
use std::sync::Arc;

use legation_core::home::HomeError;
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

/// The key of the commitments was not loaded.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file could not be read or closed to others.
    #[error("reading the ledger's key {} failed", path.display())]
    Read {
        /// The key file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// The file does not hold a key.
    #[error("{} is not a key of 64 hexadecimal digits", path.display())]
    Malformed {
        /// The key file.
        path: PathBuf,
    },
    /// A new key could not be written.
    #[error("making the ledger's key failed")]
    Write {
        /// Why it failed.
        #[source]
        source: HomeError,
    },
    /// The operating system gave no random numbers.
    #[error("no random numbers for the ledger's key")]
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

    /// What the owner can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "try again shortly",
            Self::Write { source } | Self::Read { source } => source.hint(),
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

// === impl KeyError ===

impl KeyError {
    /// What the owner can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read { .. } | Self::Write { .. } => {
                "check the permissions of the data directory and that the disk has room"
            }
            Self::Malformed { .. } => {
                "restore the file from a backup, or move it away: a new key is made, and older commitments can no longer be checked"
            }
            Self::Random { .. } => "check that the operating system's random source works",
        }
    }
}
