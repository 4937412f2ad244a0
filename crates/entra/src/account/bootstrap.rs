//! Beginning to act: finding the agent, and saying who acts.

use std::sync::Arc;
use std::time::Duration;

use legation_core::{EntityId, OpContext, Wall};
use serde::Deserialize;

use super::source::unshared;
use super::{Account, Acting};
use crate::base::query_value;
use crate::error::{Class, GraphError, Meaning, SignInError};
use crate::token::{Role, Token};

/// What an agent needs to know to act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// The agent's identity; `None` where the application itself acts.
    pub agent_id: Option<String>,
    /// Who acts.
    pub acting: Acting,
    /// What the token allows.
    pub scopes: Vec<String>,
    /// For how long it is good. It is renewed by itself.
    pub expires_in: Duration,
    /// Why the agent does not act itself, where it was wanted to.
    pub instead_because: Option<String>,
}

/// Who acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhoAmI {
    /// The account.
    pub account: String,
    /// Whose data it reads.
    pub entity: EntityId,
    /// The tenant.
    pub tenant: String,
    /// The agent's identity; `None` where the application itself acts.
    pub agent_id: Option<String>,
    /// The agent's blueprint.
    pub blueprint: Option<String>,
    /// Who acts.
    pub acting: Acting,
    /// The user that Graph sees.
    pub user_id: Option<String>,
    /// That user's name.
    pub user_name: Option<String>,
    /// The person who answers for the agent: on behalf of whom it acts, or
    /// whom the settings name.
    pub sponsor: Option<String>,
    /// What the token allows.
    pub scopes: Vec<String>,
    /// Until when, by our clock.
    pub expires: Wall,
}

#[derive(Deserialize)]
struct Agents {
    value: Vec<Agent>,
}

#[derive(Deserialize)]
struct Agent {
    id: String,
}

// === impl Account ===

impl Account {
    /// Gets a token to act with. An agent's identity is found, never made; in
    /// a tenant without agents the application acts, which the answer says.
    ///
    /// # Errors
    /// See [`SignInError`].
    pub async fn bootstrap(&self, ctx: &OpContext) -> Result<Bootstrap, SignInError> {
        let settings = self.settings();
        let wanted = settings.acting();
        if wanted == Acting::ApplicationForHuman {
            return self.act(ctx, wanted, None, None).await;
        }
        let agent = match &settings.agent_id {
            Some(agent) => Ok(agent.clone()),
            None => self.find_agent(ctx).await,
        };
        let acted = match agent {
            Ok(agent) => self.act(ctx, wanted, Some(agent), None).await,
            Err(error) => Err(error),
        };
        match acted {
            Err(error) if settings.api_client_id.is_some() && has_no_agents(&error) => {
                let why = error.to_string();
                let instead = Acting::ApplicationForHuman;
                self.act(ctx, instead, None, Some(why)).await
            }
            other => other,
        }
    }

    async fn act(
        &self,
        ctx: &OpContext,
        acting: Acting,
        agent_id: Option<Box<str>>,
        instead_because: Option<String>,
    ) -> Result<Bootstrap, SignInError> {
        self.find(|found| {
            found.acting = acting;
            found.agent_id.clone_from(&agent_id);
        });
        let token = self.token(ctx, &self.graph_key()).await.map_err(unshared)?;
        self.keep_identity(&token).await?;
        Ok(Bootstrap {
            agent_id: agent_id.map(Into::into),
            acting,
            scopes: token.scopes(),
            expires_in: token.left(self.http().clock().now()),
            instead_because,
        })
    }

    /// The blueprint's only agent.
    async fn find_agent(&self, ctx: &OpContext) -> Result<Box<str>, SignInError> {
        let none = |why: String| SignInError::AgentIdNotAvailable {
            account: self.name().into(),
            why,
        };
        let blueprint = self.found().blueprint_id.unwrap_or_default();
        let filter = format!("agentIdentityBlueprintId eq '{blueprint}'");
        let path = format!(
            "/servicePrincipals/microsoft.graph.agentIdentity?$select=id&$top=2&$filter={}",
            query_value(&filter)
        );
        let found = self
            .graph_as(Role::Blueprint)
            .get::<Agents>(ctx, &path)
            .await;
        let agents = match found {
            Ok(found) => found.value,
            Err(GraphError::Token { source, .. }) => return Err(unshared(source)),
            Err(error) => return Err(none(error.to_string())),
        };
        match &agents[..] {
            [] => Err(none("the blueprint has none".to_owned())),
            [only] => Ok(only.id.as_str().into()),
            _ => Err(none(
                "the blueprint has several: name one as `agent_id`".to_owned(),
            )),
        }
    }

    /// Says who acts, with a token that is good now.
    ///
    /// # Errors
    /// See [`SignInError`].
    pub async fn whoami(&self, ctx: &OpContext) -> Result<WhoAmI, SignInError> {
        let token = self.token(ctx, &self.graph_key()).await.map_err(unshared)?;
        Ok(self.describe(&token))
    }

    /// Renews the token before its time.
    ///
    /// # Errors
    /// See [`SignInError`].
    pub async fn refresh(&self, ctx: &OpContext) -> Result<WhoAmI, SignInError> {
        let key = self.graph_key();
        let token = match self.inner.tokens.peek(&key) {
            Some(token) => self.replace_token(ctx, &key, &token, None).await,
            None => self.token(ctx, &key).await,
        };
        token.map(|token| self.describe(&token)).map_err(unshared)
    }

    /// What is known without asking anybody: `None` while there is no token.
    #[must_use]
    pub fn known(&self) -> Option<WhoAmI> {
        let token = self.inner.tokens.peek(&self.graph_key())?;
        Some(self.describe(&token))
    }

    fn describe(&self, token: &Arc<Token>) -> WhoAmI {
        let settings = self.settings();
        let found = self.found();
        let claims = token.claims();
        let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        let acts_itself = found.acting != Acting::ApplicationForHuman;
        let tenant = claims.tid.clone();
        WhoAmI {
            account: self.name().to_owned(),
            entity: self.entity().clone(),
            tenant: tenant.unwrap_or_else(|| settings.tenant_id.to_string()),
            agent_id: text(&found.agent_id),
            blueprint: text(&found.blueprint_id).filter(|_| acts_itself),
            acting: found.acting,
            user_id: claims.oid.clone(),
            user_name: claims.name.clone().or_else(|| claims.upn.clone()),
            sponsor: text(&self.identity().sponsor.or_else(|| settings.human.clone())),
            scopes: token.scopes(),
            expires: token.expires(),
        }
    }
}

/// Whether the tenant cannot have agents at all: another answer than that it
/// does not have this one.
fn has_no_agents(error: &SignInError) -> bool {
    error.class() == Class::AgentIdNotAvailable
        && error.refusal().is_some_and(|refusal| {
            matches!(
                refusal.meaning(),
                Meaning::UnknownGrant | Meaning::NotForAgents | Meaning::UnknownResource
            )
        })
}
