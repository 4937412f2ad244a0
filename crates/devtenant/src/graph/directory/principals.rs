//! Service principals: of applications, of blueprints, of agents.

use http::Method;
use legation_core::Wall;
use serde_json::{Value, json};

use super::{AGENT, BLUEPRINT_PRINCIPAL, agents, bad, is_type, matches, required};
use crate::graph::error::Failure;
use crate::graph::{Call, Outcome, chats};
use crate::state::directory::{GRAPH, ObjectId, Principal, PrincipalKind};
use crate::web::Answer;

const READ: [&str; 4] = [
    "AgentIdentity.Read.All",
    "AgentIdentity.ReadWrite.All",
    "Application.Read.All",
    "Directory.Read.All",
];
const READ_AS_APP: [&str; 5] = [
    "AgentIdentity.Read.All",
    "AgentIdentity.CreateAsManager",
    "Application.Read.All",
    "AgentIdentity.ReadWrite.All",
    "Directory.Read.All",
];

/// Everything under `/servicePrincipals`.
pub(super) fn route(call: Call<'_>, rest: &[&str]) -> Outcome {
    let method = call.ask.method.clone();
    let casts = [AGENT, BLUEPRINT_PRINCIPAL];
    let bare: Vec<&str> = rest
        .iter()
        .enumerate()
        .filter(|(at, part)| *at == 0 || !casts.contains(part))
        .map(|(_, part)| *part)
        .collect();
    match (&method, bare.as_slice()) {
        (&Method::POST, []) => {
            let body = call.body()?;
            if is_type(&body, AGENT) {
                agents::create(call)
            } else {
                create(call, is_type(&body, BLUEPRINT_PRINCIPAL))
            }
        }
        (&Method::POST, [AGENT]) => agents::create(call),
        (&Method::POST, [BLUEPRINT_PRINCIPAL]) => create(call, true),
        (&Method::GET, []) => list(&call, None),
        (&Method::GET, [AGENT]) => list(&call, Some(AGENT)),
        (&Method::GET, [BLUEPRINT_PRINCIPAL]) => list(&call, Some(BLUEPRINT_PRINCIPAL)),
        (&Method::GET, [id]) => read(&call, id),
        (&Method::PATCH, [id]) => agents::update(call, id),
        (&Method::DELETE, [id]) => agents::delete(call, id),
        (&Method::GET, [id, "sponsors"]) => {
            call.permit("GET /servicePrincipals/{id}/sponsors", &READ, &READ_AS_APP)?;
            let sponsors = find(&call, id)?.sponsors.clone();
            // Ids and nothing else, whatever is selected.
            let ids = sponsors
                .iter()
                .map(|id| json!({"@odata.type": "#microsoft.graph.user", "id": id.as_str()}))
                .collect();
            call.list("directoryObjects", ids, 100)
        }
        (&Method::POST, [id, "sponsors", "$ref"]) => agents::add_sponsor(call, id),
        (&Method::GET, [id, "owners"]) => {
            call.permit("GET /servicePrincipals/{id}/owners", &READ, &READ_AS_APP)?;
            people(&call, &find(&call, id)?.owners)
        }
        (_, [id, "appRoleAssignments", rest @ ..]) => agents::roles(call, id, rest),
        (&Method::GET, [id, "oauth2PermissionGrants"]) => super::grants::of_client(&call, id),
        _ => Err(chats::unknown(&call)),
    }
}

/// People as directory objects.
pub(super) fn people(call: &Call<'_>, ids: &[ObjectId]) -> Outcome {
    let shown = ids
        .iter()
        .map(|id| json!({"@odata.type": "#microsoft.graph.user", "id": id.as_str()}))
        .collect();
    call.list("directoryObjects", shown, 100)
}

/// A service principal that can be seen already.
pub(super) fn find<'c>(call: &'c Call<'_>, id: &str) -> Result<&'c Principal, Failure> {
    let id = id.trim_start_matches("appId='");
    let now = call.now_ms();
    call.tenant()?
        .principals
        .iter()
        .filter(|principal| principal.seen_from_ms <= now)
        .find(|principal| principal.id.is(id) || principal.app_id.is(id))
        .ok_or_else(|| Failure::no_resource(id))
}

fn create(mut call: Call<'_>, blueprint: bool) -> Outcome {
    let permissions = [
        "AgentIdentityBlueprintPrincipal.Create",
        "AgentIdentityBlueprintPrincipal.ReadWrite.All",
    ];
    call.permit(
        "POST /servicePrincipals/microsoft.graph.agentIdentityBlueprintPrincipal",
        &permissions,
        &permissions,
    )?;
    let app_id = required(&call.body()?, "appId")?;
    let now = call.now_ms();
    let tenant = call.tenant()?;
    let app = tenant.app(&app_id).ok_or_else(|| {
        bad(
            "Request_BadRequest",
            format!("When using this permission, the backing application '{app_id}' must exist."),
        )
    })?;
    if app.blueprint != blueprint {
        return Err(bad(
            "Request_BadRequest",
            "The type of the service principal does not go with the application.",
        ));
    }
    if tenant.principal_of(&app_id).is_some() {
        return Err(Failure::new(
            409,
            "Request_MultipleObjectsWithSameKeyValue",
            format!("The service principal for the application '{app_id}' already exists."),
        ));
    }
    let mut made = Principal::new(app.app_id.clone(), &app.name, PrincipalKind::Blueprint, now);
    made.seen_from_ms = now + tenant.propagation_ms;
    // What a blueprint may do to its own agents comes with being one.
    made.roles = vec!["AgentIdentity.CreateAsManager".to_owned()];
    let shown = shown(&made);
    call.tenant_mut()?.principals.push(made);
    Ok(call.entity(201, "servicePrincipals/$entity", shown))
}

fn list(call: &Call<'_>, cast: Option<&str>) -> Outcome {
    call.permit("GET /servicePrincipals", &READ, &READ_AS_APP)?;
    call.options(&["select", "filter", "top", "skiptoken", "count"])?;
    let now = call.now_ms();
    let mut out = Vec::new();
    for principal in &call.tenant()?.principals {
        let fits = match cast {
            Some(AGENT) => principal.blueprint().is_some(),
            Some(_) => principal.kind == PrincipalKind::Blueprint,
            None => true,
        };
        let value = shown(principal);
        if fits && principal.seen_from_ms <= now && matches(call, &value)? {
            out.push(value);
        }
    }
    call.list("servicePrincipals", out, call.top(100, 999)?)
}

fn read(call: &Call<'_>, id: &str) -> Outcome {
    call.permit("GET /servicePrincipals/{id}", &READ, &READ_AS_APP)?;
    call.options(&["select"])?;
    let shown = shown(find(call, id)?);
    Ok(call.entity(200, "servicePrincipals/$entity", shown))
}

pub(super) fn shown(principal: &Principal) -> Value {
    let mut out = json!({
        "id": principal.id.as_str(),
        "accountEnabled": principal.enabled,
        "appId": principal.app_id.as_str(),
        "displayName": principal.name,
        "servicePrincipalType": match principal.kind {
            PrincipalKind::Agent { .. } => "ServiceIdentity",
            PrincipalKind::Application | PrincipalKind::Blueprint => "Application",
        },
        "tags": principal.tags,
    });
    match &principal.kind {
        PrincipalKind::Agent { blueprint } => {
            out["@odata.type"] = format!("#{AGENT}").into();
            out["agentIdentityBlueprintId"] = blueprint.as_str().into();
            out["createdByAppId"] = blueprint.as_str().into();
            out["createdDateTime"] = Wall(principal.created_ms).to_string().into();
        }
        PrincipalKind::Blueprint => {
            out["@odata.type"] = format!("#{BLUEPRINT_PRINCIPAL}").into();
        }
        PrincipalKind::Application if principal.app_id.is(GRAPH) => {
            out["appRoles"] = agents::app_roles();
        }
        PrincipalKind::Application => {}
    }
    out
}

/// An operation done that has nothing to show.
pub(super) fn done() -> Answer {
    Answer::empty(204)
}
