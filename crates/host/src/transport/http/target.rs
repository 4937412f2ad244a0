//! The parts of a URL.

use http::HeaderValue;
use http::uri::{Authority, PathAndQuery, Scheme, Uri};

use crate::transport::error::HttpError;

/// Where requests go.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) tls: bool,
    /// Without the brackets of an IPv6 address.
    pub(super) host: Box<str>,
    pub(super) port: u16,
    /// The `Host` header.
    pub(super) authority: HeaderValue,
    pub(super) path: PathAndQuery,
}

// === impl Target ===

impl Target {
    pub(super) fn parse(url: &str) -> Result<Self, HttpError> {
        let problem = |problem| HttpError::Url { problem };
        let url = url.split('#').next().unwrap_or_default();
        let uri: Uri = url.parse().map_err(|_| problem("the URL cannot be read"))?;
        let tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(problem("the URL is neither http nor https")),
        };
        let authority = uri.authority().ok_or(problem("the URL names no host"))?;
        if authority.as_str().contains('@') {
            return Err(problem(
                "the URL holds a user name or password; use an Authorization header",
            ));
        }
        Self::new(tls, authority, uri.path_and_query().cloned())
            .ok_or(problem("the URL names no host"))
    }

    fn new(tls: bool, authority: &Authority, path: Option<PathAndQuery>) -> Option<Self> {
        let host = authority.host();
        let host = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        (!host.is_empty()).then_some(())?;
        Some(Self {
            tls,
            host: host.into(),
            port: authority.port_u16().unwrap_or(if tls { 443 } else { 80 }),
            authority: HeaderValue::from_str(authority.as_str()).ok()?,
            path: path.unwrap_or_else(|| PathAndQuery::from_static("/")),
        })
    }

    /// Where a redirect leads: an absolute URL, an absolute path, a path beside
    /// this one, or another query.
    pub(super) fn redirected(&self, location: &str) -> Result<Self, HttpError> {
        let location = location.split('#').next().unwrap_or_default();
        let target = if location.contains("://") {
            Self::parse(location)?
        } else if location.starts_with("//") {
            let scheme = if self.tls { "https:" } else { "http:" };
            Self::parse(&format!("{scheme}{location}"))?
        } else {
            let path = if location.starts_with('/') {
                location.to_owned()
            } else if location.starts_with('?') {
                format!("{}{location}", self.path.path())
            } else {
                let folder = self.path.path().rsplit_once('/').map_or("", |(dir, _)| dir);
                format!("{folder}/{location}")
            };
            Self {
                path: path.parse().map_err(|_| HttpError::BadRedirect)?,
                ..self.clone()
            }
        };
        let same = (target.tls, &target.host, target.port) == (self.tls, &self.host, self.port);
        if same {
            Ok(target)
        } else {
            Err(HttpError::Redirect {
                target: format!("{}{}", target.origin(), target.path.path()),
            })
        }
    }

    /// Scheme, host and port, for messages.
    pub(super) fn origin(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        if self.host.contains(':') {
            format!("{scheme}://[{}]:{}", self.host, self.port)
        } else {
            format!("{scheme}://{}:{}", self.host, self.port)
        }
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.origin(), self.path.path())
    }
}
