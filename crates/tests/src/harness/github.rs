//! GitHub as the Copilot webhook knows it: its keys and whose a token is, over TLS on loopback; and
//! what it posts, signed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::Context;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio_rustls::TlsConnector;

use super::http::Whole;
use super::served::Served;
use crate::fixture::lock;

/// An authority, and certificates of its for 127.0.0.1.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate, PEM.
    pub pem: String,
}

/// One of GitHub's keys.
#[derive(Debug)]
pub struct Signer {
    pair: EcdsaKeyPair,
    /// What it is called.
    pub id: String,
    /// Its public half.
    pub pem: String,
}

/// The stand-in; stopped when dropped.
#[derive(Debug)]
pub struct Github {
    served: Served,
    /// What it answers with.
    pub state: Arc<Mutex<State>>,
}

/// What it answers with, and what it was asked.
#[derive(Debug, Default)]
pub struct State {
    /// The keys it lists: name and PEM.
    pub keys: Vec<(String, String)>,
    /// Whose tokens are.
    pub users: HashMap<String, String>,
    /// Whether it answers with 500 to everything.
    pub is_down: bool,
    /// Every request: path, and whether it was answered with 304.
    pub asked: Vec<(String, bool)>,
}

// === impl Authority ===

impl Authority {
    /// A new one.
    pub fn new() -> anyhow::Result<Self> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "authority of a test");
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        Ok(Self {
            issuer: Issuer::new(params, key),
            pem,
        })
    }

    /// A certificate for 127.0.0.1 and its key, both PEM.
    pub fn certificate(&self) -> anyhow::Result<(String, String)> {
        self.certificate_for(&["127.0.0.1"])
    }

    /// The same for names and addresses, or of a client.
    pub fn certificate_for(&self, names: &[&str]) -> anyhow::Result<(String, String)> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let params = CertificateParams::new(names)?;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }

    /// The same in two files.
    pub fn files(&self, folder: &Path) -> anyhow::Result<(PathBuf, PathBuf)> {
        let (certificate, key) = self.certificate()?;
        let paths = (folder.join("webhook.pem"), folder.join("webhook.key"));
        std::fs::write(&paths.0, certificate)?;
        std::fs::write(&paths.1, key)?;
        Ok(paths)
    }
}

// === impl Signer ===

impl Signer {
    /// A new key.
    pub fn new(id: &str) -> anyhow::Result<Self> {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let lost = |_| anyhow::anyhow!("no key could be made");
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(lost)?;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random)
            .map_err(|_| anyhow::anyhow!("no key could be read"))?;
        let mut der = vec![
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
            0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
        ];
        der.extend_from_slice(pair.public_key().as_ref());
        let text = STANDARD.encode(der);
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n");
        Ok(Self {
            pair,
            id: id.to_owned(),
            pem,
        })
    }

    /// The signature of a body, as it stands in a request's head.
    pub fn sign(&self, body: &[u8]) -> anyhow::Result<String> {
        let signed = self.pair.sign(&SystemRandom::new(), body);
        let signed = signed.map_err(|_| anyhow::anyhow!("nothing was signed"))?;
        Ok(STANDARD.encode(signed.as_ref()))
    }

    /// The fields of a request with this body.
    pub fn fields(&self, body: &str, token: &str) -> anyhow::Result<Vec<(String, String)>> {
        Ok(vec![
            ("github-public-key-identifier".to_owned(), self.id.clone()),
            (
                "github-public-key-signature".to_owned(),
                self.sign(body.as_bytes())?,
            ),
            ("x-github-token".to_owned(), token.to_owned()),
        ])
    }
}

// === impl Github ===

impl Github {
    /// Starts it with a certificate of the authority's.
    pub async fn start(authority: &Authority) -> anyhow::Result<Self> {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let served = Served::start(Some(authority), move |parts, _| {
            answer(parts, &mut lock(&shared))
        });
        Ok(Self {
            served: served.await?,
            state,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        self.served.base.clone()
    }

    /// Lists these keys from now on.
    pub fn list(&self, signers: &[&Signer]) {
        let keys = signers.iter();
        lock(&self.state).keys = keys
            .map(|signer| (signer.id.clone(), signer.pem.clone()))
            .collect();
    }

    /// Knows whose a token is from now on.
    pub fn knows(&self, token: &str, login: &str) {
        let mut state = lock(&self.state);
        state.users.insert(token.to_owned(), login.to_owned());
    }

    /// How often a path was asked for, and how often that was answered with 304.
    #[must_use]
    pub fn asked(&self, path: &str) -> (usize, usize) {
        let state = lock(&self.state);
        let of = || state.asked.iter().filter(|(asked, _)| asked == path);
        (
            of().count(),
            of().filter(|(_, unchanged)| *unchanged).count(),
        )
    }
}

fn answer(request: &Parts, state: &mut State) -> Response<Full<Bytes>> {
    let path = request.uri.path().to_owned();
    let field = |name: &str| request.headers.get(name)?.to_str().ok();
    let (status, etag, body) = match path.as_str() {
        _ if state.is_down => (500, None, json!({})),
        "/meta/public_keys/copilot_api" => {
            let names: Vec<&str> = state.keys.iter().map(|(id, _)| id.as_str()).collect();
            let etag = format!("\"{}\"", names.join("+"));
            let status = match field("if-none-match") == Some(&etag) {
                true => 304,
                false => 200,
            };
            let keys = state.keys.iter().enumerate().map(|(index, (id, pem))| {
                json!({ "key_identifier": id, "key": pem, "is_current": index == 0 })
            });
            let keys: Vec<Value> = keys.collect();
            (status, Some(etag), json!({ "public_keys": keys }))
        }
        "/user" => {
            let token = field("authorization").and_then(|text| text.strip_prefix("Bearer "));
            match token.and_then(|token| state.users.get(token)) {
                Some(login) => (200, None, json!({ "login": login, "id": 7 })),
                None => (401, None, json!({ "message": "Bad credentials" })),
            }
        }
        _ => (404, None, json!({})),
    };
    state.asked.push((path, status == 304));
    let body = match status {
        304 => String::new(),
        _ => body.to_string(),
    };
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    if let Some(etag) = etag.and_then(|etag| etag.parse().ok()) {
        answer.headers_mut().insert("etag", etag);
    }
    answer
}

/// Sends a request to the webhook, over TLS; its answer, read to the end.
pub async fn post(
    port: u16,
    authority: &Authority,
    request: Request<Full<Bytes>>,
) -> anyhow::Result<Whole> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes())?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let tcp = TcpStream::connect(("127.0.0.1", port)).await?;
    let name = ServerName::try_from("127.0.0.1")?;
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    Handle::current().spawn(connection);
    let response = sender.send_request(request).await.context("no response")?;
    let (parts, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok(Whole {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

/// A request of GitHub's.
pub fn request(body: &str, fields: &[(String, String)]) -> anyhow::Result<Request<Full<Bytes>>> {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(http::HeaderName::try_from(name.as_str())?, value.parse()?);
    }
    let mut request = Request::post("/copilot/webhook")
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body.to_owned())))?;
    request.headers_mut().extend(headers);
    Ok(request)
}
