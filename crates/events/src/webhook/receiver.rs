//! Where a webhook goes: an https address, checked and looked up anew for every
//! single delivery.

use std::fmt;
use std::net::IpAddr;

use http::uri::Uri;
use legation_core::net::is_global;

/// Longest address of a receiver, in bytes.
const URL_MAX: usize = 2048;

/// The address of a receiver.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Receiver {
    text: Box<str>,
    host: Box<str>,
    port: u16,
    target: Box<str>,
}

/// What is wrong with an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadReceiver {
    #[error("delivery.url is no address of a host")]
    Syntax,
    #[error("delivery.url must be an https address")]
    Scheme,
    #[error("delivery.url must hold no user name, password or fragment")]
    UserInfo,
    #[error("delivery.url has more than {URL_MAX} bytes")]
    TooLong,
    #[error(
        "delivery.url is an address of a private network or of this machine, which the owner has not allowed"
    )]
    Private,
}

/// Hosts that may be reached though their addresses are not global.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allowed(Vec<Box<str>>);

// === impl Receiver ===

impl Receiver {
    /// Reads an address.
    pub(crate) fn parse(text: &str, allowed: &Allowed) -> Result<Self, BadReceiver> {
        if text.len() > URL_MAX {
            return Err(BadReceiver::TooLong);
        }
        let uri: Uri = text.parse().map_err(|_| BadReceiver::Syntax)?;
        if uri.scheme_str() != Some("https") {
            return Err(BadReceiver::Scheme);
        }
        let authority = uri.authority().ok_or(BadReceiver::Syntax)?;
        if authority.as_str().contains('@') || text.contains('#') {
            return Err(BadReceiver::UserInfo);
        }
        let host = authority.host();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let receiver = Self {
            text: text.into(),
            host: host.to_ascii_lowercase().into(),
            port: authority.port_u16().unwrap_or(443),
            target: target.into(),
        };
        if host.is_empty() {
            return Err(BadReceiver::Syntax);
        }
        match host.parse::<IpAddr>() {
            Ok(address) if !is_global(address) && !allowed.holds(&receiver) => {
                Err(BadReceiver::Private)
            }
            Ok(_) | Err(_) => Ok(receiver),
        }
    }

    /// As it was given.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Path and query.
    pub(crate) fn target(&self) -> &str {
        &self.target
    }

    /// The value of the `Host` field (RFC 9110, section 7.2).
    pub(crate) fn authority(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.to_string(),
        };
        match self.port {
            443 => host,
            port => format!("{host}:{port}"),
        }
    }

    /// What of it may be shown: path and query may hold a client's secrets.
    pub(crate) fn origin(&self) -> String {
        format!("https://{}", self.authority())
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin())
    }
}

// === impl Allowed ===

impl Allowed {
    pub(crate) fn new(hosts: &[Box<str>]) -> Self {
        Self(
            hosts
                .iter()
                .map(|host| host.to_ascii_lowercase().into())
                .collect(),
        )
    }

    pub(crate) fn holds(&self, receiver: &Receiver) -> bool {
        let with_port = format!("{}:{}", receiver.host, receiver.port);
        let bracketed = format!("[{}]:{}", receiver.host, receiver.port);
        self.0
            .iter()
            .any(|host| **host == *receiver.host || **host == *with_port || **host == *bracketed)
    }
}
