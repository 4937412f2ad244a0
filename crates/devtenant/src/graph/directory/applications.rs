//! Applications and blueprints, and their credentials.

use http::Method;
use legation_core::Wall;
use serde_json::{Value, json};

use super::{BLUEPRINT, bad, bound, is_type, matches, principals, required};
use crate::graph::error::Failure;
use crate::graph::{Call, Outcome, chats};
use crate::jwt::Certificate;
use crate::random;
use crate::state::directory::{App, KeyCredential, Scope, SecretCredential};
use crate::web::{Answer, base64_std};

const READ: [&str; 4] = [
    "AgentIdentityBlueprint.Read.All",
    "AgentIdentityBlueprint.ReadWrite.All",
    "Application.Read.All",
    "Directory.Read.All",
];
const CREATE: [&str; 2] = [
    "AgentIdentityBlueprint.Create",
    "AgentIdentityBlueprint.ReadWrite.All",
];
const CREDENTIALS: [&str; 2] = [
    "AgentIdentityBlueprint.AddRemoveCreds.All",
    "AgentIdentityBlueprint.ReadWrite.All",
];
const TWO_YEARS_MS: i64 = 2 * 365 * 24 * 3_600_000;

/// Everything under `/applications`.
pub(super) fn route(call: Call<'_>, rest: &[&str]) -> Outcome {
    let method = call.ask.method.clone();
    // A cast may stand behind an object's id and changes nothing.
    let bare: Vec<&str> = rest
        .iter()
        .enumerate()
        .filter(|(at, part)| *at == 0 || **part != BLUEPRINT)
        .map(|(_, part)| *part)
        .collect();
    match (&method, bare.as_slice()) {
        (&Method::POST, [] | [BLUEPRINT]) => create(call, !bare.is_empty()),
        (&Method::GET, [] | [BLUEPRINT]) => list(&call, !bare.is_empty()),
        (&Method::GET, ["appId", id] | [id]) => read(&call, id),
        (&Method::PATCH, ["appId", id] | [id]) => update(call, id),
        (&Method::DELETE, [id]) => delete(call, id),
        (&Method::POST, [id, "addPassword"]) => add_password(call, id),
        (&Method::POST, [id, "removePassword"]) => remove_password(call, id),
        (_, [id, "federatedIdentityCredentials", rest @ ..]) => federated(call, id, rest),
        (&Method::GET, [id, "sponsors" | "owners"]) => {
            let sponsors = bare.get(1) == Some(&"sponsors");
            call.permit("GET /applications/{id}/sponsors", &READ, &READ)?;
            let app = find(&call, id)?;
            let people = if sponsors { &app.sponsors } else { &app.owners };
            principals::people(&call, people)
        }
        _ => Err(chats::unknown(&call)),
    }
}

fn find<'c>(call: &'c Call<'_>, id: &str) -> Result<&'c App, Failure> {
    // Keys come as `(appId='…')` too.
    let id = id.trim_start_matches("appId='");
    call.tenant()?
        .apps
        .iter()
        .find(|app| app.id.is(id) || app.app_id.is(id))
        .ok_or_else(|| Failure::no_resource(id))
}

fn stored<'c>(call: &'c mut Call<'_>, id: &str) -> Result<&'c mut App, Failure> {
    let id = id.trim_start_matches("appId='").to_owned();
    call.tenant_mut()?
        .app_mut(&id)
        .ok_or_else(|| Failure::no_resource(&id))
}

fn create(mut call: Call<'_>, cast: bool) -> Outcome {
    call.permit(
        "POST /applications/microsoft.graph.agentIdentityBlueprint",
        &CREATE,
        &CREATE,
    )?;
    let body = call.body()?;
    if !cast && !is_type(&body, BLUEPRINT) {
        call.shared
            .report()
            .unknown("POST /applications (not a blueprint)");
        return Err(super::denied(
            "Insufficient privileges to complete the operation.",
        ));
    }
    let name = required(&body, "displayName")?;
    if body.get("passwordCredentials").is_some() || body.get("publicClient").is_some() {
        return Err(bad(
            "AgentBlueprint_IncompatibleProperty",
            "A property of the request is not supported on an agent identity blueprint.",
        ));
    }
    let sponsors = bound(&call, &body, "sponsors@odata.bind")?;
    if sponsors.is_empty() {
        return Err(bad(
            "Request_BadRequest",
            "An agent identity blueprint must have at least one sponsor.",
        ));
    }
    let mut app = App::new(&name, call.now_ms());
    app.blueprint = true;
    app.sponsors = sponsors;
    app.owners = bound(&call, &body, "owners@odata.bind")?;
    let shown = shown(&app);
    call.tenant_mut()?.apps.push(app);
    Ok(call.entity(201, "applications/$entity", shown))
}

fn list(call: &Call<'_>, cast: bool) -> Outcome {
    call.permit("GET /applications", &READ, &READ)?;
    call.options(&["select", "filter", "top", "skiptoken", "count"])?;
    let mut out = Vec::new();
    for app in call
        .tenant()?
        .apps
        .iter()
        .filter(|app| app.blueprint || !cast)
    {
        let value = shown(app);
        if matches(call, &value)? {
            out.push(value);
        }
    }
    call.list("applications", out, call.top(100, 999)?)
}

fn read(call: &Call<'_>, id: &str) -> Outcome {
    call.permit("GET /applications/{id}", &READ, &READ)?;
    call.options(&["select"])?;
    let shown = shown(find(call, id)?);
    Ok(call.entity(200, "applications/$entity", shown))
}

fn update(mut call: Call<'_>, id: &str) -> Outcome {
    let permissions = [
        "AgentIdentityBlueprint.UpdateAuthProperties.All",
        "AgentIdentityBlueprint.ReadWrite.All",
        "AgentIdentityBlueprint.AddRemoveCreds.All",
    ];
    call.permit("PATCH /applications/{id}", &permissions, &permissions)?;
    let body = call.body()?;
    let now = call.now_ms();
    let app = stored(&mut call, id)?;
    if let Some(name) = body["displayName"].as_str() {
        name.clone_into(&mut app.name);
    }
    if let Some(uris) = body["identifierUris"].as_array() {
        let uris: Vec<String> = uris
            .iter()
            .filter_map(|uri| uri.as_str().map(str::to_owned))
            .collect();
        let own = format!("api://{}", app.app_id);
        if !uris.iter().all(|uri| uri.starts_with(&own)) {
            return Err(bad(
                "HostNameNotOnVerifiedDomain",
                "Values of identifierUris property must use a verified domain of the organization \
                 or its subdomain, or be api:// and the app's id.",
            ));
        }
        app.uris = uris;
    }
    if let Some(scopes) = body["api"]["oauth2PermissionScopes"].as_array() {
        app.scopes = scopes
            .iter()
            .map(|scope| Scope {
                id: scope["id"].as_str().unwrap_or_default().to_owned(),
                value: scope["value"].as_str().unwrap_or_default().to_owned(),
                shown: scope.clone(),
            })
            .collect();
    }
    if let Some(version) = body["api"]["requestedAccessTokenVersion"].as_u64() {
        app.token_version = if version == 1 { 1 } else { 2 };
    }
    if let Some(keys) = body["keyCredentials"].as_array() {
        app.keys = keys
            .iter()
            .map(|key| credential(key, now))
            .collect::<Result<_, _>>()?;
    }
    Ok(Answer::empty(204))
}

fn credential(key: &Value, now: i64) -> Result<KeyCredential, Failure> {
    let certificate = key["key"].as_str().unwrap_or_default();
    if key["type"] != "AsymmetricX509Cert" || Certificate::parse(certificate).is_none() {
        return Err(bad(
            "KeyCredentialsInvalidKeyType",
            "Key credential is not an X.509 certificate with an RSA key.",
        ));
    }
    let time = |name: &str| key[name].as_str().and_then(Wall::parse);
    Ok(KeyCredential {
        key_id: key["keyId"]
            .as_str()
            .map_or_else(random::guid, str::to_owned),
        name: key["displayName"].as_str().map(str::to_owned),
        certificate: certificate.to_owned(),
        start_ms: time("startDateTime").map_or(now, |at| at.0),
        end_ms: time("endDateTime").map_or(now + TWO_YEARS_MS, |at| at.0),
    })
}

fn delete(mut call: Call<'_>, id: &str) -> Outcome {
    let permissions = [
        "AgentIdentityBlueprint.DeleteRestore.All",
        "AgentIdentityBlueprint.ReadWrite.All",
    ];
    call.permit("DELETE /applications/{id}", &permissions, &permissions)?;
    let app = find(&call, id)?.clone();
    let tenant = call.tenant_mut()?;
    tenant.apps.retain(|known| known.id != app.id);
    tenant
        .principals
        .retain(|principal| principal.app_id != app.app_id);
    Ok(Answer::empty(204))
}

fn add_password(mut call: Call<'_>, id: &str) -> Outcome {
    call.permit(
        "POST /applications/{id}/addPassword",
        &CREDENTIALS,
        &CREDENTIALS,
    )?;
    let body = call.ask.json().unwrap_or_default();
    let wanted = &body["passwordCredential"];
    let now = call.now_ms();
    let time = |name: &str| wanted[name].as_str().and_then(Wall::parse);
    let secret = SecretCredential {
        key_id: random::guid(),
        name: wanted["displayName"].as_str().map(str::to_owned),
        value: random::opaque(),
        start_ms: time("startDateTime").map_or(now, |at| at.0),
        end_ms: time("endDateTime").map_or(now + TWO_YEARS_MS, |at| at.0),
    };
    let mut shown = shown_secret(&secret);
    shown["secretText"] = secret.value.as_str().into();
    stored(&mut call, id)?.secrets.push(secret);
    Ok(call.entity(200, "microsoft.graph.passwordCredential", shown))
}

fn remove_password(mut call: Call<'_>, id: &str) -> Outcome {
    call.permit(
        "POST /applications/{id}/removePassword",
        &CREDENTIALS,
        &CREDENTIALS,
    )?;
    let key = required(&call.body()?, "keyId")?;
    let app = stored(&mut call, id)?;
    let before = app.secrets.len();
    app.secrets.retain(|secret| secret.key_id != key);
    if app.secrets.len() == before {
        return Err(bad(
            "Request_BadRequest",
            format!("No password credential found with keyId {key}."),
        ));
    }
    Ok(Answer::empty(204))
}

fn federated(mut call: Call<'_>, id: &str, rest: &[&str]) -> Outcome {
    let method = call.ask.method.clone();
    let context = "applications('{id}')/federatedIdentityCredentials";
    match (&method, rest) {
        (&Method::GET, []) => {
            call.permit(
                "GET /applications/{id}/federatedIdentityCredentials",
                &READ,
                &READ,
            )?;
            let shown = find(&call, id)?.federated.clone();
            call.list(context, shown, 100)
        }
        (&Method::POST, []) => {
            let operation = "POST /applications/{id}/federatedIdentityCredentials";
            call.permit(operation, &CREDENTIALS, &CREDENTIALS)?;
            let body = call.body()?;
            let trust = json!({
                "id": random::guid(),
                "name": required(&body, "name")?,
                "issuer": required(&body, "issuer")?,
                "subject": required(&body, "subject")?,
                "description": body["description"],
                "audiences": body["audiences"],
            });
            let app = stored(&mut call, id)?;
            let same = |known: &Value| {
                known["name"] == trust["name"]
                    || (known["issuer"] == trust["issuer"] && known["subject"] == trust["subject"])
            };
            if app.federated.iter().any(same) {
                return Err(Failure::new(
                    409,
                    "Request_MultipleObjectsWithSameKeyValue",
                    "FederatedIdentityCredential with this name or issuer and subject already \
                     exists.",
                ));
            }
            app.federated.push(trust.clone());
            Ok(call.entity(201, &format!("{context}/$entity"), trust))
        }
        (&Method::DELETE, [wanted]) => {
            let operation = "DELETE /applications/{id}/federatedIdentityCredentials/{id}";
            call.permit(operation, &CREDENTIALS, &CREDENTIALS)?;
            let app = stored(&mut call, id)?;
            app.federated
                .retain(|known| known["id"] != *wanted && known["name"] != *wanted);
            Ok(Answer::empty(204))
        }
        _ => Err(chats::unknown(&call)),
    }
}

fn shown_secret(secret: &SecretCredential) -> Value {
    json!({
        "customKeyIdentifier": null,
        "displayName": secret.name,
        "endDateTime": Wall(secret.end_ms).to_string(),
        "hint": secret.value.get(..3),
        "keyId": secret.key_id,
        "secretText": null,
        "startDateTime": Wall(secret.start_ms).to_string(),
    })
}

fn shown_key(key: &KeyCredential) -> Value {
    let thumbprint = Certificate::parse(&key.certificate)
        .map(|certificate| base64_std(&certificate.thumbprint()));
    json!({
        "customKeyIdentifier": thumbprint,
        "displayName": key.name,
        "endDateTime": Wall(key.end_ms).to_string(),
        "key": null,
        "keyId": key.key_id,
        "startDateTime": Wall(key.start_ms).to_string(),
        "type": "AsymmetricX509Cert",
        "usage": "Verify",
    })
}

fn shown(app: &App) -> Value {
    let scopes: Vec<Value> = app
        .scopes
        .iter()
        .map(|scope| {
            if scope.shown.is_object() {
                return scope.shown.clone();
            }
            json!({
                "adminConsentDescription": scope.value,
                "adminConsentDisplayName": scope.value,
                "id": scope.id,
                "isEnabled": true,
                "type": "User",
                "userConsentDescription": null,
                "userConsentDisplayName": null,
                "value": scope.value,
            })
        })
        .collect();
    let mut out = json!({
        "id": app.id.as_str(),
        "appId": app.app_id.as_str(),
        "createdDateTime": Wall(app.created_ms).to_string(),
        "displayName": app.name,
        "identifierUris": app.uris,
        "signInAudience": "AzureADMyOrg",
        "isFallbackPublicClient": app.public,
        "tags": [],
        "api": {
            "acceptMappedClaims": null,
            "knownClientApplications": [],
            "requestedAccessTokenVersion": app.token_version,
            "oauth2PermissionScopes": scopes,
            "preAuthorizedApplications": [],
        },
        "keyCredentials": app.keys.iter().map(shown_key).collect::<Vec<_>>(),
        "passwordCredentials": app.secrets.iter().map(shown_secret).collect::<Vec<_>>(),
    });
    if app.blueprint {
        out["@odata.type"] = format!("#{BLUEPRINT}").into();
        if let Some(members) = out.as_object_mut() {
            members.remove("isFallbackPublicClient");
        }
    }
    out
}
