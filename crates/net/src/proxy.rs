//! Proxies on the way to a server, and to whoever signs people in for it.
//!
//! A proxy is taken from the server's entry, else from the hub's environment, as
//! most programs do: `https_proxy` and `http_proxy` by the scheme, `all_proxy` for
//! both, `no_proxy` for what is reached without; small letters count before
//! capitals. What is on this machine is never reached through one. A proxy that
//! cannot be used fails the request: going around it is what its owner did not want.

mod list;
mod tunnel;

use std::fmt;
use std::io;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use legation_core::Secret;
use tokio::net::TcpStream;

/// An HTTP proxy (RFC 9110, section 3.7), spoken to without TLS.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its host, without the brackets of an IPv6 address.
    pub host: Box<str>,
    /// Its port.
    pub port: u16,
    /// `Proxy-Authorization`, where it wants one.
    pub credentials: Option<HeaderValue>,
}

/// Which proxy leads to which host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Proxies {
    /// None leads anywhere.
    #[default]
    Direct,
    /// This one leads everywhere.
    One(Proxy),
    /// Those of the environment.
    Environment(Box<Variables>),
}

/// What the environment says of proxies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variables {
    tls: Option<Named>,
    plain: Option<Named>,
    /// `no_proxy`.
    without: Option<Box<str>>,
}

/// What one variable says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    variable: &'static str,
    proxy: Result<Proxy, BadProxy>,
}

/// A text that is no address of a proxy that could be used. Nothing of it is in the message,
/// because it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadProxy {
    /// It is no address.
    #[error("is no address of a proxy")]
    Syntax,
    /// It is a proxy of another kind.
    #[error("names a proxy that is not of http://, which is not spoken")]
    Scheme,
}

/// A variable of the environment names no proxy that could be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the variable {variable} {bad}")]
pub struct BadVariable {
    /// Which.
    pub variable: &'static str,
    /// What is wrong with it.
    pub bad: BadProxy,
}

// === impl Proxy ===

impl Proxy {
    /// Reads the address of a proxy, which may hold a name and a password.
    ///
    /// # Errors
    /// See [`BadProxy`].
    pub fn parse(url: &Secret) -> Result<Self, BadProxy> {
        let url = url.reveal().trim();
        let rest = match url.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return Err(BadProxy::Scheme),
            None => url,
        };
        let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (user, place) = rest
            .rsplit_once('@')
            .map_or((None, rest), |(user, place)| (Some(user), place));
        let place: http::uri::Authority = place.parse().map_err(|_| BadProxy::Syntax)?;
        let credentials = user.map(credentials).transpose()?;
        let host = bare(place.host());
        let says_port = place.as_str().len() > place.host().len();
        if host.is_empty() || (says_port && place.port_u16().is_none()) {
            return Err(BadProxy::Syntax);
        }
        Ok(Self {
            host: host.into(),
            port: place.port_u16().unwrap_or(80),
            credentials,
        })
    }

    /// Asks the proxy at the other end of `tcp` for a connection to `host`, an IPv6 address
    /// without brackets. What is written from then on is written to the host.
    ///
    /// # Errors
    /// The connection's, or what the proxy refused with.
    pub async fn open_tunnel(&self, tcp: &mut TcpStream, host: &str, port: u16) -> io::Result<()> {
        tunnel::open(tcp, self, (host, port)).await
    }

    /// The line by which the proxy knows who asks.
    pub fn write_credentials(&self, into: &mut Vec<u8>) {
        if let Some(credentials) = &self.credentials {
            into.extend_from_slice(b"proxy-authorization: ");
            into.extend_from_slice(credentials.as_bytes());
            into.extend_from_slice(b"\r\n");
        }
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Proxy {
    /// Where it is, and never as whom.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

// === impl Proxies ===

impl Proxies {
    /// Those of an environment.
    #[must_use]
    pub fn of_environment<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Self {
        let set = |name: &str| get(name).filter(|value| !value.is_empty());
        let first = |names: [&'static str; 4]| {
            names.into_iter().find_map(|variable| {
                let proxy = Proxy::parse(&Secret::new(set(variable)?));
                Some(Named { variable, proxy })
            })
        };
        let variables = Variables {
            tls: first(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            plain: first(["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]),
            without: set("no_proxy").or_else(|| set("NO_PROXY")).map(Into::into),
        };
        match (&variables.tls, &variables.plain) {
            (None, None) => Self::Direct,
            _ => Self::Environment(Box::new(variables)),
        }
    }

    /// The one that leads to a host, which is asked with TLS or without; an IPv6 address has no
    /// brackets.
    ///
    /// # Errors
    /// See [`BadVariable`].
    pub fn towards(
        &self,
        is_tls: bool,
        host: &str,
        port: u16,
    ) -> Result<Option<&Proxy>, BadVariable> {
        if is_local(host) {
            return Ok(None);
        }
        let variables = match self {
            Self::Direct => return Ok(None),
            Self::One(proxy) => return Ok(Some(proxy)),
            Self::Environment(variables) => variables,
        };
        let named = match is_tls {
            true => &variables.tls,
            false => &variables.plain,
        };
        let without = variables.without.as_deref();
        let Some(named) = named
            .as_ref()
            .filter(|_| !without.is_some_and(|list| list::holds(list, host, port)))
        else {
            return Ok(None);
        };
        let proxy = named.proxy.as_ref();
        proxy.map(Some).map_err(|bad| BadVariable {
            variable: named.variable,
            bad: *bad,
        })
    }
}

fn credentials(user: &str) -> Result<HeaderValue, BadProxy> {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let pair = [decoded(name), b":".to_vec(), decoded(password)].concat();
    let value = format!("Basic {}", STANDARD.encode(pair));
    let mut value = HeaderValue::from_str(&value).map_err(|_| BadProxy::Syntax)?;
    value.set_sensitive(true);
    Ok(value)
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
