//! What may be reached.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use legation_core::net::is_global;
use legation_net::proxy::Proxies;

use super::FetchError;
use crate::url::WebUrl;

/// What may be reached beside the Internet: hosts that the owner named, and this
/// machine where the server itself is on it; by way of what, and trusting whom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    hosts: Vec<Box<str>>,
    /// Where the owner's own words lead.
    own: Vec<WebUrl>,
    loopback: bool,
    /// What leads there; the environment's proxies where the owner does not say.
    proxies: Option<Proxies>,
    /// Certificates (PEM) that the owner trusts there.
    ca: Option<Arc<str>>,
}

// === impl Reach ===

impl Reach {
    /// What a server that the owner configured may name: its own origin, its own host
    /// over TLS, this machine if it is on this machine, and `allowed`.
    #[must_use]
    pub fn of(server: &WebUrl, allowed: &[Box<str>]) -> Self {
        let reach = Self {
            hosts: allowed.to_vec(),
            ..Self::default()
        };
        reach.and(server)
    }

    /// With one more address that the owner named.
    #[must_use]
    pub fn and(mut self, url: &WebUrl) -> Self {
        self.loopback |= url.is_loopback();
        self.own.push(url.clone());
        self
    }

    /// By way of these proxies, whatever the environment names.
    #[must_use]
    pub fn through(mut self, proxies: Proxies) -> Self {
        self.proxies = Some(proxies);
        self
    }

    /// Trusting these certificates (PEM) besides those that the process trusts.
    #[must_use]
    pub fn trusting(mut self, ca: Arc<str>) -> Self {
        self.ca = Some(ca);
        self
    }

    /// The certificates that the owner trusts there.
    pub(super) fn ca(&self) -> Option<&str> {
        self.ca.as_deref()
    }

    /// What the owner says of proxies.
    pub(super) fn proxies(&self) -> Option<&Proxies> {
        self.proxies.as_ref()
    }

    /// Whether it is reached from this machine, and may lead back to it.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.loopback
    }

    /// Whether this URL may be asked at all, before its host is looked up.
    ///
    /// # Errors
    /// [`FetchError::Plain`] and [`FetchError::Private`].
    pub fn check(&self, url: &WebUrl) -> Result<(), FetchError> {
        let host = || url.host().to_owned();
        let is_here = url.is_loopback() && self.loopback;
        if !(url.is_tls() || is_here || self.names(url)) {
            return Err(FetchError::Plain { host: host() });
        }
        match url.host().parse::<IpAddr>() {
            Ok(address) if !self.allows(url, address) => Err(FetchError::Private { host: host() }),
            _ => Ok(()),
        }
    }

    /// The addresses that may be connected to.
    pub(super) fn pick(
        &self,
        url: &WebUrl,
        found: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, FetchError> {
        let usable = found
            .into_iter()
            .filter(|address| self.allows(url, address.ip()));
        let usable: Vec<_> = usable.collect();
        if usable.is_empty() {
            let host = url.host().to_owned();
            return Err(FetchError::Private { host });
        }
        Ok(usable)
    }

    fn names(&self, url: &WebUrl) -> bool {
        // Whoever gives the host its name says where it leads: without TLS another port
        // could be any service of this network.
        let is_own =
            |own: &WebUrl| own.has_origin_of(url) || (own.host() == url.host() && url.is_tls());
        self.hosts.iter().any(|host| **host == *url.host()) || self.own.iter().any(is_own)
    }

    fn allows(&self, url: &WebUrl, address: IpAddr) -> bool {
        is_global(address)
            || self.names(url)
            || (self.loopback && is_loopback(address) && url.is_loopback())
    }
}

fn is_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => mapped.is_loopback(),
            None => address.is_loopback(),
        },
        IpAddr::V4(address) => address.is_loopback(),
    }
}
