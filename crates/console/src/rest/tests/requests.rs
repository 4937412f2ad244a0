//! What requests bring, and what they are told.

use serde_json::json;

use super::super::*;
use super::fake::{Fake, send, stop};
use crate::{FaultKind, StopReason};

#[tokio::test]
async fn requests_become_what_the_administration_takes() {
    let fake = Fake::with(&[
        ("mcp.show", Ok(json!({}))),
        ("mcp.logs", Ok(json!({}))),
        ("approvals.answer", Ok(json!({ "answer": "once" }))),
        ("tasks.wait", Ok(json!({}))),
        ("audit.query", Ok(json!({ "records": [] }))),
    ]);
    let rest = fake.rest();
    let cases = [
        (
            "GET /api/v1/servers/git%2Fhub%40%2Fhome",
            "",
            "mcp.show",
            json!({ "name": "git/hub@/home" }),
        ),
        (
            "GET /api/v1/servers/a/log?lines=5&workspace=%2Fx+y",
            "",
            "mcp.logs",
            json!({ "name": "a", "lines": 5, "workspace": "/x y" }),
        ),
        (
            "GET /api/v1/servers/a/log",
            "",
            "mcp.logs",
            json!({ "name": "a", "lines": 100 }),
        ),
        (
            "POST /api/v1/approvals/7K2Q/answer",
            r#"{"answer":"once"}"#,
            "approvals.answer",
            json!({ "id": "7K2Q", "answer": "once" }),
        ),
        (
            "GET /api/v1/tasks/t1/wait?timeout_ms=0",
            "",
            "tasks.wait",
            json!({ "task_id": "t1", "timeout_ms": 0 }),
        ),
        (
            "GET /api/v1/audit?client=codex&from_ms=-5",
            "",
            "audit.query",
            json!({ "client": "codex", "from_ms": -5, "limit": 100 }),
        ),
    ];
    for (line, body, method, params) in cases {
        let got = send(&rest, line, &[], body).await;
        assert_eq!(got.status, 200, "{line}: {}", got.body);
        assert_eq!(fake.last(), (method.to_owned(), params), "{line}");
    }
}

#[tokio::test]
async fn what_is_not_taken_is_refused_before_anything_is_asked() {
    let fake = Fake::with(&[("mcp.logs", Ok(json!({})))]);
    let rest = fake.rest();
    let cases: &[(&str, &str, u16)] = &[
        ("GET /api/v1/servers/a/log?lines=0", "", 400),
        ("GET /api/v1/servers/a/log?lines=10001", "", 400),
        ("GET /api/v1/servers/a/log?lines=many", "", 400),
        ("GET /api/v1/servers/a/log?lines=1&lines=2", "", 400),
        ("GET /api/v1/servers/a/log?name=b", "", 400),
        ("GET /api/v1/servers/a/log?other=1", "", 400),
        ("GET /api/v1/servers/a/log?lines=%zz", "", 400),
        ("GET /api/v1/servers/a/log", "{}", 400),
        ("POST /api/v1/approvals/1/answer", "{", 400),
        ("POST /api/v1/approvals/1/answer", "[]", 400),
        ("POST /api/v1/approvals/1/answer", "", 400),
        ("POST /api/v1/approvals/1/answer", r#"{"answer":1}"#, 400),
        (
            "POST /api/v1/approvals/1/answer",
            r#"{"answer":"once","id":"2"}"#,
            400,
        ),
        (
            "POST /api/v1/approvals/1/answer",
            r#"{"answer":"once","more":true}"#,
            400,
        ),
        ("POST /api/v1/approvals/1/answer?answer=once", "", 400),
        ("GET /api/v1/servers?limit=1001", "", 400),
        ("GET /deals/list?limit=201", "", 400),
        ("GET /deals/12345678901", "", 400),
        ("POST /api/v1/servers/a/tools/b/call?x=1", "{}", 400),
    ];
    for (line, body, status) in cases {
        let got = send(&rest, line, &[], body).await;
        assert_eq!(got.status, *status, "{line} {body}: {}", got.body);
        let error = got.body["error"].as_str().expect("a reason");
        assert!(error.ends_with("nothing was done"), "{line}: {error}");
    }
    let kind = [("content-type", "text/plain")];
    let got = send(&rest, "POST /api/v1/approvals/1/answer", &kind, "{}").await;
    assert_eq!(got.status, 415);
    let asked = fake.asked.lock().expect("whole");
    assert!(
        asked.iter().all(|(method, _)| method == "mcp.tools"),
        "{asked:?}"
    );
    assert!(fake.called.lock().expect("whole").is_empty());
}

#[tokio::test]
async fn tools_are_called_with_their_own_arguments() {
    let fake = Fake::with(&[]);
    let rest = fake.rest();
    let cases = [
        (
            "GET /deals/list?limit=5&open=true&tags=a&tags=5",
            "",
            "desk/deals_list",
            json!({ "limit": 5, "open": true, "tags": ["a", "5"] }),
        ),
        (
            "GET /deals/d1",
            "",
            "desk/deal_detail",
            json!({ "deal_id": "d1" }),
        ),
        (
            "POST /graph/acct/mail/AAQk%3D%2F/move",
            r#"{"destination_folder":"x"}"#,
            "desk/mail_move",
            json!({ "destination_folder": "x", "profile_id": "acct", "message_id": "AAQk=/" }),
        ),
        (
            "POST /api/v1/servers/files/tools/read/call",
            r#"{"path":"a"}"#,
            "files/read",
            json!({ "path": "a" }),
        ),
    ];
    for (line, body, name, arguments) in cases {
        let got = send(&rest, line, &[], body).await;
        assert_eq!(got.status, 200, "{line}: {}", got.body);
        let called = fake.called.lock().expect("whole").last().cloned();
        assert_eq!(called, Some((name.to_owned(), arguments)), "{line}");
    }
    let got = send(&rest, "GET /status", &[], "").await;
    assert_eq!(got.status, 404, "a tool that is not there: {}", got.body);
}

#[tokio::test]
async fn every_end_has_its_status() {
    let stops = [
        (StopReason::Waits, 202),
        (StopReason::Refused, 403),
        (StopReason::Withheld, 403),
        (StopReason::Unknown, 404),
        (StopReason::Invalid, 400),
        (StopReason::TooMany, 429),
        (StopReason::Unanswerable, 409),
        (StopReason::Unreachable, 503),
        (StopReason::Lost, 502),
        (StopReason::TimedOut, 504),
        (StopReason::Server, 502),
        (StopReason::Failed, 500),
    ];
    for (reason, status) in stops {
        let fake = Fake::with(&[]);
        *fake.stops.lock().expect("whole") = Some(stop(reason));
        let got = send(&fake.rest(), "GET /deals/d1", &[], "").await;
        assert_eq!(got.status, status, "{reason:?}");
        let expected = json!({ "error": "nothing was called", "hint": "ask", "rule": "some.rule",
            "blocked": true, "approval_id": "7K2Q" });
        assert_eq!(got.body, expected, "{reason:?}");
    }
    let faults = [
        (FaultKind::Waits, 202),
        (FaultKind::TooMany, 429),
        (FaultKind::NoMethod, 404),
        (FaultKind::NotFound, 404),
        (FaultKind::Invalid, 400),
        (FaultKind::Conflict, 409),
        (FaultKind::Refused, 403),
        (FaultKind::Unavailable, 503),
        (FaultKind::Failed, 500),
    ];
    for (kind, status) in faults {
        let fake = Fake::with(&[("mcp.show", Err(kind))]);
        let got = send(&fake.rest(), "GET /api/v1/servers/a", &[], "").await;
        assert_eq!(got.status, status, "{kind:?}");
        assert_eq!(got.body["hint"], "do it otherwise");
    }
}

#[tokio::test]
async fn a_key_lets_a_request_be_done_once() {
    let fake = Fake::with(&[("tasks.cancel", Ok(json!({ "n": 1 })))]);
    let rest = fake.rest();
    let key = [("idempotency-key", "k1")];
    let line = "POST /api/v1/tasks/t1/cancel";
    let count = || fake.asked.lock().expect("whole").len();
    let first = send(&rest, line, &key, "{}").await;
    assert_eq!((first.status, count()), (200, 1));
    let again = send(&rest, line, &key, "{}").await;
    assert_eq!((again.status, count()), (200, 1), "it was not done again");
    assert_eq!(again.body, first.body);
    assert_eq!(again.headers["idempotency-replayed"], "true");
    for (line, body) in [
        (line, r#"{"reason":"x"}"#),
        ("POST /api/v1/tasks/t2/cancel", "{}"),
    ] {
        let other = send(&rest, line, &key, body).await;
        assert_eq!((other.status, count()), (409, 1), "{line} {body}");
    }
    for bad in ["", "with space", &"k".repeat(256)] {
        let got = send(&rest, line, &[("idempotency-key", bad)], "{}").await;
        assert_eq!((got.status, count()), (400, 1), "{bad:?}");
    }
    // What waits for a person is asked again under the same key, and then done.
    *fake.stops.lock().expect("whole") = Some(stop(StopReason::Waits));
    let key = [("idempotency-key", "k2")];
    let line = "POST /api/v1/servers/a/tools/b/call";
    assert_eq!(send(&rest, line, &key, "{}").await.status, 202);
    *fake.stops.lock().expect("whole") = None;
    assert_eq!(send(&rest, line, &key, "{}").await.status, 200);
    assert_eq!(send(&rest, line, &key, "{}").await.status, 200);
    assert_eq!(
        fake.called.lock().expect("whole").len(),
        2,
        "once refused, once done"
    );
}

#[tokio::test]
async fn what_may_have_been_done_is_never_done_again() {
    let fake = Fake::with(&[("desk.file", Err(FaultKind::Conflict))]);
    let rest = fake.rest();
    let called = || fake.called.lock().expect("whole").len();
    // It broke off, wants something that cannot be given, or was done and is kept back.
    let line = "POST /api/v1/servers/a/tools/b/call";
    let ends = [
        (StopReason::Lost, 502),
        (StopReason::Unanswerable, 409),
        (StopReason::Withheld, 403),
        (StopReason::TimedOut, 504),
        (StopReason::Failed, 500),
    ];
    for (at, (reason, status)) in ends.into_iter().enumerate() {
        let name = format!("k{at}");
        let key = [("idempotency-key", name.as_str())];
        *fake.stops.lock().expect("whole") = Some(stop(reason));
        let first = send(&rest, line, &key, "{}").await;
        assert_eq!((first.status, called()), (status, at + 1), "{reason:?}");
        *fake.stops.lock().expect("whole") = None;
        let again = send(&rest, line, &key, "{}").await;
        assert_eq!((again.status, called()), (status, at + 1), "{reason:?}");
        assert_eq!(again.body, first.body);
        assert_eq!(again.headers["idempotency-replayed"], "true");
    }
    // The same of what the administration and the desk's own tools say they could not do.
    let before = called();
    *fake.fails.lock().expect("whole") = Some(json!({ "error": "ItemNotFound" }));
    let letter = r#"{"destination_folder":"archive"}"#;
    let cases = [
        ("POST /graph/a/mail/m/move", letter, 404, "moved"),
        ("POST /filing/s1/approve", "{}", 409, "filed"),
    ];
    for (line, body, status, key) in cases {
        let key = [("idempotency-key", key)];
        let first = send(&rest, line, &key, body).await;
        assert_eq!(first.status, status, "{line}: {}", first.body);
        *fake.fails.lock().expect("whole") = None;
        let again = send(&rest, line, &key, body).await;
        assert_eq!(again.status, status, "{line}: {}", again.body);
        assert_eq!(again.headers["idempotency-replayed"], "true", "{line}");
    }
    assert_eq!(called(), before + 1);
    let filed = fake.asked.lock().expect("whole").clone();
    let filed = filed.iter().filter(|(method, _)| method == "desk.file");
    assert_eq!(filed.count(), 1);
}

#[tokio::test]
async fn long_answers_come_in_pages() {
    let servers: Vec<Value> = (0..5)
        .map(|n| json!({ "label": format!("s{n}") }))
        .collect();
    let messages = json!({ "messages": [{ "seq": 9 }, { "seq": 8 }] });
    let fake = Fake::with(&[
        (
            "mcp.list",
            Ok(json!({ "servers": servers, "problems": [] })),
        ),
        ("inbox.list", Ok(messages.clone())),
        ("conversation.history", Ok(messages)),
        ("audit.query", Ok(json!({ "records": [], "next": 77 }))),
    ]);
    let rest = fake.rest();
    let mut seen = Vec::new();
    let mut line = "GET /api/v1/servers?limit=2".to_owned();
    loop {
        let got = send(&rest, &line, &[], "").await;
        let page = got.body["servers"].as_array().expect("a list").clone();
        assert!(page.len() <= 2 && !page.is_empty());
        seen.extend(page);
        match got.body["next_cursor"].as_str() {
            Some(cursor) => line = format!("GET /api/v1/servers?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
    let cases = [
        ("GET /api/v1/inbox?limit=2", Some("8")),
        ("GET /api/v1/inbox?limit=3", None),
        ("GET /api/v1/sessions/s/messages?limit=2", Some("9")),
        ("GET /api/v1/audit", Some("77")),
    ];
    for (line, next) in cases {
        let got = send(&rest, line, &[], "").await;
        assert_eq!(
            got.body["next_cursor"].as_str(),
            next,
            "{line}: {}",
            got.body
        );
        assert_eq!(got.body.get("next"), None, "{line}");
    }
    send(&rest, "GET /api/v1/inbox?cursor=8", &[], "").await;
    assert_eq!(fake.last().1, json!({ "limit": 100, "before": 8 }));
    for stale in [
        "GET /api/v1/servers?cursor=gone",
        "GET /api/v1/inbox?cursor=x",
        "GET /api/v1/inbox?cursor=-1",
    ] {
        assert_eq!(send(&rest, stale, &[], "").await.status, 409, "{stale}");
    }
}

#[tokio::test]
async fn events_begin_where_a_listener_was() {
    let fake = Fake::with(&[]);
    let rest = fake.rest();
    type Headers = &'static [(&'static str, &'static str)];
    let cases: &[(&str, Headers, &str)] = &[
        ("GET /api/v1/events", &[], "Now"),
        ("GET /api/v1/events?since=boot-3", &[], "boot-3"),
        (
            "GET /api/v1/events?since=boot-3",
            &[("last-event-id", "boot-5")],
            "boot-5",
        ),
    ];
    for (line, headers, since) in cases {
        let got = send(&rest, line, headers, "").await;
        assert_eq!(got.headers["content-type"], "text/event-stream");
        let text = got.body.as_str().expect("text");
        assert!(text.starts_with("retry: 1000\n"), "{text}");
        assert!(
            text.contains("id: boot-7\nevent: tool.execution_start\ndata: {"),
            "{text}"
        );
        assert!(text.contains(since), "{line}: {text}");
    }
    let got = send(&rest, "HEAD /api/v1/events", &[], "").await;
    assert_eq!((got.status, got.body), (200, Value::Null));
}

#[tokio::test]
async fn the_session_api_speaks_json_rpc() {
    let listed = json!({ "servers": [{ "name": "a", "status": "failed", "reason": "gone" }] });
    let fake = Fake::with(&[
        ("mcp.list", Ok(listed)),
        ("mcp.enable", Ok(json!({}))),
        (
            "mcp.auth",
            Ok(json!({ "ready": false, "url": "https://id.example.com/authorize" })),
        ),
        ("mcp.reload", Err(FaultKind::NotFound)),
    ]);
    let rest = fake.rest();
    let ask = |body: Value| {
        let body = body.to_string();
        let rest = &rest;
        async move { send(rest, "POST /rpc", &[], &body).await }
    };
    let got = ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "mcp.list" })).await;
    assert_eq!(
        got.body["result"]["servers"][0]["error"], "gone",
        "{}",
        got.body
    );
    let params = json!({ "sessionId": "s", "serverName": "a" });
    let got =
        ask(json!({ "jsonrpc": "2.0", "id": "x", "method": "mcp.enable", "params": params })).await;
    assert_eq!(
        got.body,
        json!({ "jsonrpc": "2.0", "id": "x", "result": {} })
    );
    assert_eq!(
        fake.last(),
        ("mcp.enable".to_owned(), json!({ "name": "a" }))
    );
    let params = json!({ "serverName": "a", "forceReauth": true });
    let login = json!({ "jsonrpc": "2.0", "id": 2, "method": "mcp.oauth.login", "params": params });
    let got = ask(login).await;
    assert_eq!(
        got.body["result"],
        json!({ "authorizationUrl": "https://id.example.com/authorize" })
    );
    assert_eq!(
        fake.last(),
        ("mcp.auth".to_owned(), json!({ "name": "a", "force": true }))
    );
    let got = ask(json!({ "jsonrpc": "2.0", "id": 2, "method": "mcp.reload" })).await;
    assert_eq!(
        (got.status, &got.body["error"]["data"]["hint"]),
        (200, &json!("do it otherwise"))
    );
    for method in ["mcp.nothing", "hub.stop", "audit.shred"] {
        let got = ask(json!({ "jsonrpc": "2.0", "id": 3, "method": method })).await;
        assert!(got.body["error"]["code"].is_i64(), "{method}: {}", got.body);
        assert_ne!(fake.last().0, "hub.stop");
    }
    for bad in [
        json!({}),
        json!({ "jsonrpc": "2.0", "id": null, "method": "mcp.list" }),
        json!({ "jsonrpc": "2.0", "id": 2.5, "method": "mcp.list" }),
        json!({ "jsonrpc": "1.0", "id": 1, "method": "mcp.list" }),
        json!({ "jsonrpc": "2.0", "id": 1 }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "mcp.list", "params": [] }),
        json!([]),
    ] {
        let got = ask(bad.clone()).await;
        assert_eq!(
            (got.status, &got.body["jsonrpc"]),
            (400, &json!("2.0")),
            "{bad}"
        );
    }
}
