//! Clients that come with tokens of an authorization server.

use std::sync::atomic::Ordering;

use legation_core::{Clock as _, SystemClock};

use crate::testing::{Client, Response, Rig, SOON_MS, mirrored, modern};
use crate::{FrontSettings, ProtectedResource};

const PUBLIC: &str = "hub.example.com";
const DESCRIPTION: &str = r#"{"resource":"https://hub.example.com/mcp"}"#;
const CHALLENGE: &str = r#"Bearer realm="legation", scope="mcp:read mcp:write", resource_metadata="https://hub.example.com/.well-known/oauth-protected-resource/mcp""#;

async fn rig() -> Rig {
    Rig::with(FrontSettings {
        resource: Some(ProtectedResource {
            authority: PUBLIC.into(),
            path: "/mcp".into(),
            metadata_url: format!("https://{PUBLIC}/.well-known/oauth-protected-resource/mcp")
                .into(),
            document: DESCRIPTION.into(),
            scope: "mcp:read mcp:write".into(),
        }),
        ..FrontSettings::default()
    })
    .await
}

/// A call, with this token and under this name.
async fn call(rig: &Rig, token: Option<&str>, host: Option<&str>) -> Response {
    let body = modern(1, "tools/call", "{}", r#""name":"echo","arguments":{}"#);
    let mut client = Client::connect(rig.port, token).await;
    let text = client.text("POST /mcp", &mirrored(&body), &body);
    let own = format!("Host: 127.0.0.1:{}\r\n", rig.port);
    let text = match host {
        Some(host) => text.replacen(&own, &format!("Host: {host}\r\n"), 1),
        None => text,
    };
    client.send(text.as_bytes()).await;
    client.response().await
}

#[tokio::test]
async fn a_token_opens_what_its_scopes_lead_to() {
    let rig = rig().await;
    let invalid = CHALLENGE.replacen(", scope", ", error=\"invalid_token\", scope", 1);
    let scope = CHALLENGE.replacen(", scope", ", error=\"insufficient_scope\", scope", 1);
    let (own, public) = (None, Some(PUBLIC));
    for (token, host, status, challenge) in [
        (Some("JWT-reader"), own, 200, None),
        (Some("JWT-late"), own, 200, None),
        (Some("TOKEN-claude"), own, 200, None),
        (Some("JWT-scopeless"), own, 403, Some(&*scope)),
        (Some("JWT-forged"), own, 401, Some(&*invalid)),
        (None, own, 401, Some(CHALLENGE)),
        (Some("JWT-never"), own, 503, None),
        (Some("JWT-unavailable"), own, 503, None),
        // Whoever comes from elsewhere has no use for the hub's own tokens.
        (Some("JWT-reader"), public, 200, None),
        (Some("TOKEN-claude"), public, 401, Some(&*invalid)),
        (Some("TOKEN-owner"), public, 401, Some(&*invalid)),
        (None, public, 401, Some(CHALLENGE)),
        (Some("JWT-reader"), Some("evil.example.com"), 403, None),
    ] {
        let response = call(&rig, token, host).await;
        assert_eq!(response.status, status, "{token:?} {host:?}: {response:?}");
        let said = response.header("www-authenticate");
        assert_eq!(said, challenge, "{token:?} {host:?}");
    }
    assert_eq!(rig.fake.calls.load(Ordering::Relaxed), 4);
    // The gate lets in nobody whose client no scope leads to.
    let stranger = call(&rig, Some("JWT-stranger"), None).await;
    assert!(
        stranger.body.contains("no valid credential"),
        "{stranger:?}"
    );
    assert_eq!(rig.fake.calls.load(Ordering::Relaxed), 4);
    rig.stop().await;
}

/// Opens one stream with a token that ends soon, and reads it until the hub ends it.
async fn read_to_its_end(client: &mut Client, line: &str, headers: &str, body: &str) {
    let begun = SystemClock.wall();
    let text = client.text(line, headers, body);
    client.send(text.as_bytes()).await;
    let head = client.head().await;
    let kind = head.header("content-type");
    assert_eq!((head.status, kind), (200, Some("text/event-stream")));
    while client.chunk().await.is_some() {}
    let stood = SystemClock.wall().0 - begun.0;
    assert!(stood >= SOON_MS, "{line}: it stood for {stood} ms");
}

#[tokio::test]
async fn what_stands_ends_with_its_token_and_a_call_does_not() {
    let rig = rig().await;
    let call = modern(1, "tools/call", "{}", r#""name":"slow","arguments":{}"#);
    let mut caller = Client::connect(rig.port, Some("JWT-soon")).await;
    let text = caller.text("POST /mcp", &mirrored(&call), &call);
    caller.send(text.as_bytes()).await;
    rig.fake.begun.notified().await;

    let mut client = Client::connect(rig.port, Some("JWT-soon")).await;
    let wish = r#""notifications":{"toolsListChanged":true}"#;
    let listen = modern(2, "subscriptions/listen", "{}", wish);
    read_to_its_end(&mut client, "POST /mcp", &mirrored(&listen), &listen).await;
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    // The connection is as good as it was, for whoever shows a token.
    let hello = client.post("", initialize).await;
    let id = hello.header("mcp-session-id").expect("a session");
    let session = format!("Mcp-Session-Id: {id}\r\n");
    read_to_its_end(&mut client, "GET /mcp", &session, "").await;
    // The session outlives the stream: it is opened anew.
    read_to_its_end(&mut client, "GET /mcp", &session, "").await;
    read_to_its_end(&mut client, "GET /sse", "", "").await;

    rig.fake.go.notify_one();
    let answer = caller.response().await;
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains("slowly"), "{answer:?}");
    assert!(rig.fake.cancelled.lock().expect("sound").is_empty());
    rig.stop().await;
}

#[tokio::test]
async fn the_description_is_for_everybody_and_the_rest_is_not() {
    let rig = rig().await;
    let path = "/.well-known/oauth-protected-resource";
    for (line, host, status) in [
        (format!("GET {path}"), None, 200),
        (format!("GET {path}/mcp"), None, 200),
        (format!("GET {path}/mcp"), Some(PUBLIC), 200),
        (format!("GET {path}/mcp/s/fake"), None, 200),
        (format!("POST {path}"), None, 405),
        (format!("GET {path}x"), None, 401),
        (format!("GET {path}/mcp"), Some("evil.example.com"), 403),
        ("GET /metrics".to_owned(), Some(PUBLIC), 404),
        ("GET /healthz".to_owned(), Some(PUBLIC), 404),
        ("GET /echo".to_owned(), Some(PUBLIC), 404),
        ("GET /healthz".to_owned(), None, 200),
    ] {
        let host = host.map_or(format!("127.0.0.1:{}", rig.port), str::to_owned);
        let mut client = rig.stranger().await;
        client
            .send(format!("{line} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())
            .await;
        let response = client.response().await;
        assert_eq!(response.status, status, "{line} {host}: {response:?}");
        if status == 200 && line.contains(path) {
            assert_eq!(response.body, DESCRIPTION);
        }
    }
    // A token of the issuer opens MCP and nothing else.
    let mut client = Client::connect(rig.port, Some("JWT-reader")).await;
    assert_eq!(client.request("GET /echo", "", "").await.status, 401);
    rig.stop().await;
}

#[tokio::test]
async fn without_an_issuer_nothing_is_described() {
    let rig = Rig::start().await;
    let path = "/.well-known/oauth-protected-resource";
    let response = rig
        .stranger()
        .await
        .request(&format!("GET {path}"), "", "")
        .await;
    assert_eq!(response.status, 401);
    let refused = call(&rig, None, None).await;
    assert_eq!(
        refused.header("www-authenticate"),
        Some(r#"Bearer realm="legation""#)
    );
    rig.stop().await;
}
