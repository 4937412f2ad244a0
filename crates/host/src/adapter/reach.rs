//! Proxies and certificates on the way to a server.

use std::sync::Arc;

use http::Uri;
use legation_config::{Environment, ResolvedProxy, ResolvedReach};
use legation_core::Secret;
use legation_core::error::chain;
use legation_net::proxy::{Proxies, Proxy};

use crate::port::DialError;
use crate::transport::{Reach, client_config};

/// Longest file of certificates or keys.
const PEM_MAX: u64 = 1 << 20;

/// What stands between the hub and `url`.
pub(super) fn reach(
    environment: &Environment,
    url: &str,
    resolved: &ResolvedReach,
) -> Result<Reach, DialError> {
    let uri: Option<Uri> = url.split('#').next().and_then(|url| url.parse().ok());
    let proxy = match (&resolved.socket, uri) {
        (None, Some(uri)) => proxy(environment, &uri, &resolved.proxy)?,
        (Some(_), _) | (None, None) => None,
    };
    let ca = ca(resolved)?;
    let client = match (&resolved.client_cert, &resolved.client_key) {
        (Some(cert), Some(key)) => {
            let key = Secret::new(read("clientKey", key.reveal())?);
            Some((read("clientCert", cert)?, key))
        }
        _ => None,
    };
    let tls = match (&ca, &client) {
        (None, None) => None,
        _ => {
            let client = client.as_ref().map(|(cert, key)| (cert.as_str(), key));
            let config = client_config(ca.as_deref(), client);
            Some(config.map_err(|error| DialError::Misconfigured(chain(&error)))?)
        }
    };
    Ok(Reach {
        socket: resolved.socket.as_deref().map(Arc::from),
        proxy,
        tls,
    })
}

/// The certificates that are trusted besides those that everybody is.
pub(super) fn ca(resolved: &ResolvedReach) -> Result<Option<String>, DialError> {
    let ca = resolved.ca_file.as_deref();
    ca.map(|ca| read("caFile", ca)).transpose()
}

fn read(field: &str, value: &str) -> Result<String, DialError> {
    pem(value).map_err(|why| DialError::Misconfigured(format!("tls.{field} {why}")))
}

/// The text of a file, or the text itself.
fn pem(value: &str) -> Result<String, String> {
    if ResolvedReach::is_pem(value) {
        return Ok(value.to_owned());
    }
    let unread = |error: std::io::Error| format!("cannot be read: {error}");
    let found = std::fs::metadata(value).map_err(unread)?;
    if !found.is_file() || found.len() > PEM_MAX {
        return Err("is no file of certificates or keys".to_owned());
    }
    std::fs::read_to_string(value).map_err(unread)
}

/// Which proxies lead to a server and to whoever signs people in for it; `None` where that is for
/// the hub's environment to say.
pub(super) fn own_proxies(choice: &ResolvedProxy) -> Result<Option<Proxies>, DialError> {
    match choice {
        ResolvedProxy::Environment => Ok(None),
        ResolvedProxy::Off => Ok(Some(Proxies::Direct)),
        ResolvedProxy::At(url) => match Proxy::parse(url) {
            Ok(proxy) => Ok(Some(Proxies::One(proxy))),
            Err(bad) => Err(DialError::Misconfigured(format!("proxy {bad}"))),
        },
    }
}

fn proxy(
    environment: &Environment,
    target: &Uri,
    choice: &ResolvedProxy,
) -> Result<Option<Proxy>, DialError> {
    let (Some(host), Some(scheme)) = (target.host(), target.scheme_str()) else {
        return Ok(None);
    };
    let is_tls = scheme == "https";
    let port = target.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    let proxies = match own_proxies(choice)? {
        Some(proxies) => proxies,
        None => Proxies::of_environment(|name| environment.get(name)),
    };
    let found = proxies.towards(is_tls, bare(host), port);
    let found = found.map_err(|error| DialError::Misconfigured(error.to_string()))?;
    Ok(found.cloned())
}

fn bare(host: &str) -> &str {
    host.strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host)
}

#[cfg(test)]
mod tests;
