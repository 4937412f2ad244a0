//! Secrets that cannot be had or kept.

use std::io;
use std::path::PathBuf;

use legation_core::home::HomeError;

use crate::KeystoreError;

/// Secrets that cannot be had or kept.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// The key in the folder of keys cannot be used.
    #[error("the key of the secrets cannot be used")]
    Key {
        /// What went wrong.
        #[source]
        source: KeystoreError,
    },
    /// The key is gone.
    #[error("the secrets in {} were sealed with a key that is gone; nothing was opened or replaced", path.display())]
    KeyLost {
        /// The sealed file.
        path: PathBuf,
    },
    /// The key is in the system's keystore, which does not answer.
    #[error("the key of {} is in the system's keystore, which cannot be reached: {why}", path.display())]
    Unreachable {
        /// The sealed file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// The owner wants the system's keystore and there is none.
    #[error("the system's keystore cannot be used: {why}; no secret was kept")]
    NoSystem {
        /// What the system says.
        why: String,
    },
    /// The file cannot be read.
    #[error("the secrets in {} cannot be read", path.display())]
    Read {
        /// The sealed file.
        path: PathBuf,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
    /// The file was changed, or is of another program.
    #[error("the secrets in {} do not open: the file was changed or cut; it was not replaced", path.display())]
    Damaged {
        /// The sealed file.
        path: PathBuf,
    },
    /// No turn at the file.
    #[error("{} could not be locked; no secret was changed", path.display())]
    Lock {
        /// The lock.
        path: PathBuf,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("the secrets could not be written; nothing was changed")]
    Write {
        /// What went wrong.
        #[source]
        source: HomeError,
    },
    /// A name with nothing in it, too much, or control characters.
    #[error("{name:?} cannot name a secret")]
    Name {
        /// The name.
        name: String,
    },
    /// The system has no randomness to give.
    #[error("the system gave no random numbers; no secret was kept")]
    Random,
}

// === impl SecretsError ===

impl SecretsError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Key { source } => source.hint(),
            Self::KeyLost { .. } => {
                "restore the key from a backup, or remove the file and sign in again"
            }
            Self::Unreachable { .. } => {
                "unlock the keystore of your session, or run the command in that session"
            }
            Self::NoSystem { .. } => {
                "start a keystore (a Secret Service on Linux), or set `secrets.keep_in` to `file`"
            }
            Self::Read { .. } | Self::Lock { .. } | Self::Write { .. } => {
                "see that the data directory belongs to you and can be written"
            }
            Self::Damaged { .. } => {
                "restore the file from a backup, or remove it and sign in again"
            }
            Self::Name { .. } => "use 1 to 200 bytes without control characters",
            Self::Random => "try again; if it stays so, the system is broken",
        }
    }
}
