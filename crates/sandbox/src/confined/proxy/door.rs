//! Who may be reached, and the connection to them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use legation_core::net::{Destinations, HostName, Lookup, is_global};
use legation_net::proxy::{Proxies, Proxy};
use tokio::net::TcpStream;

use super::said::{Refusal, Said};

/// Time to look a name up and to be connected.
const CONNECT: Duration = Duration::from_secs(20);
/// How long a name is looked up that a proxy may know better.
const LOOKUP: Duration = Duration::from_secs(3);

/// The way to the hosts that are named.
pub(super) struct Door {
    pub(super) hosts: Destinations,
    pub(super) lookup: Arc<dyn Lookup>,
    /// Those that lead there from the machine.
    pub(super) proxies: Proxies,
    pub(super) said: Said,
}

/// What somebody wants to reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) host: HostName,
    pub(super) port: u16,
    /// Whether what is said there is for that host alone; else a proxy is told all of it.
    pub(super) is_tunnel: bool,
}

/// A connection, and the proxy at its other end that wants the whole address.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) stream: TcpStream,
    pub(super) proxy: Option<Proxy>,
}

/// Why nobody was reached, in words for who asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoWay {
    /// They are not named.
    #[error("{0}")]
    Refused(String),
    /// They did not answer.
    #[error("{wanted} cannot be reached")]
    Failed {
        wanted: Wanted,
        #[source]
        source: io::Error,
    },
    /// They did not answer in time.
    #[error("{0} cannot be reached: it took too long")]
    Late(Wanted),
}

// === impl Door ===

impl Door {
    /// Connects to who is named, at the address that was looked up for it and checked.
    ///
    /// # Errors
    /// See [`NoWay`].
    pub(super) async fn open(&self, wanted: &Wanted) -> Result<Way, NoWay> {
        self.check_named(wanted)?;
        let opened = tokio::time::timeout(CONNECT, self.connect(wanted)).await;
        opened.unwrap_or_else(|_| Err(NoWay::Late(wanted.clone())))
    }

    fn check_named(&self, wanted: &Wanted) -> Result<(), NoWay> {
        let is_named = match &wanted.host {
            HostName::Name(name) => self.hosts.names(name, wanted.port),
            HostName::Ip(ip) => self.hosts.holds(*ip, wanted.port),
        };
        match is_named {
            true => Ok(()),
            false => Err(self.refuse(wanted, "which is not named", wanted.to_string())),
        }
    }

    async fn connect(&self, wanted: &Wanted) -> Result<Way, NoWay> {
        let failed = |source| NoWay::Failed {
            wanted: wanted.clone(),
            source,
        };
        let host = wanted.bare_host();
        let proxy = self.proxies.towards(wanted.is_tunnel, &host, wanted.port);
        let proxy = proxy.map_err(|bad| failed(io::Error::other(bad)))?;
        let looked = self.lookup.lookup(&host, wanted.port);
        let Some(proxy) = proxy else {
            let found = self.allowed(wanted, looked.await.map_err(failed)?)?;
            let stream = legation_net::first_of(found).await.map_err(failed)?;
            return Ok(Way {
                stream,
                proxy: None,
            });
        };
        // Where a name leads is the proxy's to find out, and perhaps nobody else here can; but
        // one that leads inside is not told to it.
        if let Ok(Ok(found)) = tokio::time::timeout(LOOKUP, looked).await
            && !found.is_empty()
        {
            self.allowed(wanted, found)?;
        }
        let found = self.lookup.lookup(&proxy.host, proxy.port).await;
        let reached = legation_net::first_of(found.map_err(failed)?).await;
        let mut stream = reached.map_err(failed)?;
        if wanted.is_tunnel {
            let opened = proxy.open_tunnel(&mut stream, &host, wanted.port).await;
            opened.map_err(failed)?;
        }
        Ok(Way {
            stream,
            proxy: Some(proxy.clone()).filter(|_| !wanted.is_tunnel),
        })
    }

    /// Of the addresses that a host has, those that are on the Internet or named themselves.
    fn allowed(
        &self,
        wanted: &Wanted,
        mut found: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, NoWay> {
        let first = found.first().copied();
        let may = |address: &SocketAddr| {
            is_global(address.ip()) || self.hosts.holds(address.ip(), wanted.port)
        };
        found.retain(may);
        match first {
            Some(first) if found.is_empty() => {
                let inside = SocketAddr::new(first.ip().to_canonical(), wanted.port);
                let why = "which leads to an address that is not on the Internet and not named";
                Err(self.refuse(wanted, why, inside.to_string()))
            }
            Some(_) | None => Ok(found),
        }
    }

    fn refuse(&self, wanted: &Wanted, why: &'static str, missing: String) -> NoWay {
        NoWay::Refused(self.said.refuse(&Refusal {
            wanted: wanted.to_string(),
            why,
            missing,
        }))
    }
}

// === impl Wanted ===

impl Wanted {
    /// The host without the brackets of an address.
    fn bare_host(&self) -> String {
        match &self.host {
            HostName::Ip(ip) => ip.to_string(),
            HostName::Name(name) => name.to_string(),
        }
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}
