//! The agent's own name in the tenant's sign-in logs.

use http::Method;
use legation_core::{OpContext, Wall};

use super::wire::{WireList, WireSignIn};
use super::{ProvisionError, Provisioner, VerifyError};
use crate::account::Account;
use crate::base::query_value;
use crate::error::{GraphError, GraphMeaning};
use crate::graph::GraphCall;
use crate::token::Role;

/// What the logs say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Sign-ins in which the agent is named as an agent.
    pub as_agent: Vec<SignInRecord>,
    /// Sign-ins of the same application in which it is not.
    pub otherwise: usize,
}

/// One line of the logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInRecord {
    /// When.
    pub at: Option<Wall>,
    /// What acted: `agenticAppInstance`, …
    pub agent_type: String,
    /// As whom: `agentIDuser` for the agent's own user.
    pub subject_type: Option<String>,
    /// The blueprint.
    pub blueprint: Option<String>,
    /// For which service.
    pub resource: Option<String>,
    /// Whether it succeeded.
    pub succeeded: bool,
}

/// A kind that came later than the API's first version is named only to those
/// who say that they can bear it.
const UNKNOWN_MEMBERS: &str = "include-unknown-enum-members";

// === impl Account ===

impl Account {
    /// Looks for the agent in the sign-in logs, with an administrator's token.
    /// A sign-in takes some minutes until it is there.
    ///
    /// # Errors
    /// See [`VerifyError`]; among them that the tenant has no licence for the
    /// logs.
    pub async fn verify(&self, ctx: &OpContext) -> Result<Verified, VerifyError> {
        let agent = self
            .agent_id()
            .map_err(|source| VerifyError::NoAgent { source })?;
        let filter = format!(
            "appId eq '{agent}' and signInEventTypes/any(t: t eq 'nonInteractiveUser' or t eq 'servicePrincipal')"
        );
        let path = format!(
            "/auditLogs/signIns?$top=50&$filter={}",
            query_value(&filter)
        );
        let mut call = GraphCall::new(Method::GET, &path);
        call.version = "beta";
        call.prefer = vec![UNKNOWN_MEMBERS];
        let answer = self.graph_as(Role::Administrator).call(ctx, &call).await;
        let list: WireList<WireSignIn> = answer.and_then(|answer| answer.json()).map_err(why)?;
        let mut verified = Verified::default();
        for line in list.value.into_iter().filter(|line| line.is_of(&agent)) {
            match SignInRecord::from_wire(line) {
                Some(record) => verified.as_agent.push(record),
                None => verified.otherwise += 1,
            }
        }
        Ok(verified)
    }
}

/// Graph refuses without a licence as it refuses everything else; only its
/// words tell.
fn why(source: GraphError) -> VerifyError {
    let words = source.refusal().map(|refusal| {
        let text = format!("{} {}", refusal.code, refusal.message);
        text.to_ascii_lowercase()
    });
    let is_licence = words.is_some_and(|text| {
        text.contains("premium") || text.contains("license") || text.contains("licence")
    });
    match source.meaning() {
        _ if is_licence => VerifyError::Licence { source },
        Some(GraphMeaning::Forbidden) => VerifyError::Forbidden { source },
        _ => VerifyError::Graph { source },
    }
}

// === impl WireSignIn ===

impl WireSignIn {
    fn is_of(&self, agent: &str) -> bool {
        let named = [&self.app_id, &self.service_principal_id];
        named
            .into_iter()
            .flatten()
            .any(|id| id.eq_ignore_ascii_case(agent))
    }
}

// === impl SignInRecord ===

impl SignInRecord {
    fn from_wire(wire: WireSignIn) -> Option<Self> {
        let agent = wire.agent?;
        let agent_type = agent.agent_type?;
        if agent_type.eq_ignore_ascii_case("notAgentic") {
            return None;
        }
        Some(Self {
            at: wire.created_date_time.as_deref().and_then(Wall::parse),
            agent_type,
            subject_type: agent.agent_subject_type,
            blueprint: agent.parent_app_id,
            resource: wire.resource_display_name,
            succeeded: wire.status.and_then(|status| status.error_code) == Some(0),
        })
    }
}

// === impl Provisioner ===

impl Provisioner {
    /// The account's own agent after provisioning: what [`Account::verify`]
    /// looks for.
    ///
    /// # Errors
    /// See [`ProvisionError`].
    pub async fn adopt(&self, ctx: &OpContext) -> Result<(), ProvisionError> {
        let there = self.there(ctx).await?;
        if let (Some(blueprint), Some(agent)) = (&there.blueprint, &there.agent) {
            self.account.found_blueprint(&blueprint.app_id);
            self.account.found_agent(agent);
        }
        Ok(())
    }
}
