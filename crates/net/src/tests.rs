//! Whom TLS trusts, and answers as servers give them, over sockets.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::trust::Trust;
use crate::{BodyEnd, Tls, TlsError, TrustError, exchange, first_of};

/// An authority of somebody's own.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        Self { pem, issuer }
    }

    fn server(&self, name: &str) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let made = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.der().clone()], key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

/// A connection between `tls` and a server, as far as it comes about.
async fn shake(tls: &Tls, name: &str, server: TlsAcceptor) -> Result<(), TlsError> {
    let (here, there) = tokio::io::duplex(64 * 1024);
    let (made, _) = tokio::join!(tls.connect(name, here), server.accept(there));
    made.map(drop)
}

#[tokio::test]
async fn a_host_is_trusted_by_those_who_were_named_and_under_its_own_name_only() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let trusting = |authority: &Authority| Tls::new(Some(authority.pem.clone().into_bytes()));
    let tls = trusting(&ours);
    shake(&tls, "api.example.com", ours.server("api.example.com"))
        .await
        .expect("ours, and its name");
    for (tls, name, server) in [
        (&tls, "api.example.com", theirs.server("api.example.com")),
        (&tls, "other.example.com", ours.server("api.example.com")),
        (
            &trusting(&theirs),
            "api.example.com",
            ours.server("api.example.com"),
        ),
    ] {
        let refused = shake(tls, name, server).await;
        assert!(
            matches!(refused, Err(TlsError::Handshake(_))),
            "{refused:?}"
        );
    }
    let refused = shake(&tls, "no name", ours.server("api.example.com")).await;
    assert!(matches!(refused, Err(TlsError::Name)));
}

#[test]
fn files_that_the_owner_named_count_for_everybody_and_bad_ones_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (one, two) = (Authority::new(), Authority::new());
    let trust = Trust::new();
    let before = trust.roots(Some(one.pem.as_bytes())).unwrap().len();
    let both = file("both.pem", &format!("# ours\n{}\n{}", one.pem, two.pem));
    trust.trust_files(&[both]).unwrap();
    let shared = trust.roots(None).unwrap();
    assert_eq!(shared.len(), before + 1);
    assert!(Arc::ptr_eq(&shared, &trust.roots(None).unwrap()));
    let begun = &one.pem[..one.pem.len() / 2];
    let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (name, text, wanted) in [
        ("empty.pem", "", "holds no certificate"),
        ("key.pem", "no certificate at all", "holds no certificate"),
        ("cut.pem", begun, "is no certificate"),
        ("garbage.pem", garbage, "is no certificate in PEM"),
    ] {
        let error = trust.trust_files(&[file(name, text)]).unwrap_err();
        let told = error.to_string();
        assert!(told.contains(name), "{told}");
        assert!(told.contains(wanted) || name == "cut.pem", "{told}");
        assert!(error.hint().contains("tls.ca_files"));
    }
    for path in [
        folder.path().join("nowhere.pem"),
        folder.path().to_path_buf(),
    ] {
        let error = trust.trust_files(&[path]).unwrap_err();
        assert!(matches!(error, TrustError::Read { .. }), "{error}");
    }
    // What was in force stays so.
    assert_eq!(trust.roots(None).unwrap().len(), shared.len());
    trust.trust_files(&[]).unwrap();
    let now = trust.roots(Some(two.pem.as_bytes())).unwrap();
    assert_eq!(now.len(), before);
    assert!(trust.roots(Some(b"nothing")).is_err());
}

/// What comes of a request to a server that answers with `text` and closes.
async fn answered(text: &'static str, most: usize) -> Result<(u16, String, BodyEnd), String> {
    let (here, mut there) = tokio::io::duplex(64 * 1024);
    let request = Request::get("/a").header("host", "api.example.com");
    let request = request.body(Full::<Bytes>::default()).unwrap();
    let serving = async move {
        let mut asked = Vec::new();
        while !asked.ends_with(b"\r\n\r\n") {
            asked.push(there.read_u8().await.unwrap());
        }
        assert!(asked.starts_with(b"GET /a HTTP/1.1\r\n"));
        // The one who asks may have gone already.
        drop(there.write_all(text.as_bytes()).await);
        drop(there.shutdown().await);
    };
    let (answer, ()) = tokio::join!(exchange(here, request, most), serving);
    let answer = answer.map_err(|error| error.to_string())?;
    let shown = format!("{answer:?}");
    assert!(
        !shown.contains("hello") && !shown.contains("secret"),
        "{shown}"
    );
    assert_eq!(answer.field("x-token"), Some("secret"));
    let body = String::from_utf8(answer.body.to_vec()).unwrap();
    Ok((answer.status.as_u16(), body, answer.end))
}

#[tokio::test]
async fn an_answer_is_read_as_far_as_there_is_room() {
    const WHOLE: &str = "HTTP/1.1 200 OK\r\nx-token: secret\r\ncontent-length: 5\r\n\r\nhello";
    const CHUNKS: &str = "HTTP/1.1 404 No\r\nx-token: secret\r\ntransfer-encoding: chunked\r\n\r\n\
                          3\r\nhel\r\n2\r\nlo\r\n0\r\nx-after: 1\r\n\r\n";
    const SHORT: &str = "HTTP/1.1 200 OK\r\nx-token: secret\r\ncontent-length: 9\r\n\r\nhello";
    const NONE: &str = "HTTP/1.1 202 Later\r\nx-token: secret\r\ncontent-length: 0\r\n\r\n";
    for (text, most, status, body, end) in [
        (WHOLE, 5, 200, "hello", BodyEnd::Whole),
        (WHOLE, 4, 200, "hell", BodyEnd::TooLong),
        (WHOLE, 0, 200, "", BodyEnd::TooLong),
        (CHUNKS, 5, 404, "hello", BodyEnd::Whole),
        (CHUNKS, 4, 404, "hell", BodyEnd::TooLong),
        (SHORT, 64, 200, "hello", BodyEnd::Broken),
        (NONE, 0, 202, "", BodyEnd::Whole),
    ] {
        let answer = answered(text, most).await;
        assert_eq!(answer, Ok((status, body.to_owned(), end)), "{text} {most}");
    }
    for text in ["", "HTTP/1.1 200", "220 mail.example.com ESMTP\r\n"] {
        let told = answered(text, 64).await.unwrap_err();
        assert_eq!(told, "the connection gave no answer");
    }
}

#[tokio::test]
async fn the_first_address_that_answers_is_taken() {
    // Nobody listens there.
    let closed = SocketAddr::from(([127, 0, 0, 1], 1));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let open = listener.local_addr().unwrap();
    let reached = first_of([closed, open]).await.unwrap();
    assert_eq!(reached.peer_addr().unwrap(), open);
    let none: [SocketAddr; 0] = [];
    let error = first_of(none).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    let error = first_of([closed]).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    // However many there are, a few are tried.
    let error = first_of([closed, closed, closed, closed, open]).await;
    assert!(error.is_err());
}
