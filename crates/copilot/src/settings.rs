//! What the owner says of the webhook.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Where the webhook listens, and its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopilotSettings {
    /// Where; GitHub must be able to reach it, or a proxy that passes TLS on.
    pub listen: SocketAddr,
    /// The certificate chain, PEM.
    pub certificate: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
    /// GitHub's API, which has the keys and knows whose a token is; without a slash at its end.
    pub github: String,
    /// Certificates (PEM) that GitHub's API is trusted by besides the system's.
    pub github_ca: Option<Vec<u8>>,
    /// Most connections open at once.
    pub connections_max: usize,
    /// The largest body, in bytes.
    pub body_max: usize,
    /// How long a handshake, a request's head, and its body may each take.
    pub read_timeout: Duration,
}

// === impl CopilotSettings ===

impl CopilotSettings {
    /// GitHub's API.
    pub const GITHUB: &str = "https://api.github.com";

    /// With the usual bounds.
    #[must_use]
    pub fn new(listen: SocketAddr, certificate: PathBuf, key: PathBuf) -> Self {
        Self {
            listen,
            certificate,
            key,
            github: Self::GITHUB.to_owned(),
            github_ca: None,
            connections_max: 64,
            body_max: 1 << 20,
            read_timeout: Duration::from_secs(10),
        }
    }
}
