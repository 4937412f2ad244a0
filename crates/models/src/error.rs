//! An answer that did not come, or broke off.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use legation_core::CancelReason;

use crate::endpoint::EndpointError;

/// An answer that did not come, or broke off. What a provider wrote about it is
/// not kept: it may repeat what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The address is none.
    #[error("the endpoint cannot be used; nothing was sent")]
    Endpoint {
        /// Why.
        #[source]
        source: EndpointError,
    },
    /// The request cannot be said to this provider.
    #[error("{what}; nothing was sent")]
    Unsayable {
        /// Why.
        what: &'static str,
    },
    /// The key cannot stand in a header field.
    #[error("the key has characters that no key has; nothing was sent")]
    Key,
    /// The host was not reached.
    #[error("{origin} was not reached; nothing was sent")]
    Connect {
        /// Which host.
        origin: String,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
    /// The connection ended before the answer did.
    #[error("the connection ended before the answer did")]
    Broken {
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The answer ended without being finished.
    #[error("the answer ended without being finished")]
    CutOff,
    /// Nothing came for too long.
    #[error("{wait} within {} s", after.as_secs_f32())]
    Timeout {
        /// What was waited for.
        wait: Wait,
        /// How long.
        after: Duration,
    },
    /// The provider said no, before or in the middle of its answer.
    #[error("the provider answered {status}{}", Code(code.as_deref()))]
    Refused {
        /// The status; 200 in the middle of an answer.
        status: u16,
        /// What that means.
        class: ModelClass,
        /// The provider's own word for it, if it gave one that is a word.
        code: Option<String>,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// It is not what a model answers.
    #[error("the answer is not an event stream but {content_type:?}; it was not read")]
    NotAStream {
        /// What it says it is.
        content_type: String,
    },
    /// It cannot be understood.
    #[error("the answer cannot be understood: {what}")]
    Malformed {
        /// What is wrong.
        what: &'static str,
    },
    /// It is larger than anything that is read.
    #[error("{what} of more than {most} bytes; the rest was not read")]
    TooLarge {
        /// What.
        what: &'static str,
        /// The bound.
        most: usize,
    },
    /// A server that is said to be local passes requests on.
    #[error("the server is said to be local and has a model elsewhere answer ({evidence})")]
    Proxied {
        /// How that shows.
        evidence: &'static str,
    },
    /// TLS cannot be used.
    #[error("TLS cannot be used: {why}; nothing was sent")]
    Tls {
        /// Why.
        why: String,
    },
    /// It was called off.
    #[error("{}", reason.as_str())]
    Cancelled {
        /// Why.
        reason: CancelReason,
    },
}

/// What a failure means for whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelClass {
    /// Nobody is there.
    Unreachable,
    /// Nothing came in time.
    Slow,
    /// It has too much to do, or heard too much from us.
    Busy,
    /// What was paid for is used up.
    Quota,
    /// The key is missing or not taken.
    Credential,
    /// There is no such model, or nothing at this address.
    NotFound,
    /// The conversation does not fit.
    TooLong,
    /// The request is not taken as it is.
    Request,
    /// A filter of the provider's is against it.
    Filtered,
    /// The server failed.
    Server,
    /// The answer broke off or was none.
    Broken,
    /// The server is not what the owner says it is.
    Untrue,
    /// It was called off.
    Cancelled,
}

/// What was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A connection.
    Connection,
    /// The first word of the answer.
    First,
    /// The next word.
    Next,
}

/// A provider's word in brackets, where there is one.
struct Code<'a>(Option<&'a str>);

// === impl ModelError ===

impl ModelError {
    /// What it means.
    #[must_use]
    pub fn class(&self) -> ModelClass {
        match self {
            Self::Refused { class, .. } => *class,
            Self::Connect { .. } | Self::Tls { .. } => ModelClass::Unreachable,
            Self::Timeout {
                wait: Wait::Connection,
                ..
            } => ModelClass::Unreachable,
            Self::Timeout { .. } => ModelClass::Slow,
            Self::Broken { .. }
            | Self::CutOff
            | Self::NotAStream { .. }
            | Self::Malformed { .. }
            | Self::TooLarge { .. } => ModelClass::Broken,
            Self::Endpoint { .. } => ModelClass::NotFound,
            Self::Unsayable { .. } => ModelClass::Request,
            Self::Key => ModelClass::Credential,
            Self::Proxied { .. } => ModelClass::Untrue,
            Self::Cancelled { .. } => ModelClass::Cancelled,
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Tls { .. } => "install the system's certificates",
            Self::Unsayable { .. } => "this provider cannot do that: choose another one",
            Self::Connect { .. } => "see that the server runs and that its endpoint is right",
            _ => self.class().hint(),
        }
    }
}

// === impl ModelClass ===

impl ModelClass {
    /// The word a program reads.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Slow => "slow",
            Self::Busy => "busy",
            Self::Quota => "quota",
            Self::Credential => "credential",
            Self::NotFound => "not_found",
            Self::TooLong => "too_long",
            Self::Request => "request",
            Self::Filtered => "filtered",
            Self::Server => "server",
            Self::Broken => "broken",
            Self::Untrue => "untrue",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether another provider may do better with the same request.
    #[must_use]
    pub fn may_fall_back(self) -> bool {
        match self {
            Self::Unreachable
            | Self::Slow
            | Self::Busy
            | Self::Quota
            | Self::Credential
            | Self::NotFound
            | Self::Server
            | Self::Broken
            | Self::Untrue => true,
            // Asking elsewhere what one provider finds too long or improper
            // would spread it, and what was called off is not wanted.
            Self::TooLong | Self::Request | Self::Filtered | Self::Cancelled => false,
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Unreachable => "see that the server runs, or choose another provider",
            Self::Slow => "try again, or give it more time with `timeout_ms` in llm_provider.json",
            Self::Busy => "try again later",
            Self::Quota => "see the account at the provider, or choose another provider",
            Self::Credential => {
                "see the key: `auth_env_var` of the provider, or `legation models set key`"
            }
            Self::NotFound => "see `endpoint` and the model's name in llm_provider.json",
            Self::TooLong => "send less, or choose a model with a larger window",
            Self::Request => "the provider does not take such a request: choose another one",
            Self::Filtered => "say it otherwise",
            Self::Server | Self::Broken => "try again; if it stays so, see the server's log",
            Self::Untrue => {
                "choose a model that runs on that machine, or give the provider another kind"
            }
            Self::Cancelled => "ask again when it is wanted",
        }
    }
}

// === impl Wait ===

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connection => "no connection",
            Self::First => "no word of an answer",
            Self::Next => "no further word of the answer",
        })
    }
}

// === impl Code ===

impl fmt::Display for Code<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(code) => write!(f, " ({code})"),
            None => Ok(()),
        }
    }
}
