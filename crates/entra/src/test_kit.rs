//! A small https server for tests: it answers what a closure says and keeps
//! what it was asked.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use legation_core::{
    Caller, Cancel, ClientId, EntityId, OpContext, Principal, SeatId, SharedClock, SystemClock,
    TaskSet, Via,
};
use legation_keystore::{KeepIn, Keystore, SecretStore, SystemKeys};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::account::{Account, AccountSettings, Parts};

/// What a server was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: String,
}

/// What it answers.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Send {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
    /// The connection ends.
    Cut,
}

type Handler = dyn Fn(&Asked) -> Answer + Send + Sync;

/// A server that lives as long as this does.
pub(crate) struct Stand {
    pub(crate) origin: String,
    pub(crate) ca_pem: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    tasks: TaskSet,
    folder: tempfile::TempDir,
}

// === impl Asked ===

impl Asked {
    /// The value of a form's member.
    pub(crate) fn form(&self, name: &str) -> Option<String> {
        let found = self.body.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=')?;
            (key == name).then_some(value)
        })?;
        Some(decoded(found))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next().unwrap(), rest.next().unwrap()];
        let digits = std::str::from_utf8(&digits).unwrap().to_owned();
        bytes.push(u8::from_str_radix(&digits, 16).unwrap());
    }
    String::from_utf8(bytes).unwrap()
}

// === impl Answer ===

impl Answer {
    pub(crate) fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::Send {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            body: body.to_string(),
        }
    }

    pub(crate) fn with(self, name: &'static str, value: &str) -> Self {
        match self {
            Self::Send {
                status,
                mut headers,
                body,
            } => {
                headers.push((name, value.to_owned()));
                Self::Send {
                    status,
                    headers,
                    body,
                }
            }
            Self::Cut => Self::Cut,
        }
    }
}

// === impl Stand ===

impl Stand {
    pub(crate) async fn new(handler: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stand = Self {
            origin: format!("https://{}", listener.local_addr().unwrap()),
            ca_pem: made.cert.pem(),
            asked: Arc::default(),
            tasks: TaskSet::new(),
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::write(stand.folder.path().join("ca.pem"), &stand.ca_pem).unwrap();
        let (asked, tasks) = (Arc::clone(&stand.asked), stand.tasks.clone());
        let handler: Arc<Handler> = Arc::new(handler);
        stand.tasks.spawn("stand", async move {
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                let (acceptor, asked, handler) =
                    (acceptor.clone(), Arc::clone(&asked), Arc::clone(&handler));
                tasks.spawn("stand connection", async move {
                    let Ok(tls) = acceptor.accept(tcp).await else {
                        return;
                    };
                    let service = service_fn(move |request| {
                        answer(request, Arc::clone(&asked), Arc::clone(&handler))
                    });
                    let served = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(tls), service);
                    // A connection that is cut is what the test wanted.
                    let _cut = served.await;
                });
            }
        });
        stand
    }

    /// A server that gives these answers in turn, and the last one ever after.
    pub(crate) async fn in_turn(answers: Vec<Answer>) -> Self {
        let last = answers.last().cloned().unwrap();
        let queue = Mutex::new(VecDeque::from(answers));
        Self::new(move |_| {
            let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.pop_front().unwrap_or_else(|| last.clone())
        })
        .await
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn store(&self) -> Arc<SecretStore> {
        let keys = Keystore::open(&self.folder.path().join("keys")).unwrap();
        let path = self.folder.path().join("secrets");
        let none = SystemKeys::new("none", || Err(keyring_none()));
        Arc::new(SecretStore::open_with(&keys, &path, KeepIn::File, &none).unwrap())
    }

    pub(crate) fn parts(&self) -> Parts {
        let path: OsString = "/usr/bin:/bin".into();
        Parts {
            store: self.store(),
            clock: clock(),
            tasks: self.tasks.clone(),
            env: vec![("PATH".into(), path)],
            memory: None,
        }
    }

    /// An account whose authority and Graph are this server.
    pub(crate) fn settings(&self) -> AccountSettings {
        let mut settings = AccountSettings::new("work", EntityId::personal(), "example.com");
        settings.authority = Some(self.origin.as_str().into());
        settings.graph = Some(self.origin.as_str().into());
        settings.ca_file = Some(self.folder.path().join("ca.pem"));
        settings.client_id = Some("public-app".into());
        settings.api_client_id = Some("api-app".into());
        settings.client_secret = Some(legation_core::Secret::new("api-secret"));
        settings.human = Some("human-oid".into());
        settings
    }

    pub(crate) fn account(&self, change: impl FnOnce(&mut AccountSettings)) -> Account {
        let mut settings = self.settings();
        change(&mut settings);
        Account::new(settings, self.parts()).unwrap()
    }
}

fn keyring_none() -> keyring_core::Error {
    keyring_core::Error::NoDefaultStore
}

async fn answer(
    request: http::Request<hyper::body::Incoming>,
    asked: Arc<Mutex<Vec<Asked>>>,
    handler: Arc<Handler>,
) -> Result<http::Response<Full<Bytes>>, std::io::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(std::io::Error::other)?;
    let one = Asked {
        method: head.method.to_string(),
        target: head.uri.to_string(),
        headers: head.headers,
        body: String::from_utf8_lossy(&body.to_bytes()).into_owned(),
    };
    asked
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(one.clone());
    match handler(&one) {
        Answer::Send {
            status,
            headers,
            body,
        } => {
            let mut response = http::Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response
                .body(Full::new(body.into()))
                .map_err(std::io::Error::other)
        }
        Answer::Cut => Err(std::io::Error::other("cut")),
    }
}

pub(crate) fn clock() -> SharedClock {
    SystemClock::shared()
}

pub(crate) fn ctx() -> OpContext {
    let principal = Principal {
        client: ClientId::new("test"),
        via: Via::Admin,
    };
    let caller = Caller {
        principal,
        seat: SeatId::new("test"),
        workspace: None,
    };
    OpContext::new(caller, Cancel::new())
}
