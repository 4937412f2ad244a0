//! How an address is reached, beyond what its URL says.

use std::fmt;
use std::path::{Path, PathBuf};

use legation_core::Secret;

use super::Source;
use super::resolve::{ResolveError, Resolver};
use crate::environment::{SecretTemplate, Template, expand};

/// `proxy`, `tls`, `headersHelper`, and whether the entry is of `type: sse`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// `type: sse`: the HTTP with SSE transport of revision 2024-11-05.
    pub sse: bool,
    /// `proxy`.
    pub proxy: ProxyChoice,
    /// `tls.caFile`: certificates that are trusted besides the system's.
    pub ca_file: Option<Template>,
    /// `tls.clientCert`: who the hub is, with the certificates above it.
    pub client_cert: Option<Template>,
    /// `tls.clientKey`: the key of that; a file, or the PEM text itself.
    pub client_key: Option<SecretTemplate>,
    /// `headersHelper`: a line for the shell whose output is a JSON object of further
    /// headers. Only the shell reads it: a reference followed here would put what it
    /// stands for into the arguments of a process.
    pub headers_helper: Option<Box<str>>,
}

/// Which proxy stands between the hub and a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProxyChoice {
    /// That of the hub's environment, if there is one.
    #[default]
    Environment,
    /// None.
    Off,
    /// This one; its URL may hold a password.
    At(SecretTemplate),
}

/// The same, with references followed.
#[derive(Clone, Default)]
pub struct ResolvedReach {
    /// As in [`Reach`].
    pub sse: bool,
    /// The Unix socket that is connected to in place of the URL's host.
    pub socket: Option<PathBuf>,
    /// The proxy.
    pub proxy: ResolvedProxy,
    /// PEM text or an absolute path.
    pub ca_file: Option<String>,
    /// PEM text or an absolute path.
    pub client_cert: Option<String>,
    /// PEM text or an absolute path.
    pub client_key: Option<Secret>,
}

/// The same, with references followed.
#[derive(Clone, Debug, Default)]
pub enum ResolvedProxy {
    /// That of the hub's environment, if there is one.
    #[default]
    Environment,
    /// None.
    Off,
    /// This one.
    At(Secret),
}

/// A URL that names a Unix socket, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SocketUrl {
    /// The socket; absolute.
    pub(super) socket: PathBuf,
    /// What is asked for there.
    pub(super) path: String,
}

/// What PEM text begins with (RFC 7468), as opposed to a path.
const PEM: &str = "-----BEGIN";

/// Schemes of URLs that name a Unix socket.
const SOCKETS: [&str; 2] = ["unix://", "http+unix://"];

/// Whether a URL names a Unix socket.
pub(crate) fn is_socket(url: &str) -> bool {
    SOCKETS.iter().any(|scheme| url.starts_with(scheme))
}

// === impl Reach ===

impl Reach {
    /// Values that are secrets, by the names of their fields.
    pub(super) fn secrets(&self) -> impl Iterator<Item = (&'static str, &SecretTemplate)> {
        let proxy = match &self.proxy {
            ProxyChoice::At(url) => Some(("proxy", url)),
            ProxyChoice::Environment | ProxyChoice::Off => None,
        };
        let key = self.client_key.as_ref().map(|key| ("tls.clientKey", key));
        proxy.into_iter().chain(key)
    }

    /// What of it is worth telling, in words: never a proxy's password.
    #[must_use]
    pub fn shown(&self) -> Vec<String> {
        let mut shown = Vec::new();
        match &self.proxy {
            ProxyChoice::Environment => {}
            ProxyChoice::Off => shown.push("no proxy".to_owned()),
            ProxyChoice::At(_) => shown.push("a proxy of its own".to_owned()),
        }
        if self.ca_file.is_some() {
            shown.push("certificates of its own".to_owned());
        }
        if self.client_cert.is_some() {
            shown.push("a client certificate".to_owned());
        }
        if let Some(helper) = &self.headers_helper {
            shown.push(format!("headers that this prints: {helper}"));
        }
        shown
    }
}

// === impl SocketUrl ===

impl SocketUrl {
    /// Reads the three spellings: `unix:///run/x.sock:/mcp`, that of VS Code with
    /// the path behind `#`, and `http+unix://%2Frun%2Fx.sock/mcp`.
    pub(super) fn parse(url: &str) -> Result<Self, &'static str> {
        let (socket, path) = if let Some(rest) = url.strip_prefix("http+unix://") {
            let (host, path) = rest
                .split_once('/')
                .map_or((rest, String::new()), |(host, path)| {
                    (host, format!("/{path}"))
                });
            (percent_decoded(host)?, path)
        } else {
            let rest = url
                .strip_prefix("unix://")
                .ok_or("is no URL of a Unix socket")?;
            let (socket, path) = rest
                .split_once('#')
                .or_else(|| rest.split_once(":/"))
                .unwrap_or((rest, ""));
            (percent_decoded(socket)?, path.to_owned())
        };
        if !socket.starts_with('/') || socket.ends_with('/') {
            return Err("names no socket by its absolute path");
        }
        let path = match path.strip_prefix('/') {
            Some(path) => format!("/{path}"),
            None => format!("/{path}"),
        };
        Ok(Self {
            socket: socket.into(),
            path,
        })
    }

    /// The URL that is asked for over the socket.
    pub(super) fn url(&self) -> String {
        format!("http://localhost{}", self.path)
    }
}

/// `%XX` (RFC 3986, section 2.1).
fn percent_decoded(text: &str) -> Result<String, &'static str> {
    const BAD: &str = "has a % that two hexadecimal digits do not follow";
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'%' {
            bytes.push(byte);
            rest = after;
            continue;
        }
        let digits = after.get(..2).ok_or(BAD)?;
        let digits = std::str::from_utf8(digits).map_err(|_| BAD)?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let decoded = u8::from_str_radix(digits, 16).ok().filter(|_| is_hex);
        bytes.push(decoded.filter(|byte| *byte != 0).ok_or(BAD)?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| "is no text once it is decoded")
}

// === impl Resolver ===

impl Resolver<'_> {
    /// Follows the references of what `reach` says.
    pub(super) fn reach(
        &self,
        source: &Source,
        reach: &Reach,
        socket: Option<PathBuf>,
    ) -> Result<ResolvedReach, ResolveError> {
        let follow = |field: &str, text: &str| {
            let lookup = |name: &str| self.variable(name);
            expand(text, lookup).map_err(|source| self.reference(field, source))
        };
        let file = |field: &str, text: &Option<Template>| match text {
            None => Ok(None),
            Some(text) => self
                .pem_or_path(source, field, follow(field, text.as_str())?)
                .map(Some),
        };
        let proxy = match &reach.proxy {
            ProxyChoice::Environment => ResolvedProxy::Environment,
            ProxyChoice::Off => ResolvedProxy::Off,
            ProxyChoice::At(url) => ResolvedProxy::At(Secret::new(follow("proxy", url.reveal())?)),
        };
        let client_key = match &reach.client_key {
            None => None,
            Some(key) => {
                let followed = follow("tls.clientKey", key.reveal())?;
                let key = self.pem_or_path(source, "tls.clientKey", followed)?;
                Some(Secret::new(key))
            }
        };
        Ok(ResolvedReach {
            sse: reach.sse,
            socket,
            proxy,
            ca_file: file("tls.caFile", &reach.ca_file)?,
            client_cert: file("tls.clientCert", &reach.client_cert)?,
            client_key,
        })
    }

    fn pem_or_path(
        &self,
        source: &Source,
        field: &str,
        text: String,
    ) -> Result<String, ResolveError> {
        if text.trim_start().starts_with(PEM) {
            return Ok(text);
        }
        let path = self.absolute(source, field, Path::new(&text))?;
        path.into_os_string()
            .into_string()
            .map_err(|_| self.value(field, "is a path that is no text"))
    }
}

// === impl ResolvedReach ===

impl ResolvedReach {
    /// Whether a value of `tls` is PEM text, as opposed to the path of a file.
    #[must_use]
    pub fn is_pem(value: &str) -> bool {
        value.trim_start().starts_with(PEM)
    }
}

impl fmt::Debug for ResolvedReach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResolvedReach")
            .field("sse", &self.sse)
            .field("is_socket", &self.socket.is_some())
            .finish_non_exhaustive()
    }
}

impl PartialEq for ResolvedReach {
    fn eq(&self, other: &Self) -> bool {
        let key = |reach: &Self| reach.client_key.as_ref().map(|key| key.reveal().to_owned());
        self.sse == other.sse
            && self.socket == other.socket
            && self.proxy == other.proxy
            && self.ca_file == other.ca_file
            && self.client_cert == other.client_cert
            && key(self) == key(other)
    }
}

impl Eq for ResolvedReach {}

// === impl ResolvedProxy ===

impl PartialEq for ResolvedProxy {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Environment, Self::Environment) | (Self::Off, Self::Off) => true,
            (Self::At(a), Self::At(b)) => a.reveal() == b.reveal(),
            (Self::Environment | Self::Off | Self::At(_), _) => false,
        }
    }
}

impl Eq for ResolvedProxy {}
