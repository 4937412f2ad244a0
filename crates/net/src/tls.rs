//! TLS towards hosts, with those whom the process trusts and perhaps more.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::trust::{self, TrustError};

/// Makes connections safe. Whom it trusts is read at the first of them: it takes some milliseconds of a
/// hub's start otherwise, and most parts of a hub never connect.
#[derive(Debug, Default)]
pub struct Tls {
    extra_pem: Option<Vec<u8>>,
    config: OnceLock<Result<Arc<ClientConfig>, TrustError>>,
}

/// A connection that is not safe, and was not used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Nobody can be checked.
    #[error("TLS cannot be used")]
    Trust(#[from] TrustError),
    /// The host's name is none.
    #[error("no certificate could hold this host's name")]
    Name,
    /// The other side could not prove who it is, or went away.
    #[error("no TLS with this host")]
    Handshake(#[source] io::Error),
}

// === impl Tls ===

impl Tls {
    /// Trusts whom the process trusts and the certificates in `extra_pem`.
    #[must_use]
    pub fn new(extra_pem: Option<Vec<u8>>) -> Self {
        Self {
            extra_pem,
            config: OnceLock::new(),
        }
    }

    /// What connections are made with.
    ///
    /// # Errors
    /// [`TrustError`], again at every call: what is wrong with the certificates stays so.
    pub fn config(&self) -> Result<Arc<ClientConfig>, TrustError> {
        let config = self
            .config
            .get_or_init(|| trust::client_config(self.extra_pem.as_deref()));
        config.clone()
    }

    /// Makes a connection to `host` safe.
    ///
    /// # Errors
    /// [`TlsError`].
    pub async fn connect<S>(&self, host: &str, stream: S) -> Result<TlsStream<S>, TlsError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let config = self.config()?;
        // An address in brackets is an address.
        let host = host.trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(host).map_err(|_| TlsError::Name)?;
        let shaken = TlsConnector::from(config).connect(name, stream).await;
        shaken.map_err(TlsError::Handshake)
    }
}
