//! TLS with the certificates of the operating system.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Read once per process, at the first https connection.
static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();

pub(super) async fn connect(host: &str, tcp: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    let config = CONFIG
        .get_or_init(build)
        .clone()
        .map_err(|why| io::Error::other(format!("no TLS: {why}")))?;
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| io::Error::other("the host name is none that a certificate could hold"))?;
    TlsConnector::from(config).connect(name, tcp).await
}

fn build() -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err("no trusted certificates were found on this system".to_owned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
