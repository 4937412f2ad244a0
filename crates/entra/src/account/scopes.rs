//! What is asked for: the least that does what the tools do.

use std::fmt::Write as _;
use std::sync::Arc;

use super::{Account, Acting};
use crate::oauth::EXCHANGE_SCOPE;
use crate::token::{Role, TokenKey};

/// What acting in Teams takes: make the chat, read and write in it, show
/// presence. Reading the address book is not among it.
pub const AGENT_SCOPES: [&str; 3] = ["Chat.Create", "Chat.ReadWrite", "Presence.ReadWrite"];

/// What making, removing and verifying agents takes.
pub const ADMIN_SCOPES: [&str; 9] = [
    "AgentIdUser.ReadWrite.All",
    "AgentIdentity.ReadWrite.All",
    "AgentIdentityBlueprint.Create",
    "AgentIdentityBlueprint.ReadWrite.All",
    "AgentIdentityBlueprintPrincipal.Create",
    "Application.Read.All",
    "AuditLog.Read.All",
    "DelegatedPermissionGrant.ReadWrite.All",
    "User.Read.All",
];

/// A person stays signed in, and is known by name.
const OPENID: &str = "offline_access openid profile";

// === impl Account ===

impl Account {
    /// The token of a role, with the scopes the role has.
    pub(crate) fn key_of(&self, role: Role) -> TokenKey {
        TokenKey::new(role, self.scope_of(role))
    }

    /// Everything a role is asked for, in one text.
    pub(super) fn scope_of(&self, role: Role) -> Arc<str> {
        let graph = self.graph_resource();
        match role {
            Role::Human => format!("{} {OPENID}", self.human_scope()).into(),
            Role::Administrator => qualified(graph, &ADMIN_SCOPES, OPENID),
            Role::OnBehalf | Role::AgentOnBehalf => {
                qualified(graph, &AGENT_SCOPES, "offline_access")
            }
            Role::AgentUser => qualified(graph, &AGENT_SCOPES, ""),
            Role::Agent | Role::Blueprint => format!("{graph}/.default").into(),
            Role::AgentApplication | Role::AgentExchange => EXCHANGE_SCOPE.into(),
        }
    }

    /// The scope of our own application: a token for Graph could not be
    /// exchanged.
    fn human_scope(&self) -> String {
        let settings = &self.inner.settings;
        if let Some(scope) = &settings.api_scope {
            return scope.to_string();
        }
        match (self.acting(), &settings.blueprint_id) {
            (Acting::AgentForHuman, Some(blueprint)) => format!("api://{blueprint}/access_agent"),
            _ => {
                let api = settings.middle_tier().unwrap_or_default();
                format!("api://{api}/access_as_user")
            }
        }
    }
}

fn qualified(graph: &str, scopes: &[&str], more: &str) -> Arc<str> {
    let mut text = String::new();
    for scope in scopes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{graph}/{scope} ");
    }
    text.push_str(more);
    text.trim_end().into()
}
