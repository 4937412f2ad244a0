//! HTTP/1.1 itself: how requests are framed, kept apart and answered.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::testing::{Client, Rig, mirrored, modern};

fn list() -> String {
    modern(1, "tools/list", "{}", "")
}

/// A request of `list` with these headers in place of its length.
fn framed(client: &Client, headers: &str, body: &str) -> String {
    let headers = format!("{}{headers}", mirrored(&list()));
    let text = client.text("POST /mcp", &headers, "");
    text.replacen("Content-Length: 0\r\n", "", 1) + body
}

fn chunked(text: &str, size: usize) -> String {
    let mut body = String::new();
    for chunk in text.as_bytes().chunks(size) {
        let chunk = std::str::from_utf8(chunk).expect("ASCII");
        body.push_str(&format!("{:X}\r\n{chunk}\r\n", chunk.len()));
    }
    body + "0\r\n\r\n"
}

#[tokio::test]
async fn a_request_arrives_however_it_is_cut() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let plain = client.text("POST /mcp", &mirrored(&list()), &list());
    let pieces = framed(
        &client,
        "Transfer-Encoding: chunked\r\n",
        &chunked(&list(), 50),
    );
    for text in [plain, pieces] {
        for cut in 1..text.len() {
            let (first, rest) = text.as_bytes().split_at(cut);
            client.send(first).await;
            tokio::task::yield_now().await;
            client.send(rest).await;
            assert_eq!(client.response().await.status, 200, "cut at {cut}");
        }
    }
    rig.stop().await;
}

#[tokio::test]
async fn requests_sent_ahead_are_answered_in_their_order() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let mut text = String::new();
    for id in 0..40 {
        let body = modern(id, "tools/list", "{}", "");
        text.push_str(&client.text("POST /mcp", &mirrored(&body), &body));
        text.push_str(&client.text("GET /healthz", "", ""));
    }
    client.send(text.as_bytes()).await;
    for id in 0..40 {
        let answer = client.response().await.json();
        assert_eq!(answer.get("id").and_then(|id| id.to_i64()), Some(id));
        assert!(client.response().await.body.contains("\"ok\""));
    }
    rig.stop().await;
}

#[tokio::test]
async fn a_head_that_comes_again_is_looked_at_again_where_it_matters() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    // Bodies of another length, and of another number of digits.
    for name in ["a", "ab", &"c".repeat(900), "d", "e"] {
        let body = modern(1, "tools/list", "{}", &format!(r#""x":"{name}""#));
        for _ in 0..2 {
            let answer = client.modern(&body).await;
            assert_eq!(answer.status, 200, "{name}");
        }
    }
    // Another's token of the same length in the same place.
    let text = client.text("POST /mcp", &mirrored(&list()), &list());
    let stranger = text.replace("TOKEN-claude", "TOKEN-nobody");
    for (text, status) in [(&text, 200), (&stranger, 401), (&text, 200)] {
        client.send(text.as_bytes()).await;
        assert_eq!(client.response().await.status, status);
    }
    rig.stop().await;
}

#[tokio::test]
async fn a_credential_that_is_taken_back_opens_nothing_more_on_an_open_connection() {
    let rig = Rig::start().await;
    let mut claude = rig.client_as("claude").await;
    let mut codex = rig.client_as("codex").await;
    for client in [&mut claude, &mut codex] {
        for _ in 0..3 {
            assert_eq!(client.modern(&list()).await.status, 200);
        }
    }
    rig.tokens.revoke("claude");
    assert_eq!(codex.modern(&list()).await.status, 200);
    assert_eq!(claude.modern(&list()).await.status, 401);
    rig.stop().await;
}

#[tokio::test]
async fn what_hides_behind_a_request_is_not_answered() {
    let rig = Rig::start().await;
    let hidden = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let own = format!("Host: 127.0.0.1:{}\r\n", rig.port);
    for (headers, body) in [
        (
            "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
            "0\r\n\r\n",
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n",
            "0\r\n\r\n",
        ),
        ("Content-Length: 0\r\nContent-Length: 5\r\n", ""),
        ("Content-Length: 0, 5\r\n", ""),
        ("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "0\n\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "-0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "0x0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "1\r\nab\r\n0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "1\r\na0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "10000000000000000\r\n"),
        ("X: a\r\n b\r\nContent-Length: 0\r\n", ""),
        ("X: a\nContent-Length: 0\r\n", ""),
        ("X: a\rY: b\r\nContent-Length: 0\r\n", ""),
    ] {
        let mut client = rig.client().await;
        let text = framed(&client, headers, body) + hidden;
        client.send(text.as_bytes()).await;
        let refused = client.response().await;
        assert!(
            (400..=501).contains(&refused.status),
            "{headers}{body}: {}",
            refused.status
        );
        assert_eq!(
            refused.header("connection"),
            Some("close"),
            "{headers}{body}"
        );
        assert!(client.is_closed().await);
        assert!(
            client.unread().is_empty(),
            "{headers}{body}: {:?}",
            client.unread()
        );
    }
    // The same for what a refused head leaves behind.
    for (line, length, answered) in [("GET /nothing", 5, true), ("PUT /mcp", 50_000, false)] {
        let mut client = rig.client().await;
        let head = format!(
            "{line} HTTP/1.1\r\n{own}Authorization: Bearer TOKEN-claude\r\nContent-Length: {length}\r\n\r\n"
        );
        client.send(format!("{head}abcde").as_bytes()).await;
        client
            .send(client.text("GET /healthz", "", "").as_bytes())
            .await;
        assert!((404..=405).contains(&client.response().await.status));
        if answered {
            assert_eq!(
                client.response().await.status,
                200,
                "its body was passed over"
            );
        } else {
            assert!(client.is_closed().await);
            assert!(client.unread().is_empty());
        }
    }
    assert_eq!(rig.fake.calls.load(Ordering::Relaxed), 0);
    rig.stop().await;
}

#[tokio::test]
async fn a_client_that_expects_is_told_to_go_on_once_its_head_is_good() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let head = framed(
        &client,
        &format!(
            "Expect: 100-continue\r\nContent-Length: {}\r\n",
            list().len()
        ),
        "",
    );
    for _ in 0..2 {
        client.send(head.as_bytes()).await;
        assert_eq!(client.head().await.status, 100);
        client.send(list().as_bytes()).await;
        assert_eq!(client.response().await.status, 200);
        client.send((head.clone() + &list()).as_bytes()).await;
        let told = client.response().await.status;
        assert_eq!(told, 200, "what has come needs no leave");
    }
    let mut stranger = rig.stranger().await;
    let text = head.replace("Bearer TOKEN-claude", "Bearer wrong");
    stranger.send(text.as_bytes()).await;
    assert_eq!(
        stranger.response().await.status,
        401,
        "it is not asked for the body"
    );
    let mut other = rig.client().await;
    other
        .send(head.replace("100-continue", "200-ok").as_bytes())
        .await;
    assert_eq!(other.response().await.status, 417);
    rig.stop().await;
}

#[tokio::test]
async fn older_clients_and_clients_that_close_are_served() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let text = client.text("POST /mcp", &mirrored(&list()), &list());
    let old = text.replace("HTTP/1.1", "HTTP/1.0");
    client
        .send(
            old.replace("\r\nHost", "\r\nConnection: keep-alive\r\nHost")
                .as_bytes(),
        )
        .await;
    let first = client.response().await;
    assert_eq!(
        (first.status, first.header("connection")),
        (200, Some("keep-alive"))
    );
    client.send(old.as_bytes()).await;
    let last = client.response().await;
    assert_eq!(
        (last.status, last.header("connection")),
        (200, Some("close"))
    );
    assert!(client.is_closed().await);

    let mut client = rig.client().await;
    client
        .send(
            text.replace("\r\nHost", "\r\nConnection: close\r\nHost")
                .as_bytes(),
        )
        .await;
    assert_eq!(client.response().await.status, 200);
    assert!(client.is_closed().await);

    let mut client = rig.client().await;
    client
        .send(client.text("HEAD /healthz", "", "").as_bytes())
        .await;
    let head = client.head().await;
    assert_eq!(head.status, 200);
    assert!(
        head.header("content-length")
            .is_some_and(|length| length != "0")
    );
    let date = head.header("date").expect("a date");
    assert!(date.ends_with(" GMT") && date.len() == 29, "{date}");
    let health = client.request("GET /healthz", "", "").await;
    assert_eq!(health.status, 200, "no body came with the head");
    rig.stop().await;
}

#[tokio::test]
async fn a_client_that_hangs_up_calls_its_request_off() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let body = modern(1, "tools/call", "{}", r#""name":"slow","arguments":{}"#);
    let text = client.text("POST /mcp", &mirrored(&body), &body);
    client.send(text.as_bytes()).await;
    tokio::time::timeout(Duration::from_secs(20), async {
        while rig.fake.calls.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("the call is under way");
    drop(client);
    tokio::time::timeout(Duration::from_secs(20), async {
        while rig.front.connections() > 0 {
            // tidy: the count has nobody to tell of its change.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("the connection was noticed to be gone");
    rig.stop().await;
}

#[tokio::test]
async fn a_large_body_in_small_chunks_arrives_whole() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let padded = list() + &" ".repeat(300_000);
    let text = framed(
        &client,
        "Transfer-Encoding: chunked\r\n",
        &chunked(&padded, 1000),
    );
    client.send(text.as_bytes()).await;
    assert_eq!(client.response().await.status, 200);
    let trailers = chunked(&list(), 64).replace("0\r\n\r\n", "0\r\nX: y\r\n\r\n");
    let text = framed(&client, "Transfer-Encoding: chunked\r\n", &trailers);
    client.send(text.as_bytes()).await;
    assert_eq!(client.response().await.status, 200);
    rig.stop().await;
}
