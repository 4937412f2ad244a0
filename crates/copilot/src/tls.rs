//! The certificate that the listener shows, read again when its files have changed.
//!
//! Files are looked at when somebody connects and a moment has passed, rather than watched: a
//! certificate is renewed every few weeks, and connections come seldom. One that cannot be read, or
//! does not belong to its key, changes nothing: the one before goes on.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use legation_core::SharedClock;
use legation_core::error::chain;
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// How often files are looked at, at most.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// A certificate that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{} cannot be read", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{} holds no {what}", path.display())]
    Pem {
        /// Which.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// Why.
        #[source]
        source: pem::Error,
    },
    /// The two do not go together, or cannot be used.
    #[error("the certificate and its key cannot be used")]
    Pair(#[source] rustls::Error),
}

/// The certificate in use.
#[derive(Debug)]
pub(crate) struct Certificate {
    chain: PathBuf,
    key: PathBuf,
    clock: SharedClock,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    config: Arc<ServerConfig>,
    stamps: [Option<(SystemTime, u64)>; 2],
    looked: Instant,
}

// === impl TlsError ===

impl TlsError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read { .. } => "see that the file is there and that the hub's user may read it",
            Self::Pem { .. } => "write it in PEM: the certificate with its chain, and its key",
            Self::Pair(_) => "see that the key is that of the certificate, as `openssl x509` shows",
        }
    }
}

// === impl Certificate ===

impl Certificate {
    pub(crate) fn open(chain: &Path, key: &Path, clock: SharedClock) -> Result<Self, TlsError> {
        let stamps = [stamp(chain), stamp(key)];
        let config = read(chain, key)?;
        let looked = clock.now();
        let current = Current {
            config,
            stamps,
            looked,
        };
        Ok(Self {
            chain: chain.to_owned(),
            key: key.to_owned(),
            clock,
            current: Mutex::new(current),
        })
    }

    /// The certificate to show now. Reads files now and then: not to be called where others wait.
    pub(crate) fn now(&self) -> Arc<ServerConfig> {
        let now = self.clock.now();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_duration_since(current.looked) >= LOOK_EVERY {
            current.looked = now;
            let stamps = [stamp(&self.chain), stamp(&self.key)];
            if stamps != current.stamps {
                match read(&self.chain, &self.key) {
                    Ok(config) => {
                        current.config = config;
                        current.stamps = stamps;
                        tracing::info!("the webhook shows its new certificate");
                    }
                    Err(error) => {
                        tracing::error!(error = %chain_of(&error), hint = error.hint(), "the webhook keeps its old certificate");
                    }
                }
            }
        }
        Arc::clone(&current.config)
    }
}

fn chain_of(error: &TlsError) -> String {
    chain(error)
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn read(chain: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let text = |path: &Path| {
        std::fs::read(path).map_err(|source| TlsError::Read {
            path: path.to_owned(),
            source,
        })
    };
    let not = |path: &Path, what| {
        let path = path.to_owned();
        move |source| TlsError::Pem { path, what, source }
    };
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text(chain)?).collect();
    let certificates = certificates.map_err(not(chain, "certificate"))?;
    let private = PrivateKeyDer::from_pem_slice(&text(key)?).map_err(not(key, "private key"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Pair)?
        .with_no_client_auth()
        .with_single_cert(certificates, private)
        .map_err(TlsError::Pair)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
