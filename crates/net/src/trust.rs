//! The certificates that the process trusts.
//!
//! They are the operating system's, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name in their
//! place, and beside them those of files that the owner names. They are read once and shared by all who
//! connect: a hundred and fifty certificates several times over would be memory for nothing. Handing
//! them to everybody who is made was rejected, because whoever was forgotten would be the one place
//! where a company's own certificates do not count.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::WantsClientCert;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore};

/// Most bytes of a file of certificates: a system's whole bundle has a quarter of a megabyte.
const FILE_MAX: u64 = 4 << 20;

/// Nobody can be checked by a certificate; no connection is made.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TrustError {
    /// A file cannot be read.
    #[error("the certificates in {} cannot be read", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// The system's own words.
        #[source]
        source: Arc<io::Error>,
    },
    /// It is not PEM, or what it holds is no certificate.
    #[error("{} is no certificate in PEM ({why})", named(path.as_deref()))]
    Unusable {
        /// Which file; none where the certificates came otherwise.
        path: Option<PathBuf>,
        /// What is wrong.
        why: String,
    },
    /// There is not one certificate in it.
    #[error("{} holds no certificate", named(path.as_deref()))]
    Empty {
        /// Which file; none where the certificates came otherwise.
        path: Option<PathBuf>,
    },
    /// The system has none, and nobody named others.
    #[error("no trusted certificates were found on this system")]
    Nobody,
    /// The library does not take what it is given.
    #[error("TLS cannot be set up ({why})")]
    Library {
        /// What it says.
        why: String,
    },
}

/// Whom somebody trusts: the process, or a test.
#[derive(Debug)]
pub(crate) struct Trust {
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    /// Those that the owner named.
    named: Vec<CertificateDer<'static>>,
    /// The system's and those, once they were needed.
    roots: Option<Arc<RootCertStore>>,
}

/// Whom the process trusts.
static PROCESS: Trust = Trust::new();

/// Trusts the certificates in these files too, from here on; the last word counts. Files are read at
/// once, so that a start fails and no connection later.
///
/// # Errors
/// [`TrustError`] for the first file that cannot be used; nothing is changed then.
pub fn trust_files(files: &[PathBuf]) -> Result<(), TrustError> {
    PROCESS.trust_files(files)
}

/// Whom the process trusts, with the certificates in `extra_pem`.
///
/// # Errors
/// [`TrustError`].
pub fn roots(extra_pem: Option<&[u8]>) -> Result<Arc<RootCertStore>, TrustError> {
    PROCESS.roots(extra_pem)
}

/// A client that checks servers by [`roots`], and has yet to be told how it proves who it is itself.
///
/// # Errors
/// [`TrustError`].
pub fn builder(
    extra_pem: Option<&[u8]>,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, TrustError> {
    let roots = roots(extra_pem)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| TrustError::Library {
            why: error.to_string(),
        })?;
    Ok(builder.with_root_certificates(roots))
}

/// A client that checks servers by [`roots`] and has no certificate of its own.
///
/// # Errors
/// [`TrustError`].
pub fn client_config(extra_pem: Option<&[u8]>) -> Result<Arc<ClientConfig>, TrustError> {
    Ok(Arc::new(builder(extra_pem)?.with_no_client_auth()))
}

fn named(path: Option<&Path>) -> String {
    path.map_or_else(
        || "what is to be trusted".to_owned(),
        |path| path.display().to_string(),
    )
}

/// The certificates in a PEM text, each checked; at least one.
fn certificates(
    pem: &[u8],
    path: Option<&Path>,
) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let unusable = |why: String| TrustError::Unusable {
        path: path.map(Path::to_path_buf),
        why,
    };
    let mut found = Vec::new();
    let mut checked = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        let added = checked.add(certificate.clone());
        added.map_err(|error| unusable(error.to_string()))?;
        found.push(certificate);
    }
    match found.is_empty() {
        false => Ok(found),
        true => Err(TrustError::Empty {
            path: path.map(Path::to_path_buf),
        }),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TrustError> {
    let failed = |error| TrustError::Read {
        path: path.to_path_buf(),
        source: Arc::new(error),
    };
    // A pipe or a device would be read for ever.
    let about = std::fs::metadata(path).map_err(failed)?;
    if !about.is_file() || about.len() > FILE_MAX {
        let why = "it is no file, or too large";
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, why)));
    }
    std::fs::read(path).map_err(failed)
}

// === impl TrustError ===

impl TrustError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read { .. } | Self::Unusable { .. } | Self::Empty { .. } => {
                "Name readable files with certificates in PEM in `tls.ca_files`, or none."
            }
            Self::Nobody | Self::Library { .. } => {
                "Install the system's certificates (`ca-certificates`), or name a file by SSL_CERT_FILE or `tls.ca_files`."
            }
        }
    }
}

// === impl Trust ===

impl Trust {
    pub(crate) const fn new() -> Self {
        Self {
            held: Mutex::new(Held {
                named: Vec::new(),
                roots: None,
            }),
        }
    }

    pub(crate) fn trust_files(&self, files: &[PathBuf]) -> Result<(), TrustError> {
        let mut named = Vec::new();
        for path in files {
            named.extend(certificates(&read(path)?, Some(path))?);
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.named = named;
        held.roots = None;
        Ok(())
    }

    pub(crate) fn roots(&self, extra_pem: Option<&[u8]>) -> Result<Arc<RootCertStore>, TrustError> {
        let extra = match extra_pem {
            Some(pem) => certificates(pem, None)?,
            None => Vec::new(),
        };
        let shared = {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            match &held.roots {
                Some(roots) => Arc::clone(roots),
                None => {
                    let roots = Arc::new(held.load());
                    // A system without any may get some yet.
                    if !roots.is_empty() {
                        held.roots = Some(Arc::clone(&roots));
                    }
                    roots
                }
            }
        };
        if extra.is_empty() {
            return match shared.is_empty() {
                true => Err(TrustError::Nobody),
                false => Ok(shared),
            };
        }
        let mut roots = RootCertStore::clone(&shared);
        roots.add_parsable_certificates(extra);
        Ok(Arc::new(roots))
    }
}

// === impl Held ===

impl Held {
    fn load(&self) -> RootCertStore {
        let system = rustls_native_certs::load_native_certs();
        for error in &system.errors {
            tracing::warn!(%error, "some trusted certificates were not read");
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(system.certs);
        roots.add_parsable_certificates(self.named.iter().cloned());
        roots
    }
}
