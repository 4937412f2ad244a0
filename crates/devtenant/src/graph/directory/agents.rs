//! Agent identities, and the application permissions that are granted to principals.

use http::Method;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::principals::{done, find, shown};
use super::{bad, bound, denied, required};
use crate::graph::error::Failure;
use crate::graph::{Call, Outcome, chats, permissions};
use crate::random;
use crate::state::directory::{AppId, ObjectId, Principal, PrincipalKind};

const WRITE: [&str; 1] = ["AgentIdentity.ReadWrite.All"];
const WRITE_AS_APP: [&str; 2] = [
    "AgentIdentity.CreateAsManager",
    "AgentIdentity.ReadWrite.All",
];
/// What one blueprint may have in this tenant.
const AGENTS_MAX: usize = 250;

/// `POST /servicePrincipals/microsoft.graph.agentIdentity`.
pub(super) fn create(mut call: Call<'_>) -> Outcome {
    call.permit(
        "POST /servicePrincipals/microsoft.graph.agentIdentity",
        &["AgentIdentity.Create.All", "AgentIdentity.ReadWrite.All"],
        &[
            "AgentIdentity.CreateAsManager",
            "AgentIdentity.Create.All",
            "AgentIdentity.ReadWrite.All",
        ],
    )?;
    let body = call.body()?;
    let name = required(&body, "displayName")?;
    let blueprint = required(&body, "agentIdentityBlueprintId")?;
    for property in ["keyCredentials", "passwordCredentials"] {
        if body.get(property).is_some() {
            return Err(bad(
                "AgentIdentity_CredentialsNotSupported",
                "Agent identities do not support credentials.",
            ));
        }
    }
    let now = call.now_ms();
    let tenant = call.tenant()?;
    let parent = tenant.app(&blueprint).filter(|app| app.blueprint);
    let Some(parent) = parent.map(|app| app.app_id.clone()) else {
        return Err(bad(
            "AgentIdentity_IncompatibleParentType",
            "The parent of an agent identity must be an agent identity blueprint.",
        ));
    };
    let in_place = tenant
        .principal_of(&blueprint)
        .is_some_and(|principal| principal.seen_from_ms <= now);
    if !in_place {
        return Err(bad(
            "AgentIdentity_AgentBlueprintPrincipalDoesNotExist",
            "The agent blueprint principal for the agent identity does not exist.",
        ));
    }
    let as_manager = call.caller.permissions.iter().all(|role| {
        !["AgentIdentity.Create.All", "AgentIdentity.ReadWrite.All"].contains(&role.as_str())
    });
    if as_manager && !parent.is(&call.caller.app_id) {
        return Err(Failure::new(
            403,
            "Error_AgentIdentitySelfCreateRequired",
            "A blueprint can create agent identities of its own only.",
        ));
    }
    let sponsors = bound(&call, &body, "sponsors@odata.bind")?;
    if sponsors.is_empty() {
        return Err(bad(
            "Request_BadRequest",
            "An agent identity must have at least one sponsor.",
        ));
    }
    let brothers = tenant
        .principals
        .iter()
        .filter(|principal| principal.blueprint() == Some(&parent))
        .count();
    if brothers >= AGENTS_MAX {
        return Err(Failure::new(
            403,
            "Agent_Directory_QuotaExceeded",
            "The quota of agent identities is exceeded.",
        ));
    }
    let id = ObjectId::random();
    let kind = PrincipalKind::Agent { blueprint: parent };
    let mut made = Principal::new(AppId::new(id.as_str()), &name, kind, now);
    made.id = id;
    made.sponsors = sponsors;
    made.owners = bound(&call, &body, "owners@odata.bind")?;
    made.seen_from_ms = now + tenant.propagation_ms;
    let shown = shown(&made);
    call.tenant_mut()?.principals.push(made);
    Ok(call.entity(201, "servicePrincipals/$entity", shown))
}

/// `PATCH` of a principal: its name and whether it may sign in.
pub(super) fn update(mut call: Call<'_>, id: &str) -> Outcome {
    call.permit("PATCH /servicePrincipals/{id}", &WRITE, &WRITE_AS_APP)?;
    let body = call.body()?;
    if body.get("keyCredentials").is_some() || body.get("passwordCredentials").is_some() {
        return Err(bad(
            "AgentIdentity_CredentialsNotSupported",
            "Agent identities do not support credentials.",
        ));
    }
    let id = find(&call, id)?.id.clone();
    for principal in &mut call.tenant_mut()?.principals {
        if principal.id == id {
            if let Some(name) = body["displayName"].as_str() {
                name.clone_into(&mut principal.name);
            }
            if let Some(enabled) = body["accountEnabled"].as_bool() {
                principal.enabled = enabled;
            }
        }
    }
    Ok(done())
}

/// `DELETE` of a principal. What hangs on it goes with it.
pub(super) fn delete(mut call: Call<'_>, id: &str) -> Outcome {
    call.permit("DELETE /servicePrincipals/{id}", &WRITE, &WRITE_AS_APP)?;
    let gone = find(&call, id)?.clone();
    if gone.kind == PrincipalKind::Application {
        return Err(denied("Insufficient privileges to complete the operation."));
    }
    let tenant = call.tenant_mut()?;
    tenant
        .principals
        .retain(|principal| principal.id != gone.id && principal.blueprint() != Some(&gone.app_id));
    tenant
        .grants
        .retain(|grant| grant.client != gone.id && grant.resource != gone.id);
    Ok(done())
}

/// `POST …/sponsors/$ref`.
pub(super) fn add_sponsor(mut call: Call<'_>, id: &str) -> Outcome {
    call.permit(
        "POST /servicePrincipals/{id}/sponsors/$ref",
        &WRITE,
        &WRITE_AS_APP,
    )?;
    let link = required(&call.body()?, "@odata.id")?;
    let name = chats::bound(&link)
        .ok_or_else(|| bad("Request_BadRequest", format!("Invalid link '{link}'.")))?;
    let user = call.named_user(&name)?.id;
    let id = find(&call, id)?.id.clone();
    for principal in &mut call.tenant_mut()?.principals {
        if principal.id == id {
            if principal.sponsors.contains(&user) {
                return Err(bad(
                    "Request_BadRequest",
                    "One or more added object references already exist for the following modified \
                     properties: 'sponsors'.",
                ));
            }
            principal.sponsors.push(user.clone());
        }
    }
    Ok(done())
}

/// The id of an application permission: made from its name, for a table would say no more.
fn role_id(name: &str) -> String {
    let hash = digest(&SHA256, name.as_bytes());
    let hex = random::hex(&hash.as_ref()[..16]);
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

/// Graph's application permissions.
pub(super) fn app_roles() -> Value {
    permissions::application()
        .iter()
        .map(|name| {
            json!({
                "allowedMemberTypes": ["Application"],
                "description": name,
                "displayName": name,
                "id": role_id(name),
                "isEnabled": true,
                "origin": "Application",
                "value": name,
            })
        })
        .collect()
}

/// Everything under `/servicePrincipals/{id}/appRoleAssignments`.
pub(super) fn roles(mut call: Call<'_>, id: &str, rest: &[&str]) -> Outcome {
    let method = call.ask.method.clone();
    let write = ["AppRoleAssignment.ReadWrite.All"];
    let read = ["Application.Read.All", "Directory.Read.All", write[0]];
    let principal = find(&call, id)?.clone();
    match (&method, rest) {
        (&Method::GET, []) => {
            call.permit(
                "GET /servicePrincipals/{id}/appRoleAssignments",
                &read,
                &read,
            )?;
            let shown = principal
                .roles
                .iter()
                .map(|role| assignment(&call, &principal, role))
                .collect::<Result<_, _>>()?;
            call.list("servicePrincipals('{id}')/appRoleAssignments", shown, 100)
        }
        (&Method::POST, []) => {
            call.permit(
                "POST /servicePrincipals/{id}/appRoleAssignments",
                &write,
                &write,
            )?;
            let wanted = required(&call.body()?, "appRoleId")?;
            let role = permissions::application()
                .iter()
                .copied()
                .find(|name| role_id(name) == wanted)
                .ok_or_else(|| {
                    bad(
                        "Request_BadRequest",
                        "Permission being assigned was not found on application.",
                    )
                })?;
            if principal.blueprint().is_some() && permissions::is_blocked_for_agents(role) {
                return Err(bad(
                    "Request_BadRequest",
                    format!("The permission '{role}' cannot be granted to an agent identity."),
                ));
            }
            if principal.roles.iter().any(|known| known == role) {
                return Err(bad(
                    "Request_BadRequest",
                    "Permission being assigned already exists on the object.",
                ));
            }
            for known in &mut call.tenant_mut()?.principals {
                if known.id == principal.id {
                    known.roles.push(role.to_owned());
                }
            }
            let shown = assignment(&call, &principal, role)?;
            let context = "servicePrincipals('{id}')/appRoleAssignments/$entity";
            Ok(call.entity(201, context, shown))
        }
        (&Method::DELETE, [assignment]) => {
            let operation = "DELETE /servicePrincipals/{id}/appRoleAssignments/{id}";
            call.permit(operation, &write, &write)?;
            for known in &mut call.tenant_mut()?.principals {
                if known.id == principal.id {
                    known.roles.retain(|role| role_id(role) != *assignment);
                }
            }
            Ok(done())
        }
        _ => Err(chats::unknown(&call)),
    }
}

fn assignment(call: &Call<'_>, principal: &Principal, role: &str) -> Result<Value, Failure> {
    let graph = call
        .tenant()?
        .principal_of(crate::state::directory::GRAPH)
        .ok_or_else(|| Failure::no_resource("Microsoft Graph"))?;
    Ok(json!({
        "id": role_id(role),
        "deletedDateTime": null,
        "appRoleId": role_id(role),
        "createdDateTime": legation_core::Wall(principal.created_ms).to_string(),
        "principalDisplayName": principal.name,
        "principalId": principal.id.as_str(),
        "principalType": "ServicePrincipal",
        "resourceDisplayName": graph.name,
        "resourceId": graph.id.as_str(),
    }))
}
