//! Tokens of applications, blueprints and agent identities themselves.

use serde_json::{Value, json};

use super::{Request, broken, log};
use crate::entra::client::Client;
use crate::entra::error::Refusal;
use crate::entra::scope::{Resource, Wanted};
use crate::entra::token::{Issue, Subject, sign_in};
use crate::state::{Tenant, World};

/// The client credentials grant, hops one and two of an agent included.
pub(super) fn client_credentials(
    request: &Request<'_>,
    world: &mut World,
) -> Result<Value, Refusal> {
    let tenant = request.one_tenant(world)?;
    let client = request.client(tenant)?;
    if client.acr == 0 {
        return Err(Refusal::new(
            7_000_218,
            "The request body must contain the following parameter: 'client_assertion' or \
             'client_secret'.",
        ));
    }
    let text = request.required("scope")?;
    if !text
        .split_whitespace()
        .all(|word| word.ends_with("/.default"))
    {
        return Err(Refusal::new(
            1_002_012,
            format!(
                "The provided value for scope {text} is not valid. Client credential flows must \
                 have a scope value with /.default suffixed to the resource identifier \
                 (application ID URI)."
            ),
        ));
    }
    let wanted = request.wanted(tenant, text)?;
    let fmi_path = agent_of(request, tenant, &client, &wanted)?;
    let principal = client
        .principal
        .as_ref()
        .and_then(|id| tenant.principal(id.as_str()))
        .ok_or_else(|| {
            Refusal::new(
                700_016,
                format!(
                    "Application with identifier '{}' has no service principal in the directory \
                     '{}'.",
                    client.app_id, tenant.name
                ),
            )
        })?;
    let granted = match wanted.resource {
        Resource::Graph => principal.roles.clone(),
        Resource::TokenExchange | Resource::Own(_) => Vec::new(),
    };
    let issue = Issue {
        shared: request.shared,
        ask: request.ask,
        tenant,
        client: &client,
        wanted: &wanted,
        subject: Subject::Principal(principal),
        granted,
        cae: request.cae(),
        fmi_path,
    };
    let issued = issue.access().map_err(|error| broken(&error))?;
    let record = sign_in(&issue, false);
    let id = tenant.id.clone();
    log(world, &id, record);
    Ok(json!({
        "token_type": "Bearer",
        "expires_in": issued.expires_s,
        "ext_expires_in": issued.expires_s,
        "access_token": issued.token,
    }))
}

/// The agent that a blueprint asks for: one of its own, and for a token exchange only.
fn agent_of<'r>(
    request: &'r Request<'_>,
    tenant: &Tenant,
    client: &Client,
    wanted: &Wanted,
) -> Result<Option<&'r str>, Refusal> {
    let Some(agent) = request.form.filled("fmi_path") else {
        return Ok(None);
    };
    if !tenant.has_agents {
        return Err(Refusal::new(
            82_001,
            "Agent identities are not available in this tenant.",
        ));
    }
    if !client.is_blueprint || wanted.resource != Resource::TokenExchange {
        return Err(Refusal::new(
            82_002,
            "The parameter 'fmi_path' is only for a blueprint that asks for a token exchange.",
        ));
    }
    let own = tenant
        .principal(agent)
        .and_then(|agent| agent.blueprint())
        .is_some_and(|blueprint| *blueprint == client.app_id);
    if own {
        return Ok(Some(agent));
    }
    Err(Refusal::new(
        700_213,
        "No agent identity of this blueprint is at the given 'fmi_path'.",
    ))
}
