//! Why a client's request of the extension fails.

use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;

use crate::LogError;

/// Which numbers errors have. Those of the proposal are provisional, and clients
/// that were written before have those of its draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Numbers {
    /// `-32023` to `-32027` (SEP-3415, errors).
    #[default]
    Sep,
    /// `-32011` to `-32015`.
    Draft,
}

/// What is wrong with a receiver (SEP-3415, `CallbackEndpointError`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Nobody is there, or nobody that may be reached.
    ConnectionRefused,
    /// It took too long.
    Timeout,
    /// Its certificate is not good.
    TlsError,
    /// It does not want it. A redirect, which is never followed, counts as this.
    Http4xx,
    /// It failed.
    Http5xx,
    /// It did not answer the challenge.
    ChallengeFailed,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventsError {
    /// The parameters are wrong.
    #[error("{what}; nothing was done")]
    Invalid {
        /// What is wrong with them.
        what: String,
    },
    /// There is no such event type.
    #[error("there is no event type of this name; nothing was done")]
    UnknownEvent,
    /// There is no such subscription.
    #[error("there is no such subscription; nothing was done")]
    UnknownSubscription,
    /// The rules say no.
    #[error("this client may not hear of this: {reason}")]
    Forbidden {
        /// Why.
        reason: &'static str,
    },
    /// There is too much already.
    #[error("there are {max} {limit} already; nothing was done")]
    Exhausted {
        /// Of what.
        limit: &'static str,
        /// How many there may be.
        max: usize,
    },
    /// It is not done here.
    #[error("{feature} cannot be {value:?} here; nothing was done")]
    Unsupported {
        /// What was asked for.
        feature: &'static str,
        /// How.
        value: String,
    },
    /// The receiver cannot be used.
    #[error("the receiver cannot be used ({}); nothing was subscribed", .reason.as_str())]
    Callback {
        /// What is wrong with it.
        reason: Reason,
    },
    /// What happened cannot be read.
    #[error("nothing can be told at the moment")]
    Log {
        /// Why.
        #[source]
        source: LogError,
    },
    /// It could not be kept or recorded.
    #[error("the hub could not keep it: {what}; nothing was done")]
    Unkept {
        /// Why.
        what: String,
    },
}

// === impl Numbers ===

impl Numbers {
    /// The numbers of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "sep" => Some(Self::Sep),
            "draft" => Some(Self::Draft),
            _ => None,
        }
    }

    fn of(self, error: &EventsError) -> i64 {
        let nth = match error {
            EventsError::Invalid { .. } => return codes::INVALID_PARAMS,
            EventsError::Log { .. } | EventsError::Unkept { .. } => return codes::INTERNAL_ERROR,
            EventsError::UnknownEvent | EventsError::UnknownSubscription => 0,
            EventsError::Forbidden { .. } => 1,
            EventsError::Exhausted { .. } => 2,
            EventsError::Unsupported { .. } => 3,
            EventsError::Callback { .. } => 4,
        };
        match self {
            Self::Sep => -32023 - nth,
            Self::Draft => -32011 - nth,
        }
    }
}

// === impl Reason ===

impl Reason {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConnectionRefused => "connection_refused",
            Self::Timeout => "timeout",
            Self::TlsError => "tls_error",
            Self::Http4xx => "http_4xx",
            Self::Http5xx => "http_5xx",
            Self::ChallengeFailed => "challenge_failed",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        [
            Self::ConnectionRefused,
            Self::Timeout,
            Self::TlsError,
            Self::Http4xx,
            Self::Http5xx,
            Self::ChallengeFailed,
        ]
        .into_iter()
        .find(|reason| reason.as_str() == word)
    }
}

// === impl EventsError ===

impl EventsError {
    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::Invalid { what: what.into() }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Invalid { .. } | Self::Unsupported { .. } => {
                "events/list has the parameters of each event type"
            }
            Self::UnknownEvent => "events/list has the event types there are",
            Self::UnknownSubscription => "subscribe first, with the same name, arguments and url",
            Self::Forbidden { .. } => {
                "the owner's rules decide; the owner can look at them with `legation governance explain`"
            }
            Self::Exhausted { .. } => "unsubscribe from what is not needed any more",
            Self::Callback { .. } => {
                "see that the receiver is up, reachable from here, and echoes the challenge; one on a private network must be in `events.webhook_allow`"
            }
            Self::Log { .. } | Self::Unkept { .. } => {
                "try again; `legation status` says what is wrong"
            }
        }
    }

    /// As it is answered.
    #[must_use]
    pub fn to_error(&self, numbers: Numbers) -> ErrorObject {
        let mut data = Object::new();
        match self {
            Self::UnknownEvent => data.set("kind", Raw::str("event")),
            Self::UnknownSubscription => data.set("kind", Raw::str("subscription")),
            Self::Forbidden { reason } => data.set("reason", Raw::str(reason)),
            Self::Exhausted { limit, max } => {
                data.set("limit", Raw::str(limit));
                data.set("max", Raw::int(i64::try_from(*max).unwrap_or(i64::MAX)));
            }
            Self::Unsupported { feature, value } => {
                data.set("feature", Raw::str(feature));
                data.set("value", Raw::str(value));
            }
            Self::Callback { reason } => data.set("reason", Raw::str(reason.as_str())),
            Self::Invalid { .. } | Self::Log { .. } | Self::Unkept { .. } => {}
        }
        data.set("hint", Raw::str(self.hint()));
        ErrorObject::new(numbers.of(self), &self.to_string()).with_data(data.to_raw())
    }
}
