//! Making what is missing, in order.

use legation_core::{OpContext, Secret, Wall};
use serde_json::{Value, json};

use super::lookup::BLUEPRINT_SCOPE;
use super::patience::patiently;
use super::wire::{WireApp, WireGrant, WireId, WirePassword};
use super::{Part, ProvisionError, Provisioned, Provisioner};
use crate::base::{segment, uuid};
use crate::error::{GraphError, SignInError};
use crate::graph::GraphAnswer;
use crate::token::Role;

/// A secret of the blueprint is good for half a year.
const SECRET_MS: i64 = 180 * 24 * 3600 * 1000;

// === impl Provisioner ===

impl Provisioner {
    /// Makes what is missing. `made` hears of every part when it is there.
    ///
    /// # Errors
    /// See [`ProvisionError`].
    pub async fn provision(
        &self,
        ctx: &OpContext,
        mut made: impl FnMut(Part),
    ) -> Result<Provisioned, ProvisionError> {
        let there = self.there(ctx).await?;
        let mut done = Provisioned::default();
        let mut note = |done: &mut Provisioned, part| {
            done.made.push(part);
            made(part);
        };
        let blueprint = match there.blueprint {
            Some(blueprint) => blueprint,
            None => {
                let blueprint = self.make_blueprint(ctx).await?;
                note(&mut done, Part::Blueprint);
                blueprint
            }
        };
        if there.principal.is_none() {
            self.make_principal(ctx, &blueprint.app_id).await?;
            note(&mut done, Part::BlueprintPrincipal);
        }
        if !there.has_credential {
            self.make_credential(ctx, &blueprint).await?;
            note(&mut done, Part::Credential);
        }
        if !blueprint.has_scope() {
            self.make_scope(ctx, &blueprint).await?;
            note(&mut done, Part::Scope);
        }
        self.account.found_blueprint(&blueprint.app_id);
        let agent = match there.agent {
            Some(agent) => agent,
            None => {
                let agent = self.make_agent(ctx, &blueprint.app_id).await?;
                note(&mut done, Part::AgentIdentity);
                agent
            }
        };
        let user = match there.user {
            Some(user) => user,
            None => {
                let user = self.make_user(ctx, &agent).await?;
                note(&mut done, Part::AgentUser);
                user
            }
        };
        if !there
            .grant
            .as_ref()
            .is_some_and(|grant| self.suffices(grant))
        {
            self.make_grant(ctx, &agent, &user, there.grant.as_ref())
                .await?;
            note(&mut done, Part::Grant);
        }
        done.blueprint_id = blueprint.app_id;
        done.agent_id = agent;
        done.agent_user = user;
        Ok(done)
    }

    async fn make_blueprint(&self, ctx: &OpContext) -> Result<WireApp, ProvisionError> {
        let body = json!({
            "displayName": self.wanted.display_name,
            "sponsors@odata.bind": [self.sponsor()],
            "owners@odata.bind": [self.sponsor()],
        });
        let path = "/applications/microsoft.graph.agentIdentityBlueprint";
        let made = self.admin.post(ctx, path, body).await;
        made.map_err(failed(Part::Blueprint))
    }

    async fn make_principal(&self, ctx: &OpContext, app_id: &str) -> Result<(), ProvisionError> {
        let path = "/servicePrincipals/microsoft.graph.agentIdentityBlueprintPrincipal";
        let body = json!({ "appId": app_id });
        let made: Result<WireId, GraphError> =
            patiently(ctx, async || self.admin.post(ctx, path, body.clone()).await).await;
        made.map(drop).map_err(failed(Part::BlueprintPrincipal))
    }

    /// A new secret, kept here before anything is made with it. Whoever keeps
    /// the blueprint's key elsewhere has a broker that proves it.
    async fn make_credential(
        &self,
        ctx: &OpContext,
        blueprint: &WireApp,
    ) -> Result<(), ProvisionError> {
        let part = Part::Credential;
        let until = Wall(self.account.http().wall().0 + SECRET_MS);
        let body = json!({ "passwordCredential": {
            "displayName": "legation",
            "endDateTime": until.to_string(),
        } });
        let path = format!("/applications/{}/addPassword", segment(&blueprint.id));
        let made: Result<WirePassword, GraphError> = patiently(ctx, async || {
            self.admin.post(ctx, &path, body.clone()).await
        })
        .await;
        let secret = Secret::new(made.map_err(failed(part))?.secret_text);
        let kept = self.account.keep_secret(&blueprint.app_id, &secret).await;
        kept.map_err(|source| ProvisionError::Token { part, source })
    }

    async fn make_scope(&self, ctx: &OpContext, blueprint: &WireApp) -> Result<(), ProvisionError> {
        let part = Part::Scope;
        let id = uuid().map_err(|_| ProvisionError::Make {
            part,
            source: no_random(),
        })?;
        let body = json!({
            "identifierUris": [format!("api://{}", blueprint.app_id)],
            "api": {
                "requestedAccessTokenVersion": 2,
                "oauth2PermissionScopes": [{
                    "id": id,
                    "value": BLUEPRINT_SCOPE,
                    "type": "User",
                    "isEnabled": true,
                    "adminConsentDisplayName": "Let the agent act on behalf of the user",
                    "adminConsentDescription": "The agent acts on behalf of the signed-in user.",
                    "userConsentDisplayName": "Let the agent act for you",
                    "userConsentDescription": "The agent acts on your behalf.",
                }],
            },
        });
        let path = format!("/applications/{}", segment(&blueprint.id));
        let made: Result<GraphAnswer, GraphError> = patiently(ctx, async || {
            self.admin.patch(ctx, &path, body.clone()).await
        })
        .await;
        made.map(drop).map_err(failed(part))
    }

    /// An agent is made by its blueprint and by nobody else.
    async fn make_agent(&self, ctx: &OpContext, blueprint: &str) -> Result<String, ProvisionError> {
        let body = json!({
            "displayName": self.wanted.display_name,
            "agentIdentityBlueprintId": blueprint,
            "sponsors@odata.bind": [self.sponsor()],
        });
        let path = "/servicePrincipals/microsoft.graph.agentIdentity";
        let as_blueprint = self.account.graph_as(Role::Blueprint);
        let made: Result<WireId, GraphError> = patiently(ctx, async || {
            as_blueprint.post(ctx, path, body.clone()).await
        })
        .await;
        made.map(|made| made.id)
            .map_err(failed(Part::AgentIdentity))
    }

    async fn make_user(&self, ctx: &OpContext, agent: &str) -> Result<String, ProvisionError> {
        let name = &self.wanted.user_name;
        let nickname = name.split('@').next().unwrap_or_default();
        let body = json!({
            "accountEnabled": true,
            "displayName": self.wanted.display_name,
            "mailNickname": nickname,
            "userPrincipalName": name,
            "identityParentId": agent,
        });
        let path = "/users/microsoft.graph.agentUser";
        let made: Result<WireId, GraphError> =
            patiently(ctx, async || self.admin.post(ctx, path, body.clone()).await).await;
        made.map(|made| made.id).map_err(failed(Part::AgentUser))
    }

    async fn make_grant(
        &self,
        ctx: &OpContext,
        agent: &str,
        user: &str,
        there: Option<&WireGrant>,
    ) -> Result<(), ProvisionError> {
        let wanted = self.wanted.scopes.join(" ");
        let made = match there {
            Some(grant) => {
                let given = grant.scope.as_deref().unwrap_or_default();
                let missing = self.wanted.scopes.iter().filter(|scope| {
                    !given
                        .split_ascii_whitespace()
                        .any(|one| one == scope.as_str())
                });
                let all = missing.fold(given.to_owned(), |all, scope| format!("{all} {scope}"));
                let path = format!("/oauth2PermissionGrants/{}", segment(&grant.id));
                let body = json!({ "scope": all.trim() });
                self.admin.patch(ctx, &path, body).await.map(drop)
            }
            None => {
                let resource = self.graph_principal(ctx).await?;
                let body = json!({
                    "clientId": agent,
                    "consentType": "Principal",
                    "principalId": user,
                    "resourceId": resource,
                    "scope": wanted,
                    // Graph's reference does not ask for it; the service does.
                    "startTime": self.account.http().wall().to_string(),
                });
                let made: Result<Value, GraphError> = patiently(ctx, async || {
                    self.admin
                        .post(ctx, "/oauth2PermissionGrants", body.clone())
                        .await
                })
                .await;
                made.map(drop)
            }
        };
        made.map_err(failed(Part::Grant))
    }

    fn sponsor(&self) -> String {
        let graph = self.account.graph_resource();
        format!("{graph}/v1.0/users/{}", segment(&self.wanted.sponsor))
    }
}

fn failed(part: Part) -> impl Fn(GraphError) -> ProvisionError {
    move |source| match source {
        GraphError::Token { source, .. } => ProvisionError::Token {
            part,
            source: SignInError::Shared(source),
        },
        source => ProvisionError::Make { part, source },
    }
}

fn no_random() -> GraphError {
    GraphError::Unreachable {
        operation: "PATCH /v1.0/applications/{id}".into(),
        source: crate::http::HttpError::Random,
    }
}
