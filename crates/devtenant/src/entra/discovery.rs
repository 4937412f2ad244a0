//! What clients read before anything else.

use serde_json::{Value, json};

use super::error::Refusal;
use crate::certs::REAL_HOSTS;
use crate::server::Shared;
use crate::state::World;
use crate::web::Ask;

/// Names that stand for any tenant.
pub(super) const ANY: [&str; 3] = ["common", "organizations", "consumers"];

/// Refuses a tenant that does not exist.
pub(super) fn known(world: &World, tenant: &str) -> Result<(), Refusal> {
    if ANY.contains(&tenant) || world.tenant(tenant).is_some() {
        return Ok(());
    }
    Err(Refusal::new(
        90_002,
        format!(
            "Tenant '{tenant}' not found. Check to make sure you have the correct tenant ID and \
             are signing into the correct cloud."
        ),
    ))
}

/// The issuer of a tenant's tokens of version 2, as the client reaches it.
pub(super) fn issuer(world: &World, ask: &Ask, tenant: &str) -> String {
    let id = match world.tenant(tenant) {
        Some(tenant) => tenant.id.as_str(),
        None => "{tenantid}",
    };
    format!("{}/{id}/v2.0", ask.origin)
}

/// `/{tenant}/v2.0/.well-known/openid-configuration`.
pub(super) fn openid(world: &World, ask: &Ask, tenant: &str) -> Result<Value, Refusal> {
    known(world, tenant)?;
    let name = world
        .tenant(tenant)
        .map_or(tenant, |tenant| tenant.id.as_str());
    let base = format!("{}/{name}", ask.origin);
    let host = ask.origin.trim_start_matches("https://");
    let graph = if REAL_HOSTS.contains(&host) {
        "graph.microsoft.com"
    } else {
        host
    };
    Ok(json!({
        "token_endpoint": format!("{base}/oauth2/v2.0/token"),
        "token_endpoint_auth_methods_supported": [
            "client_secret_post", "private_key_jwt", "client_secret_basic",
        ],
        "jwks_uri": format!("{base}/discovery/v2.0/keys"),
        "response_modes_supported": ["query", "fragment", "form_post"],
        "subject_types_supported": ["pairwise"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "response_types_supported": ["code", "id_token", "code id_token", "id_token token"],
        "scopes_supported": ["openid", "profile", "email", "offline_access"],
        "issuer": issuer(world, ask, tenant),
        "request_uri_parameter_supported": false,
        "userinfo_endpoint": format!("https://{graph}/oidc/userinfo"),
        "authorization_endpoint": format!("{base}/oauth2/v2.0/authorize"),
        "device_authorization_endpoint": format!("{base}/oauth2/v2.0/devicecode"),
        "http_logout_supported": true,
        "frontchannel_logout_supported": true,
        "end_session_endpoint": format!("{base}/oauth2/v2.0/logout"),
        "claims_supported": [
            "sub", "iss", "cloud_instance_name", "cloud_instance_host_name",
            "cloud_graph_host_name", "msgraph_host", "aud", "exp", "iat", "auth_time", "acr",
            "nonce", "preferred_username", "name", "tid", "ver", "at_hash", "c_hash", "email",
        ],
        "kerberos_endpoint": format!("{base}/kerberos"),
        "tenant_region_scope": "EU",
        "cloud_instance_name": "microsoftonline.com",
        "cloud_graph_host_name": "graph.windows.net",
        "msgraph_host": graph,
        "rbac_url": "https://pas.windows.net",
    }))
}

/// `/common/discovery/instance`: which hosts are the same cloud.
pub(super) fn instance(ask: &Ask) -> Result<Value, Refusal> {
    let asked = ask
        .query
        .get("authorization_endpoint")
        .unwrap_or_default()
        .trim_start_matches("https://");
    let (host, path) = asked.split_once('/').unwrap_or((asked, ""));
    let own = ask.origin.trim_start_matches("https://");
    if host != own && !REAL_HOSTS.contains(&host) {
        return Err(Refusal::new(
            50_049,
            format!("Unknown or invalid instance: {host}."),
        ));
    }
    let tenant = path.split('/').next().unwrap_or("common");
    let aliases = if host == own && !REAL_HOSTS.contains(&own) {
        vec![own]
    } else {
        vec![
            "login.microsoftonline.com",
            "login.windows.net",
            "login.microsoft.com",
            "sts.windows.net",
        ]
    };
    Ok(json!({
        "tenant_discovery_endpoint":
            format!("https://{host}/{tenant}/v2.0/.well-known/openid-configuration"),
        "api-version": "1.1",
        "metadata": [{
            "preferred_network": aliases[0],
            "preferred_cache": aliases.get(1).unwrap_or(&aliases[0]),
            "aliases": aliases,
        }],
    }))
}

/// `/{tenant}/discovery/v2.0/keys`.
pub(super) fn keys(shared: &Shared, ask: &Ask, tenant: &str) -> Value {
    let issuer = format!("{}/{tenant}/v2.0", ask.origin);
    json!({"keys": [shared.signer.jwk(&issuer)]})
}
