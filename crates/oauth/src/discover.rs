//! Who signs people in for a server.

use std::sync::Arc;

use crate::challenge::Challenge;
use crate::error::OAuthError;
use crate::fetch::{Ask, Fetch, Reach};
use crate::metadata::{Issuer, MetadataError, Resource, issuer_places, resource_places};
use crate::settings::Settings;
use crate::url::WebUrl;

const OF_SERVER: &str = "the server's own description";
const OF_ISSUER: &str = "the authorization server's description";

/// What was found out.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) issuer: Arc<Issuer>,
    /// What tokens are for; `None` for servers of revision 2025-03-26.
    pub(crate) resource: Option<Box<str>>,
    /// What the server says there is.
    pub(crate) scopes: Vec<Box<str>>,
}

/// Finds out who signs people in for a server. One that describes nothing but asks
/// for a sign-in is taken for one of revision 2025-03-26.
pub(crate) async fn discover(
    fetch: &dyn Fetch,
    settings: &Settings,
    challenge: Option<&Challenge>,
) -> Result<Found, OAuthError> {
    let reach = settings.reach();
    let hint = challenge.and_then(|challenge| challenge.resource_metadata.as_deref());
    let resource = resource(fetch, &settings.server, hint, &reach).await?;
    let mut takes_dpop = challenge.is_some_and(|challenge| challenge.dpop);
    let (issuer, scopes, resource) = match resource {
        Some(resource) => {
            takes_dpop |= resource.has_dpop;
            let issuer = chosen(settings, &resource)?;
            (issuer, resource.scopes, Some(resource.resource))
        }
        None => {
            let issuer = settings.issuer.clone();
            let issuer = issuer.unwrap_or_else(|| settings.server.origin().into());
            (issuer, Vec::new(), None)
        }
    };
    let described = described(fetch, &issuer, &reach).await?;
    let mut described = match described {
        Some(described) => described,
        None if resource.is_none() && settings.issuer.is_none() => {
            if challenge.is_none() {
                return Err(OAuthError::NotProtected);
            }
            Issuer::assumed(&settings.server).ok_or(OAuthError::NotProtected)?
        }
        None => {
            let issuer = issuer.chars().filter(|letter| !letter.is_control());
            return Err(OAuthError::NoIssuer {
                issuer: issuer.take(200).collect(),
            });
        }
    };
    // A server that knows nothing of it refuses a bound token (RFC 9449, section 7.2).
    described.has_dpop &= takes_dpop;
    Ok(Found {
        issuer: Arc::new(described),
        resource,
        scopes,
    })
}

/// What an issuer says of itself, for a sign-in that is there already: with its key, if it has
/// one, and never with another.
pub(crate) async fn issuer(
    fetch: &dyn Fetch,
    settings: &Settings,
    name: &str,
) -> Result<Arc<Issuer>, OAuthError> {
    let reach = settings.reach();
    let found = described(fetch, name, &reach).await?;
    let assumed = || {
        let is_own = *name == *settings.server.origin();
        is_own.then(|| Issuer::assumed(&settings.server)).flatten()
    };
    let mut found = found.or_else(assumed).ok_or_else(|| OAuthError::NoIssuer {
        issuer: name.to_owned(),
    })?;
    found.has_dpop = false;
    Ok(Arc::new(found))
}

fn chosen(settings: &Settings, resource: &Resource) -> Result<Box<str>, OAuthError> {
    let found = match &settings.issuer {
        Some(wanted) => resource.issuers.iter().find(|issuer| *issuer == wanted),
        None => resource.issuers.first(),
    };
    found.cloned().ok_or_else(|| OAuthError::Issuer {
        wanted: settings.issuer.as_deref().unwrap_or("anybody").to_owned(),
    })
}

async fn resource(
    fetch: &dyn Fetch,
    server: &WebUrl,
    hint: Option<&str>,
    reach: &Reach,
) -> Result<Option<Resource>, OAuthError> {
    for place in resource_places(server, hint) {
        let reply = fetch.fetch(Ask::get(place), reach.clone()).await;
        let reply = reply.map_err(|source| OAuthError::Fetch {
            what: OF_SERVER,
            source,
        })?;
        if reply.status == 200 {
            let read = Resource::read(&reply.body, server);
            // Some answer every path with a page for people.
            if hint.is_none() && matches!(read, Err(MetadataError::Unreadable { .. })) {
                continue;
            }
            return read.map(Some).map_err(|source| OAuthError::Metadata {
                what: OF_SERVER,
                source,
            });
        }
    }
    Ok(None)
}

async fn described(
    fetch: &dyn Fetch,
    issuer: &str,
    reach: &Reach,
) -> Result<Option<Issuer>, OAuthError> {
    let url = WebUrl::parse_safe(issuer).map_err(|bad| OAuthError::IssuerAddress { bad })?;
    for place in issuer_places(&url) {
        let reply = fetch.fetch(Ask::get(place), reach.clone()).await;
        let reply = reply.map_err(|source| OAuthError::Fetch {
            what: OF_ISSUER,
            source,
        })?;
        if reply.status == 200 {
            let read = Issuer::read(&reply.body, issuer);
            if matches!(read, Err(MetadataError::Unreadable { .. })) {
                continue;
            }
            return read.map(Some).map_err(|source| OAuthError::Metadata {
                what: OF_ISSUER,
                source,
            });
        }
    }
    Ok(None)
}
