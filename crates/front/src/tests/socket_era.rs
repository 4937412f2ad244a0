//! The Unix socket: greeting, both eras on one stream, the owner's commands.

use legation_core::{CancelReason, Home, ServerName};
use legation_gate::{Audience, HubEvent, ListKind};
use legation_wire::json::Raw;

use crate::testing::{Rig, SocketClient, modern, raw};

const HELLO: &str = r#"{"mode":"mcp","seat":"ab12","version":"0.1.0","client":"claude"}"#;

/// A rig that serves its socket; its path.
async fn rig() -> (Rig, std::path::PathBuf) {
    let rig = Rig::start().await;
    let home = Home::at(rig.home.path());
    home.create().expect("created");
    let lock = home.lock().expect("asked").expect("free");
    let listener = crate::bind(&home.socket(), &lock).expect("bound");
    let front = std::sync::Arc::clone(&rig.front);
    rig.front
        .shared
        .tasks
        .spawn("socket", async move { front.serve_socket(listener).await });
    (rig, home.socket())
}

fn id(message: &Raw) -> Option<i64> {
    message.get("id").and_then(|id| id.to_i64())
}

fn code(message: &Raw) -> Option<i64> {
    message.get("error")?.get("code")?.to_i64()
}

#[tokio::test]
async fn greetings_are_checked() {
    let (rig, path) = rig().await;
    let (_client, welcome) = SocketClient::greet(&path, HELLO).await;
    let ok = welcome.get("ok").expect("welcome");
    assert_eq!(
        ok.get("version").expect("there").to_str().as_deref(),
        Some("0.0.0")
    );
    for bad in [
        r#"{"mode":"other","seat":"a","version":"1"}"#,
        r#"{"mode":"mcp","seat":"","version":"1"}"#,
        r#"{"mode":"mcp","seat":"a/b","version":"1"}"#,
        r#"{"mode":"mcp","seat":"a","version":"1","token":"TOKEN-nobody"}"#,
        r#"{"mode":"mcp","seat":"a","version":"1","client":"nobody"}"#,
        r#"{"mode":"mcp","seat":"a","version":"1","endpoint":{"server":"a//b"}}"#,
    ] {
        let (mut client, answer) = SocketClient::greet(&path, bad).await;
        let error = answer
            .get("error")
            .unwrap_or_else(|| panic!("{bad} was let in"));
        assert!(error.get("hint").is_some() && error.get("message").is_some());
        assert!(client.line().await.is_none(), "closed");
    }
    let mut client = SocketClient::connect(&path).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#)
        .await;
    assert!(
        client
            .line()
            .await
            .expect("an answer")
            .get("error")
            .is_some()
    );
    let mut client = SocketClient::connect(&path).await;
    client
        .send(r#"{"legation":2,"hello":{"mode":"mcp","seat":"a","version":"1"}}"#)
        .await;
    assert!(
        client
            .line()
            .await
            .expect("an answer")
            .as_text()
            .contains("version 2")
    );
    rig.stop().await;
}

#[tokio::test]
async fn a_legacy_client_on_the_stream() {
    let (rig, path) = rig().await;
    let (mut client, _) = SocketClient::greet(&path, HELLO).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#)
        .await;
    assert_eq!(
        code(&client.line().await.expect("an answer")),
        Some(-32600),
        "initialize first"
    );
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}}}}"#).await;
    let hello = client.line().await.expect("an answer");
    assert!(
        hello
            .as_text()
            .contains(r#""protocolVersion":"2025-06-18""#),
        "{hello}"
    );
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    client.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{}}}"#).await;
    client.send(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow","arguments":{}}}"#).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#)
        .await;
    client
        .send(r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#)
        .await;
    let mut question = None;
    let mut seen = Vec::new();
    while seen.len() < 2 || question.is_none() {
        let message = client.line().await.expect("a message");
        if message.get("method").is_some() {
            question = id(&message);
        } else {
            seen.push((id(&message), code(&message)));
        }
    }
    assert!(
        seen.contains(&(Some(3), Some(-32600))) && seen.contains(&(Some(4), None)),
        "{seen:?}"
    );
    client
        .send(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"decline"}}}}"#,
            question.expect("an id")
        ))
        .await;
    let answered = client.line().await.expect("an answer");
    assert_eq!(id(&answered), Some(2));
    assert!(answered.as_text().contains("decline"));
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#)
        .await;
    assert_eq!(
        rig.fake.called_off(1).await,
        [CancelReason::ClientCancelled]
    );
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#)
        .await;
    client
        .send(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#)
        .await;
    assert_eq!(
        id(&client.line().await.expect("an answer")),
        Some(5),
        "the cancelled call is not answered"
    );
    drop(client);
    while rig.fake.seats.lock().expect("sound").len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        *rig.fake.seats.lock().expect("sound"),
        ["+claude", "-claude"]
    );
    rig.stop().await;
}

#[tokio::test]
async fn a_modern_listener_on_the_stream() {
    let (rig, path) = rig().await;
    let (mut client, _) = SocketClient::greet(&path, HELLO).await;
    client
        .send(&modern(
            3,
            "subscriptions/listen",
            "{}",
            r#""notifications":{"toolsListChanged":true}"#,
        ))
        .await;
    assert!(
        client
            .line()
            .await
            .expect("a message")
            .as_text()
            .contains("acknowledged")
    );
    for kind in [ListKind::Prompts, ListKind::Tools] {
        rig.fake
            .events
            .send(HubEvent::ListChanged {
                server: ServerName::parse("fake").expect("a name"),
                kind,
                audience: Audience::All,
            })
            .expect("sent");
    }
    let heard = client.line().await.expect("a message");
    assert!(
        heard.as_text().contains("tools/list_changed")
            && heard.as_text().contains(r#"subscriptionId":3"#)
    );
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#)
        .await;
    rig.stop().await;
}

#[tokio::test]
async fn a_listener_that_comes_after_a_change_does_not_hear_of_it() {
    let (rig, path) = rig().await;
    let change = |kind| {
        let server = ServerName::parse("fake").expect("a name");
        let event = HubEvent::ListChanged {
            server,
            kind,
            audience: Audience::All,
        };
        rig.fake.events.send(event).expect("sent");
    };
    let (mut client, _) = SocketClient::greet(&path, HELLO).await;
    let all = r#""notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}"#;
    client
        .send(&modern(1, "subscriptions/listen", "{}", all))
        .await;
    client.line().await.expect("the acknowledgement");
    change(ListKind::Prompts);
    // Changes are gathered for longer than it takes to answer this.
    client
        .send(&modern(2, "subscriptions/listen", "{}", all))
        .await;
    client.line().await.expect("the acknowledgement");
    let mut heard = Vec::new();
    for _ in 0..3 {
        if heard.len() == 1 {
            change(ListKind::Tools);
        }
        let line = client.line().await.expect("a message");
        let kind = ["tools", "prompts", "resources"];
        let kind = kind.into_iter().find(|kind| line.as_text().contains(kind));
        let who = ["Id\":1", "Id\":2"];
        let who = who.into_iter().position(|who| line.as_text().contains(who));
        heard.push((who.map(|at| at + 1), kind.unwrap_or_default()));
    }
    heard.sort_unstable();
    let expected = [(Some(1), "prompts"), (Some(1), "tools"), (Some(2), "tools")];
    assert_eq!(heard, expected);
    rig.stop().await;
}

#[tokio::test]
async fn a_modern_client_on_the_stream() {
    let (rig, path) = rig().await;
    let (mut client, _) = SocketClient::greet(&path, HELLO).await;
    for number in [1, 2] {
        client
            .send(&modern(number, "server/discover", "{}", ""))
            .await;
        let discovered = client.line().await.expect("an answer");
        assert!(
            discovered.as_text().contains("supportedVersions"),
            "{discovered}"
        );
    }
    client
        .send(&modern(
            4,
            "tools/call",
            r#"{"elicitation":{}}"#,
            r#""name":"ask","arguments":{}"#,
        ))
        .await;
    let required = client.line().await.expect("an answer");
    assert!(required.as_text().contains("input_required"), "{required}");
    let state = required
        .get("result")
        .and_then(|result| result.get("requestState"))
        .expect("a state");
    let retry = format!(
        r#""name":"ask","arguments":{{}},"inputResponses":{{"user_name":{{"action":"accept"}}}},"requestState":{state}"#
    );
    client
        .send(&modern(5, "tools/call", r#"{"elicitation":{}}"#, &retry))
        .await;
    assert!(
        client
            .line()
            .await
            .expect("an answer")
            .as_text()
            .contains("accept")
    );
    client.send(&modern(6, "ping", "{}", "")).await;
    assert_eq!(code(&client.line().await.expect("an answer")), Some(-32601));
    client.send(r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#).await;
    assert!(
        client
            .line()
            .await
            .expect("an answer")
            .as_text()
            .contains("2025-11-25"),
        "the handshake is open still"
    );
    rig.stop().await;
}

#[tokio::test]
async fn broken_lines_are_answered_and_the_stream_goes_on() {
    let (rig, path) = rig().await;
    let (mut client, _) = SocketClient::greet(&path, HELLO).await;
    for (line, expected) in [
        ("nonsense", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32700),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
    ] {
        client.send(line).await;
        assert_eq!(
            code(&client.line().await.expect("an answer")),
            Some(expected),
            "{line}"
        );
    }
    let long = "x".repeat((4 << 20) + 10);
    for (line, expected) in [
        (long.clone(), None),
        (
            format!(r#"{{"jsonrpc":"2.0","id":5,"method":"ping","params":{{"x":"{long}"}}}}"#),
            Some(5),
        ),
        (
            format!(r#"{{"method":"ping","params":{{"x":"{long}"}},"jsonrpc":"2.0","id":6}}"#),
            Some(6),
        ),
    ] {
        client.send(&line).await;
        let answer = client.line().await.expect("an answer");
        assert_eq!((code(&answer), id(&answer)), (Some(-32600), expected));
        for said in ["4194304 bytes", "limits.client_message_bytes"] {
            assert!(answer.as_text().contains(said), "{answer}");
        }
    }
    client
        .send(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#)
        .await;
    assert_eq!(id(&client.line().await.expect("an answer")), Some(9));
    rig.stop().await;
}

#[tokio::test]
async fn a_client_that_stops_writing_still_gets_its_answers_and_one_that_is_gone_calls_them_off() {
    let (rig, path) = rig().await;
    let call = modern(1, "tools/call", "{}", r#""name":"slow","arguments":{}"#);
    let (mut client, _) = SocketClient::greet(&path, HELLO).await;
    client.send(&call).await;
    rig.fake.begun.notified().await;
    tokio::io::AsyncWriteExt::shutdown(&mut client.writer)
        .await
        .expect("shut");
    rig.fake.go.notify_one();
    assert!(
        client
            .line()
            .await
            .expect("an answer")
            .as_text()
            .contains("slowly")
    );
    assert!(client.line().await.is_none());
    let (mut client, _) = SocketClient::greet(&path, HELLO).await;
    client.send(&call).await;
    rig.fake.begun.notified().await;
    drop(client);
    assert_eq!(rig.fake.called_off(1).await, [CancelReason::Disconnected]);
    rig.stop().await;
}

#[tokio::test]
async fn the_owners_commands() {
    let (rig, path) = rig().await;
    let admin = r#"{"mode":"admin","seat":"a1","version":"0.1.0"}"#;
    let (mut client, _) = SocketClient::greet(&path, admin).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{"x":1}}"#)
        .await;
    assert_eq!(
        client.line().await,
        Some(raw(r#"{"jsonrpc":"2.0","method":"line","params":{"n":1}}"#))
    );
    assert_eq!(
        client.line().await,
        Some(raw(r#"{"jsonrpc":"2.0","id":1,"result":{"x":1}}"#))
    );
    client
        .send(r#"{"jsonrpc":"2.0","id":4,"method":"seat"}"#)
        .await;
    assert_eq!(
        client.line().await,
        Some(raw(r#"{"jsonrpc":"2.0","id":4,"result":"owner:a1"}"#))
    );
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"none"}"#)
        .await;
    assert_eq!(code(&client.line().await.expect("an answer")), Some(-32601));
    client
        .send(r#"{"jsonrpc":"2.0","id":3,"method":"silent"}"#)
        .await;
    assert_eq!(code(&client.line().await.expect("an answer")), Some(-32603));
    rig.stop().await;
}

#[tokio::test]
async fn calls_in_flight_end_when_the_hub_stops() {
    let (rig, path) = rig().await;
    let (mut client, _) = SocketClient::greet(&path, HELLO).await;
    client
        .send(&modern(
            1,
            "tools/call",
            "{}",
            r#""name":"slow","arguments":{}"#,
        ))
        .await;
    rig.fake.begun.notified().await;
    let front = std::sync::Arc::clone(&rig.front);
    let (answer, ()) = tokio::join!(client.line(), front.shutdown());
    assert_eq!(
        code(&answer.expect("an answer")),
        Some(legation_wire::codes::HUB_STOPPED)
    );
    drop(front);
    rig.stop().await;
}

#[tokio::test]
async fn who_gave_something_with_an_answer_is_told_when_it_was_written_out() {
    let (rig, path) = rig().await;
    let (mut client, _) = SocketClient::greet(&path, HELLO).await;
    let calls = [
        ("echo", true),
        ("error", false),
        ("fail", false),
        ("log", true),
    ];
    for (number, (tool, is_written)) in (1..).zip(calls) {
        let params = format!(r#""name":"{tool}","arguments":{{}}"#);
        client
            .send(&modern(number, "tools/call", "{}", &params))
            .await;
        while id(&client.line().await.expect("an answer")) != Some(number) {}
        let expected = (Box::from(tool), is_written);
        let told = || rig.fake.fates.lock().expect("sound").contains(&expected);
        for _ in 0..500 {
            if told() {
                break;
            }
            // tidy: it looks again; what it looks for decides
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert!(told(), "{tool}: {:?}", rig.fake.fates);
    }
    // The answer of a client that is gone was not written.
    client
        .send(&modern(
            9,
            "tools/call",
            "{}",
            r#""name":"slow","arguments":{}"#,
        ))
        .await;
    rig.fake.begun.notified().await;
    drop(client);
    rig.fake.called_off(1).await;
    let lost = (Box::from("slow"), false);
    for _ in 0..500 {
        if rig.fake.fates.lock().expect("sound").contains(&lost) {
            break;
        }
        // tidy: it looks again; what it looks for decides
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(rig.fake.fates.lock().expect("sound").contains(&lost));
    rig.stop().await;
}
