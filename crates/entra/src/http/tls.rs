//! TLS with the certificates of the operating system and, if configured, more.

use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use super::HttpError;

/// Read once per process: it takes some milliseconds.
static SYSTEM: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();

pub(super) fn config(extra: Option<&[u8]>) -> Result<Arc<ClientConfig>, HttpError> {
    let fail = |why: String| HttpError::Tls { why };
    let mut roots = RootCertStore::empty();
    let system = SYSTEM.get_or_init(|| rustls_native_certs::load_native_certs().certs);
    roots.add_parsable_certificates(system.iter().cloned());
    if let Some(pem) = extra {
        let mut found = 0;
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate =
                certificate.map_err(|error| fail(format!("`ca_file` is not PEM ({error})")))?;
            roots.add(certificate).map_err(|error| {
                fail(format!("a certificate of `ca_file` is not one ({error})"))
            })?;
            found += 1;
        }
        if found == 0 {
            return Err(fail("`ca_file` holds no certificate".to_owned()));
        }
    }
    if roots.is_empty() {
        return Err(fail(
            "no trusted certificates were found on this system".to_owned(),
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| fail(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
