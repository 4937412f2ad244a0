//! Consent to delegated permissions.

use http::Method;
use serde_json::{Value, json};

use super::principals::{done, find};
use super::{bad, matches, required};
use crate::graph::error::Failure;
use crate::graph::{Call, Outcome, chats, permissions};
use crate::random;
use crate::state::directory::{Grant, ObjectId};

const WRITE: [&str; 1] = ["DelegatedPermissionGrant.ReadWrite.All"];
const READ: [&str; 3] = [
    "DelegatedPermissionGrant.Read.All",
    "DelegatedPermissionGrant.ReadWrite.All",
    "Directory.Read.All",
];

/// Everything under `/oauth2PermissionGrants`.
pub(super) fn route(call: Call<'_>, rest: &[&str]) -> Outcome {
    let method = call.ask.method.clone();
    match (&method, rest) {
        (&Method::GET, []) => list(&call, None),
        (&Method::POST, []) => create(call),
        (&Method::GET, [id]) => {
            call.permit("GET /oauth2PermissionGrants/{id}", &READ, &READ)?;
            let shown = shown(stored(&call, id)?);
            Ok(call.entity(200, "oauth2PermissionGrants/$entity", shown))
        }
        (&Method::PATCH, [id]) => update(call, id),
        (&Method::DELETE, [id]) => {
            call.permit("DELETE /oauth2PermissionGrants/{id}", &WRITE, &WRITE)?;
            let mut call = call;
            stored(&call, id)?;
            call.tenant_mut()?.grants.retain(|grant| grant.id != *id);
            Ok(done())
        }
        _ => Err(chats::unknown(&call)),
    }
}

/// `/servicePrincipals/{id}/oauth2PermissionGrants`.
pub(super) fn of_client(call: &Call<'_>, id: &str) -> Outcome {
    let client = find(call, id)?.id.clone();
    list(call, Some(&client))
}

fn list(call: &Call<'_>, client: Option<&ObjectId>) -> Outcome {
    call.permit("GET /oauth2PermissionGrants", &READ, &READ)?;
    call.options(&["filter", "top", "select", "skiptoken"])?;
    let mut out = Vec::new();
    for grant in &call.tenant()?.grants {
        let value = shown(grant);
        if client.is_none_or(|id| *id == grant.client) && matches(call, &value)? {
            out.push(value);
        }
    }
    call.list("oauth2PermissionGrants", out, call.top(100, 999)?)
}

fn create(mut call: Call<'_>) -> Outcome {
    call.permit("POST /oauth2PermissionGrants", &WRITE, &WRITE)?;
    if call.beta {
        return Err(bad(
            "Request_BadRequest",
            "Grants to agent identities are made with v1.0.",
        ));
    }
    let body = call.body()?;
    let client = find(&call, &required(&body, "clientId")?)?.clone();
    let resource = find(&call, &required(&body, "resourceId")?)?.id.clone();
    let consent = required(&body, "consentType")?;
    let principal = match consent.as_str() {
        "AllPrincipals" => None,
        "Principal" => Some(call.named_user(&required(&body, "principalId")?)?.id),
        other => {
            return Err(bad(
                "Request_BadRequest",
                format!("Invalid value '{other}' for consentType."),
            ));
        }
    };
    // Documented as ignored, and demanded nevertheless.
    if client.blueprint().is_some() {
        required(&body, "startTime")?;
    }
    let scope = required(&body, "scope")?;
    if client.blueprint().is_some() {
        refuse_blocked(&scope)?;
    }
    let tenant = call.tenant()?;
    let same = tenant.grants.iter().any(|grant| {
        grant.client == client.id && grant.resource == resource && grant.principal == principal
    });
    if same {
        return Err(Failure::new(
            409,
            "Request_MultipleObjectsWithSameKeyValue",
            "Permission entry already exists.",
        ));
    }
    let grant = Grant {
        id: random::opaque(),
        client: client.id,
        principal,
        resource,
        scope: scope.split_whitespace().collect::<Vec<_>>().join(" "),
        seen_from_ms: call.now_ms() + tenant.propagation_ms,
    };
    let shown = shown(&grant);
    call.tenant_mut()?.grants.push(grant);
    Ok(call.entity(201, "oauth2PermissionGrants/$entity", shown))
}

fn refuse_blocked(scope: &str) -> Result<(), Failure> {
    match scope
        .split_whitespace()
        .find(|name| permissions::is_blocked_delegated(name))
    {
        None => Ok(()),
        Some(name) => Err(bad(
            "Request_BadRequest",
            format!("The permission '{name}' cannot be granted to an agent identity."),
        )),
    }
}

fn stored<'c>(call: &'c Call<'_>, id: &str) -> Result<&'c Grant, Failure> {
    let found = call.tenant()?.grants.iter().find(|grant| grant.id == id);
    found.ok_or_else(|| Failure::no_resource(id))
}

fn update(mut call: Call<'_>, id: &str) -> Outcome {
    call.permit("PATCH /oauth2PermissionGrants/{id}", &WRITE, &WRITE)?;
    let scope = required(&call.body()?, "scope")?;
    stored(&call, id)?;
    let tenant = call.tenant()?;
    let seen = call.now_ms() + tenant.propagation_ms;
    for grant in &mut call.tenant_mut()?.grants {
        if grant.id == id {
            grant.scope = scope.split_whitespace().collect::<Vec<_>>().join(" ");
            grant.seen_from_ms = seen;
        }
    }
    Ok(done())
}

fn shown(grant: &Grant) -> Value {
    json!({
        "clientId": grant.client.as_str(),
        "consentType": if grant.principal.is_some() { "Principal" } else { "AllPrincipals" },
        "id": grant.id,
        "principalId": grant.principal.as_ref().map(|id| id.as_str()),
        "resourceId": grant.resource.as_str(),
        "scope": grant.scope,
    })
}
