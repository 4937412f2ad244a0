//! An https address, and its origin, which decides who may get a token.

use std::fmt;

use http::uri::{PathAndQuery, Uri};

/// Scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    tls: bool,
    host: Box<str>,
    port: u16,
}

/// An address of a host.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    origin: Origin,
    target: PathAndQuery,
}

/// A text that is no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It cannot be read.
    #[error("it cannot be read")]
    Syntax,
    /// Neither `https` nor, for a proxy, `http`.
    #[error("it is not an https address")]
    Scheme,
    /// It holds a user name or a password.
    #[error("it holds a user name or a password")]
    UserInfo,
}

// === impl Origin ===

impl Origin {
    /// The host, without the brackets of an IPv6 address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether it is https.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    fn authority(&self) -> String {
        let usual = if self.tls { 443 } else { 80 };
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.to_string(),
        };
        match self.port == usual {
            true => host,
            false => format!("{host}:{}", self.port),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority())
    }
}

// === impl Url ===

impl Url {
    /// Reads an https address.
    ///
    /// # Errors
    /// See [`UrlError`].
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let url = Self::any(text)?;
        if url.origin.tls {
            Ok(url)
        } else {
            Err(UrlError::Scheme)
        }
    }

    /// Reads the address of a proxy, which may be http.
    ///
    /// # Errors
    /// See [`UrlError`].
    pub fn proxy(text: &str) -> Result<Self, UrlError> {
        Self::any(text)
    }

    fn any(text: &str) -> Result<Self, UrlError> {
        let text = text.split('#').next().unwrap_or_default();
        let uri: Uri = text.parse().map_err(|_| UrlError::Syntax)?;
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(UrlError::Scheme),
        };
        let authority = uri.authority().ok_or(UrlError::Syntax)?;
        if authority.as_str().contains('@') {
            return Err(UrlError::UserInfo);
        }
        let host = authority
            .host()
            .trim_start_matches('[')
            .trim_end_matches(']');
        if host.is_empty() {
            return Err(UrlError::Syntax);
        }
        let usual = if tls { 443 } else { 80 };
        Ok(Self {
            origin: Origin {
                tls,
                host: host.to_ascii_lowercase().into(),
                port: authority.port_u16().unwrap_or(usual),
            },
            target: uri
                .path_and_query()
                .cloned()
                .unwrap_or_else(|| PathAndQuery::from_static("/")),
        })
    }

    /// The same host, with this path and query in place of its own after its
    /// own path: `base.join("/v1.0/me?$select=id")`.
    ///
    /// # Errors
    /// [`UrlError::Syntax`] when together they are no address.
    pub fn join(&self, path_and_query: &str) -> Result<Self, UrlError> {
        let path = self.target.path().trim_end_matches('/');
        let target = format!("{path}{path_and_query}");
        Ok(Self {
            origin: self.origin.clone(),
            target: target.parse().map_err(|_| UrlError::Syntax)?,
        })
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The path, without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target.path()
    }

    /// Path and query.
    #[must_use]
    pub fn path_and_query(&self) -> &str {
        self.target.as_str()
    }

    /// The value of the `Host` field.
    pub(super) fn authority(&self) -> String {
        self.origin.authority()
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.target)
    }
}

/// Without the query, which may hold what a person wrote.
impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.target.path())
    }
}
