//! A request that no model answered, or whose answer broke off.

use legation_core::error::chain;
use legation_gate::redaction::RedactionError;
use legation_gate::stage::NotAuthentic;
use legation_policy::registry::{EventName, ReasonCode};

use crate::error::{ModelClass, ModelError};
use crate::router::{Failure, RouteError};

/// A request that no model answered, or whose answer broke off.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The hub ends.
    #[error("the hub is closing; nothing was sent")]
    Closing,
    /// Who asks has no valid credential any more.
    #[error(transparent)]
    NotAuthentic(#[from] NotAuthentic),
    /// It must not leave as it is.
    #[error("no model gets it, because {}; nothing was sent", .0.reason())]
    NotRedacted(RedactionError),
    /// Nobody may have it, or nobody answered.
    #[error(transparent)]
    Route(#[from] RouteError),
}

// === impl AskError ===

impl AskError {
    /// Whether the rules changed while the request was on its way to a provider: it is decided about anew.
    pub(crate) fn is_moved(&self) -> bool {
        let Self::Route(RouteError::Unanswered { tried }) = self else {
            return false;
        };
        let last = tried.last();
        last.is_some_and(|last| matches!(last.failure, Failure::Moved))
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Closing => "ask again when the hub runs".to_owned(),
            Self::NotAuthentic(error) => error.hint(),
            Self::NotRedacted(_) => {
                "`legation governance check` says what is wrong with a roster".to_owned()
            }
            Self::Route(error) => error.hint(),
        }
    }

    /// What the last provider's failure means; `None` where a rule refused.
    #[must_use]
    pub fn class(&self) -> Option<ModelClass> {
        self.model_error().map(ModelError::class)
    }

    /// How long the last provider wants to be left alone, where it said so.
    #[must_use]
    pub fn retry_after(&self) -> Option<std::time::Duration> {
        match self.model_error()? {
            ModelError::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether rules are against it, so that asking again changes nothing.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        match self {
            Self::Closing => false,
            Self::NotAuthentic(_) | Self::NotRedacted(_) => true,
            Self::Route(error) => match error {
                RouteError::Blocked { .. }
                | RouteError::Excluded { .. }
                | RouteError::Bound { .. }
                | RouteError::NotRedacted
                | RouteError::Rules
                | RouteError::Stopped { .. } => true,
                RouteError::Unanswered { .. } | RouteError::BrokeOff { .. } => false,
            },
        }
    }

    /// Whether somebody was not asked because their model cannot call tools.
    #[must_use]
    pub fn lacks_calls(&self) -> bool {
        match self {
            Self::Route(RouteError::Unanswered { tried }) => tried
                .iter()
                .any(|tried| matches!(tried.failure, Failure::NoTools)),
            _ => false,
        }
    }

    /// The reason as a word that programs compare.
    #[must_use]
    pub fn reason_code(&self) -> &'static str {
        self.code().as_str()
    }

    /// Whether it was refused only because no provider that could have it is on.
    #[must_use]
    pub fn is_nobody_on(&self) -> bool {
        self.is_refused() && self.code() == ReasonCode::LlmProviderUnavailable
    }

    fn code(&self) -> ReasonCode {
        match self {
            Self::NotAuthentic(_) => ReasonCode::MissingOrInvalidAuth,
            Self::NotRedacted(error) => error.code(),
            Self::Route(RouteError::NotRedacted) => ReasonCode::UnredactedPhi,
            Self::Route(RouteError::Blocked { source } | RouteError::Stopped { source, .. }) => {
                source.reason_code
            }
            Self::Closing | Self::Route(_) => ReasonCode::LlmProviderUnavailable,
        }
    }

    fn model_error(&self) -> Option<&ModelError> {
        match self {
            Self::Route(RouteError::BrokeOff { source, .. }) => Some(source),
            Self::Route(RouteError::Unanswered { tried }) => match &tried.last()?.failure {
                Failure::Model(error) => Some(error),
                _ => None,
            },
            _ => None,
        }
    }

    /// The provider it is about, where it is about one.
    pub(super) fn provider(&self) -> Option<&str> {
        match self {
            Self::Route(
                RouteError::Excluded { provider, .. }
                | RouteError::Bound { provider, .. }
                | RouteError::BrokeOff { provider, .. }
                | RouteError::Stopped { provider, .. },
            ) => Some(provider),
            Self::Route(RouteError::Unanswered { tried }) => {
                tried.first().map(|tried| tried.provider.as_str())
            }
            _ => None,
        }
    }

    /// What the record says of it. It names no entity, and nothing of what was
    /// asked or answered.
    pub(super) fn record(&self) -> (EventName, ReasonCode, String) {
        let event = match (self, self.code()) {
            (Self::Route(RouteError::Unanswered { .. }), _) => EventName::LlmProviderUnavailable,
            (_, ReasonCode::CopilotTokenMissing) => EventName::CopilotTokenMissing,
            (_, ReasonCode::UnknownProvider) => EventName::UnknownProvider,
            _ => EventName::LlmProviderBlocked,
        };
        let reason = match self {
            Self::Route(RouteError::Blocked { source }) => source.reason.clone(),
            Self::Route(RouteError::Excluded { .. } | RouteError::Bound { .. }) => {
                "the provider that was named may not have it".to_owned()
            }
            Self::Route(RouteError::Unanswered { tried }) => {
                let each = tried
                    .iter()
                    .map(|tried| format!("{} ({})", tried.provider, tried.failure.as_str()));
                each.collect::<Vec<_>>().join(", ")
            }
            _ => chain(self).to_string(),
        };
        (event, self.code(), reason)
    }
}
