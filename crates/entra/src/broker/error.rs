//! Proofs that were not brought.

use std::io;
use std::path::PathBuf;

use legation_core::CancelReason;
use legation_core::process::RunError;
use legation_keystore::SecretsError;

use crate::http::HttpError;

/// The application could not be proved.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// Nothing is kept for it.
    #[error("neither a secret nor a key is kept for the application {client_id}")]
    Nothing {
        /// The application.
        client_id: Box<str>,
    },
    /// What is kept cannot be read.
    #[error("what is kept for the application cannot be read")]
    Store {
        /// Why.
        #[source]
        source: SecretsError,
    },
    /// The certificate cannot be read.
    #[error("the certificate {} cannot be read", path.display())]
    Certificate {
        /// Its file.
        path: PathBuf,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
    /// The key cannot be used.
    #[error("the key of the application {client_id} cannot be used")]
    Key {
        /// The application.
        client_id: Box<str>,
        /// Why.
        #[source]
        source: KeyError,
    },
    /// The command did not run.
    #[error("the broker's command did not run to its end")]
    Run {
        /// Why.
        #[source]
        source: RunError,
    },
    /// The command or service answered something else.
    #[error("the {name} answered {what}")]
    Answer {
        /// What people call it.
        name: &'static str,
        /// What it answered; never its output, which may hold the secret.
        what: String,
    },
    /// The service was not reached.
    #[error("the broker's service was not reached")]
    Http {
        /// Why.
        #[source]
        source: HttpError,
    },
    /// It was called off.
    #[error("{}", reason.as_str())]
    Cancelled {
        /// Why.
        reason: CancelReason,
    },
    /// The task that asked ended.
    #[error("asking the broker failed")]
    Task,
}

/// A key that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no private key in it.
    #[error("it holds no private key in PEM")]
    NoKey,
    /// It is not RSA, or too short.
    #[error("it is not an RSA key of 2048 to 4096 bits")]
    NotRsa,
    /// There is no certificate with it.
    #[error("there is no certificate with it in PEM")]
    NoCertificate,
    /// The certificate is another key's.
    #[error("the certificate belongs to another key")]
    Mismatch,
    /// It could not sign.
    #[error("it could not sign")]
    Sign,
}

// === impl BrokerError ===

impl BrokerError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Nothing { .. } => {
                "keep its secret or key, or name a `broker` in the settings of the account"
            }
            Self::Store { source } => source.hint(),
            Self::Certificate { .. } => "see `certificate` of the account",
            Self::Key { source, .. } => match source {
                KeyError::NoCertificate => {
                    "keep the certificate with the key, or name it as `certificate` of the account"
                }
                KeyError::Mismatch => "keep the key that belongs to the certificate",
                KeyError::NoKey | KeyError::NotRsa => "keep an RSA key in PEM",
                KeyError::Sign => "try again; if it stays so, the system is broken",
            },
            Self::Run { .. } => "see `broker_command` of the account, and run it by hand",
            Self::Answer { .. } => "it must answer JSON with the member `assertion` or `secret`",
            Self::Http { source } => source.hint(),
            Self::Cancelled { .. } => "ask again when it is wanted",
            Self::Task => "try again",
        }
    }
}
