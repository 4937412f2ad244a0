//! `role_cards.json`: which operations a role may perform, and who has it.

use std::collections::BTreeMap;

use legation_core::{ClientId, EntityId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::name::EntitySet;
use super::pattern::{NamePattern, ToolPattern};

/// The roles, and the clients that have them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleCards {
    /// Where an editor finds the schema of this file.
    #[serde(default, rename = "$schema")]
    pub schema: Option<String>,
    /// The roles, by name.
    pub roles: BTreeMap<String, RoleCard>,
    /// The role of a client, by the client's name, `*` and `?` allowed. A
    /// client that is not named has no role and may do nothing.
    pub clients: BTreeMap<NamePattern, String>,
}

/// What one role may do.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleCard {
    /// The tools it may call, and the servers whose resources and prompts it
    /// may read; what is not listed it may not do.
    pub operations: Vec<ToolPattern>,
    /// For which entities; all of them when this is not said.
    #[serde(default)]
    pub entities: Option<EntitySet>,
}

// === impl RoleCards ===

impl RoleCards {
    /// The role of a client: a literal name beats a pattern, and of patterns
    /// the one that says more of the name wins.
    pub fn role_of(&self, client: &ClientId) -> Option<(&str, &RoleCard)> {
        let (_, role) = self
            .clients
            .iter()
            .filter(|(pattern, _)| pattern.matches(client.family()))
            .max_by_key(|(pattern, _)| pattern.weight())?;
        self.roles
            .get_key_value(role)
            .map(|(name, card)| (name.as_str(), card))
    }
}

// === impl RoleCard ===

impl RoleCard {
    /// Whether it may do something on a tool, by its `server/tool` name.
    pub fn may(&self, tool: &str) -> bool {
        self.operations.iter().any(|pattern| pattern.matches(tool))
    }

    /// Whether it may do it for this entity.
    pub fn serves(&self, entity: &EntityId) -> bool {
        self.entities
            .as_ref()
            .is_none_or(|set| set.contains(entity))
    }
}
