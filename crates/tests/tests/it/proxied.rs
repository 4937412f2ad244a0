//! A sign-in by way of a proxy: without it neither the server nor who signs people in for it can
//! be reached.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use legation_tests::fixture::http::{HttpBody, handle};
use legation_tests::fixture::{Era, Files, Fixture};
use legation_tests::harness::github::Authority;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{PeerEra, everything, friendly};
use legation_tests::harness::proxy::{Proxy, SECRET};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio_rustls::TlsAcceptor;

/// Names that lead nowhere (RFC 6761, section 6.4) but through the proxy.
const SERVER: &str = "mcp.legation.invalid";
const ISSUER: &str = "login.legation.invalid";
const TOKEN: &str = "a-token-of-the-issuer";

fn answer(status: u16, body: &Value) -> Response<HttpBody> {
    let body = Full::new(Bytes::from(body.to_string())).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert("content-type", json);
    response
}

/// A server that wants a token, and the authorization server that issues it.
async fn respond(
    fixture: &Arc<Fixture>,
    port: u16,
    mut request: Request<Incoming>,
) -> Response<HttpBody> {
    let (server, issuer) = (
        format!("https://{SERVER}:{port}"),
        format!("https://{ISSUER}:{port}"),
    );
    match request.uri().path() {
        "/.well-known/oauth-protected-resource/mcp" => answer(
            200,
            &json!({"resource": format!("{server}/mcp"), "authorization_servers": [issuer]}),
        ),
        "/.well-known/oauth-authorization-server" => answer(
            200,
            &json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"),
                "code_challenge_methods_supported": ["S256"],
                "grant_types_supported": ["client_credentials"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            }),
        ),
        "/token" => answer(
            200,
            &json!({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600}),
        ),
        // The issuer of tokens for runs of a pipeline.
        "/run" => answer(200, &json!({"value": TOKEN})),
        "/mcp" => {
            let wanted = format!("Bearer {TOKEN}");
            let shown = request.headers().get("authorization");
            if shown.is_some_and(|shown| shown.as_bytes() == wanted.as_bytes()) {
                let own = HeaderValue::from_static("127.0.0.1");
                request.headers_mut().insert("host", own);
                return handle(fixture, request).await;
            }
            let mut refusal = answer(401, &json!({}));
            let at = format!("{server}/.well-known/oauth-protected-resource/mcp");
            let challenge = format!("Bearer resource_metadata=\"{at}\"");
            let challenge = HeaderValue::try_from(challenge).unwrap();
            refusal.headers_mut().insert("www-authenticate", challenge);
            refusal
        }
        _ => answer(404, &json!({})),
    }
}

/// Serves both names on one port.
async fn outside(authority: &Authority) -> anyhow::Result<u16> {
    let (certificate, key) = authority.certificate_for(&[SERVER, ISSUER])?;
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes())?];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let fixture = Fixture::new(
        Era::Both,
        "guarded".to_owned(),
        Vec::new(),
        Files::default(),
    );
    Handle::current().spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, fixture) = (acceptor.clone(), Arc::clone(&fixture));
            Handle::current().spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let service = service_fn(move |request| {
                    let fixture = Arc::clone(&fixture);
                    async move { Ok::<_, Infallible>(respond(&fixture, port, request).await) }
                });
                let connection = hyper::server::conn::http1::Builder::new();
                let stream = TokioIo::new(stream);
                let _closed = connection.serve_connection(stream, service).await;
            });
        }
    });
    Ok(port)
}

#[tokio::test]
async fn a_sign_in_goes_by_way_of_the_proxy_as_its_server_does() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let authority = Authority::new()?;
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, &authority.pem)?;
    let port = outside(&authority).await?;
    let (own, environment) = (Proxy::start().await?, Proxy::start().await?);
    let entry = json!({
        "type": "http", "url": format!("https://{SERVER}:{port}/mcp"),
        "oauthGrantType": "client_credentials", "oauthClientId": "hub",
        "oauth": {"clientSecret": "${CLIENT_SECRET}"},
    });
    let mut with_own = entry.clone();
    with_own["proxy"] = own.url("user").into();
    // Another account of the same server: what one signed in for is not the other's.
    with_own["oauthClientId"] = "other".into();
    let hub = Hub::start(HubOptions {
        servers: json!({"own": with_own, "environment": entry}),
        settings: format!("[tls]\nca_files = [{ca:?}]\n"),
        environment: [
            ("HTTPS_PROXY".to_owned(), environment.url("user")),
            (
                "CLIENT_SECRET".to_owned(),
                "s3cret-of-the-client".to_owned(),
            ),
        ]
        .into(),
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    for (name, proxy) in [("own", &own), ("environment", &environment)] {
        let tool = format!("{name}-echo");
        hub.wait_for_tool(&peer, &tool).await?;
        let echoed = peer.call(&tool, json!({"by": name})).await?;
        assert_eq!(echoed.first_text(), json!({"by": name}).to_string());
        for host in [SERVER, ISSUER] {
            let expected = format!("CONNECT {host}:{port}");
            let asked = proxy.asked();
            assert!(asked.contains(&expected), "{name}, {expected}: {asked:?}");
        }
    }
    let told = hub.said().join("\n");
    for secret in [SECRET, TOKEN, "s3cret-of-the-client"] {
        assert!(!told.contains(secret), "{told}");
    }
    Ok(())
}

#[tokio::test]
async fn a_sign_in_trusts_whom_its_server_does_and_no_other_one_does() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let authority = Authority::new()?;
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, &authority.pem)?;
    let port = outside(&authority).await?;
    let proxy = Proxy::start().await?;
    let entry = json!({
        "type": "http", "url": format!("https://{SERVER}:{port}/mcp"),
        "oauthGrantType": "client_credentials", "oauthClientId": "hub",
        "oauth": {"clientSecret": "s3cret"}, "tls": {"caFile": ca},
    });
    let mut without = entry.clone();
    without["tls"] = Value::Null;
    let hub = Hub::start(HubOptions {
        servers: json!({"trusting": entry, "without": without}),
        environment: [("HTTPS_PROXY".to_owned(), proxy.url("user"))].into(),
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    hub.wait_for_tool(&peer, "trusting-echo").await?;
    let echoed = peer.call("trusting-echo", json!({"a": 1})).await?;
    assert_eq!(echoed.first_text(), json!({"a": 1}).to_string());
    let (code, said, complaint) = hub.run(&["mcp", "show", "without", "--json"]).await?;
    assert_eq!(code, 0, "{complaint}");
    let shown: Value = serde_json::from_str(&said)?;
    assert_ne!(shown["server"]["status"], "connected", "{said}");
    Ok(())
}

#[tokio::test]
async fn the_issuer_of_a_run_is_asked_by_way_of_the_proxy() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let authority = Authority::new()?;
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, &authority.pem)?;
    let port = outside(&authority).await?;
    let proxy = Proxy::start().await?;
    let secret = "s3cret-of-the-run";
    let hub = Hub::start(HubOptions {
        servers: json!({"run": {"type": "http", "url": format!("https://{SERVER}:{port}/mcp"), "oidc": true}}),
        settings: format!("[tls]\nca_files = [{ca:?}]\n"),
        environment: [
            ("HTTPS_PROXY".to_owned(), proxy.url("user")),
            (
                "ACTIONS_ID_TOKEN_REQUEST_URL".to_owned(),
                format!("https://{ISSUER}:{port}/run?api-version=2"),
            ),
            ("ACTIONS_ID_TOKEN_REQUEST_TOKEN".to_owned(), secret.to_owned()),
        ]
        .into(),
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    hub.wait_for_tool(&peer, "run-echo").await?;
    let echoed = peer.call("run-echo", json!({"a": 1})).await?;
    assert_eq!(echoed.first_text(), json!({"a": 1}).to_string());
    let (asked, expected) = (proxy.asked(), format!("CONNECT {ISSUER}:{port}"));
    assert!(asked.contains(&expected), "{asked:?}");
    let told = hub.said().join("\n");
    assert!(!told.contains(secret) && !told.contains(SECRET), "{told}");
    Ok(())
}
