//! TLS with those whom the process trusts, or also with a server's own.

use std::io;
use std::sync::{Arc, OnceLock};

use legation_core::Secret;
use legation_core::error::chain;
use legation_net::trust::{self, TrustError};
use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Read once per process, at the first https connection.
static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();

/// `tls` of a server that cannot be used. What the files hold is in no message.
#[derive(Debug, thiserror::Error)]
pub enum BadTls {
    /// Nobody could be checked with it.
    #[error("tls.caFile cannot be used")]
    Ca {
        /// Why.
        #[source]
        source: TrustError,
    },
    /// There is no certificate in it.
    #[error("tls.clientCert holds no certificate in PEM")]
    NoCertificate,
    /// There is no key in it.
    #[error("tls.clientKey holds no private key in PEM")]
    NoKey,
    /// The two do not belong together, or are of a kind that is not known.
    #[error("tls.clientKey cannot be used")]
    Unusable {
        /// Why.
        #[source]
        source: rustls::Error,
    },
}

/// A configuration that trusts certificates besides those that the process trusts, and
/// says who the hub is: all of it PEM text.
///
/// # Errors
/// See [`BadTls`].
pub fn client_config(
    ca: Option<&str>,
    client: Option<(&str, &Secret)>,
) -> Result<Arc<ClientConfig>, BadTls> {
    let builder = trust::builder(ca.map(str::as_bytes));
    let builder = builder.map_err(|source| BadTls::Ca { source })?;
    let Some((chain, key)) = client else {
        return Ok(Arc::new(builder.with_no_client_auth()));
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain.as_bytes()).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or(BadTls::NoCertificate)?;
    let key = PrivateKeyDer::from_pem_slice(key.reveal().as_bytes()).map_err(|_| BadTls::NoKey)?;
    let config = builder
        .with_client_auth_cert(chain, key)
        .map_err(|source| BadTls::Unusable { source })?;
    Ok(Arc::new(config))
}

/// Begins TLS on a connection that leads to `host`.
pub(super) async fn connect(
    own: Option<&Arc<ClientConfig>>,
    host: &str,
    tcp: TcpStream,
) -> io::Result<TlsStream<TcpStream>> {
    let config = match own {
        Some(own) => Arc::clone(own),
        None => CONFIG
            .get_or_init(build)
            .clone()
            .map_err(|why| io::Error::other(format!("no TLS: {why}")))?,
    };
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| io::Error::other("the host name is none that a certificate could hold"))?;
    TlsConnector::from(config).connect(name, tcp).await
}

fn build() -> Result<Arc<ClientConfig>, String> {
    trust::client_config(None).map_err(|error| chain(&error))
}
