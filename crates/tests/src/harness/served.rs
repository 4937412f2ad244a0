//! A server of HTTP/1.1 on loopback that a test answers for, with TLS or without.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

use super::github::Authority;
use crate::fixture::lock;

/// What answers a request with its whole body.
type Answering = dyn Fn(&Parts, &[u8]) -> Response<Full<Bytes>> + Send + Sync;

/// A request's `authorization`, and its body.
type Taken = (Option<String>, Value);

/// The server; it ends when this is dropped.
#[derive(Debug)]
pub struct Served {
    /// `http://127.0.0.1:PORT`, or with https.
    pub base: String,
    task: AbortHandle,
}

/// A collector of traces.
#[derive(Debug)]
pub struct Collector {
    served: Served,
    requests: Arc<Mutex<Vec<Taken>>>,
}

// === impl Served ===

impl Served {
    /// Starts it, with a certificate of the authority's where there is one.
    pub async fn start<F>(authority: Option<&Authority>, answering: F) -> anyhow::Result<Self>
    where
        F: Fn(&Parts, &[u8]) -> Response<Full<Bytes>> + Send + Sync + 'static,
    {
        let acceptor = authority.map(acceptor).transpose()?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let scheme = if acceptor.is_some() { "https" } else { "http" };
        let answering: Arc<Answering> = Arc::new(answering);
        let task = Handle::current().spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, answering) = (acceptor.clone(), Arc::clone(&answering));
                Handle::current().spawn(async move {
                    match acceptor {
                        None => serve(stream, answering).await,
                        Some(acceptor) => {
                            // Who does not trust it goes away.
                            if let Ok(stream) = acceptor.accept(stream).await {
                                serve(stream, answering).await;
                            }
                        }
                    }
                });
            }
        });
        Ok(Self {
            base: format!("{scheme}://127.0.0.1:{port}"),
            task: task.abort_handle(),
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn acceptor(authority: &Authority) -> anyhow::Result<TlsAcceptor> {
    let (certificate, key) = authority.certificate()?;
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes())?];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn serve<S>(stream: S, answering: Arc<Answering>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let answering = Arc::clone(&answering);
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.map(|body| body.to_bytes());
            Ok::<_, Infallible>(answering(&parts, &body.unwrap_or_default()))
        }
    });
    let served =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    drop(served.await);
}

/// An answer with a status and JSON.
#[must_use]
pub fn json_answer(status: u16, body: &Value) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(Bytes::from(body.to_string())));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    let kind = http::HeaderValue::from_static("application/json");
    answer.headers_mut().insert("content-type", kind);
    answer
}

// === impl Collector ===

impl Collector {
    /// Starts one that takes everything.
    pub async fn start(authority: Option<&Authority>) -> anyhow::Result<Self> {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        let served = Served::start(authority, move |parts, body| {
            let said = parts.headers.get("authorization");
            let said = said.and_then(|value| value.to_str().ok());
            let spans = serde_json::from_slice(body).unwrap_or_default();
            lock(&kept).push((said.map(str::to_owned), spans));
            json_answer(200, &json!({}))
        });
        Ok(Self {
            served: served.await?,
            requests,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.served.base
    }

    /// What requests said in `authorization`.
    #[must_use]
    pub fn credentials(&self) -> Vec<Option<String>> {
        let requests = lock(&self.requests);
        requests.iter().map(|(said, _)| said.clone()).collect()
    }

    /// Every span that came.
    #[must_use]
    pub fn spans(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for (_, request) in lock(&self.requests).iter() {
            let spans = &request["resourceSpans"][0]["scopeSpans"][0]["spans"];
            all.extend(spans.as_array().cloned().unwrap_or_default());
        }
        all
    }
}
