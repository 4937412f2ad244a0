//! Proxies and certificates on the way to a server.
//!
//! A proxy is taken from the server's entry, else from the hub's environment, as
//! most programs do: `https_proxy` and `http_proxy` by the scheme, `all_proxy` for
//! both, `no_proxy` for what is reached without; small letters count before
//! capitals. What is on this machine is never reached through one. A proxy that
//! cannot be used fails the server: going around it is what its owner did not want.

use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use legation_config::{Environment, ResolvedProxy, ResolvedReach};
use legation_core::Secret;
use legation_core::error::chain;

use crate::port::DialError;
use crate::transport::{Proxy, Reach, client_config};

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
    let wrong = |field: &str, why: String| DialError::Misconfigured(format!("tls.{field} {why}"));
    let read = |field: &str, value: &str| pem(value).map_err(|why| wrong(field, why));
    let ca = resolved.ca_file.as_deref();
    let ca = ca.map(|ca| read("caFile", ca)).transpose()?;
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

fn proxy(
    environment: &Environment,
    target: &Uri,
    choice: &ResolvedProxy,
) -> Result<Option<Proxy>, DialError> {
    let (Some(host), Some(scheme)) = (target.host(), target.scheme_str()) else {
        return Ok(None);
    };
    let host = bare(host);
    if is_local(host) {
        return Ok(None);
    }
    let misconfigured = |whose: &str, why| DialError::Misconfigured(format!("{whose} {why}"));
    match choice {
        ResolvedProxy::Off => Ok(None),
        ResolvedProxy::At(url) => {
            let parsed = parse(url.reveal()).map_err(|why| misconfigured("proxy", why))?;
            Ok(Some(parsed))
        }
        ResolvedProxy::Environment => {
            let port = target
                .port_u16()
                .unwrap_or(if scheme == "https" { 443 } else { 80 });
            let (small, large) = match scheme {
                "https" => ("https_proxy", "HTTPS_PROXY"),
                _ => ("http_proxy", "HTTP_PROXY"),
            };
            let names = [small, large, "all_proxy", "ALL_PROXY"];
            let set = |name: &&str| environment.get(name).is_some_and(|value| !value.is_empty());
            let Some(name) = names.into_iter().find(set) else {
                return Ok(None);
            };
            let without = ["no_proxy", "NO_PROXY"].into_iter().find(set);
            let without = without.and_then(|name| environment.get(name));
            if without.is_some_and(|list| excludes(list, host, port)) {
                return Ok(None);
            }
            let url = environment.get(name).unwrap_or_default();
            parse(url)
                .map(Some)
                .map_err(|why| misconfigured(&format!("the variable {name}"), why))
        }
    }
}

/// Reads the address of a proxy; nothing of it is in the message, because it may
/// hold a password.
fn parse(url: &str) -> Result<Proxy, &'static str> {
    const NONE: &str = "is no address of a proxy";
    let url = url.trim();
    let rest = match url.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
        Some(_) => return Err("names a proxy that is not of http://, which is not spoken"),
        None => url,
    };
    let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (user, place) = rest
        .rsplit_once('@')
        .map_or((None, rest), |(user, place)| (Some(user), place));
    let place: http::uri::Authority = place.parse().map_err(|_| NONE)?;
    let credentials = match user {
        None => None,
        Some(user) => {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            let pair = [decoded(name), b":".to_vec(), decoded(password)].concat();
            let value = format!("Basic {}", STANDARD.encode(pair));
            let mut value = HeaderValue::from_str(&value).map_err(|_| NONE)?;
            value.set_sensitive(true);
            Some(value)
        }
    };
    let host = bare(place.host());
    let says_port = place.as_str().len() > place.host().len();
    if host.is_empty() || (says_port && place.port_u16().is_none()) {
        return Err(NONE);
    }
    Ok(Proxy {
        host: host.into(),
        port: place.port_u16().unwrap_or(80),
        credentials,
    })
}

/// `%XX` (RFC 3986, section 2.1); what is none stays as it is.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| byte == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let plain = digits.filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()));
        match plain.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    bytes
}

fn bare(host: &str) -> &str {
    host.strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host)
}

/// Whether a host is this machine.
fn is_local(host: &str) -> bool {
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    match name.parse::<IpAddr>() {
        Ok(ip) => ip.to_canonical().is_loopback(),
        Err(_) => name == "localhost" || name.ends_with(".localhost"),
    }
}

/// Whether a list of `no_proxy` names a host: by its name or that of a domain above
/// it, by its address or a network, each with a port or without.
fn excludes(list: &str, host: &str, port: u16) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let ip = host.parse::<IpAddr>().ok();
    list.split([',', ' ']).any(|entry| {
        let entry = entry.trim().to_ascii_lowercase();
        if entry == "*" {
            return true;
        }
        if let (Some(ip), Some((network, bits))) = (ip, entry.split_once('/')) {
            return in_network(ip, network, bits);
        }
        if let (Some(ip), Ok(named)) = (ip, bare(&entry).parse::<IpAddr>()) {
            return ip == named;
        }
        let (name, wanted) = match entry.rsplit_once(':') {
            Some((name, wanted)) if !name.contains(':') || name.ends_with(']') => {
                (name, wanted.parse::<u16>().ok())
            }
            _ => (entry.as_str(), None),
        };
        if wanted.is_some_and(|wanted| wanted != port) {
            return false;
        }
        let name = bare(name).trim_start_matches("*.").trim_matches('.');
        let above = || {
            host.strip_suffix(name)
                .is_some_and(|rest| rest.ends_with('.'))
        };
        !name.is_empty() && (host == name || (ip.is_none() && above()))
    })
}

fn in_network(ip: IpAddr, network: &str, bits: &str) -> bool {
    let (Ok(network), Ok(bits)) = (network.parse::<IpAddr>(), bits.parse::<u32>()) else {
        return false;
    };
    match (ip, network) {
        (IpAddr::V4(ip), IpAddr::V4(network)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            ip.to_bits() & mask == network.to_bits() & mask
        }
        (IpAddr::V6(ip), IpAddr::V6(network)) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            ip.to_bits() & mask == network.to_bits() & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
