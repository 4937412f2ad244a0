//! A token that could not be had.

use std::sync::Arc;
use std::time::Duration;

use legation_core::CancelReason;
use legation_keystore::SecretsError;

use super::{Class, Refusal, Step};
use crate::broker::BrokerError;
use crate::http::HttpError;

/// A token that could not be had. It can be shared by all who waited for it.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The authority refused.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// Nobody entered the code in time.
    #[error("nobody entered the code within {} s; nobody was signed in", after.as_secs())]
    DeviceCodeTimeout {
        /// How long it was waited for.
        after: Duration,
    },
    /// Nobody has signed in, or the sign-in was forgotten.
    #[error("nobody is signed in to the account `{account}` as {who}")]
    NotSignedIn {
        /// The account.
        account: Box<str>,
        /// Which of its identities.
        who: &'static str,
    },
    /// The account has no agent identity, or the tenant does not know it.
    #[error("there is no agent identity for the account `{account}`: {why}")]
    AgentIdNotAvailable {
        /// The account.
        account: Box<str>,
        /// What is missing.
        why: String,
    },
    /// The authority wants fewer requests.
    #[error("{} must wait: the authority takes no request for {} s", step.as_str(), retry_after.as_secs().max(1))]
    RateLimited {
        /// What was being done.
        step: Step,
        /// How long to wait.
        retry_after: Duration,
    },
    /// No answer.
    #[error("{} failed", step.as_str())]
    Unreachable {
        /// What was being done.
        step: Step,
        /// Why.
        #[source]
        source: HttpError,
    },
    /// An answer that is neither a token nor a refusal.
    #[error("{} brought an answer that cannot be read: {what}", step.as_str())]
    BadAnswer {
        /// What was being done.
        step: Step,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The application could not prove itself.
    #[error("the application could not prove itself; no token was asked for")]
    Broker {
        /// Why.
        #[source]
        source: BrokerError,
    },
    /// The account's settings lack something.
    #[error("the account `{account}` has no `{key}`; no token was asked for")]
    NotConfigured {
        /// The account.
        account: Box<str>,
        /// The key.
        key: &'static str,
    },
    /// The tokens cannot be read or kept.
    #[error("the tokens cannot be read or kept")]
    Store {
        /// Why.
        #[source]
        source: SecretsError,
    },
    /// A way to sign in that this platform does not have.
    #[error("{name} is not on this platform")]
    NotOnThisPlatform {
        /// What people call it.
        name: &'static str,
    },
    /// It was called off.
    #[error("{}; nobody was signed in", reason.as_str())]
    Cancelled {
        /// Why.
        reason: CancelReason,
    },
    /// A failure that others who waited for the same token have too.
    #[error(transparent)]
    Shared(Arc<Self>),
}

// === impl SignInError ===

impl SignInError {
    pub(crate) fn refused(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }

    /// A failed request, as the failure of a step.
    pub(crate) fn http(step: Step, error: HttpError) -> Self {
        match error {
            HttpError::Cancelled { reason } => Self::Cancelled { reason },
            HttpError::Throttled { retry_after } => Self::RateLimited { step, retry_after },
            source => Self::Unreachable { step, source },
        }
    }

    /// The refusal, if the authority did refuse.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Shared(error) => error.refusal(),
            _ => None,
        }
    }

    /// Whether a person must sign in before it can work.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        use super::Meaning as M;
        match self {
            Self::NotSignedIn { .. } => true,
            Self::Shared(error) => error.needs_person(),
            Self::Refused(refusal) => matches!(
                refusal.meaning(),
                M::Revoked
                    | M::Inactive
                    | M::TooOld
                    | M::ExpiredAssertion
                    | M::BadAssertion
                    | M::SecondFactor
                    | M::EnrolSecondFactor
            ),
            _ => false,
        }
    }

    /// Its class.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Refused(refusal) => refusal.class(),
            Self::DeviceCodeTimeout { .. } => Class::DeviceCodeTimeout,
            Self::NotSignedIn { .. } => Class::TokenExpired,
            Self::AgentIdNotAvailable { .. } => Class::AgentIdNotAvailable,
            Self::RateLimited { .. } => Class::RateLimit,
            Self::Unreachable { .. } | Self::BadAnswer { .. } => Class::Unreachable,
            Self::Broker { .. } | Self::NotConfigured { .. } | Self::Store { .. } => Class::Local,
            Self::NotOnThisPlatform { .. } => Class::Auth,
            Self::Cancelled { .. } => Class::Cancelled,
            Self::Shared(error) => error.class(),
        }
    }

    /// How long to wait before it is tried again, where that is known.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } => Some(*retry_after),
            Self::Shared(error) => error.retry_after(),
            _ => None,
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.hint(),
            Self::DeviceCodeTimeout { .. } => {
                "start the sign-in again and enter the code in time".to_owned()
            }
            Self::NotSignedIn { account, .. } => {
                format!("sign in: `legation identity bootstrap --account {account}`")
            }
            Self::AgentIdNotAvailable { account, .. } => {
                format!("make one: `legation identity provision --account {account}`")
            }
            Self::RateLimited { retry_after, .. } => {
                format!("try again in {} s", retry_after.as_secs().max(1))
            }
            Self::Unreachable { source, .. } => source.hint().to_owned(),
            Self::BadAnswer { .. } => {
                "see that `authority` of the account is an Entra ID sign-in host".to_owned()
            }
            Self::Broker { source } => source.hint().to_owned(),
            Self::NotConfigured { account, key } => {
                format!("write `{key}` in [accounts.{account}] of legation.toml")
            }
            Self::Store { source } => source.hint().to_owned(),
            Self::NotOnThisPlatform { .. } => "sign in with a code".to_owned(),
            Self::Cancelled { .. } => "start again when it is wanted".to_owned(),
            Self::Shared(error) => error.hint(),
        }
    }
}
