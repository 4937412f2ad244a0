//! Applications, service principals and consent.

mod agents;
mod applications;
mod grants;
mod principals;

use http::Method;
use serde_json::{Value, json};

use super::error::Failure;
use super::{Call, Outcome, chats, odata, route};
use crate::state::directory::ObjectId;

/// Type names of agents' objects, as paths and bodies have them.
const BLUEPRINT: &str = "microsoft.graph.agentIdentityBlueprint";
const BLUEPRINT_PRINCIPAL: &str = "microsoft.graph.agentIdentityBlueprintPrincipal";
const AGENT: &str = "microsoft.graph.agentIdentity";

/// Everything under `/applications`, `/servicePrincipals` and `/oauth2PermissionGrants`.
pub(super) fn route(call: Call<'_>, parts: &[&str]) -> Outcome {
    let method = call.ask.method.clone();
    let cast = [BLUEPRINT, BLUEPRINT_PRINCIPAL, AGENT];
    if let Some(part) = parts.iter().find(|part| cast.contains(*part)) {
        agents_are_served(&call, part)?;
    }
    match (&method, parts) {
        (_, ["applications", rest @ ..]) => applications::route(call, rest),
        (_, ["servicePrincipals", rest @ ..]) => principals::route(call, rest),
        (_, ["oauth2PermissionGrants", rest @ ..]) => grants::route(call, rest),
        (&Method::GET, ["organization"]) => organization(&call),
        _ => Err(route::unknown(&call, parts)),
    }
}

fn organization(call: &Call<'_>) -> Outcome {
    let fitting = ["User.Read", "Organization.Read.All", "Directory.Read.All"];
    call.permit("GET /organization", &fitting, &fitting[1..])?;
    let tenant = call.tenant()?;
    let shown = json!({
        "id": tenant.id,
        "displayName": tenant.name,
        "tenantType": "AAD",
        "verifiedDomains": [{
            "capabilities": "Email, OfficeCommunicationsOnline",
            "isDefault": true,
            "isInitial": true,
            "name": tenant.domain,
            "type": "Managed",
        }],
    });
    call.list("organization", vec![shown], 100)
}

/// Whether a body says that it is of a type; the casing of its name is the client's choice.
fn is_type(body: &Value, name: &str) -> bool {
    body["@odata.type"]
        .as_str()
        .is_some_and(|own| own.trim_start_matches('#').eq_ignore_ascii_case(name))
}

/// The objects that a `…@odata.bind` names; each must exist.
fn bound(call: &Call<'_>, body: &Value, member: &str) -> Result<Vec<ObjectId>, Failure> {
    let links = body[member].as_array().into_iter().flatten();
    links
        .map(|link| {
            let link = link.as_str().unwrap_or_default();
            let name = chats::bound(link).ok_or_else(|| {
                Failure::new(400, "Request_BadRequest", format!("Invalid link '{link}'."))
            })?;
            Ok(call.named_user(&name)?.id)
        })
        .collect()
}

fn denied(message: &str) -> Failure {
    Failure::new(403, "Authorization_RequestDenied", message)
}

fn bad(code: &'static str, message: impl Into<String>) -> Failure {
    Failure::new(400, code, message)
}

fn required(body: &Value, name: &str) -> Result<String, Failure> {
    body[name]
        .as_str()
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
        .ok_or_else(|| {
            bad(
                "Request_BadRequest",
                format!("A value is required for property '{name}' of resource."),
            )
        })
}

/// What directory objects are looked up by.
const FILTERABLE: [&str; 12] = [
    "accountEnabled",
    "agentIdentityBlueprintId",
    "appId",
    "clientId",
    "consentType",
    "createdByAppId",
    "displayName",
    "id",
    "identifierUris",
    "principalId",
    "resourceId",
    "servicePrincipalType",
];

/// Whether an object passes `$filter`. An object that has not the property does not pass.
fn matches(call: &Call<'_>, value: &Value) -> Result<bool, Failure> {
    let Some(filter) = call.option("filter") else {
        return Ok(true);
    };
    let unsupported = || {
        bad(
            "Request_UnsupportedQuery",
            format!("Unsupported or invalid query filter clause: '{filter}'."),
        )
    };
    let mut all = true;
    for (property, operator, operand) in odata::comparisons(filter).ok_or_else(unsupported)? {
        let known = FILTERABLE.contains(&property.as_str());
        let text = match &value[&property] {
            Value::String(text) => text.to_lowercase(),
            Value::Bool(on) => on.to_string(),
            Value::Null => "null".to_owned(),
            _ => return Err(unsupported()),
        };
        let operand = operand.to_lowercase();
        all &= match operator.as_str() {
            "eq" if known => text == operand,
            "startswith" if known => text.starts_with(&operand),
            _ => return Err(unsupported()),
        };
    }
    Ok(all)
}

/// Agents' objects: refused where the tenant has none of them, and to tokens that may do too much.
fn agents_are_served(call: &Call<'_>, part: &str) -> Result<(), Failure> {
    if !call.tenant()?.has_agents {
        return Err(Failure::bad_request(format!(
            "Resource not found for the segment '{part}'."
        )));
    }
    let broad = "Directory.AccessAsUser.All";
    if call.caller.permissions.iter().any(|name| name == broad) {
        return Err(denied(
            "Tokens with the permission Directory.AccessAsUser.All are not accepted here.",
        ));
    }
    Ok(())
}
