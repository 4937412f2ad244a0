//! The events extension with a raw client, over HTTP and over the bridge.

use std::time::Duration;

use legation_tests::harness::asked::{ASKED, AskedHub, pending};
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Answer, Peer, PeerEra, everything, friendly};
use legation_tests::harness::process::until;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(120);
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

async fn hub(settings: &str) -> anyhow::Result<Hub> {
    Hub::start(HubOptions {
        servers: json!({}),
        settings: settings.to_owned(),
        ..HubOptions::default()
    })
    .await
}

async fn post(hub: &Hub, id: &str) -> anyhow::Result<()> {
    let words = [
        "inbox",
        "post",
        "hello",
        "--from",
        "Ada Example",
        "--id",
        id,
    ];
    let (code, _, complaint) = hub.run(&words).await?;
    anyhow::ensure!(code == 0, "{complaint}");
    Ok(())
}

async fn poll(peer: &Peer, params: Value) -> anyhow::Result<Value> {
    let answer: Answer = peer.request("events/poll", params).await?;
    Ok(answer.result()?.clone())
}

fn ids(events: &[Value]) -> Vec<&str> {
    let ids = events.iter().map(|event| event["data"]["id"].as_str());
    ids.map(Option::unwrap_or_default).collect()
}

#[tokio::test]
async fn only_the_newest_revision_has_events() -> anyhow::Result<()> {
    let hub = hub("").await?;
    let modern = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    let answer = modern.request("server/discover", json!({})).await?;
    let capabilities = &answer.result()?["capabilities"];
    let declared = json!({"listChanged": true});
    assert_eq!(capabilities["events"], declared, "{}", answer.text);
    assert_eq!(
        capabilities["extensions"]["io.modelcontextprotocol/events"], declared,
        "{}",
        answer.text
    );
    let legacy = hub.http(PeerEra::Legacy, everything(), friendly()).await?;
    let answer = legacy.request("events/list", json!({})).await?;
    assert_eq!(answer.code(), Some(-32601), "{}", answer.text);
    // The server of the inbox has them alone as well, another has not.
    let token = hub.token()?;
    for (server, has) in [("inbox", true), ("audit", false)] {
        let url = format!("{}/s/{server}", hub.url());
        let era = PeerEra::Modern;
        let peer = Peer::http(&url, Some(&token), era, everything(), friendly()).await?;
        let answer = peer.request("events/list", json!({})).await?;
        let code = (!has).then_some(-32601);
        assert_eq!(answer.code(), code, "{server}: {}", answer.text);
    }
    Ok(())
}

#[tokio::test]
async fn a_poll_goes_on_where_it_was_even_in_the_next_hub() -> anyhow::Result<()> {
    let hub = hub("").await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    let list = peer.list("events/list", "events").await?;
    assert_eq!(list.len(), 5, "{list:?}");
    post(&hub, "m1").await?;
    let first = poll(&peer, json!({"name": "message.received"})).await?;
    assert_eq!(first["events"], json!([]), "without a cursor it begins now");
    for id in ["m2", "m3", "m4"] {
        post(&hub, id).await?;
    }
    let wish = json!({"name": "message.received", "cursor": first["cursor"], "maxEvents": 2});
    let some = poll(&peer, wish.clone()).await?;
    let events = some["events"].as_array().unwrap();
    assert_eq!(ids(events), ["m2", "m3"]);
    assert_eq!(
        (&some["hasMore"], &some["truncated"]),
        (&json!(true), &json!(false))
    );
    let data = &events[0]["data"];
    assert_eq!(
        (&data["from"], &data["summary"], &data["channel"]),
        (&json!("Ada Example"), &json!("hello"), &json!("local"))
    );
    assert_eq!(data["uri"], "legation://inbox/m2");
    let hub = hub.restart().await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    let wish = json!({"name": "message.received", "cursor": some["cursor"]});
    let rest = poll(&peer, wish).await?;
    assert_eq!(ids(rest["events"].as_array().unwrap()), ["m4"]);
    assert_eq!(rest["truncated"], false);
    // There is an end of it: a kind nobody asked about has nothing.
    let edits = poll(&peer, json!({"name": "message.edited"})).await?;
    assert_eq!(edits["events"], json!([]));
    let unknown = peer
        .request("events/poll", json!({"name": "no.such"}))
        .await?;
    assert_eq!(unknown.code(), Some(-32023), "{}", unknown.text);
    Ok(())
}

#[tokio::test]
async fn a_stream_tells_what_happens_by_every_transport() -> anyhow::Result<()> {
    let hub = hub("[events]\nheartbeat_ms = 200\n").await?;
    let http = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    let bridge = hub
        .bridge(PeerEra::Modern, everything(), friendly())
        .await?;
    for (nth, peer) in [&http, &bridge].into_iter().enumerate() {
        let stream = peer
            .start("events/stream", json!({"name": "message.received"}))
            .await?;
        let heard = |method: &str| peer.heard_of(&format!("notifications/events/{method}"));
        until("active", PATIENCE, async || !heard("active").is_empty()).await?;
        let id = format!("s{nth}");
        post(&hub, &id).await?;
        until("the event", PATIENCE, async || !heard("event").is_empty()).await?;
        let event = &heard("event")[0]["params"];
        assert_eq!(event["data"]["id"], id.as_str());
        assert!(event["cursor"].is_string(), "{event}");
        until("a sign of life", PATIENCE, async || {
            !heard("heartbeat").is_empty()
        })
        .await?;
        for told in ["active", "event", "heartbeat"] {
            let of = &heard(told)[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
            assert_eq!(*of, json!(stream.id), "{told}");
        }
        peer.cancel(&stream).await?;
        drop(stream);
        let open = async || {
            let metrics = metrics(&hub).await.unwrap_or_default();
            metrics.contains("legation_event_streams 0")
        };
        until("the end of the stream", PATIENCE, open).await?;
    }
    let bad = http
        .request(
            "events/stream",
            json!({"name": "message.received", "cursor": "made-up"}),
        )
        .await?;
    assert_eq!(
        bad.code(),
        Some(-32602),
        "an error, and no stream: {}",
        bad.text
    );
    Ok(())
}

async fn metrics(hub: &Hub) -> anyhow::Result<String> {
    let uri: http::Uri = format!("{}/metrics", hub.base).parse()?;
    let host = uri.authority().map(ToString::to_string).unwrap_or_default();
    let request = http::Request::get("/metrics").header("host", host);
    let request = request.body(http_body_util::Full::default())?;
    Ok(legation_tests::harness::http::whole(&uri, request)
        .await?
        .body)
}

#[tokio::test]
async fn receivers_on_this_machine_are_refused_unless_allowed() -> anyhow::Result<()> {
    let hub = hub("[events]\nerror_numbers = \"draft\"\n").await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    let wish = |url: &str| {
        json!({
            "name": "message.received",
            "delivery": {"mode": "webhook", "url": url, "secret": SECRET},
        })
    };
    for (url, code) in [
        ("https://127.0.0.1:9/hook", -32602),
        ("https://[::1]/hook", -32602),
        ("https://169.254.169.254/latest", -32602),
        ("http://example.com/hook", -32602),
        ("https://localhost:9/hook", -32015),
    ] {
        let answer = peer.request("events/subscribe", wish(url)).await?;
        assert_eq!(answer.code(), Some(code), "{url}: {}", answer.text);
    }
    let unknown = json!({"name": "message.received", "delivery": {"url": "https://example.com/"}});
    let answer = peer.request("events/unsubscribe", unknown).await?;
    assert_eq!(answer.code(), Some(-32011), "{}", answer.text);
    let (code, listed, _) = hub.run(&["events", "list", "--json"]).await?;
    assert_eq!(
        (code, serde_json::from_str::<Value>(&listed)?),
        (0, json!({"subscriptions": []}))
    );
    let (code, _, complaint) = hub.run(&["events", "rm", "sub_none"]).await?;
    assert_eq!(code, 1, "{complaint}");
    Ok(())
}

#[tokio::test]
async fn listeners_hear_when_the_rules_change_what_there_is() -> anyhow::Result<()> {
    let hub = hub("").await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    let wish = json!({"notifications": {"eventsListChanged": true}});
    let listening = peer.start("subscriptions/listen", wish).await?;
    let told = "notifications/subscriptions/acknowledged";
    until("the acknowledgement", PATIENCE, async || {
        !peer.heard_of(told).is_empty()
    })
    .await?;
    let accepted = &peer.heard_of(told)[0]["params"]["notifications"];
    assert_eq!(*accepted, json!({"eventsListChanged": true}));
    let (code, _, complaint) = hub.run(&["mcp", "reload"]).await?;
    assert_eq!(code, 0, "{complaint}");
    let changed = "notifications/events/list_changed";
    until("the word of it", PATIENCE, async || {
        !peer.heard_of(changed).is_empty()
    })
    .await?;
    drop(listening);
    Ok(())
}

/// Waits for the first event behind a cursor.
async fn first_of(peer: &Peer, name: &str, cursor: &Value) -> anyhow::Result<Value> {
    let mut found = Value::Null;
    until(name, PATIENCE, async || {
        let polled = poll(peer, json!({"name": name, "cursor": cursor})).await;
        found = polled.unwrap_or_default()["events"][0].clone();
        found.is_object()
    })
    .await?;
    Ok(found)
}

#[tokio::test]
async fn a_client_hears_of_its_own_approvals_and_tasks() -> anyhow::Result<()> {
    let asked = AskedHub::start(HubOptions {
        clients: vec!["codex".to_owned()],
        ..HubOptions::default()
    })
    .await?;
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let era = PeerEra::Modern;
    let peer = asked.hub.http(era, tasks, friendly()).await?;
    let other = asked
        .hub
        .http_as("codex", era, json!({}), friendly())
        .await?;
    let mut cursors = json!({});
    for name in ["approval.requested", "approval.answered", "task.completed"] {
        cursors[name] = poll(&peer, json!({"name": name})).await?["cursor"].clone();
    }
    let theirs = poll(&other, json!({"name": "approval.requested"})).await?;
    for (text, verb, state) in [("yes", "approve", "granted"), ("no", "deny", "denied")] {
        let answer = peer.call(ASKED, json!({"text": text})).await?;
        let id = pending(&answer).ok_or_else(|| anyhow::anyhow!("not asked: {}", answer.text))?;
        for (name, state) in [
            ("approval.requested", "pending"),
            ("approval.answered", state),
        ] {
            if name == "approval.answered" {
                asked.tell(&[verb, &id]).await?;
            }
            let event = first_of(&peer, name, &cursors[name]).await?;
            let data = &event["data"];
            assert_eq!(
                (&data["id"], &data["state"], &data["tool"]),
                (&json!(id), &json!(state), &json!("asked/echo")),
                "{event}"
            );
            let next = json!({"name": name, "cursor": cursors[name]});
            cursors[name] = poll(&peer, next).await?["cursor"].clone();
        }
    }
    let next = json!({"name": "approval.requested", "cursor": theirs["cursor"]});
    let theirs = poll(&other, next).await?;
    assert_eq!(theirs["events"], json!([]), "they are nobody else's");

    let job = json!({"name": "free-slow_compute", "arguments": {"seconds": 0.5, "label": "x"}});
    let begun = peer.once("tools/call", job).await?;
    let task = &begun.result()?["taskId"];
    assert!(task.is_string(), "{}", begun.text);
    let event = first_of(&peer, "task.completed", &cursors["task.completed"]).await?;
    assert_eq!(
        event["data"],
        json!({"taskId": task, "status": "completed"})
    );
    Ok(())
}

#[tokio::test]
async fn a_server_that_offers_events_feeds_the_inbox() -> anyhow::Result<()> {
    // Another hub is a server that offers events as well as any.
    let other = hub("").await?;
    let entry = |events: Value| {
        let authorization = format!("Bearer {}", other.token().unwrap());
        json!({"Tracker": {
            "type": "http", "url": other.url(), "events": events,
            "headers": {"Authorization": authorization},
        }})
    };
    let hub = Hub::start(HubOptions {
        servers: entry(json!(["message.*"])),
        ..HubOptions::default()
    })
    .await?;
    // Once it is asked for events it has a place in them.
    let asked = async || {
        let log = metrics(&other).await.unwrap_or_default();
        log.contains("legation_events_polls_total")
            && !log.contains("legation_events_polls_total 0")
    };
    until("the first poll", PATIENCE, asked).await?;
    for id in ["u1", "u2"] {
        post(&other, id).await?;
    }
    let listed = async || -> anyhow::Result<Value> {
        let (_, output, _) = hub.run(&["inbox", "list", "--json"]).await?;
        Ok(serde_json::from_str(&output)?)
    };
    let both = async || {
        let listed = listed().await.unwrap_or_default();
        listed["messages"]
            .as_array()
            .is_some_and(|all| all.len() == 2)
    };
    until("the events", Duration::from_secs(40), both).await?;
    let listed = listed().await?;
    let message = &listed["messages"][1];
    assert_eq!(message["meta"]["event"], "message.received", "{listed}");
    assert_eq!(
        (&message["from"], &message["kind"]),
        (&json!("Tracker"), &json!("new"))
    );
    let channel = message["channel"].as_str().unwrap_or_default();
    assert!(channel.starts_with("tracker-"), "{channel}");
    let text = message["content_text_sanitized"]
        .as_str()
        .unwrap_or_default();
    assert!(
        text.contains("id: u1") && text.contains("summary: hello"),
        "{text}"
    );
    // Its agents have it as any other message.
    let peer = hub.http(PeerEra::Legacy, everything(), friendly()).await?;
    let pulled = peer.call("inbox-pull", json!({})).await?;
    let pulled = &pulled.result()?["structuredContent"];
    assert_eq!(
        pulled["messages"].as_array().map(Vec::len),
        Some(2),
        "{pulled}"
    );
    let data = pulled["messages"][0]["meta"]["event_data"].clone();
    assert_eq!(data, Value::Null, "the text says it: {pulled}");
    passed_on(&hub, &other).await
}

/// Who knows of events has those of a server as the server's own, by every way there is.
async fn passed_on(hub: &Hub, other: &Hub) -> anyhow::Result<()> {
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    let list = peer.list("events/list", "events").await?;
    let names: Vec<&str> = list.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(
        names[5..],
        ["Tracker/message.received", "Tracker/message.edited"]
    );
    assert_eq!(list[5]["payloadSchema"]["type"], "object", "{}", list[5]);
    let topic = "Tracker/message.received";
    let begin = poll(&peer, json!({ "name": topic })).await?;
    let listener = hub
        .socket_peer(PeerEra::Modern, everything(), friendly())
        .await?;
    let _stream = listener
        .start("events/stream", json!({ "name": topic }))
        .await?;
    let heard = |method: &str| listener.heard_of(&format!("notifications/events/{method}"));
    until("the stream", PATIENCE, async || !heard("active").is_empty()).await?;
    post(other, "u3").await?;
    let event = first_of(&peer, topic, &begin["cursor"]).await?;
    assert_eq!(event["name"], topic);
    let data = &event["data"];
    assert_eq!(
        (&data["id"], &data["summary"], &data["from"]),
        (&json!("u3"), &json!("hello"), &json!("Ada Example")),
        "{event}"
    );
    until("the event", PATIENCE, async || !heard("event").is_empty()).await?;
    let streamed = &heard("event")[0]["params"];
    assert_eq!(
        (&streamed["eventId"], &streamed["data"]),
        (&event["eventId"], data)
    );
    let forged = [
        "inbox",
        "post",
        "x",
        "--channel",
        "tracker",
        "--meta",
        "event_data={}",
    ];
    assert_ne!(hub.run(&forged).await?.0, 0);
    let unknown = json!({"name": "Tracker/nothing"});
    let unknown = peer.request("events/poll", unknown).await?;
    assert_eq!(unknown.code(), Some(-32023), "{}", unknown.text);
    Ok(())
}
