//! What stands between the hub and a URL's host.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use legation_net::proxy::Proxy;
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
