//! What strangers, broken clients and slow ones send over HTTP.

use std::time::Duration;

use crate::testing::{Client, Rig, modern};
use crate::{FrontSettings, testing};

fn list() -> String {
    modern(1, "tools/list", "{}", "")
}

/// Request lines and headers, and how they are refused.
fn strangers(port: u16) -> Vec<(&'static str, String, u16)> {
    let own = format!("Host: 127.0.0.1:{port}\r\n");
    let good = format!("{own}Authorization: Bearer TOKEN-claude\r\n");
    vec![
        (
            "POST /mcp",
            "Host: evil.example\r\nAuthorization: Bearer TOKEN-claude\r\n".to_owned(),
            403,
        ),
        (
            "POST /mcp",
            format!("Host: 127.0.0.1.evil.com:{port}\r\n"),
            403,
        ),
        ("POST /mcp", format!("Host: 0.0.0.0:{port}\r\n"), 403),
        ("POST /mcp", format!("{own}{own}"), 400),
        ("POST /mcp", String::new(), 400),
        ("POST http://evil.example/mcp", good.clone(), 400),
        ("POST /mcp", format!("{good}Origin: null\r\n"), 403),
        (
            "POST /mcp",
            format!("{good}Origin: http://evil.example\r\n"),
            403,
        ),
        (
            "POST /mcp",
            format!("{good}Origin: http://127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"),
            403,
        ),
        ("POST /mcp?token=TOKEN-claude", good.clone(), 401),
        ("POST /mcp?access_token=x", own.clone(), 401),
        ("POST /mcp", own.clone(), 401),
        (
            "POST /mcp",
            format!("{own}Authorization: Bearer wrong\r\n"),
            401,
        ),
        (
            "POST /mcp",
            format!("{good}Authorization: Bearer TOKEN-claude\r\n"),
            401,
        ),
        ("GET /healthz", "Host: evil.example\r\n".to_owned(), 403),
        ("GET /nothing", own.clone(), 401),
        ("GET /nothing", good.clone(), 404),
        ("OPTIONS /mcp", good.clone(), 405),
        ("PUT /mcp", good.clone(), 405),
        ("GET /mcp", good.clone(), 405),
        (
            "GET /mcp",
            format!("{good}Accept: application/json\r\n"),
            406,
        ),
        ("POST /mcp", format!("{good}Accept: text/html\r\n"), 406),
        (
            "POST /mcp",
            format!("{good}Content-Type: text/plain\r\n"),
            415,
        ),
        (
            "POST /mcp",
            format!("{good}Content-Type: application/x-www-form-urlencoded\r\n"),
            415,
        ),
        ("POST /mcp", good.clone(), 415),
        (
            "POST /mcp",
            format!("{good}Content-Type: application/json\r\nContent-Encoding: gzip\r\n"),
            415,
        ),
        ("POST /healthz", own.clone(), 405),
    ]
}

#[tokio::test]
async fn strangers_are_turned_away_by_the_head_alone() {
    let rig = Rig::start().await;
    for (line, headers, status) in strangers(rig.port) {
        let mut client = rig.stranger().await;
        let body = list();
        let text = format!(
            "{line} HTTP/1.1\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        client.send(text.as_bytes()).await;
        let refused = client.response().await;
        assert_eq!(refused.status, status, "{line} {headers}: {}", refused.body);
        assert!(
            refused.body.contains("nothing was done"),
            "{line}: {}",
            refused.body
        );
        assert_eq!(refused.header("www-authenticate").is_some(), status == 401);
        assert!(refused.header("access-control-allow-origin").is_none());
    }
    assert_eq!(rig.fake.calls.load(std::sync::atomic::Ordering::Relaxed), 0);
    let health = rig.stranger().await.request("GET /healthz", "", "").await;
    assert_eq!(
        (health.status, health.json().get("status")),
        (200, Some(testing::raw(r#""ok""#)))
    );
    let metrics = rig.stranger().await.request("GET /metrics", "", "").await;
    assert!(
        metrics.body.contains("legation_http_rejected_total "),
        "{}",
        metrics.body
    );
    rig.stop().await;
}

/// Bodies that are no messages, and their codes.
fn broken() -> Vec<(Vec<u8>, i64)> {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let nested = modern(
        1,
        "tools/call",
        "{}",
        &format!(
            r#""name":"echo","arguments":{{"a":{}1{}}}"#,
            "[".repeat(200),
            "]".repeat(200)
        ),
    );
    vec![
        (b"".to_vec(), -32700),
        (b"{".to_vec(), -32700),
        (b"nonsense".to_vec(), -32700),
        (deep.into_bytes(), -32700),
        (nested.into_bytes(), -32700),
        (b"\xef\xbb\xbf{}".to_vec(), -32700),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}".to_vec(),
            -32700,
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#.to_vec(),
            -32700,
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#.to_vec(),
            -32700,
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#
                .to_vec(),
            -32700,
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a\u0000b":1}}"#.to_vec(),
            -32700,
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":NaN}}"#.to_vec(),
            -32700,
        ),
        (
            br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_vec(),
            -32600,
        ),
        (
            br#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#.to_vec(),
            -32600,
        ),
        (
            br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#.to_vec(),
            -32600,
        ),
        (
            br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#.to_vec(),
            -32600,
        ),
        (
            br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#.to_vec(),
            -32600,
        ),
        (br#"{"jsonrpc":"2.0","id":1,"method":5}"#.to_vec(), -32600),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#.to_vec(),
            -32600,
        ),
        (b"[]".to_vec(), -32600),
        (b"7".to_vec(), -32600),
    ]
}

#[tokio::test]
async fn broken_messages_are_refused_with_the_right_code() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    for (body, code) in broken() {
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        let mut text = client
            .text("POST /mcp", "", "")
            .replace(
                "Content-Length: 0",
                &format!("Content-Length: {}", body.len()),
            )
            .into_bytes();
        text.extend_from_slice(&body);
        client.send(&text).await;
        let refused = client.response().await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, code),
            "{shown}: {}",
            refused.body
        );
    }
    rig.stop().await;
}

#[tokio::test]
async fn odd_names_and_params_are_refused() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    for name in [
        "__proto__",
        "a/b",
        "echo ",
        "Echo",
        "ech\\u043e",
        "a\\r\\nb",
        &"x".repeat(5000),
    ] {
        let body = modern(
            1,
            "tools/call",
            "{}",
            &format!(r#""name":"{name}","arguments":{{}}"#),
        );
        let sent = testing::raw(&body)
            .get("params")
            .and_then(|params| params.get("name"))
            .expect("a name");
        let encoded = legation_wire::headers::encode(&sent.to_str().expect("text")).into_owned();
        let headers = format!(
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {encoded}\r\n"
        );
        let refused = client.post(&headers, &body).await;
        assert_eq!(refused.code(), -32602, "{name}: {}", refused.body);
    }
    for params in [
        r#""arguments":{}"#,
        r#""name":5"#,
        r#""name":"echo","arguments":[]"#,
    ] {
        let refused = client.modern(&modern(1, "tools/call", "{}", params)).await;
        assert_eq!(refused.code(), -32602, "{params}");
    }
    let cursor = client
        .modern(&modern(1, "tools/list", "{}", r#""cursor":"bad""#))
        .await;
    assert_eq!(cursor.code(), -32602);
    rig.stop().await;
}

#[tokio::test]
async fn bodies_are_bounded_in_bytes_with_and_without_a_length() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let text = client
        .text("POST /mcp", "", "")
        .replace("Content-Length: 0", "Content-Length: 104857600");
    client.send(text.as_bytes()).await;
    assert_eq!(
        client.response().await.status,
        413,
        "not one byte of it was waited for"
    );

    let mut client = rig.client().await;
    let text = client
        .text("POST /mcp", "", "")
        .replace("Content-Length: 0", "Transfer-Encoding: chunked");
    client.send(text.as_bytes()).await;
    let chunk = format!("100000\r\n{}\r\n", " ".repeat(1 << 20));
    for _ in 0..5 {
        client.send(chunk.as_bytes()).await;
    }
    assert_eq!(client.response().await.status, 413);

    let mut client = rig.client().await;
    let padded = format!("{}{}", list(), " ".repeat((4 << 20) - 4096));
    let headers = testing::mirrored(&list());
    assert_eq!(
        client.post(&headers, &padded).await.status,
        200,
        "just below the limit"
    );
    rig.stop().await;
}

#[tokio::test]
async fn framing_tricks_are_refused() {
    let rig = Rig::start().await;
    for headers in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: -1\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "X: a\r\n b\r\n",
        "Bad Header: x\r\n",
    ] {
        let mut client = rig.stranger().await;
        let text = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer TOKEN-claude\r\nContent-Type: application/json\r\n{headers}\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n",
            rig.port
        );
        client.send(text.as_bytes()).await;
        let refused = client.response().await;
        assert!(
            (400..500).contains(&refused.status),
            "{headers}: {}",
            refused.status
        );
        assert!(!refused.body.contains("legation_calls_total"), "{headers}");
    }
    let mut client = rig.client().await;
    let many: String = (0..500)
        .map(|number| format!("X-{number}: y\r\n"))
        .collect();
    assert_eq!(client.post(&many, &list()).await.status, 431);
    let mut client = rig.client().await;
    let long = format!("X-Long: {}\r\n", "y".repeat(1 << 20));
    let text = client.text("POST /mcp", &long, "");
    // The other side may close before everything is sent.
    drop(tokio::io::AsyncWriteExt::write_all(&mut client.stream, text.as_bytes()).await);
    assert!(client.is_closed().await);
    rig.stop().await;
}

fn hasty() -> FrontSettings {
    FrontSettings {
        header_timeout: Duration::from_secs(2),
        body_timeout: Duration::from_millis(300),
        write_timeout: Duration::from_millis(500),
        ..FrontSettings::default()
    }
}

#[tokio::test]
async fn slow_heads_and_bodies_are_cut_off() {
    let rig = Rig::with(hasty()).await;
    let mut slow = rig.client().await;
    slow.send(b"POST /mcp HTTP/1.1\r\nHost: 127.").await;
    let mut body = rig.client().await;
    let text = body
        .text("POST /mcp", "", "")
        .replace("Content-Length: 0", "Content-Length: 50");
    body.send(text.as_bytes()).await;
    body.send(b"{").await;
    assert_eq!(body.response().await.status, 408);
    let mut fine = rig.client().await;
    assert_eq!(fine.modern(&list()).await.status, 200);
    assert!(slow.is_closed().await);
    rig.stop().await;
}

#[tokio::test]
async fn a_head_in_pieces_arrives_on_a_connection_that_was_idle() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    assert_eq!(client.modern(&list()).await.status, 200);
    let text = client.text("POST /mcp", &testing::mirrored(&list()), &list());
    let (first, rest) = text.split_at(40);
    client.send(first.as_bytes()).await;
    client.is_taken().await;
    client.send(rest.as_bytes()).await;
    assert_eq!(client.response().await.status, 200);
    assert_eq!(
        client.modern(&list()).await.status,
        200,
        "idle connections stay open"
    );
    rig.stop().await;
}

#[tokio::test]
async fn a_client_that_never_reads_is_cut_off() {
    let rig = Rig::with(hasty()).await;
    let mut client = rig.client().await;
    let body = modern(1, "tools/call", "{}", r#""name":"big","arguments":{}"#);
    let text = client.text("POST /mcp", &testing::mirrored(&body), &body);
    client.send(text.as_bytes()).await;
    let front = std::sync::Arc::clone(&rig.front);
    let open = || front.shared.counted(|counters| &counters.connections);
    tokio::time::timeout(Duration::from_secs(20), async {
        while open() > 0 || rig.fake.calls.load(std::sync::atomic::Ordering::Relaxed) == 0 {
            // tidy: the count has nobody to tell of its change.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("the connection was given up");
    drop(client);
    drop(front);
    rig.stop().await;
}

#[tokio::test]
async fn a_large_answer_passes_whole() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let body = modern(1, "tools/call", "{}", r#""name":"big","arguments":{}"#);
    let big = client.modern(&body).await;
    assert_eq!(big.status, 200);
    assert!(big.body.len() > 12 << 20);
    rig.stop().await;
}

#[tokio::test]
async fn a_client_that_reads_late_gets_everything() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let body = modern(1, "tools/call", "{}", r#""name":"big","arguments":{}"#);
    let text = client.text("POST /mcp", &testing::mirrored(&body), &body);
    client.send(text.as_bytes()).await;
    // The answer has begun, and most of it has no room to be written to.
    client.stream.readable().await.expect("an answer");
    let big = client.response().await;
    assert!(big.body.len() > 12 << 20);
    assert_eq!(client.modern(&list()).await.status, 200);
    rig.stop().await;
}

#[tokio::test]
async fn connections_past_the_limit_are_closed_and_idle_sessions_make_room() {
    let settings = FrontSettings {
        connections_max: 20,
        sessions_per_client: 2,
        ..FrontSettings::default()
    };
    let rig = Rig::with(settings).await;
    let mut clients = Vec::new();
    for _ in 0..20 {
        let mut client = rig.client().await;
        assert_eq!(client.modern(&list()).await.status, 200);
        clients.push(client);
    }
    assert!(rig.client().await.is_closed().await);
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
    let mut sessions = Vec::new();
    for client in &mut clients[..3] {
        let opened = client.post("", hello).await;
        assert_eq!(opened.status, 200);
        let id = opened.header("mcp-session-id").expect("a session");
        sessions.push(format!("Mcp-Session-Id: {id}\r\n"));
    }
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let mut statuses = Vec::new();
    for (client, session) in clients.iter_mut().zip(&sessions) {
        statuses.push(client.post(session, ping).await.status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 404], "one of the idle ones made room");
    rig.stop().await;
}

#[tokio::test]
async fn thousands_of_idle_connections_hurt_nobody() {
    let rig = Rig::start().await;
    let mut idle: Vec<Client> = Vec::new();
    for number in 0..400 {
        let mut client = rig.client().await;
        if number % 4 == 0 {
            assert_eq!(client.modern(&list()).await.status, 200);
        }
        idle.push(client);
    }
    let mut client = rig.client().await;
    assert_eq!(client.modern(&list()).await.status, 200);
    assert_eq!(idle[3].modern(&list()).await.status, 200);
    rig.stop().await;
}

#[tokio::test]
async fn without_authentication_anybody_on_loopback_is_let_in() {
    let rig = Rig::with(FrontSettings {
        no_auth: true,
        ..FrontSettings::default()
    })
    .await;
    assert_eq!(rig.stranger().await.modern(&list()).await.status, 200);
    let mut evil = rig.stranger().await;
    let text = evil.text("POST /mcp", "Origin: http://evil.example\r\n", &list());
    evil.send(text.as_bytes()).await;
    assert_eq!(evil.response().await.status, 403);
    rig.stop().await;
}
