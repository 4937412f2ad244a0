//! A request without an answer.

use std::error::Error;
use std::io;
use std::time::Duration;

use legation_core::CancelReason;

use super::UrlError;

/// A request without an answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is none.
    #[error("the address cannot be used")]
    Url {
        /// Why.
        #[source]
        source: UrlError,
    },
    /// The request is none, which is a mistake here.
    #[error("the request could not be made")]
    BadRequest,
    /// The system has no randomness to give.
    #[error("the system gave no random numbers; nothing was sent")]
    Random,
    /// The certificates cannot be used.
    #[error("TLS cannot be used: {why}; nothing was sent")]
    Tls {
        /// What is wrong.
        why: String,
    },
    /// The host was not reached; nothing was sent.
    #[error("{origin} was not reached")]
    Connect {
        /// Which host.
        origin: String,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
    /// The proxy did not let it through; nothing was sent.
    #[error("the proxy answered {status} for {origin}; nothing was sent")]
    Proxy {
        /// For which host.
        origin: String,
        /// Its answer.
        status: String,
    },
    /// The connection ended before the answer did.
    #[error("the connection ended before the answer did")]
    Broken {
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The answer took too long.
    #[error("no answer within {} s", after.as_secs())]
    Timeout {
        /// How long it was waited for.
        after: Duration,
    },
    /// The answer is larger than expected.
    #[error("the answer is larger than {most} bytes and was not read")]
    TooLarge {
        /// The bound.
        most: usize,
    },
    /// The service wants to be left alone for longer than is waited.
    #[error("the service takes no request for {} s", retry_after.as_secs().max(1))]
    Throttled {
        /// How long.
        retry_after: Duration,
    },
    /// It was called off.
    #[error("{}", reason.as_str())]
    Cancelled {
        /// Why.
        reason: CancelReason,
    },
}

// === impl HttpError ===

impl HttpError {
    /// Whether the service may have got the request.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        match self {
            Self::Broken { .. }
            | Self::Timeout { .. }
            | Self::TooLarge { .. }
            | Self::Cancelled { .. } => true,
            Self::Url { .. }
            | Self::BadRequest
            | Self::Random
            | Self::Tls { .. }
            | Self::Connect { .. }
            | Self::Proxy { .. }
            | Self::Throttled { .. } => false,
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Url { .. } => "see the addresses in the settings of the account",
            Self::BadRequest => "this is a mistake of this program: report it",
            Self::Random => "try again; if it stays so, the system is broken",
            Self::Tls { .. } => "see that `ca_file` of the account holds certificates in PEM",
            Self::Connect { .. } => {
                "see that this machine is online, and `proxy` and `ca_file` of the account"
            }
            Self::Proxy { .. } => "see `proxy` of the account",
            Self::Broken { .. } | Self::Timeout { .. } => "try again",
            Self::TooLarge { .. } => "ask for less",
            Self::Throttled { .. } => "wait as long as it says",
            Self::Cancelled { .. } => "ask again when it is wanted",
        }
    }
}
