//! What is there already.

use legation_core::OpContext;
use serde::de::DeserializeOwned;

use super::wire::{WireApp, WireGrant, WireId, WireList};
use super::{Part, Planned, ProvisionError, Provisioner};
use crate::base::{query_value, segment};
use crate::error::{GraphError, GraphMeaning};

/// Graph's own application, the same in every tenant.
const GRAPH_APP: &str = "00000003-0000-0000-c000-000000000000";
/// The scope of the blueprint that people sign in for.
pub(super) const BLUEPRINT_SCOPE: &str = "access_agent";

/// What is there already, each as far as what it stands on is there.
#[derive(Default)]
pub(super) struct There {
    pub(super) blueprint: Option<WireApp>,
    pub(super) principal: Option<String>,
    pub(super) has_credential: bool,
    pub(super) agent: Option<String>,
    pub(super) user: Option<String>,
    pub(super) grant: Option<WireGrant>,
}

// === impl Provisioner ===

impl Provisioner {
    /// What is there and what would be made. Nothing is changed.
    ///
    /// # Errors
    /// See [`ProvisionError`].
    pub async fn plan(&self, ctx: &OpContext) -> Result<Vec<Planned>, ProvisionError> {
        let there = self.there(ctx).await?;
        let name = &self.wanted.display_name;
        let yes = |is: bool| is.then(|| "yes".to_owned());
        let grant = there.grant.as_ref().filter(|grant| self.suffices(grant));
        Ok(vec![
            planned(
                Part::Blueprint,
                format!("the blueprint {name:?}"),
                there.blueprint.as_ref().map(|app| app.app_id.clone()),
            ),
            planned(
                Part::BlueprintPrincipal,
                "the blueprint in this tenant".to_owned(),
                there.principal.clone(),
            ),
            planned(
                Part::Credential,
                "a secret of the blueprint, kept here".to_owned(),
                yes(there.has_credential),
            ),
            planned(
                Part::Scope,
                format!("the blueprint's scope {BLUEPRINT_SCOPE}"),
                yes(there.blueprint.as_ref().is_some_and(WireApp::has_scope)),
            ),
            planned(
                Part::AgentIdentity,
                format!("the agent {name:?}, answered for by the sponsor"),
                there.agent.clone(),
            ),
            planned(
                Part::AgentUser,
                "the agent's own user".to_owned(),
                there.user.clone(),
            ),
            planned(
                Part::Grant,
                format!("what it may do: {}", self.wanted.scopes.join(" ")),
                grant.map(|grant| grant.id.clone()),
            ),
        ])
    }

    pub(super) async fn there(&self, ctx: &OpContext) -> Result<There, ProvisionError> {
        let mut there = There {
            blueprint: self.blueprint(ctx).await?,
            ..There::default()
        };
        let Some(blueprint) = &there.blueprint else {
            return Ok(there);
        };
        let app_id = blueprint.app_id.clone();
        there.has_credential = self.account.can_prove_blueprint(ctx, &app_id).await;
        there.principal = self.principal(ctx, &app_id).await?;
        there.agent = self.agent(ctx, &app_id).await?;
        there.user = self.user(ctx).await?;
        if let (Some(agent), Some(user)) = (&there.agent, &there.user) {
            there.grant = self.grant(ctx, agent, user).await?;
        }
        Ok(there)
    }

    async fn blueprint(&self, ctx: &OpContext) -> Result<Option<WireApp>, ProvisionError> {
        let part = Part::Blueprint;
        let configured = self.account.settings().blueprint_id.as_deref();
        let filter = match configured {
            Some(id) => format!("appId eq '{}'", quoted(id)),
            None => format!("displayName eq '{}'", quoted(&self.wanted.display_name)),
        };
        let path = format!(
            "/applications/microsoft.graph.agentIdentityBlueprint?$filter={}",
            query_value(&filter)
        );
        let found: Vec<WireApp> = self.look(ctx, part, &path).await?;
        let only = self.only(part, found)?;
        match (only, configured) {
            (None, Some(id)) => Err(ProvisionError::Missing {
                part,
                id: id.to_owned(),
            }),
            (found, _) => Ok(found),
        }
    }

    pub(super) async fn principal(
        &self,
        ctx: &OpContext,
        app_id: &str,
    ) -> Result<Option<String>, ProvisionError> {
        let part = Part::BlueprintPrincipal;
        let found = self.by_app(ctx, part, app_id).await?;
        Ok(self.only(part, found)?.map(|found| found.id))
    }

    pub(super) async fn graph_principal(&self, ctx: &OpContext) -> Result<String, ProvisionError> {
        let part = Part::Grant;
        let found = self.by_app(ctx, part, GRAPH_APP).await?;
        let only = self.only(part, found)?;
        only.map(|found| found.id).ok_or(ProvisionError::Missing {
            part,
            id: GRAPH_APP.to_owned(),
        })
    }

    async fn by_app(
        &self,
        ctx: &OpContext,
        part: Part,
        app_id: &str,
    ) -> Result<Vec<WireId>, ProvisionError> {
        let filter = format!("appId eq '{}'", quoted(app_id));
        let path = format!("/servicePrincipals?$filter={}", query_value(&filter));
        self.look(ctx, part, &path).await
    }

    async fn agent(
        &self,
        ctx: &OpContext,
        blueprint: &str,
    ) -> Result<Option<String>, ProvisionError> {
        let part = Part::AgentIdentity;
        if let Some(id) = self.account.settings().agent_id.as_deref() {
            let path = format!("/servicePrincipals/{}", segment(id));
            return self.existing(ctx, part, &path, id).await;
        }
        let filter = format!(
            "agentIdentityBlueprintId eq '{}' and displayName eq '{}'",
            quoted(blueprint),
            quoted(&self.wanted.display_name)
        );
        let path = format!(
            "/servicePrincipals/microsoft.graph.agentIdentity?$filter={}",
            query_value(&filter)
        );
        let found: Vec<WireId> = self.look(ctx, part, &path).await?;
        Ok(self.only(part, found)?.map(|found| found.id))
    }

    async fn user(&self, ctx: &OpContext) -> Result<Option<String>, ProvisionError> {
        let part = Part::AgentUser;
        if let Some(id) = self.account.settings().agent_user.as_deref() {
            let path = format!("/users/{}?$select=id", segment(id));
            return self.existing(ctx, part, &path, id).await;
        }
        let filter = format!("userPrincipalName eq '{}'", quoted(&self.wanted.user_name));
        let path = format!("/users?$select=id&$filter={}", query_value(&filter));
        let found: Vec<WireId> = self.look(ctx, part, &path).await?;
        Ok(self.only(part, found)?.map(|found| found.id))
    }

    pub(super) async fn grant(
        &self,
        ctx: &OpContext,
        agent: &str,
        user: &str,
    ) -> Result<Option<WireGrant>, ProvisionError> {
        let resource = self.graph_principal(ctx).await?;
        let path = format!(
            "/servicePrincipals/{}/oauth2PermissionGrants",
            segment(agent)
        );
        let found: Vec<WireGrant> = self.look(ctx, Part::Grant, &path).await?;
        Ok(found.into_iter().find(|grant| {
            grant.principal_id.as_deref() == Some(user)
                && grant.resource_id.as_deref() == Some(&resource)
        }))
    }

    /// Whether a grant allows everything that is wanted.
    pub(super) fn suffices(&self, grant: &WireGrant) -> bool {
        let given = grant.scope.as_deref().unwrap_or_default();
        let has = |scope: &String| given.split_ascii_whitespace().any(|one| one == scope);
        self.wanted.scopes.iter().all(has)
    }

    async fn look<T: DeserializeOwned>(
        &self,
        ctx: &OpContext,
        part: Part,
        path: &str,
    ) -> Result<Vec<T>, ProvisionError> {
        let found: Result<WireList<T>, GraphError> = self.admin.get(ctx, path).await;
        found
            .map(|list| list.value)
            .map_err(|source| ProvisionError::Look { part, source })
    }

    /// What the settings name must be there.
    async fn existing(
        &self,
        ctx: &OpContext,
        part: Part,
        path: &str,
        id: &str,
    ) -> Result<Option<String>, ProvisionError> {
        let found: Result<WireId, GraphError> = self.admin.get(ctx, path).await;
        match found {
            Ok(found) => Ok(Some(found.id)),
            Err(error) if error.meaning() == Some(GraphMeaning::NotFound) => {
                Err(ProvisionError::Missing {
                    part,
                    id: id.to_owned(),
                })
            }
            Err(source) => Err(ProvisionError::Look { part, source }),
        }
    }

    fn only<T>(&self, part: Part, found: Vec<T>) -> Result<Option<T>, ProvisionError> {
        let mut found = found.into_iter();
        match (found.next(), found.next()) {
            (only, None) => Ok(only),
            (_, Some(_)) => Err(ProvisionError::Ambiguous {
                part,
                name: self.wanted.display_name.clone(),
            }),
        }
    }
}

fn planned(part: Part, what: String, there: Option<String>) -> Planned {
    Planned { part, what, there }
}

/// A text in an OData literal.
pub(super) fn quoted(text: &str) -> String {
    text.replace('\'', "''")
}

// === impl WireApp ===

impl WireApp {
    pub(super) fn has_scope(&self) -> bool {
        let scopes = self
            .api
            .iter()
            .flat_map(|api| &api.oauth2_permission_scopes);
        scopes
            .filter_map(|scope| scope.value.as_deref())
            .any(|value| value == BLUEPRINT_SCOPE)
    }
}
