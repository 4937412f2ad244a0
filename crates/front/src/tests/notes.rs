//! What a server of the hub's own says beyond the protocol, and a socket that serves one
//! server.

use std::path::PathBuf;

use legation_core::{ClientId, EntityId, Home, SeatId, ServerName};
use legation_gate::{HubEvent, Note};

use crate::testing::{Rig, SocketClient, modern, raw};

const HELLO: &str = r#"{"mode":"mcp","seat":"ab12","version":"0.1.0","client":"claude"}"#;
const DECLARED: &str = r#"{"experimental":{"legation/tasks":{}}}"#;

fn fake() -> ServerName {
    ServerName::parse("fake").expect("a name")
}

/// A rig that serves its socket, or a socket of one server.
async fn rig(only: Option<ServerName>) -> (Rig, PathBuf) {
    let rig = Rig::start().await;
    let home = Home::at(rig.home.path());
    home.create().expect("created");
    let lock = home.lock().expect("asked").expect("free");
    let listener = crate::bind(&home.socket(), &lock).expect("bound");
    let front = std::sync::Arc::clone(&rig.front);
    rig.front.shared.tasks.spawn("socket", async move {
        match only {
            Some(server) => front.serve_socket_of(listener, server).await,
            None => front.serve_socket(listener).await,
        }
    });
    (rig, home.socket())
}

fn note(client: &str, entities: Vec<EntityId>) -> HubEvent {
    let params = |text: &str| raw(text).to_object().expect("an object");
    HubEvent::Noted(Box::new(Note {
        client: ClientId::new(client),
        seat: None,
        server: fake(),
        capability: "legation/tasks",
        method: "notifications/task_progress",
        params: params(r#"{"task_id":"t","progress":"writing"}"#),
        entities,
        bare: params(r#"{"task_id":"t"}"#),
    }))
}

async fn legacy(path: &std::path::Path, hello: &str, capabilities: &str) -> SocketClient {
    let (mut client, _) = SocketClient::greet(path, hello).await;
    client
        .send(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{capabilities}}}}}"#))
        .await;
    client.line().await.expect("an answer");
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    ping(&mut client, 2).await;
    client
}

/// What comes before the answer to a ping.
async fn ping(client: &mut SocketClient, id: i64) -> Vec<String> {
    client
        .send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#))
        .await;
    let mut before = Vec::new();
    loop {
        let line = client.line().await.expect("a message");
        if line.get("id").and_then(|found| found.to_i64()) == Some(id) {
            return before;
        }
        before.push(line.as_text().to_owned());
    }
}

#[tokio::test]
async fn a_note_reaches_its_client_if_it_declared_to_understand_it() {
    let (rig, path) = rig(None).await;
    let mut told = legacy(&path, HELLO, DECLARED).await;
    let mut silent = legacy(&path, &HELLO.replace("ab12", "cd34"), "{}").await;
    let other = HELLO.replace("claude", "codex");
    let mut other = legacy(&path, &other, DECLARED).await;
    let send = |event| assert!(rig.fake.events.send(event).is_ok(), "heard");
    send(note("claude", Vec::new()));
    // Whoever is cleared for nothing and holds nothing of an entity hears that there is something.
    send(note("claude", vec![EntityId::new("clinic")]));
    let whole = told.line().await.expect("the note");
    assert_eq!(
        whole.as_text(),
        r#"{"jsonrpc":"2.0","method":"notifications/task_progress","params":{"task_id":"t","progress":"writing"}}"#
    );
    let bare = told.line().await.expect("the note");
    assert_eq!(
        bare.get("params").expect("params").as_text(),
        r#"{"task_id":"t"}"#
    );
    assert_eq!(ping(&mut silent, 3).await, Vec::<String>::new());
    assert_eq!(ping(&mut other, 3).await, Vec::<String>::new());
    rig.stop().await;
}

#[tokio::test]
async fn a_note_goes_to_the_conversation_it_began_in_as_long_as_that_listens() {
    let (rig, path) = rig(None).await;
    let mut own = legacy(&path, HELLO, DECLARED).await;
    let mut other = legacy(&path, &HELLO.replace("ab12", "cd34"), DECLARED).await;
    let send = |seat: &str| {
        let HubEvent::Noted(mut noted) = note("claude", Vec::new()) else {
            unreachable!("it makes a note");
        };
        noted.seat = Some(SeatId::new(seat));
        let sent = rig.fake.events.send(HubEvent::Noted(noted));
        assert!(sent.is_ok(), "heard");
    };
    send("claude:ab12");
    assert!(own.line().await.is_some());
    assert_eq!(ping(&mut own, 3).await, Vec::<String>::new());
    assert_eq!(ping(&mut other, 3).await, Vec::<String>::new());
    // One that is gone leaves it to the client's others, which may have taken its place.
    send("claude:gone");
    assert!(own.line().await.is_some());
    assert!(other.line().await.is_some());
    rig.stop().await;
}

#[tokio::test]
async fn a_listener_names_the_notes_it_wants_among_those_it_declared() {
    let (rig, path) = rig(None).await;
    let (mut client, _) = SocketClient::greet(&path, HELLO).await;
    let filter = r#""notifications":{"experimental":["legation/tasks","other/notes"]}"#;
    client
        .send(&modern(1, "subscriptions/listen", DECLARED, filter))
        .await;
    let acknowledged = client.line().await.expect("acknowledged");
    assert!(
        acknowledged
            .as_text()
            .contains(r#""notifications":{"experimental":["legation/tasks"]}"#),
        "{acknowledged}"
    );
    let sent = rig.fake.events.send(note("claude", Vec::new()));
    assert!(sent.is_ok(), "heard");
    let told = client.line().await.expect("the note");
    assert!(
        told.as_text().contains("notifications/task_progress")
            && told.as_text().contains(r#"subscriptionId":1"#),
        "{told}"
    );
    rig.stop().await;
}

#[tokio::test]
async fn a_socket_of_one_server_serves_nothing_else() {
    let (rig, path) = rig(Some(fake())).await;
    for bad in [
        r#"{"mode":"admin","seat":"a","version":"1"}"#,
        r#"{"mode":"mcp","seat":"a","version":"1","endpoint":{"server":"other"}}"#,
        r#"{"mode":"mcp","seat":"a","version":"1","endpoint":{"view":"work"}}"#,
    ] {
        let (mut client, answer) = SocketClient::greet(&path, bad).await;
        let error = answer.get("error").expect("refused");
        assert!(
            error.as_text().contains("serves fake and nothing else"),
            "{error}"
        );
        assert!(client.line().await.is_none(), "closed");
    }
    for hello in [
        HELLO.to_owned(),
        HELLO.replace('}', r#","endpoint":{"server":"fake"}}"#),
    ] {
        let (mut client, welcome) = SocketClient::greet(&path, &hello).await;
        assert!(welcome.get("ok").is_some(), "{welcome}");
        client.send(&modern(1, "tools/list", "{}", "")).await;
        let tools = client.line().await.expect("an answer");
        assert!(tools.get("result").is_some(), "{tools}");
    }
    // The plain framing too, which greets nobody.
    let mut client = SocketClient::connect(&path).await;
    client.send(&modern(1, "tools/list", "{}", "")).await;
    let tools = client.line().await.expect("an answer");
    assert!(tools.get("result").is_some(), "{tools}");
    rig.stop().await;
}
