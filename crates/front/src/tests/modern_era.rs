//! Requests without a handshake (2026-07-28).

use legation_core::{CancelReason, ServerName};
use legation_gate::{Audience, HubEvent, ListKind};
use legation_wire::json::{Object, Raw};

use crate::testing::{Rig, mirrored, modern, raw};

fn call(id: i64, tool: &str, capabilities: &str, more: &str) -> String {
    modern(
        id,
        "tools/call",
        capabilities,
        &format!(r#""name":"{tool}","arguments":{{}}{more}"#),
    )
}

fn result(response: &crate::testing::Response) -> Raw {
    response
        .json()
        .get("result")
        .unwrap_or_else(|| panic!("no result: {}", response.body))
}

fn text(raw: &Raw, member: &str) -> String {
    raw.get(member)
        .and_then(|value| value.to_str().map(|text| text.into_owned()))
        .expect(member)
}

#[tokio::test]
async fn discover_and_lists_carry_what_the_revision_asks_for() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    for _ in 0..2 {
        let discovered = client.modern(&modern(1, "server/discover", "{}", "")).await;
        let result = result(&discovered);
        assert_eq!(
            result.get("supportedVersions"),
            Some(raw(r#"["2026-07-28"]"#))
        );
        assert_eq!(text(&result, "resultType"), "complete");
        assert!(
            discovered
                .body
                .contains(r#""io.modelcontextprotocol/serverInfo":{"name":"legation""#)
        );
        assert!(result.get("ttlMs").is_some() && result.get("cacheScope").is_some());
    }
    for (method, member) in [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        let result = result(&client.modern(&modern(2, method, "{}", "")).await);
        assert!(result.get(member).expect(member).to_array().is_some());
        assert_eq!(text(&result, "cacheScope"), "private");
        assert!(result.get("ttlMs").expect("a time").to_i64().is_some());
    }
    let read = client
        .modern(&modern(3, "resources/read", "{}", r#""uri":"test://a""#))
        .await;
    assert!(result(&read).get("ttlMs").is_some());
    assert_eq!(
        *rig.fake.seats.lock().expect("sound"),
        ["+claude"],
        "one seat"
    );
    rig.stop().await;
}

#[tokio::test]
async fn a_seat_is_of_those_who_are_equal_in_all_they_say() {
    let rig = Rig::start().await;
    let list = |info: &str, capabilities: &str| {
        modern(1, "tools/list", capabilities, "").replacen(
            r#""_meta":{"#,
            &format!(r#""_meta":{{"io.modelcontextprotocol/clientInfo":{{"name":"{info}","version":"1"}},"#),
            1,
        )
    };
    let (mut first, mut second) = (rig.client().await, rig.client().await);
    let seats = |rig: &Rig| rig.fake.seats.lock().expect("sound").len();
    for (info, capabilities, expected) in [
        ("a", "{}", 1),
        ("a", "{}", 1),
        ("b", "{}", 2),
        ("b", r#"{"sampling":{}}"#, 3),
        ("a", "{}", 3),
    ] {
        for client in [&mut first, &mut second] {
            let listed = client.modern(&list(info, capabilities)).await;
            assert_eq!(listed.status, 200, "{}", listed.body);
        }
        assert_eq!(seats(&rig), expected, "{info} {capabilities}");
    }
    let mut foreign = rig.client_as("codex").await;
    foreign.modern(&list("a", "{}")).await;
    assert_eq!(seats(&rig), 4, "another credential");
    // Two clients behind one connection say the same of themselves and are not each other.
    let mut shared = rig.client().await;
    let body = list("c", "{}");
    for (who, expected) in [(&first, 5), (&foreign, 6), (&first, 6), (&foreign, 6)] {
        let text = who.text("POST /mcp", &mirrored(&body), &body);
        shared.send(text.as_bytes()).await;
        assert_eq!(shared.response().await.status, 200);
        assert_eq!(seats(&rig), expected);
    }
    rig.stop().await;
}

#[tokio::test]
async fn what_a_request_must_say_is_checked_in_order() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n";
    let meta = |meta: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":9,"method":"server/discover","params":{{{meta}}}}}"#)
    };
    for bad in [
        "",
        r#""_meta":{"io.modelcontextprotocol/clientCapabilities":{}}"#,
        r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
        r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]}"#,
        r#""_meta":{"io.modelcontextprotocol/protocolVersion":1,"io.modelcontextprotocol/clientCapabilities":{}}"#,
    ] {
        let refused = client.post(headers, &meta(bad)).await;
        assert_eq!((refused.status, refused.code()), (400, -32602), "{bad}");
        assert_eq!(refused.json().get("id"), Some(Raw::int(9)));
    }
    let list = modern(1, "tools/list", "{}", "");
    let other = list.replace("2026-07-28", "v999.0.0");
    let unsupported = client
        .post(
            "MCP-Protocol-Version: v999.0.0\r\nMcp-Method: tools/list\r\n",
            &other,
        )
        .await;
    assert_eq!((unsupported.status, unsupported.code()), (400, -32022));
    assert!(
        unsupported
            .body
            .contains(r#""supported":["2026-07-28"],"requested":"v999.0.0""#)
    );
    let call = call(1, "echo", "{}", "");
    let version = "MCP-Protocol-Version: 2026-07-28\r\n";
    for (headers, body) in [
        (format!("{version}Mcp-Method: tools/list\r\n"), &other),
        (version.to_owned(), &list),
        (format!("{version}Mcp-Method: TOOLS/LIST\r\n"), &list),
        (format!("{version}Mcp-Method: prompts/list\r\n"), &list),
        (format!("{version}Mcp-Method: tools/call\r\n"), &call),
        (
            format!("{version}Mcp-Method: tools/call\r\nMcp-Name: other\r\n"),
            &call,
        ),
        (
            format!("{version}Mcp-Method: tools/call\r\nMcp-Name: echo\r\nMcp-Name: echo\r\n"),
            &call,
        ),
        ("Mcp-Method: tools/list\r\n".to_owned(), &list),
    ] {
        let refused = client.post(&headers, body).await;
        assert_eq!((refused.status, refused.code()), (400, -32020), "{headers}");
    }
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "tasks/list",
        "unknown/method",
    ] {
        let unknown = client.modern(&modern(4, method, "{}", "")).await;
        assert_eq!((unknown.status, unknown.code()), (404, -32601), "{method}");
        assert_eq!(unknown.json().get("id"), Some(Raw::int(4)));
    }
    rig.stop().await;
}

#[tokio::test]
async fn mirrored_arguments_are_checked_against_the_tool() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let body = modern(
        1,
        "tools/call",
        "{}",
        r#""name":"mirrored","arguments":{"region":"Hello"}"#,
    );
    let headers =
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: mirrored\r\n";
    for (value, status) in [
        (Some("Hello"), 200),
        (Some("=?base64?SGVsbG8=?="), 200),
        (Some("=?base64?SGVsbG8?="), 400),
        (Some("=?base64?!!!?="), 400),
        (Some("SGVsbG8="), 400),
        (None, 400),
    ] {
        let extra = value
            .map(|value| format!("Mcp-Param-Region: {value}\r\n"))
            .unwrap_or_default();
        let answered = client.post(&format!("{headers}{extra}"), &body).await;
        assert_eq!(answered.status, status, "{value:?}: {}", answered.body);
    }
    rig.stop().await;
}

#[tokio::test]
async fn a_call_is_plain_json_unless_something_comes_first() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let plain = client.modern(&call(1, "echo", "{}", "")).await;
    assert_eq!(plain.header("content-type"), Some("application/json"));
    assert_eq!(
        result(&plain).as_text(),
        r#"{"resultType":"complete","content":[],"big":9223372036854775807,"vendor/x":{},"params":{"name":"echo","arguments":{}}}"#
    );
    let body =
        call(2, "progress", "{}", "").replace(r#""_meta":{"#, r#""_meta":{"progressToken":7,"#);
    let streamed = client.modern(&body).await;
    assert_eq!(streamed.header("content-type"), Some("text/event-stream"));
    assert_eq!(streamed.header("x-accel-buffering"), Some("no"));
    assert_eq!(streamed.messages().len(), 4);
    assert!(streamed.ids().is_empty(), "such streams are not resumable");
    let silent = client.modern(&call(3, "log", "{}", "")).await;
    assert_eq!(
        silent.header("content-type"),
        Some("application/json"),
        "no level, no logs"
    );
    let body = call(4, "log", "{}", "").replace(
        r#""_meta":{"#,
        r#""_meta":{"io.modelcontextprotocol/logLevel":"warning","#,
    );
    let logged = client.modern(&body).await;
    assert_eq!(logged.messages().len(), 2, "{}", logged.body);
    assert!(logged.body.contains("loud"));
    // What is said again counts, and nothing of what was said before.
    for _ in 0..2 {
        let streamed = client.modern(&body).await;
        assert_eq!(streamed.messages().len(), 2, "{}", streamed.body);
        let again = client.modern(&body).await;
        assert_eq!(again.messages().len(), 2, "{}", again.body);
        for (id, more) in [(5, ""), (6, ""), (7, r#""progressToken":8,"#), (8, "")] {
            let body =
                call(id, "log", "{}", "").replace(r#""_meta":{"#, &format!(r#""_meta":{{{more}"#));
            let silent = client.modern(&body).await;
            let kind = silent.header("content-type");
            assert_eq!(kind, Some("application/json"), "{}", silent.body);
        }
    }
    rig.stop().await;
}

#[tokio::test]
async fn closing_the_connection_calls_the_call_off() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let body = call(1, "slow", "{}", "");
    let text = client.text("POST /mcp", &crate::testing::mirrored(&body), &body);
    client.send(text.as_bytes()).await;
    rig.fake.begun.notified().await;
    drop(client);
    assert_eq!(
        rig.fake.called_off(1).await,
        [CancelReason::ClientCancelled]
    );
    rig.stop().await;
}

#[tokio::test]
async fn a_live_question_parks_the_call_until_its_answer_comes() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let elicits = r#"{"elicitation":{}}"#;
    let asked = client.modern(&call(1, "ask", elicits, "")).await;
    let required = result(&asked);
    assert_eq!(text(&required, "resultType"), "input_required");
    let question = required
        .get("inputRequests")
        .and_then(|map| map.get("user_name"))
        .expect("the hinted key");
    assert_eq!(text(&question, "method"), "elicitation/create");
    assert!(!asked.body.contains("inputKey"));
    let state = required.get("requestState").expect("a state");
    let retry = |id: i64, responses: &str, state: &str| {
        call(
            id,
            "ask",
            elicits,
            &format!(r#","inputResponses":{responses},"requestState":{state}"#),
        )
    };
    let good = r#"{"user_name":{"action":"accept","content":{"n":1}},"extra":{}}"#;

    let tampered = state
        .as_text()
        .replacen("\"", "", 1)
        .replace('"', "-TAMPERED\"");
    let tampered = format!("\"{tampered}");
    assert_eq!(
        client.modern(&retry(2, good, &tampered)).await.code(),
        -32602
    );
    let mut foreign = rig.client_as("codex").await;
    assert_eq!(
        foreign
            .modern(&retry(2, good, state.as_text()))
            .await
            .code(),
        -32602
    );
    let other =
        retry(2, good, state.as_text()).replace(r#""arguments":{}"#, r#""arguments":{"x":1}"#);
    assert_eq!(client.modern(&other).await.code(), -32602);
    for bad in ["null", r#"{"user_name":12345}"#] {
        assert_eq!(
            client.modern(&retry(2, bad, state.as_text())).await.code(),
            -32602,
            "{bad}"
        );
    }
    let again = result(
        &client
            .modern(&retry(2, r#"{"wrong":{}}"#, state.as_text()))
            .await,
    );
    assert_eq!(again.get("inputRequests"), required.get("inputRequests"));

    let body = retry(
        3,
        good,
        again.get("requestState").expect("a state").as_text(),
    );
    let done = client.modern(&body).await;
    assert!(done.body.contains("accept"), "{}", done.body);
    let same = client.modern(&retry(4, good, state.as_text())).await;
    assert_eq!(
        result(&same),
        result(&done),
        "the same retry gets the same end"
    );
    let differs = retry(5, r#"{"user_name":{"action":"decline"}}"#, state.as_text());
    assert_eq!(
        client.modern(&differs).await.code(),
        legation_wire::codes::BAD_REQUEST_STATE
    );
    rig.stop().await;
}

#[tokio::test]
async fn questions_come_in_rounds_and_together() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let all = r#"{"elicitation":{},"sampling":{},"roots":{}}"#;
    let required = result(&client.modern(&call(1, "ask3", all, "")).await);
    assert_eq!(
        required
            .get("inputRequests")
            .and_then(|map| map.to_object())
            .expect("a map")
            .len(),
        3
    );
    let first = result(&client.modern(&call(2, "twice", all, "")).await);
    let state = first.get("requestState").expect("a state");
    let more =
        format!(r#","inputResponses":{{"one":{{"action":"accept"}}}},"requestState":{state}"#);
    let second = result(&client.modern(&call(3, "twice", all, &more)).await);
    assert!(
        second
            .get("inputRequests")
            .and_then(|map| map.get("two"))
            .is_some(),
        "{second}"
    );
    let next = second.get("requestState").expect("a state");
    assert_ne!(state, next);
    let more =
        format!(r#","inputResponses":{{"two":{{"action":"cancel"}}}},"requestState":{next}"#);
    let done = client.modern(&call(4, "twice", all, &more)).await;
    assert!(
        done.body.contains("accept") && done.body.contains("cancel"),
        "{}",
        done.body
    );

    let given = client
        .modern(&call(
            5,
            "ask",
            all,
            r#","inputResponses":{"user_name":{"action":"accept"},"x":{}}"#,
        ))
        .await;
    assert!(
        given.body.contains("accept"),
        "answered before it was asked: {}",
        given.body
    );
    let undeclared = client
        .modern(&call(6, "sample", r#"{"elicitation":{}}"#, ""))
        .await;
    assert_eq!(
        undeclared.code(),
        -32601,
        "the server hears that this request's client cannot"
    );
    rig.stop().await;
}

#[tokio::test]
async fn a_modern_servers_question_passes_under_a_seal() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let required = result(
        &client
            .modern(&call(1, "passes", r#"{"elicitation":{}}"#, ""))
            .await,
    );
    assert_eq!(text(&required, "resultType"), "input_required");
    assert!(!required.as_text().contains("upstream-state"));
    let state = required.get("requestState").expect("a state");
    let more = format!(
        r#","inputResponses":{{"user_name":{{"action":"accept"}}}},"requestState":{state}"#
    );
    let body = call(2, "passes", r#"{"elicitation":{}}"#, &more);
    let done = client.modern(&body).await;
    assert!(done.body.contains("upstream-state"), "{}", done.body);
    let calls = rig.fake.calls.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(result(&client.modern(&body).await), result(&done));
    assert_eq!(
        rig.fake.calls.load(std::sync::atomic::Ordering::Relaxed),
        calls,
        "not called again"
    );
    rig.stop().await;
}

#[tokio::test]
async fn listeners_hear_what_they_asked_for_and_nothing_else() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let filter = r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["test://a","nope://x"]}"#;
    let body = modern(7, "subscriptions/listen", "{}", filter);
    let text = client.text("POST /mcp", &crate::testing::mirrored(&body), &body);
    client.send(text.as_bytes()).await;
    assert_eq!(
        client.head().await.header("content-type"),
        Some("text/event-stream")
    );
    let acknowledged = client.until("\n\n").await;
    assert!(
        acknowledged.contains("notifications/subscriptions/acknowledged"),
        "{acknowledged}"
    );
    assert!(
        acknowledged.contains(r#""toolsListChanged":true,"resourceSubscriptions":["test://a"]"#)
    );
    let server = ServerName::parse("fake").expect("a name");
    let change = |kind| HubEvent::ListChanged {
        server: server.clone(),
        kind,
        audience: Audience::All,
    };
    rig.fake
        .events
        .send(change(ListKind::Prompts))
        .expect("sent");
    rig.fake.events.send(change(ListKind::Tools)).expect("sent");
    let heard = client.until("list_changed").await;
    assert!(
        heard.contains("tools/list_changed") && !heard.contains("prompts"),
        "{heard}"
    );
    assert!(heard.contains(r#""io.modelcontextprotocol/subscriptionId":7"#));
    for uri in ["test://b", "test://a"] {
        rig.fake
            .events
            .send(HubEvent::ResourceUpdated {
                server: server.clone(),
                uri: uri.into(),
                params: Object::new().with("uri", Raw::str(uri)),
                audience: Audience::All,
            })
            .expect("sent");
    }
    let heard = client.until("resources/updated").await;
    assert!(
        heard.contains("test://a") && !heard.contains("test://b"),
        "{heard}"
    );
    rig.front.shutdown().await;
    let end = client.until("result").await;
    assert!(
        end.contains(r#""resultType":"complete""#),
        "a graceful end: {end}"
    );
    rig.stop().await;
}

#[tokio::test]
async fn tasks_of_the_extension() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let declared = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let created = result(&client.modern(&call(1, "task", declared, "")).await);
    assert_eq!(text(&created, "resultType"), "task");
    assert_eq!(text(&created, "taskId"), "t1");
    let synchronous = client
        .modern(&call(2, "task", "{}", r#","task":{"ttl":1}"#))
        .await;
    assert!(
        synchronous.body.contains("synchronous"),
        "{}",
        synchronous.body
    );
    let ask = |method: &str, capabilities: &str, more: &str| {
        modern(3, method, capabilities, &format!(r#""taskId":"t1"{more}"#))
    };
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let refused = client.modern(&ask(method, "{}", "")).await;
        assert_eq!((refused.status, refused.code()), (400, -32021), "{method}");
        assert!(refused.body.contains(
            r#""requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#
        ));
    }
    let got = result(&client.modern(&ask("tasks/get", declared, "")).await);
    assert_eq!(text(&got, "resultType"), "complete");
    assert_eq!(
        got.get("result"),
        Some(raw(r#"{"content":[],"isError":false}"#))
    );
    for (method, more) in [
        ("tasks/cancel", ""),
        ("tasks/update", r#","inputResponses":{}"#),
    ] {
        let acknowledged = client.modern(&ask(method, declared, more)).await;
        assert_eq!(
            result(&acknowledged).as_text(),
            r#"{"resultType":"complete"}"#
        );
    }
    let mut foreign = rig.client_as("codex").await;
    assert_eq!(
        foreign.modern(&ask("tasks/get", declared, "")).await.code(),
        -32602
    );
    rig.stop().await;
}

#[tokio::test]
async fn a_tool_that_only_works_as_a_task_says_so() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let refused = client.modern(&call(1, "needs_task", "{}", "")).await;
    assert_eq!((refused.status, refused.code()), (400, -32021));
    rig.stop().await;
}

#[tokio::test]
async fn an_address_to_open_first_is_a_question() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let opens = r#"{"elicitation":{"url":{}}}"#;
    let required = result(&client.modern(&call(1, "url", opens, "")).await);
    let question = required
        .get("inputRequests")
        .and_then(|map| map.get("e1"))
        .and_then(|request| request.get("params"))
        .expect("a question");
    assert_eq!(text(&question, "mode"), "url");
    assert!(question.get("elicitationId").is_none());
    let state = required.get("requestState").expect("a state");
    let more =
        format!(r#","inputResponses":{{"e1":{{"action":"accept"}}}},"requestState":{state}"#);
    let done = client.modern(&call(2, "url", opens, &more)).await;
    assert!(done.body.contains("opened"), "{}", done.body);
    let unable = client.modern(&call(3, "url", "{}", "")).await;
    assert_eq!((unable.status, unable.code()), (400, -32021));
    rig.stop().await;
}
