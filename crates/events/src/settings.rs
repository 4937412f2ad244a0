//! How events are told.

use std::time::Duration;

use crate::error::Numbers;

/// See the module.
#[derive(Debug, Clone)]
pub struct EventsSettings {
    /// Which numbers errors have.
    pub numbers: Numbers,
    /// After how much silence a stream says that it lives.
    pub heartbeat: Duration,
    /// How long a client is asked to wait before it polls again.
    pub next_poll: Duration,
    /// How long a subscription lasts that says nothing of it.
    pub ttl: Duration,
    /// Hosts, or hosts with ports, that webhooks may reach though their address
    /// is one of a private network.
    pub allow: Vec<Box<str>>,
    /// Certificates, PEM, that receivers are trusted by besides the system's.
    pub ca_pem: Option<Vec<u8>>,
    /// How long is waited before the second attempt; each further one waits five
    /// times as long.
    pub retry: Duration,
    /// How long one attempt may take.
    pub attempt: Duration,
}

// === impl EventsSettings ===

impl Default for EventsSettings {
    fn default() -> Self {
        Self {
            numbers: Numbers::Sep,
            heartbeat: Duration::from_secs(15),
            next_poll: Duration::from_secs(5),
            ttl: Duration::from_secs(24 * 3600),
            allow: Vec::new(),
            ca_pem: None,
            retry: Duration::from_secs(5),
            attempt: Duration::from_secs(5),
        }
    }
}
