//! What is neither MCP nor a sign of life.

use std::sync::atomic::Ordering;

use crate::testing::{Client, Rig};

/// Who asks, and what comes of it.
#[tokio::test]
async fn only_the_owner_and_nobody_get_through() {
    let rig = Rig::start().await;
    let cases: &[(Option<&str>, &str, u16, &str)] = &[
        (Some("TOKEN-owner"), "GET /echo?a=1", 202, "GET Owner("),
        (None, "GET /echo", 202, "GET Nobody None"),
        (
            Some("TOKEN-claude"),
            "GET /echo",
            403,
            "only the owner's own token",
        ),
        (Some("TOKEN-forged"), "GET /echo", 401, "not good"),
        (
            Some("TOKEN-owner"),
            "GET /nowhere",
            404,
            "nothing at this path",
        ),
        (None, "GET /nowhere", 401, "no bearer token"),
        (
            Some("TOKEN-claude"),
            "GET /nowhere",
            404,
            "nothing at this path",
        ),
        (
            Some("TOKEN-owner"),
            "GET /echo?token=x",
            401,
            "never in the address",
        ),
        (Some("TOKEN-owner"), "DELETE /echo", 202, "DELETE Owner("),
    ];
    for (token, line, status, says) in cases {
        let mut client = Client::connect(rig.port, *token).await;
        let response = client.request(line, "", "").await;
        assert_eq!(response.status, *status, "{line} as {token:?}");
        assert!(
            response.body.contains(says),
            "{line} as {token:?}: {}",
            response.body
        );
        assert_eq!(
            response.status == 401,
            response.header("www-authenticate").is_some(),
            "{line} as {token:?}"
        );
    }
    rig.stop().await;
}

/// Hosts and origins of others are refused before anybody hears of the request.
#[tokio::test]
async fn other_origins_are_refused() {
    let rig = Rig::start().await;
    for header in [
        "Origin: http://evil.example.com\r\n",
        "Host: evil.example.com\r\n",
    ] {
        let mut client = Client::connect(rig.port, Some("TOKEN-owner")).await;
        let response = client.request("GET /echo", header, "").await;
        assert!(
            [400, 403].contains(&response.status),
            "{header}: {}",
            response.status
        );
        assert!(!response.body.contains("Owner"), "{header}");
    }
    rig.stop().await;
}

/// Bodies arrive whole or not at all; their length is the front's to say.
#[tokio::test]
async fn bodies_are_whole_and_bounded() {
    let rig = Rig::start().await;
    let mut client = Client::connect(rig.port, Some("TOKEN-owner")).await;
    let long = "x".repeat(300_000);
    let response = client.request("POST /echo", "X-Mine: 1\r\n", &long).await;
    assert_eq!(response.status, 202);
    assert!(
        response.body.contains("true b\"xxx"),
        "{}",
        &response.body[..80]
    );
    assert_eq!(
        response.header("content-length"),
        Some(response.body.len().to_string().as_str())
    );
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let response = client.request("GET /stream", "", "").await;
    assert_eq!(response.body, "one two three");
    // The connection is still good.
    assert_eq!(client.request("GET /echo", "", "").await.status, 202);
    let over = "x".repeat(crate::WEB_BODY_MAX + 1);
    let response = client.request("POST /echo", "", &over).await;
    assert_eq!(response.status, 413);
    rig.stop().await;
}

/// A stream asked for by HEAD has no body.
#[tokio::test]
async fn head_brings_no_body() {
    let rig = Rig::start().await;
    let mut client = Client::connect(rig.port, Some("TOKEN-owner")).await;
    let text = client.text("HEAD /stream", "", "");
    client.send(text.as_bytes()).await;
    assert_eq!(client.head().await.status, 200);
    assert_eq!(client.request("GET /echo", "", "").await.status, 202);
    rig.stop().await;
}

/// What may change something is brought to its end without its client; what only
/// reads is not.
#[tokio::test]
async fn changes_outlive_their_client() {
    let rig = Rig::start().await;
    for line in ["GET /slow", "POST /slow"] {
        let mut client = Client::connect(rig.port, Some("TOKEN-owner")).await;
        let text = client.text(line, "", "");
        client.send(text.as_bytes()).await;
        // A request behind it in another connection was taken up after it.
        let mut other = Client::connect(rig.port, Some("TOKEN-owner")).await;
        assert_eq!(other.request("GET /echo", "", "").await.status, 202);
        drop(client);
    }
    rig.web.go.add_permits(2);
    let mut last = Client::connect(rig.port, Some("TOKEN-owner")).await;
    while rig.web.done.load(Ordering::SeqCst) == 0 {
        assert_eq!(last.request("GET /echo", "", "").await.status, 202);
    }
    let response = last.request("POST /slow", "", "").await;
    assert_eq!(response.status, 204);
    assert_eq!(
        rig.web.done.load(Ordering::SeqCst),
        2,
        "the GET was dropped"
    );
    rig.stop().await;
}
