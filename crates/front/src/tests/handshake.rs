//! Sessions over HTTP: every revision with a handshake.

use std::time::Duration;

use legation_core::ServerName;
use legation_gate::{Audience, HubEvent, ListKind};
use legation_wire::json::{Object, Raw};

use crate::FrontSettings;
use crate::testing::{Client, Rig};

const CALL: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"a":1},"_meta":{"x":1}}}"#;

fn initialize(version: &str, capabilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"t","version":"1"}}}}}}"#
    )
}

#[tokio::test]
async fn a_session_that_ended_is_unknown_on_every_connection() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let mut other = rig.client().await;
    let begin = |hello: crate::testing::Response| {
        let id = hello.header("mcp-session-id").expect("a session");
        format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-11-25\r\n")
    };
    let first = begin(client.post("", &initialize("2025-11-25", "{}")).await);
    let second = begin(client.post("", &initialize("2025-11-25", "{}")).await);
    for _ in 0..3 {
        assert_eq!(client.post(&first, CALL).await.status, 200);
        assert_eq!(other.post(&first, CALL).await.status, 200);
    }
    assert_eq!(other.post(&second, CALL).await.status, 200);
    assert_eq!(other.post(&second, CALL).await.status, 200);
    let end = other.request("DELETE /mcp", &first, "").await;
    assert_eq!(end.status, 204);
    assert_eq!(client.post(&first, CALL).await.status, 404);
    assert_eq!(other.post(&first, CALL).await.status, 404);
    assert_eq!(client.post(&second, CALL).await.status, 200);
    rig.stop().await;
}

#[tokio::test]
async fn a_session_lives_from_initialize_to_delete() {
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let rig = Rig::start().await;
        let mut client = rig.client().await;
        let hello = client.post("", &initialize(version, "{}")).await;
        assert_eq!(hello.status, 200, "{}", hello.body);
        let result = hello.json().get("result").expect("a result");
        assert_eq!(
            result
                .get("protocolVersion")
                .expect("there")
                .to_str()
                .as_deref(),
            Some(version)
        );
        let id = hello
            .header("mcp-session-id")
            .expect("a session")
            .to_owned();
        let session = format!("Mcp-Session-Id: {id}\r\n");
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(client.post(&session, ready).await.status, 202);

        let called = client.post(&session, CALL).await;
        assert_eq!(called.header("content-type"), Some("application/json"));
        let result = called.json().get("result").expect("a result");
        assert_eq!(
            result.as_text(),
            r#"{"content":[],"big":9223372036854775807,"vendor/x":{"a":1},"params":{"name":"echo","arguments":{"a":1},"_meta":{"x":1}}}"#
        );
        let unknown = client
            .post(
                &session,
                r#"{"jsonrpc":"2.0","id":3,"method":"unknown/method"}"#,
            )
            .await;
        assert_eq!((unknown.status, unknown.code()), (200, -32601));

        assert_eq!(
            client.request("DELETE /mcp", &session, "").await.status,
            204
        );
        assert_eq!(client.post(&session, CALL).await.status, 404);
        assert_eq!(
            *rig.fake.seats.lock().expect("sound"),
            ["+claude", "-claude"]
        );
        rig.stop().await;
    }
}

/// A client with a session; the header that names it.
async fn session(rig: &Rig, client: &str, version: &str, capabilities: &str) -> (Client, String) {
    let mut client = rig.client_as(client).await;
    let hello = client.post("", &initialize(version, capabilities)).await;
    let session = format!(
        "Mcp-Session-Id: {}\r\n",
        hello.header("mcp-session-id").expect("a session")
    );
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(client.post(&session, ready).await.status, 202);
    (client, session)
}

fn call(id: i64, tool: &str, meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}{meta}}}}}"#
    )
}

#[tokio::test]
async fn progress_makes_a_stream_and_comes_under_the_clients_token() {
    let rig = Rig::start().await;
    let (mut client, session) = session(&rig, "claude", "2025-11-25", "{}").await;
    let called = client
        .post(
            &session,
            &call(5, "progress", r#","_meta":{"progressToken":"p-1"}"#),
        )
        .await;
    assert_eq!(called.header("content-type"), Some("text/event-stream"));
    assert!(
        called.body.starts_with("id: 1-0\nretry: 1000\ndata: \n\n"),
        "{}",
        called.body
    );
    let messages = called.messages();
    assert_eq!(messages.len(), 4);
    for (message, number) in messages.iter().zip(1..=3) {
        let params = message.get("params").expect("params");
        assert_eq!(
            params.get("progress").expect("a number").to_i64(),
            Some(number)
        );
        assert_eq!(
            params
                .get("progressToken")
                .expect("a token")
                .to_str()
                .as_deref(),
            Some("p-1")
        );
    }
    assert_eq!(messages[3].get("id").expect("an id").to_i64(), Some(5));
    let quiet = client.post(&session, &call(6, "progress", "")).await;
    assert_eq!(
        quiet.header("content-type"),
        Some("application/json"),
        "nobody asked for progress"
    );
    rig.stop().await;
}

#[tokio::test]
async fn questions_are_real_requests_and_only_the_session_that_was_asked_answers() {
    let rig = Rig::start().await;
    let capabilities = r#"{"elicitation":{}}"#;
    let (mut asked, session_a) = session(&rig, "claude", "2025-11-25", capabilities).await;
    let (mut other, session_b) = session(&rig, "claude", "2025-11-25", capabilities).await;
    let text = asked.text("POST /mcp", &session_a, &call(7, "ask", ""));
    asked.send(text.as_bytes()).await;
    let head = asked.head().await;
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    let question = asked.until("elicitation/create").await;
    assert!(question.contains(r#""id":1"#), "{question}");
    let answer = |value: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"action":"accept","content":{{"n":"{value}"}}}}}}"#
        )
    };
    assert_eq!(other.post(&session_b, &answer("forged")).await.status, 202);
    let mut foreign = rig.client_as("codex").await;
    assert_eq!(
        foreign.post(&session_a, &answer("forged")).await.status,
        404
    );
    let mut second = rig.client().await;
    assert_eq!(second.post(&session_a, &answer("true")).await.status, 202);
    let result = asked.until("result").await;
    assert!(
        result.contains("true") && !result.contains("forged"),
        "{result}"
    );
    rig.stop().await;
}

#[tokio::test]
async fn a_client_that_declared_nothing_is_not_asked() {
    let rig = Rig::start().await;
    let (mut client, session) = session(&rig, "claude", "2025-06-18", "{}").await;
    let called = client.post(&session, &call(1, "ask", "")).await;
    assert_eq!(called.code(), -32601);
    rig.stop().await;
}

#[tokio::test]
async fn a_broken_stream_is_resumed_and_the_call_goes_on() {
    let rig = Rig::start().await;
    let (mut client, session) =
        session(&rig, "claude", "2025-11-25", r#"{"elicitation":{}}"#).await;
    let text = client.text("POST /mcp", &session, &call(7, "ask", ""));
    client.send(text.as_bytes()).await;
    client.head().await;
    client.until("elicitation/create").await;
    drop(client);
    let mut again = rig.client().await;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#;
    assert_eq!(again.post(&session, answer).await.status, 202);
    let resumed = again
        .request("GET /mcp", &format!("{session}Last-Event-ID: 1-1\r\n"), "")
        .await;
    let messages = resumed.messages();
    assert_eq!(messages.len(), 1, "{}", resumed.body);
    assert!(messages[0].as_text().contains("accept"));
    assert_eq!(resumed.ids(), ["1-2"]);
    let replayed = again
        .request("GET /mcp", &format!("{session}Last-Event-ID: 1-0\r\n"), "")
        .await;
    assert_eq!(replayed.messages().len(), 2, "the question and the answer");
    for bad in ["9-1", "x", "1", "-1"] {
        let refused = again
            .request(
                "GET /mcp",
                &format!("{session}Last-Event-ID: {bad}\r\n"),
                "",
            )
            .await;
        assert_eq!(refused.status, 400, "{bad}");
    }
    rig.stop().await;
}

#[tokio::test]
async fn a_cancelled_call_is_called_off_and_a_lost_connection_is_not_a_cancellation() {
    let rig = Rig::start().await;
    let (mut client, session) = session(&rig, "claude", "2025-06-18", "{}").await;
    let text = client.text("POST /mcp", &session, &call(7, "slow", ""));
    client.send(text.as_bytes()).await;
    rig.fake.begun.notified().await;
    let mut second = rig.client().await;
    let again = second.post(&session, &call(7, "echo", "")).await;
    assert_eq!(again.code(), -32600, "the id is in flight: {}", again.body);
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    assert_eq!(second.post(&session, cancel).await.status, 202);
    assert_eq!(client.response().await.status, 202);
    assert_eq!(
        rig.fake.called_off(1).await,
        [legation_core::CancelReason::ClientCancelled]
    );
    assert_eq!(
        second.post(&session, cancel).await.status,
        202,
        "cancelling what is over is nothing"
    );

    let text = client.text("POST /mcp", &session, &call(8, "slow", ""));
    client.send(text.as_bytes()).await;
    rig.fake.begun.notified().await;
    drop(client);
    rig.fake.go.notify_one();
    let free = loop {
        let again = second.post(&session, &call(8, "echo", "")).await;
        if !again.body.contains("in use") {
            break again;
        }
    };
    assert!(free.body.contains("result"), "{}", free.body);
    assert_eq!(rig.fake.called_off(1).await.len(), 1);
    rig.stop().await;
}

#[tokio::test]
async fn changes_reach_the_sessions_they_concern() {
    let rig = Rig::start().await;
    let (mut ready, session_a) = session(&rig, "claude", "2025-11-25", "{}").await;
    let (mut other, session_b) = session(&rig, "codex", "2025-06-18", "{}").await;
    let subscribe =
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://a"}}"#;
    assert_eq!(
        ready.post(&session_a, subscribe).await.json().get("result"),
        Some(Raw::empty_object())
    );
    let level =
        r#"{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"warning"}}"#;
    ready.post(&session_a, level).await;
    for (client, session) in [(&mut ready, &session_a), (&mut other, &session_b)] {
        let text = client.text("GET /mcp", session, "");
        client.send(text.as_bytes()).await;
        assert_eq!(
            client.head().await.header("content-type"),
            Some("text/event-stream")
        );
    }
    let server = ServerName::parse("fake").expect("a name");
    let event = |event| rig.fake.events.send(event).expect("someone listens");
    let log = |level: &str| HubEvent::Logged {
        server: server.clone(),
        params: crate::testing::raw(&format!(r#"{{"level":"{level}","data":1}}"#)),
        audience: Audience::All,
    };
    event(log("info"));
    event(log("error"));
    event(HubEvent::ResourceUpdated {
        server: server.clone(),
        uri: "test://b".into(),
        params: Object::new().with("uri", Raw::str("test://b")),
        audience: Audience::All,
    });
    event(HubEvent::ResourceUpdated {
        server: server.clone(),
        uri: "test://a".into(),
        params: Object::new().with("uri", Raw::str("test://a")),
        audience: Audience::All,
    });
    for _ in 0..3 {
        event(HubEvent::ListChanged {
            server: server.clone(),
            kind: ListKind::Tools,
            audience: Audience::All,
        });
    }
    let heard = ready.until("list_changed").await;
    assert!(
        heard.contains("test://a") && !heard.contains("test://b"),
        "{heard}"
    );
    assert!(
        heard.contains(r#""error""#) && !heard.contains(r#""info""#),
        "{heard}"
    );
    assert_eq!(heard.matches("tools/list_changed").count(), 1);
    let heard = other.until("list_changed").await;
    assert!(
        !heard.contains("test://") && !heard.contains("message\",\"params"),
        "{heard}"
    );
    rig.stop().await;
}

#[tokio::test]
async fn batches_exist_in_one_revision() {
    let rig = Rig::start().await;
    let batch = format!(
        r#"[{},{{"jsonrpc":"2.0","method":"notifications/x"}},{},{{"jsonrpc":"2.0","id":null,"method":"ping"}}]"#,
        call(1, "echo", ""),
        r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#
    );
    let (mut client, old) = session(&rig, "claude", "2025-03-26", "{}").await;
    let answered = client.post(&old, &batch).await;
    let answers = answered.json().to_array().expect("an array");
    assert_eq!(answers.len(), 3, "{}", answered.body);
    assert_eq!(client.post(&old, "[]").await.status, 400);
    let nothing = r#"[{"jsonrpc":"2.0","method":"notifications/x"}]"#;
    assert_eq!(client.post(&old, nothing).await.status, 202);
    let (mut client, new) = session(&rig, "claude", "2025-11-25", "{}").await;
    assert_eq!(client.post(&new, &batch).await.code(), -32600);
    rig.stop().await;
}

#[tokio::test]
async fn a_session_belongs_to_its_credential_its_path_and_its_headers() {
    let rig = Rig::start().await;
    let (mut client, session) = session(&rig, "claude", "2025-11-25", "{}").await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(
        client.post(&session, ping).await.status,
        200,
        "no version header: some clients send none"
    );
    for (version, status) in [
        ("2025-11-25", 200),
        ("2025-03-26", 200),
        ("1999-01-01", 400),
        ("nonsense", 400),
    ] {
        let headers = format!("{session}MCP-Protocol-Version: {version}\r\n");
        assert_eq!(
            client.post(&headers, ping).await.status,
            status,
            "{version}"
        );
    }
    assert_eq!(client.post("", ping).await.status, 400, "no session");
    assert_eq!(
        client.post("Mcp-Session-Id: none\r\n", ping).await.status,
        404
    );
    assert_eq!(
        client
            .request("POST /mcp/s/fake", &session, ping)
            .await
            .status,
        404,
        "another path"
    );
    assert_eq!(
        client
            .post(&format!("{session}{session}"), ping)
            .await
            .status,
        400
    );
    let mut foreign = rig.client_as("codex").await;
    assert_eq!(foreign.post(&session, ping).await.status, 404);
    assert_eq!(
        foreign.request("DELETE /mcp", &session, "").await.status,
        404
    );
    assert_eq!(foreign.request("GET /mcp", &session, "").await.status, 404);
    let nobody = [
        ("/mcp/s/none", "server named"),
        ("/mcp/s/fake2", "server named"),
        ("/mcp/v/none", "view named"),
    ];
    for (path, what) in nobody {
        for text in [
            initialize("2025-11-25", "{}"),
            crate::testing::modern(1, "tools/list", "{}", ""),
        ] {
            let nowhere = client.request(&format!("POST {path}"), "", &text).await;
            assert_eq!((nowhere.status, nowhere.code()), (404, -32602), "{path}");
            assert_eq!(nowhere.json().get("id"), Some(Raw::int(1)), "{path}");
            assert!(nowhere.header("mcp-session-id").is_none());
            assert!(nowhere.body.contains(what), "{}", nowhere.body);
        }
        for method in ["GET", "DELETE"] {
            let nowhere = client
                .request(&format!("{method} {path}"), &session, "")
                .await;
            assert_eq!(nowhere.status, 404, "{method} {path}");
        }
    }
    rig.stop().await;
}

#[tokio::test]
async fn resources_that_do_not_exist_have_their_own_code() {
    let rig = Rig::start().await;
    let (mut client, session) = session(&rig, "claude", "2025-11-25", "{}").await;
    let read = r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"nope://x"}}"#;
    let refused = client.post(&session, read).await;
    assert_eq!(refused.code(), -32002);
    assert!(
        refused.body.contains(r#""uri":"nope://x""#),
        "{}",
        refused.body
    );
    for (tool, code) in [("fail", -31001), ("error", -32077), ("none", -32602)] {
        assert_eq!(
            client.post(&session, &call(2, tool, "")).await.code(),
            code,
            "{tool}"
        );
    }
    rig.stop().await;
}

#[tokio::test]
async fn tasks_of_the_handshake_era() {
    let rig = Rig::start().await;
    let (mut client, session) = session(&rig, "claude", "2025-11-25", "{}").await;
    let synchronous = client.post(&session, &call(1, "task", "")).await;
    assert!(
        synchronous.body.contains("synchronous"),
        "{}",
        synchronous.body
    );
    let created = client
        .post(&session, &call(2, "task", r#","task":{"ttl":60000}"#))
        .await;
    let task = created
        .json()
        .get("result")
        .and_then(|result| result.get("task"))
        .expect("a task");
    assert_eq!(task.get("ttl").expect("a ttl").to_i64(), Some(60_000));
    assert!(task.get("ttlMs").is_none() && task.get("pollInterval").is_some());
    let ask = |method: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":3,"method":"{method}","params":{{"taskId":"t1"}}}}"#)
    };
    let got = client.post(&session, &ask("tasks/get")).await;
    assert!(
        got.body.contains(r#""status":"completed""#) && !got.body.contains("content"),
        "{}",
        got.body
    );
    let result = client.post(&session, &ask("tasks/result")).await;
    assert!(
        result.body.contains(r#""related-task":{"taskId":"t1"}"#)
            || result.body.contains("related-task"),
        "{}",
        result.body
    );
    assert!(
        result.body.contains(r#""isError":false"#),
        "{}",
        result.body
    );
    let list = client
        .post(
            &session,
            r#"{"jsonrpc":"2.0","id":3,"method":"tasks/list"}"#,
        )
        .await;
    assert!(list.body.contains(r#""taskId":"t1""#), "{}", list.body);
    assert_eq!(
        client.post(&session, &ask("tasks/cancel")).await.code(),
        -32602,
        "it has ended"
    );
    let (mut foreign, session) = self::session(&rig, "codex", "2025-11-25", "{}").await;
    assert_eq!(
        foreign.post(&session, &ask("tasks/result")).await.code(),
        -32602
    );
    rig.stop().await;
}

#[tokio::test]
async fn the_pair_of_2024_11_05() {
    let rig = Rig::start().await;
    let mut stream = rig.client().await;
    let text = stream.text("GET /sse", "", "");
    stream.send(text.as_bytes()).await;
    assert_eq!(stream.head().await.status, 200);
    let head = stream.until("\n\n").await;
    let path = head
        .lines()
        .find_map(|line| line.strip_prefix("data: "))
        .expect("an endpoint")
        .to_owned();
    let line = format!("POST {path}");
    let mut client = rig.client().await;
    assert_eq!(
        client
            .request(&line, "", &initialize("2024-11-05", "{}"))
            .await
            .status,
        202
    );
    let hello = stream.until("\n\n").await;
    assert!(
        hello.contains(r#""protocolVersion":"2024-11-05""#),
        "{hello}"
    );
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    client.request(&line, "", ready).await;
    client
        .request(
            &line,
            "",
            &call(4, "progress", r#","_meta":{"progressToken":1}"#),
        )
        .await;
    let called = stream.until("done").await;
    assert_eq!(called.matches("notifications/progress").count(), 3);
    let mut foreign = rig.client_as("codex").await;
    assert_eq!(foreign.request(&line, "", ready).await.status, 404);
    drop(stream);
    while client.request(&line, "", ready).await.status != 404 {}
    rig.stop().await;
}

#[tokio::test]
async fn a_long_stream_is_closed_for_its_client_to_come_back() {
    let settings = FrontSettings {
        poll_close: Duration::from_millis(100),
        ..FrontSettings::default()
    };
    let rig = Rig::with(settings).await;
    let elicits = r#"{"elicitation":{}}"#;
    let (mut client, session) = session(&rig, "claude", "2025-11-25", elicits).await;
    let closed = client.post(&session, &call(7, "ask", "")).await;
    assert_eq!(closed.messages().len(), 1, "the question: {}", closed.body);
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#;
    assert_eq!(client.post(&session, answer).await.status, 202);
    let last = closed.ids().last().copied().expect("an id").to_owned();
    let resume = format!("{session}Last-Event-ID: {last}\r\n");
    let resumed = client.request("GET /mcp", &resume, "").await;
    assert!(resumed.body.contains("accept"), "{}", resumed.body);
    rig.stop().await;
}

#[tokio::test]
async fn every_answer_reaches_its_own_caller() {
    let rig = Rig::start().await;
    let clients = (0..20).map(|number| {
        let rig = &rig;
        async move {
            let name = if number % 2 == 0 { "claude" } else { "codex" };
            let (mut client, session) = session(rig, name, "2025-11-25", "{}").await;
            for round in 0..25 {
                let mark = format!("mark-{number}-{round}");
                let meta = format!(r#","_meta":{{"progressToken":"{mark}","x":"{mark}"}}"#);
                let tool = if round % 2 == 0 { "echo" } else { "progress" };
                let called = client.post(&session, &call(1, tool, &meta)).await;
                let marks = called.body.matches("mark-").count();
                assert!(marks > 0);
                assert_eq!(
                    marks,
                    called.body.matches(&format!("{mark}\"")).count(),
                    "{}",
                    called.body
                );
            }
        }
    });
    futures_util::future::join_all(clients).await;
    rig.stop().await;
}
