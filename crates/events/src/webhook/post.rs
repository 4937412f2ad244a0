//! One request to a receiver: to an address that was looked up and checked just
//! now, under the receiver's own name, without following anything.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;

use super::address::is_global;
use super::receiver::{Allowed, Lookup, Receiver};
use crate::Reason;

/// How much of an answer is read: that of a challenge is short, and of others
/// only the status counts.
const ANSWER_MAX: usize = 4 * 1024;
/// Requests that are under way at once, whoever's: each has a connection. One that waits
/// for its turn does not lose its time by it.
const POSTS_MAX: usize = 128;
/// Addresses of one host that are tried.
const ADDRESSES_MAX: usize = 4;

/// Sends requests.
#[derive(Debug)]
pub(crate) struct Poster {
    ca_pem: Option<Vec<u8>>,
    /// Read at the first delivery: it takes some milliseconds of a hub's start.
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
    allowed: Allowed,
    lookup: Arc<dyn Lookup>,
    limit: Duration,
    turns: Semaphore,
}

/// What is sent.
#[derive(Debug)]
pub(crate) struct Parcel<'a> {
    /// `webhook-id`.
    pub(crate) id: &'a str,
    /// `webhook-timestamp`, seconds since 1970.
    pub(crate) timestamp: i64,
    /// `webhook-signature`.
    pub(crate) signature: &'a str,
    /// `X-MCP-Subscription-Id`.
    pub(crate) subscription: &'a str,
    /// The body.
    pub(crate) body: Bytes,
}

/// An answer with a status; the body as far as it is of interest.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

// === impl Poster ===

impl Poster {
    pub(crate) fn new(
        ca_pem: Option<Vec<u8>>,
        allowed: Allowed,
        lookup: Arc<dyn Lookup>,
        limit: Duration,
    ) -> Self {
        Self {
            ca_pem,
            tls: OnceLock::new(),
            allowed,
            lookup,
            limit,
            turns: Semaphore::new(POSTS_MAX),
        }
    }

    pub(crate) fn allowed(&self) -> &Allowed {
        &self.allowed
    }

    /// Sends something and waits for the answer, a few seconds at most.
    pub(crate) async fn post(
        &self,
        receiver: &Receiver,
        parcel: &Parcel<'_>,
    ) -> Result<Answer, Reason> {
        // It is never closed.
        let _turn = self.turns.acquire().await;
        let exchange = Box::pin(self.exchange(receiver, parcel));
        tokio::time::timeout(self.limit, exchange)
            .await
            .unwrap_or(Err(Reason::Timeout))
    }

    async fn exchange(&self, receiver: &Receiver, parcel: &Parcel<'_>) -> Result<Answer, Reason> {
        let tcp = self.connect(receiver).await?;
        let name = ServerName::try_from(receiver.host().to_owned());
        let name = name.map_err(|_| Reason::TlsError)?;
        let config = self.tls.get_or_init(|| config(self.ca_pem.as_deref()));
        let config = config.clone().map_err(|why| {
            tracing::error!(why, "no receiver can be checked by its certificate");
            Reason::TlsError
        })?;
        let tls = TlsConnector::from(config);
        let stream = tls.connect(name, tcp).await.map_err(|error| {
            tracing::debug!(?receiver, %error, "no TLS with a receiver");
            Reason::TlsError
        })?;
        let message = message(receiver, parcel).ok_or(Reason::Http4xx)?;
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|_| Reason::ConnectionRefused)?;
        let mut exchange = pin!(async move {
            let broken = |_: hyper::Error| Reason::ConnectionRefused;
            let (head, mut body) = sender
                .send_request(message)
                .await
                .map_err(broken)?
                .into_parts();
            let mut text = Vec::new();
            while text.len() < ANSWER_MAX
                && let Some(Ok(frame)) = body.frame().await
            {
                if let Ok(data) = frame.into_data() {
                    let room = ANSWER_MAX - text.len();
                    text.extend_from_slice(&data[..data.len().min(room)]);
                }
            }
            Ok(Answer {
                status: head.status.as_u16(),
                body: text,
            })
        });
        let mut connection = pin!(connection);
        tokio::select! {
            answer = &mut exchange => answer,
            _ended = &mut connection => exchange.await,
        }
    }

    /// Connects to the first address that may be reached. What the name leads to
    /// is found out here and nowhere before, so that there is no moment between a
    /// check and its use.
    async fn connect(&self, receiver: &Receiver) -> Result<TcpStream, Reason> {
        let found = self.lookup.lookup(receiver.host(), receiver.port()).await;
        let found = found.map_err(|_| Reason::ConnectionRefused)?;
        let any = self.allowed.holds(receiver);
        let usable: Vec<SocketAddr> = found
            .into_iter()
            .filter(|address| any || is_global(address.ip()))
            .take(ADDRESSES_MAX)
            .collect();
        if usable.is_empty() {
            tracing::warn!(?receiver, "a receiver has no address that may be reached");
        }
        let mut reason = Reason::ConnectionRefused;
        for address in usable {
            match TcpStream::connect(address).await {
                Ok(tcp) => return Ok(tcp),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => reason = Reason::Timeout,
                Err(_) => reason = Reason::ConnectionRefused,
            }
        }
        Err(reason)
    }
}

fn message(receiver: &Receiver, parcel: &Parcel<'_>) -> Option<http::Request<Full<Bytes>>> {
    http::Request::post(receiver.target())
        .header(header::HOST, receiver.authority())
        .header(header::CONTENT_TYPE, "application/json")
        .header(
            header::USER_AGENT,
            concat!("legation/", env!("CARGO_PKG_VERSION")),
        )
        .header("webhook-id", parcel.id)
        .header("webhook-timestamp", parcel.timestamp)
        .header("webhook-signature", parcel.signature)
        .header("x-mcp-subscription-id", parcel.subscription)
        .body(Full::new(parcel.body.clone()))
        .ok()
}

fn config(extra: Option<&[u8]>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for certificate in extra.into_iter().flat_map(CertificateDer::pem_slice_iter) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
