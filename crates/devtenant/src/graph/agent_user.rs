//! The users of agent identities: made by the blueprint, one an agent.

use serde_json::json;

use super::error::Failure;
use super::users::shown;
use super::{Call, Outcome};
use crate::state::directory::{ObjectId, User, UserKind};
use crate::web::Answer;

const WRITE: [&str; 2] = [
    "AgentIdUser.ReadWrite.IdentityParentedBy",
    "AgentIdUser.ReadWrite.All",
];

fn bad(message: impl Into<String>) -> Failure {
    Failure::new(400, "Request_BadRequest", message)
}

/// `POST /users/microsoft.graph.agentUser`, or `POST /users` with that type.
pub(super) fn create(mut call: Call<'_>, parts: &[&str]) -> Outcome {
    call.permit("POST /users/microsoft.graph.agentUser", &WRITE, &WRITE)?;
    let body = call.body()?;
    let typed = body["@odata.type"].as_str().is_some_and(|name| {
        name.trim_start_matches('#')
            .eq_ignore_ascii_case("microsoft.graph.agentUser")
    });
    if parts.len() == 1 && !typed {
        call.shared
            .report()
            .unknown("POST /users (not an agent's user)");
        return Err(Failure::new(
            403,
            "Authorization_RequestDenied",
            "Insufficient privileges to complete the operation.",
        ));
    }
    if !call.tenant()?.has_agents {
        return Err(Failure::bad_request(
            "Resource not found for the segment 'microsoft.graph.agentUser'.",
        ));
    }
    let text = |name: &str| {
        body[name]
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .ok_or_else(|| {
                bad(format!(
                    "A value is required for property '{name}' of resource 'User'."
                ))
            })
    };
    let (name, nickname) = (text("displayName")?, text("mailNickname")?);
    let (upn, parent) = (text("userPrincipalName")?, text("identityParentId")?);
    if !body["accountEnabled"].is_boolean() {
        return Err(bad(
            "A value is required for property 'accountEnabled' of resource 'User'.",
        ));
    }
    if body.get("passwordProfile").is_some() {
        return Err(Failure::new(
            400,
            "PropertyNotCompatibleWithAgentIdentity",
            "The property 'passwordProfile' is not compatible with an agent's user.",
        ));
    }
    let now = call.now_ms();
    let tenant = call.tenant()?;
    if upn
        .split_once('@')
        .is_none_or(|(_, domain)| domain != tenant.domain)
    {
        return Err(bad(
            "The domain portion of the userPrincipalName property is invalid. You must use one of \
             the verified domain names in your organization.",
        ));
    }
    let agent = parent_of(&call, &parent, now)?;
    let kind = UserKind::Agent { parent: agent };
    if tenant.users.iter().any(|user| user.kind == kind) {
        return Err(bad(
            "The agent identity already has a user: there is one for each.",
        ));
    }
    if tenant.user(&upn).is_some() {
        return Err(bad(
            "Another object with the same value for property userPrincipalName already exists.",
        ));
    }
    let mut made = User::new(&name, &tenant.domain, kind, now);
    made.upn = upn;
    made.nickname = nickname;
    made.enabled = body["accountEnabled"].as_bool().unwrap_or(true);
    // Nobody has assigned a licence to it yet.
    made.licensed = false;
    made.seen_from_ms = now + tenant.propagation_ms;
    let shown = shown(&call, &made);
    call.tenant_mut()?.users.push(made);
    Ok(call.entity(201, "users/$entity", shown))
}

fn own_agent(call: &Call<'_>, name: &str, operation: &str) -> Result<ObjectId, Failure> {
    call.permit(operation, &WRITE, &WRITE)?;
    let user = call.named_user(name)?;
    if user.is_human() {
        return Err(Failure::new(
            403,
            "Authorization_RequestDenied",
            "Insufficient privileges to complete the operation.",
        ));
    }
    Ok(user.id)
}

/// `PATCH` of an agent's user.
pub(super) fn update(mut call: Call<'_>, name: &str) -> Outcome {
    let id = own_agent(&call, name, "PATCH /users/{id}")?;
    let body = call.body()?;
    if let Some(user) = call.tenant_mut()?.user_mut(id.as_str()) {
        if let Some(name) = body["displayName"].as_str() {
            name.clone_into(&mut user.name);
        }
        if let Some(enabled) = body["accountEnabled"].as_bool() {
            user.enabled = enabled;
        }
    }
    Ok(Answer::empty(204))
}

/// `DELETE` of an agent's user.
pub(super) fn delete(mut call: Call<'_>, name: &str) -> Outcome {
    let id = own_agent(&call, name, "DELETE /users/{id}")?;
    let tenant = call.tenant_mut()?;
    tenant.users.retain(|user| user.id != id);
    tenant
        .grants
        .retain(|grant| grant.principal.as_ref() != Some(&id));
    Ok(Answer::empty(204))
}

/// The sponsors of the agent that a user belongs to.
pub(super) fn sponsors(call: &Call<'_>, name: &str) -> Outcome {
    call.permit(
        "GET /users/{id}/sponsors",
        &["User.Read", "User.Read.All", "Directory.Read.All"],
        &["User.Read.All", "Directory.Read.All"],
    )?;
    let user = call.named_user(name)?;
    let sponsors = match &user.kind {
        UserKind::Agent { parent } => call
            .tenant()?
            .principal(parent.as_str())
            .map(|agent| agent.sponsors.clone())
            .unwrap_or_default(),
        UserKind::Member | UserKind::Guest => Vec::new(),
    };
    let shown = sponsors
        .iter()
        .map(|id| json!({"@odata.type": "#microsoft.graph.user", "id": id.as_str()}))
        .collect();
    call.list("directoryObjects", shown, 100)
}

/// The agent identity that a user is made for. A blueprint makes users for its own agents only,
/// unless it was granted more.
fn parent_of(call: &Call<'_>, parent: &str, now: i64) -> Result<ObjectId, Failure> {
    let agent = call
        .tenant()?
        .principal(parent)
        .filter(|agent| agent.blueprint().is_some() && agent.seen_from_ms <= now)
        .ok_or_else(|| {
            bad(format!(
                "The agent identity '{parent}' of identityParentId does not exist."
            ))
        })?;
    let by_parent = call
        .caller
        .permissions
        .iter()
        .all(|name| name != "AgentIdUser.ReadWrite.All");
    let own = agent
        .blueprint()
        .is_some_and(|blueprint| blueprint.is(&call.caller.app_id));
    if by_parent && !own {
        return Err(Failure::new(
            403,
            "Authorization_RequestDenied",
            "Insufficient privileges to complete the operation.",
        ));
    }
    Ok(agent.id.clone())
}
