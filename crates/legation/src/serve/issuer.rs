//! The authorization server whose tokens open the HTTP front, if there is one.

use std::net::SocketAddr;
use std::sync::Arc;

use legation_cli::CliError;
use legation_config::settings::FrontOAuth;
use legation_front::ProtectedResource;
use legation_oauth::{ResourceServer, ResourceSettings};

use super::HubOptions;
use super::credentials::Issuer;

/// What judges its tokens; `listen` is where the front answers, if it does.
pub(super) fn of(
    options: &HubOptions,
    listen: Option<SocketAddr>,
) -> Result<Option<Issuer>, CliError> {
    let (Some(oauth), Some(listen)) = (&options.settings.oauth, listen) else {
        return Ok(None);
    };
    if oauth.scopes.is_empty() {
        tracing::warn!("`oauth.scopes` is empty: no token of the issuer opens anything");
    }
    let settings = settings(oauth, listen);
    let fetch = Arc::new(super::oauth::web(&options.environment));
    let server = ResourceServer::new(settings, fetch, options.clock.clone());
    let server = server
        .map_err(|error| CliError::usage(&error).with_hint("correct [oauth] in legation.toml"))?;
    Ok(Some(Issuer {
        server,
        scopes: oauth.scopes.clone(),
    }))
}

fn settings(oauth: &FrontOAuth, listen: SocketAddr) -> ResourceSettings {
    let own = || format!("http://{listen}/mcp").into();
    ResourceSettings {
        issuer: oauth.issuer.clone(),
        audience: oauth.audience.clone().unwrap_or_else(own),
        keys_at: oauth.jwks_uri.clone(),
        subjects: oauth.subjects.clone(),
        scopes: scopes(&oauth.scopes).map(Into::into).collect(),
    }
}

/// What the front says of itself.
pub(super) fn resource(issuer: &Issuer) -> ProtectedResource {
    let server = &issuer.server;
    let scopes: Vec<&str> = scopes(&issuer.scopes).collect();
    ProtectedResource {
        authority: server.audience().authority().into(),
        path: server.audience().path().into(),
        metadata_url: server.document_url().into(),
        document: server.document().into(),
        scope: scopes.join(" ").into(),
    }
}

fn scopes(scopes: &[(Box<str>, Box<str>)]) -> impl Iterator<Item = &str> {
    scopes.iter().map(|(scope, _)| &**scope)
}
