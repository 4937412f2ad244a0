//! A key that cannot be had.

use std::io;
use std::path::PathBuf;

use legation_core::home::HomeError;

/// A key, or the folder of keys, that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeystoreError {
    /// The folder cannot be made or closed to others.
    #[error("the keys cannot be used")]
    Folder {
        /// What went wrong.
        #[source]
        source: HomeError,
    },
    /// A name that is no file's.
    #[error("{name:?} cannot name a key")]
    Name {
        /// The name.
        name: Box<str>,
    },
    /// A key's file cannot be read.
    #[error("the key {} cannot be read; nothing was sealed or opened with it", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
    /// A key's file does not hold a key.
    #[error("the key {} is damaged: it must hold 64 hexadecimal digits; it was not replaced", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// A new key could not be stored.
    #[error("a new key could not be stored")]
    Write {
        /// What went wrong.
        #[source]
        source: HomeError,
    },
    /// A key could not be destroyed.
    #[error("the key {} could not be destroyed; what it sealed can still be read", path.display())]
    Destroy {
        /// The file.
        path: PathBuf,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
    /// The system has no randomness to give.
    #[error("the system gave no random numbers; no key was made")]
    Random,
}

// === impl KeystoreError ===

impl KeystoreError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Damaged { .. } => {
                "restore the file from a backup; without it what was sealed with the key stays sealed"
            }
            Self::Name { .. } => "use letters, digits, `-`, `_` and `.`",
            Self::Folder { .. } | Self::Read { .. } | Self::Write { .. } | Self::Destroy { .. } => {
                "see that the folder `keys` of the data directory belongs to you and can be written"
            }
            Self::Random => "try again; if it stays so, the system is broken",
        }
    }
}
