//! Where a provider is.

use std::fmt;

use http::uri::{PathAndQuery, Uri};

/// An address, without what the interface adds to it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    tls: bool,
    host: Box<str>,
    port: u16,
    /// The path, without a slash at its end.
    path: Box<str>,
}

/// A text that is no endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It cannot be read.
    #[error("it is no address")]
    Syntax,
    /// Neither `https` nor `http`.
    #[error("it is neither an http nor an https address")]
    Scheme,
    /// It holds a user name or a password.
    #[error("it holds a user name or a password")]
    UserInfo,
    /// It holds a query or a fragment.
    #[error("it holds a query or a fragment")]
    Query,
}

// === impl Endpoint ===

impl Endpoint {
    /// Reads an address.
    ///
    /// # Errors
    /// See [`EndpointError`].
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        // The parser drops a fragment, and a dropped key would not be missed.
        if text.contains('#') {
            return Err(EndpointError::Query);
        }
        let uri: Uri = text.trim().parse().map_err(|_| EndpointError::Syntax)?;
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(EndpointError::Scheme),
        };
        let authority = uri.authority().ok_or(EndpointError::Syntax)?;
        if authority.as_str().contains('@') {
            return Err(EndpointError::UserInfo);
        }
        if uri.query().is_some() {
            return Err(EndpointError::Query);
        }
        let host = authority
            .host()
            .trim_start_matches('[')
            .trim_end_matches(']');
        if host.is_empty() {
            return Err(EndpointError::Syntax);
        }
        let usual = if tls { 443 } else { 80 };
        Ok(Self {
            tls,
            host: host.to_ascii_lowercase().into(),
            port: authority.port_u16().unwrap_or(usual),
            path: uri.path().trim_end_matches('/').into(),
        })
    }

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

    /// The path, without a slash at its end.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}", self.authority())
    }

    /// The same host with another path.
    #[must_use]
    pub(crate) fn at(&self, path: &str) -> Self {
        Self {
            path: path.trim_end_matches('/').into(),
            ..self.clone()
        }
    }

    /// The path without `end`, if it ends so.
    pub(crate) fn path_without(&self, end: &str) -> &str {
        self.path.strip_suffix(end).unwrap_or(&self.path)
    }

    /// What a request asks for.
    ///
    /// # Errors
    /// [`EndpointError::Syntax`] when together they are no address.
    pub(crate) fn target(&self, path_and_query: &str) -> Result<PathAndQuery, EndpointError> {
        format!("{}{path_and_query}", self.path)
            .parse()
            .map_err(|_| EndpointError::Syntax)
    }

    /// The value of the `Host` field.
    pub(crate) fn authority(&self) -> String {
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

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.path)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
