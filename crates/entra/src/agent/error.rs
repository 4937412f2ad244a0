//! Agents that could not be made, removed or found.

use super::Part;
use crate::error::{Class, GraphError, SignInError};

/// An agent that could not be made or removed.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// Looking for a part failed.
    #[error("the {} was not looked for; nothing was changed", part.as_str())]
    Look {
        /// Which part.
        part: Part,
        /// Why.
        #[source]
        source: GraphError,
    },
    /// Making a part failed.
    #[error("the {} was not made; what was made before stays, and the next run goes on from there", part.as_str())]
    Make {
        /// Which part.
        part: Part,
        /// Why.
        #[source]
        source: GraphError,
    },
    /// The blueprint has no token to make its agent with.
    #[error("the {} was not made: the blueprint has no token to make it with", part.as_str())]
    Token {
        /// Which part.
        part: Part,
        /// Why.
        #[source]
        source: SignInError,
    },
    /// Removing a part failed.
    #[error("the {} was not removed; what was removed before is gone", part.as_str())]
    Remove {
        /// Which part.
        part: Part,
        /// Why.
        #[source]
        source: GraphError,
    },
    /// Several things have the name.
    #[error("there are several of the name {name:?} for the {}; nothing was changed", part.as_str())]
    Ambiguous {
        /// Which part.
        part: Part,
        /// The name.
        name: String,
    },
    /// The settings name a part that is not there.
    #[error("the {} {id} of the settings is not in the tenant; nothing was changed", part.as_str())]
    Missing {
        /// Which part.
        part: Part,
        /// Its id.
        id: String,
    },
}

/// The agent could not be looked for in the sign-in logs.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The tenant has no licence for the logs.
    #[error("the tenant's sign-in logs cannot be read: they need Microsoft Entra ID P1 or P2")]
    Licence {
        /// Graph's own words.
        #[source]
        source: GraphError,
    },
    /// The token does not allow it.
    #[error(
        "the tenant's sign-in logs may not be read with this token: it needs AuditLog.Read.All and a role that reads reports"
    )]
    Forbidden {
        /// Graph's own words.
        #[source]
        source: GraphError,
    },
    /// Something else.
    #[error("the tenant's sign-in logs could not be read")]
    Graph {
        /// Why.
        #[source]
        source: GraphError,
    },
    /// There is no agent to look for.
    #[error("there is no agent to look for")]
    NoAgent {
        /// Why.
        #[source]
        source: SignInError,
    },
}

// === impl ProvisionError ===

impl ProvisionError {
    /// Its class.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Look { source, .. } | Self::Make { source, .. } | Self::Remove { source, .. } => {
                source.class()
            }
            Self::Token { source, .. } => source.class(),
            Self::Ambiguous { .. } | Self::Missing { .. } => Class::Local,
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Look { source, .. } | Self::Make { source, .. } | Self::Remove { source, .. } => {
                source.hint()
            }
            Self::Token { source, .. } => source.hint(),
            Self::Ambiguous { part, .. } => format!(
                "name the {} by its id in the settings of the account, or choose another name",
                part.as_str()
            ),
            Self::Missing { .. } => {
                "remove the id from the settings of the account, or write the right one".to_owned()
            }
        }
    }
}

// === impl VerifyError ===

impl VerifyError {
    /// Its class.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Licence { .. } | Self::Forbidden { .. } => Class::Auth,
            Self::Graph { source } => source.class(),
            Self::NoAgent { source } => source.class(),
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Licence { .. } => {
                "the agent's name stands in its tokens all the same: `legation identity whoami`"
                    .to_owned()
            }
            Self::Forbidden { .. } => {
                "sign in as somebody with the role Reports Reader who may grant AuditLog.Read.All"
                    .to_owned()
            }
            Self::Graph { source } => source.hint(),
            Self::NoAgent { source } => source.hint(),
        }
    }
}
