//! A receiver of webhooks, with a certificate of the test's own authority.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use legation_core::TaskSet;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::Value;
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// An authority, and a certificate for `hook.example.com`.
pub(super) struct Certificates {
    pub(super) ca_pem: String,
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

/// How a receiver behaves from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// As it should.
    Good,
    /// It echoes another challenge.
    WrongEcho,
    /// It answers with this status.
    Status(u16),
    /// It sends whoever comes elsewhere.
    Redirect,
    /// It never answers.
    Hang,
}

/// What came.
#[derive(Debug, Clone)]
pub(super) struct Got {
    pub(super) id: String,
    pub(super) timestamp: String,
    pub(super) signature: String,
    pub(super) subscription: String,
    pub(super) host: String,
    pub(super) text: String,
    pub(super) body: Value,
}

/// A receiver that runs.
pub(super) struct Receiver {
    pub(super) address: SocketAddr,
    manner: Arc<Mutex<Manner>>,
    got: Arc<Mutex<Vec<Got>>>,
    _tasks: TaskSet,
}

// === impl Certificates ===

impl Certificates {
    pub(super) fn get() -> &'static Self {
        static MADE: OnceLock<Certificates> = OnceLock::new();
        MADE.get_or_init(|| {
            let ca_key = KeyPair::generate().expect("a key");
            let mut ca = CertificateParams::new(Vec::new()).expect("parameters");
            ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let ca_pem = ca.self_signed(&ca_key).expect("signed").pem();
            let issuer = Issuer::new(ca, ca_key);
            let key = KeyPair::generate().expect("a key");
            let own = CertificateParams::new(vec!["hook.example.com".to_owned()]);
            let own = own
                .expect("parameters")
                .signed_by(&key, &issuer)
                .expect("signed");
            Self {
                ca_pem,
                certificate: own.der().clone(),
                key: key.serialize_der(),
            }
        })
    }

    fn server(&self) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone()));
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], key)
            .expect("a certificate");
        Arc::new(config)
    }
}

// === impl Got ===

impl Got {
    /// Whether one of its signatures is of this secret (Standard Webhooks,
    /// verifying).
    pub(super) fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD
            .decode(secret.trim_start_matches("whsec_"))
            .expect("base64");
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key");
        mac.update(format!("{}.{}.{}", self.id, self.timestamp, self.text).as_bytes());
        let right = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        self.signature
            .split(' ')
            .any(|signature| signature == right)
    }

    pub(super) fn kind(&self) -> &str {
        self.body["type"].as_str().unwrap_or("event")
    }
}

// === impl Receiver ===

impl Receiver {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let acceptor = TlsAcceptor::from(Certificates::get().server());
        let manner = Arc::new(Mutex::new(Manner::Good));
        let got = Arc::<Mutex<Vec<Got>>>::default();
        let tasks = TaskSet::new();
        let (manners, all, serving) = (Arc::clone(&manner), Arc::clone(&got), tasks.clone());
        tasks.spawn("receiver", async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let (acceptor, manner) = (acceptor.clone(), Arc::clone(&manners));
                let got = Arc::clone(&all);
                serving.spawn("connection", async move {
                    let Ok(tls) = acceptor.accept(tcp).await else {
                        return;
                    };
                    let service = hyper::service::service_fn(move |request| {
                        take(request, Arc::clone(&manner), Arc::clone(&got))
                    });
                    let server = hyper::server::conn::http1::Builder::new();
                    drop(server.serve_connection(TokioIo::new(tls), service).await);
                });
            }
        });
        Self {
            address,
            manner,
            got,
            _tasks: tasks,
        }
    }

    pub(super) fn behave(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    pub(super) fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    /// Waits until this holds of what came.
    pub(super) async fn until(&self, what: &str, holds: impl Fn(&[Got]) -> bool) -> Vec<Got> {
        until(what, || holds(&self.got())).await;
        self.got()
    }

    /// The ids of the messages that came, each once, in order.
    pub(super) fn events(got: &[Got]) -> Vec<String> {
        let events = got.iter().filter(|got| got.kind() == "event");
        let mut ids: Vec<String> = events
            .map(|got| got.body["data"]["id"].as_str().expect("an id").to_owned())
            .collect();
        ids.sort();
        ids.dedup();
        ids
    }
}

/// Waits until something holds.
pub(super) async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if holds() {
            return;
        }
        // tidy: what other tasks do is looked at, and the end is decided by what they did
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} did not come about");
}

async fn take(
    request: Request<Incoming>,
    manner: Arc<Mutex<Manner>>,
    all: Arc<Mutex<Vec<Got>>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let text = body.collect().await.expect("a body").to_bytes();
    let text = String::from_utf8(text.to_vec()).expect("UTF-8");
    let field = |name: &str| {
        let value = head.headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let body: Value = serde_json::from_str(&text).expect("JSON");
    let got = Got {
        id: field("webhook-id"),
        timestamp: field("webhook-timestamp"),
        signature: field("webhook-signature"),
        subscription: field("x-mcp-subscription-id"),
        host: field("host"),
        text,
        body: body.clone(),
    };
    let present = *manner.lock().unwrap();
    all.lock().unwrap().push(got);
    let answer = |status: u16, text: String| {
        Response::builder()
            .status(status)
            .header("location", "https://hook.example.com/elsewhere")
            .body(Full::new(Bytes::from(text)))
            .expect("a response")
    };
    let echo = serde_json::json!({"challenge": body["challenge"]}).to_string();
    Ok(match present {
        Manner::Good if body["type"] == "verification" => answer(200, echo),
        Manner::Good => answer(204, String::new()),
        Manner::WrongEcho => answer(200, r#"{"challenge":"another"}"#.to_owned()),
        Manner::Status(status) => answer(status, echo),
        Manner::Redirect => answer(307, echo),
        Manner::Hang => std::future::pending().await,
    })
}
