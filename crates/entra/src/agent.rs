//! Agents of their own: making, finding and removing blueprint, agent identity
//! and agent user, and finding the agent's own name in the sign-in logs.
//!
//! Everything is looked for before it is made, by id where one is configured
//! and by name otherwise; so a run that stopped half way goes on where it
//! stopped, and one more changes nothing.

mod deprovision;
mod error;
mod lookup;
mod patience;
mod provision;
mod verify;
mod wire;

pub use deprovision::Removed;
pub use error::{ProvisionError, VerifyError};
pub use verify::{SignInRecord, Verified};

use crate::account::Account;
use crate::graph::Graph;
use crate::token::Role;

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The name people see: of the blueprint, the agent and its user.
    pub display_name: String,
    /// The sign-in name of the agent's user, in a domain of the tenant.
    pub user_name: String,
    /// The person who answers for the agent, by id.
    pub sponsor: String,
    /// What the agent may do as its user; see
    /// [`crate::account::AGENT_SCOPES`].
    pub scopes: Vec<String>,
}

/// One thing that is to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The blueprint.
    Blueprint,
    /// The blueprint in this tenant.
    BlueprintPrincipal,
    /// What the blueprint proves itself by.
    Credential,
    /// The scope people sign in for, for an agent to act on their behalf.
    Scope,
    /// The agent.
    AgentIdentity,
    /// The agent's own user.
    AgentUser,
    /// What the agent may do as its user.
    Grant,
}

/// What is there and what is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// What.
    pub part: Part,
    /// In words.
    pub what: String,
    /// Its id, where it is there.
    pub there: Option<String>,
}

/// What there is in the end; the settings of the account take it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provisioned {
    /// `blueprint_id`.
    pub blueprint_id: String,
    /// `agent_id`.
    pub agent_id: String,
    /// `agent_user`.
    pub agent_user: String,
    /// What was made in this run.
    pub made: Vec<Part>,
}

/// Makes and removes the agent of an account, with an administrator's token:
/// see [`Account::begin`] with [`Role::Administrator`].
#[derive(Clone, Debug)]
pub struct Provisioner {
    account: Account,
    admin: Graph,
    wanted: Wanted,
}

// === impl Part ===

impl Part {
    /// Every part, in the order they are made.
    pub const ALL: [Self; 7] = [
        Self::Blueprint,
        Self::BlueprintPrincipal,
        Self::Credential,
        Self::Scope,
        Self::AgentIdentity,
        Self::AgentUser,
        Self::Grant,
    ];

    /// What people call it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blueprint => "blueprint",
            Self::BlueprintPrincipal => "blueprint principal",
            Self::Credential => "credential of the blueprint",
            Self::Scope => "scope of the blueprint",
            Self::AgentIdentity => "agent identity",
            Self::AgentUser => "agent user",
            Self::Grant => "grant",
        }
    }
}

// === impl Provisioner ===

impl Provisioner {
    /// For this account.
    #[must_use]
    pub fn new(account: &Account, wanted: Wanted) -> Self {
        Self {
            account: account.clone(),
            admin: account.graph_as(Role::Administrator),
            wanted,
        }
    }
}

#[cfg(test)]
mod tests;
