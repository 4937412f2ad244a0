//! What stands between the hub and a URL's host.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use http::HeaderValue;
use rustls::ClientConfig;

/// What stands between the hub and a URL's host; by default nothing.
#[derive(Clone, Default)]
pub struct Reach {
    /// A Unix socket that is connected to in place of the host.
    pub socket: Option<Arc<Path>>,
    /// An HTTP proxy.
    pub proxy: Option<Proxy>,
    /// Whom TLS trusts and who the hub is in it; the system's certificates, and
    /// nobody, where it is absent.
    pub tls: Option<Arc<ClientConfig>>,
}

/// An HTTP proxy (RFC 9110, section 3.7), spoken to without TLS.
#[derive(Clone)]
pub struct Proxy {
    /// Its host, without the brackets of an IPv6 address.
    pub host: Box<str>,
    /// Its port.
    pub port: u16,
    /// `Proxy-Authorization`, where it wants one.
    pub credentials: Option<HeaderValue>,
}

// === impl Reach ===

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reach")
            .field("socket", &self.socket)
            .field("proxy", &self.proxy)
            .field("has_tls", &self.tls.is_some())
            .finish()
    }
}

// === impl Proxy ===

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
