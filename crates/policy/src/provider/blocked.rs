//! Why no provider gets a request.

use std::fmt;

use super::ProviderDecision;
use super::clearance::Demand;
use crate::registry::ReasonCode;

/// No provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderBlocked {
    /// The code for programs.
    pub reason_code: ReasonCode,
    /// Why. Names no entity.
    pub reason: String,
    /// What to do next.
    pub next_safe_step: String,
}

// === impl ProviderBlocked ===

impl ProviderBlocked {
    pub(super) fn nothing() -> Self {
        Self::unavailable(
            "no provider may have this".to_owned(),
            "Ask again, or ask the owner to look at llm_provider.json.",
        )
    }

    pub(super) fn unavailable(reason: String, step: &str) -> Self {
        Self {
            reason_code: ReasonCode::LlmProviderUnavailable,
            reason,
            next_safe_step: step.to_owned(),
        }
    }

    pub(super) fn unknown_entity() -> Self {
        Self {
            reason_code: ReasonCode::UnknownEntity,
            reason: "the data is of an entity that operator_profile.json does not have".to_owned(),
            next_safe_step: "The owner must add the entity or correct its name.".to_owned(),
        }
    }

    pub(super) fn unknown_provider(name: &str) -> Self {
        Self {
            reason_code: ReasonCode::UnknownProvider,
            reason: format!(
                "provider {name:?} is preferred, and llm_provider.json does not say what it is"
            ),
            next_safe_step: "The owner must correct the name in llm_provider.json, or give the \
                             provider a `kind`."
                .to_owned(),
        }
    }

    pub(super) fn no_copilot_token() -> Self {
        Self {
            reason_code: ReasonCode::CopilotTokenMissing,
            reason: "Copilot is the chosen provider, and no Copilot user's token came with this \
                     request"
                .to_owned(),
            next_safe_step: "Ask through Copilot, or have the owner choose another provider."
                .to_owned(),
        }
    }

    /// Providers there may be, but none of them is both preferred and in.
    pub(super) fn nobody(demand: &Demand<'_>, decision: &ProviderDecision) -> Self {
        let left: Vec<&str> = decision
            .considered
            .iter()
            .filter(|one| one.is_in())
            .map(|one| one.provider.as_str())
            .collect();
        let what = if demand.needs_clearance {
            "this data may go to a provider that is cleared for health information only, and "
        } else {
            ""
        };
        if left.is_empty() {
            let step = if demand.needs_clearance {
                "The owner must enable a provider with `hipaa_cleared`, an endpoint and an \
                 agreement in force in llm_provider.json; `legation governance hipaa` lists what \
                 is missing."
            } else {
                "The owner must enable a provider with an endpoint in llm_provider.json."
            };
            return Self::unavailable(format!("{what}no provider that may have it is left"), step);
        }
        Self::unavailable(
            format!("{what}no provider that is preferred may have it"),
            &format!(
                "The owner can prefer one that may, in llm_provider.json: {}.",
                left.join(", ")
            ),
        )
    }
}

impl fmt::Display for ProviderBlocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason_code, self.reason)
    }
}

impl std::error::Error for ProviderBlocked {}
