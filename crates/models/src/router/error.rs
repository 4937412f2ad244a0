//! A request that no model answered.

use legation_gate::model::LedgerError;
use legation_policy::provider::{ChoiceSource, Exclusion, ProviderBlocked};

use crate::error::ModelError;
use crate::keys::KeyError;
use crate::spend::Limited;

/// A request that no model answered.
#[derive(Debug, thiserror::Error)]
pub enum RouteError {
    /// No provider may have it, or nobody wants one that may.
    #[error("no model gets it")]
    Blocked {
        /// Why.
        #[source]
        source: ProviderBlocked,
    },
    /// The provider that was named may not have it.
    #[error("{provider} does not get it: {}", joined(.why))]
    Excluded {
        /// Which.
        provider: String,
        /// Why.
        why: Vec<Exclusion>,
    },
    /// It holds data of an entity that is bound to another provider than the one that was named.
    #[error("{provider} does not get it: whose data it holds is bound to {to}")]
    Bound {
        /// Which was named.
        provider: String,
        /// Where it must go.
        to: String,
    },
    /// It holds data that must be redacted first.
    #[error("no model gets it: it holds data that was not redacted")]
    NotRedacted,
    /// The rules cannot be read.
    #[error("no model gets it: llm_provider.json cannot be used")]
    Rules,
    /// Nobody who may have it answered.
    #[error("no model answered: {}", listed(.tried))]
    Unanswered {
        /// Who was asked, in this order.
        tried: Vec<Tried>,
    },
    /// It broke off after words of it had been seen.
    #[error("the answer of {provider} broke off")]
    BrokeOff {
        /// Whose answer.
        provider: String,
        /// Why.
        #[source]
        source: ModelError,
    },
    /// Its provider lost the right to it while it answered.
    #[error("the answer of {provider} was stopped")]
    Stopped {
        /// Whose answer.
        provider: String,
        /// Why.
        #[source]
        source: ProviderBlocked,
    },
}

/// A provider that was asked, or would have been, and did not answer.
#[derive(Debug)]
pub struct Tried {
    /// Which.
    pub provider: String,
    /// Whose wish it was.
    pub source: ChoiceSource,
    /// Why not.
    pub failure: Failure,
}

/// Why a provider did not answer.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It has no key.
    #[error(transparent)]
    Key(KeyError),
    /// It failed.
    #[error(transparent)]
    Model(ModelError),
    /// Nobody says which model, and it has not just one.
    #[error("no model is named for it; nothing was sent")]
    NoModel,
    /// Its model cannot call tools, and the request has some.
    #[error("its model cannot call tools; nothing was sent")]
    NoTools,
    /// It has had enough.
    #[error(transparent)]
    Limited(Limited),
    /// The rules changed while it was made ready.
    #[error("the rules changed meanwhile; nothing was sent")]
    Moved,
    /// The request could not be recorded.
    #[error("the request could not be recorded; nothing was sent")]
    NotRecorded(#[source] LedgerError),
    /// It is in the rules no more.
    #[error("it is not in llm_provider.json; nothing was sent")]
    Gone,
}

// === impl RouteError ===

impl RouteError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Blocked { source } | Self::Stopped { source, .. } => {
                source.next_safe_step.clone()
            }
            Self::Excluded { .. } | Self::Bound { .. } => {
                "`legation models explain` says who may have what, and llm_provider.json says why"
                    .to_owned()
            }
            Self::NotRedacted => "this is a mistake of this program: report it".to_owned(),
            Self::Rules => "`legation governance check` says what is wrong".to_owned(),
            Self::Unanswered { tried } => tried
                .last()
                .map_or_else(String::new, |tried| tried.failure.hint()),
            Self::BrokeOff { source, .. } => source.hint().to_owned(),
        }
    }
}

fn joined(why: &[Exclusion]) -> String {
    let each = why.iter().map(ToString::to_string);
    each.collect::<Vec<_>>().join("; ")
}

fn listed(tried: &[Tried]) -> String {
    let each = tried
        .iter()
        .map(|tried| format!("{} ({})", tried.provider, tried.failure));
    each.collect::<Vec<_>>().join(", ")
}

// === impl Failure ===

impl Failure {
    /// The word a program reads.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Key(_) => "credential",
            Self::Model(error) => error.class().as_str(),
            Self::NoModel | Self::Gone => "not_found",
            Self::NoTools => "request",
            Self::Limited(_) => "budget",
            Self::Moved | Self::NotRecorded(_) => "refused",
        }
    }

    /// Whether another provider may do better.
    pub(crate) fn may_fall_back(&self) -> bool {
        match self {
            Self::Model(ModelError::Unsayable { .. }) => true,
            Self::Model(error) => error.class().may_fall_back(),
            Self::Key(_) | Self::NoModel | Self::NoTools | Self::Limited(_) | Self::Gone => true,
            // Another provider would stand before the same rules and the same disk.
            Self::Moved | Self::NotRecorded(_) => false,
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Key(error) => error.hint(),
            Self::Model(error) => error.hint().to_owned(),
            Self::NoModel => "name its model with `default_model` in llm_provider.json".to_owned(),
            Self::NoTools => "choose a model that can call tools".to_owned(),
            Self::Limited(limited) => limited.hint().to_owned(),
            Self::Moved => "ask again".to_owned(),
            Self::NotRecorded(_) => {
                "see that the disk of the data directory has room and can be written".to_owned()
            }
            Self::Gone => "ask again".to_owned(),
        }
    }
}
