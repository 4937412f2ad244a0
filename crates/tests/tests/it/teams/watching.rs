//! What people write in watched chats comes into the inbox, whoever is connected.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Peer, PeerEra, friendly};
use legation_tests::harness::process::until;
use serde_json::{Value, json};

use super::stand::{ERAS, Stand, client, done};

const PATIENCE: Duration = Duration::from_secs(120);

/// The records in the inbox's files, in order.
pub(super) fn records(home: &Path) -> Vec<Value> {
    let Ok(entries) = std::fs::read_dir(home.join("inbox")) else {
        return Vec::new();
    };
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .collect();
    files.sort();
    let texts = files
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap());
    let lines: Vec<String> = texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    lines
        .iter()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// A chat in which nothing was said for a while is read once a minute.
pub(super) async fn has(hub: &Hub, words: &str) -> anyhow::Result<()> {
    until(words, PATIENCE * 4, async || {
        records(&hub.home())
            .iter()
            .any(|record| record.to_string().contains(words))
    })
    .await
}

fn watching(stand: &Stand) -> HubOptions {
    let mut options = stand.options();
    options.settings = options
        .settings
        .replace("inbox = \"off\"", "inbox = \"chats\"");
    options
}

/// What the records say, in order.
fn texts(hub: &Hub) -> Vec<String> {
    let all = records(&hub.home());
    let text = |record: &Value| {
        record["content_text_sanitized"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    all.iter().map(text).collect()
}

#[tokio::test]
async fn a_long_absence_is_caught_up_with_through_kills() -> anyhow::Result<()> {
    const COUNT: usize = 2_150;
    let stand = Stand::new().await?;
    let mut hub = Hub::start(watching(&stand)).await?;
    // All that is said in a chat after it was found is new, whether or not it was read.
    let peer = client(&hub, ERAS[1]).await?;
    let connected = done(&peer, "connect", json!({})).await?;
    let chat = connected["chat_id"].as_str().unwrap().to_owned();
    hub = hub.restart().await?;
    until("the chat", PATIENCE, async || {
        let listed = hub.run(&["inbox", "chats", "--json"]).await;
        listed.is_ok_and(|(_, out, _)| out.contains(&chat))
    })
    .await?;
    hub.kill().await?;
    for number in 0..COUNT {
        stand.say(&chat, &format!("number {number}.")).await;
    }
    let fault = json!({ "fault": "status", "status": 503, "left": 2, "matching": "/messages" });
    let mut hub = hub.restart().await?;
    for least in [1, COUNT / 2] {
        until("some of them", PATIENCE * 4, async || {
            texts(&hub).len() >= least
        })
        .await?;
        stand.order("fault", fault.clone()).await;
        hub.kill().await?;
        hub = hub.restart().await?;
    }
    until("all of them", PATIENCE * 4, async || {
        texts(&hub).len() >= COUNT
    })
    .await?;
    stand.say(&chat, "and one more.").await;
    has(&hub, "and one more.").await?;
    let mut expected: Vec<String> = (0..COUNT).map(|one| format!("number {one}.")).collect();
    expected.push("and one more.".to_owned());
    assert_eq!(texts(&hub), expected, "each once, in order");
    stand.no_complaints().await;
    Ok(())
}

#[tokio::test]
async fn a_chat_that_is_left_alone_stays_so_until_somebody_watches_it_again() -> anyhow::Result<()>
{
    let stand = Stand::new().await?;
    let hub = Hub::start(watching(&stand)).await?;
    let peer = client(&hub, ERAS[1]).await?;
    let connected = done(&peer, "connect", json!({})).await?;
    let chat = connected["chat_id"].as_str().unwrap().to_owned();
    let hub = hub.restart().await?;
    let peer = client(&hub, ERAS[1]).await?;
    stand.say(&chat, "watched.").await;
    has(&hub, "watched.").await?;
    let tool = async |tool: &str| -> anyhow::Result<Value> {
        let answer = peer
            .call(&format!("inbox-{tool}"), json!({ "chat_id": chat }))
            .await?;
        let answer: Value = serde_json::from_str(&answer.text)?;
        Ok(answer["result"]["structuredContent"].clone())
    };
    let left = tool("unwatch_chat").await?;
    assert_eq!(
        (&left["watched"], &left["changed"]),
        (&json!(false), &json!(true)),
        "{left}"
    );
    assert_eq!(tool("unwatch_chat").await?["changed"], false);
    stand.say(&chat, "while nobody listens.").await;
    let hub = hub.restart().await?;
    let (code, out, _) = hub.run(&["inbox", "chats", "--json"]).await?;
    let listed: Value = serde_json::from_str(&out)?;
    assert_eq!((code, &listed[0]["chat_id"]), (0, &json!(chat)), "{out}");
    assert_eq!(listed[0]["watched"], false, "discovery adds it no more");
    let (code, out, _) = hub.run(&["inbox", "chats", "watch", &chat]).await?;
    assert_eq!(code, 0, "{out}");
    // A command tells the hub by the file, at the latest when it looks for chats anew.
    let hub = hub.restart().await?;
    stand.say(&chat, "watched again.").await;
    has(&hub, "watched again.").await?;
    assert_eq!(texts(&hub), ["watched.", "watched again."]);
    let (code, _, said) = hub.run(&["inbox", "chats", "watch", "19:none"]).await?;
    assert!(code == 1 && said.contains("19:none"), "{said}");
    Ok(())
}

/// What was edited since a place, as the events extension tells it.
async fn edits(listener: &Peer, cursor: &Value) -> anyhow::Result<Value> {
    let params = json!({"name": "message.edited", "cursor": cursor});
    let answer = listener.request("events/poll", params).await?;
    Ok(answer.result()?.clone())
}

/// Each is an event of its own, whose data says which message reads differently.
fn are_told(edited: &Value, first: &str, second: &str) {
    let events = edited["events"].as_array().unwrap();
    let data = events.iter().map(|event| &event["data"]);
    let told: Vec<_> = data.map(|data| (&data["id"], &data["kind"])).collect();
    let wanted = [
        (&json!(first), &json!("edited")),
        (&json!(second), &json!("deleted")),
    ];
    assert_eq!(told, wanted, "{edited}");
    assert_eq!(events[0]["data"]["summary"], "first, mended.", "{edited}");
    assert_ne!(events[0]["eventId"], events[1]["eventId"]);
}

#[tokio::test]
async fn what_the_human_writes_is_kept_once_and_in_order() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    // A chat with a history, from before anybody watched.
    let hub = stand.hub().await?;
    let peer = client(&hub, ERAS[1]).await?;
    let connected = done(&peer, "connect", json!({})).await?;
    let chat = connected["chat_id"].as_str().unwrap().to_owned();
    for number in 0..3 {
        stand.say(&chat, &format!("history {number}.")).await;
    }
    drop(hub);
    let hub = Hub::start(watching(&stand)).await?;
    has(&hub, "history 2.").await?;
    let peer = client(&hub, ERAS[0]).await?;
    done(&peer, "send", json!({ "text": "my own words." })).await?;
    let first = stand.say(&chat, "first <b>new</b> & bold.").await;
    let second = stand.say(&chat, "second word.").await;
    has(&hub, "second word.").await?;
    let listener = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    let place = edits(&listener, &Value::Null).await?["cursor"].clone();
    stand
        .order(
            "edit",
            json!({ "chat_id": chat, "message_id": first, "text": "first, mended." }),
        )
        .await;
    stand
        .order(
            "edit",
            json!({ "chat_id": chat, "message_id": second, "text": "" }),
        )
        .await;
    has(&hub, "first, mended.").await?;
    until("the deletion", PATIENCE, async || {
        let all = records(&hub.home());
        all.iter()
            .filter(|one| one["id"] == second.as_str())
            .count()
            == 2
    })
    .await?;
    // What is in the file is told once it is recorded too.
    let mut told = Value::Null;
    until("the edits are told", PATIENCE, async || {
        told = edits(&listener, &place).await.unwrap_or_default();
        told["events"]
            .as_array()
            .is_some_and(|events| events.len() == 2)
    })
    .await?;
    are_told(&told, &first, &second);
    let hub = hub.restart().await?;
    stand.say(&chat, "after the restart.").await;
    has(&hub, "after the restart.").await?;

    let all = records(&hub.home());
    let text = Value::from(all.clone()).to_string();
    assert!(
        !text.contains("history 0.") && !text.contains("my own words."),
        "{text}"
    );
    let mut versions = HashMap::new();
    for record in &all {
        let of = (
            record["id"].to_string(),
            record["version"].to_string(),
            record["kind"].to_string(),
        );
        *versions.entry(of).or_insert(0) += 1;
        assert_eq!(
            (&record["channel"], &record["chat_id"]),
            (&json!("teams"), &json!(chat))
        );
        assert_eq!(record["meta"]["from_your_human"], "true", "{record}");
    }
    assert!(versions.values().all(|count| *count == 1), "{versions:?}");
    assert_eq!(all.len(), 6, "{text}");
    let file = std::fs::read_to_string(hub.home().join("watched_chats.json"))?;
    let file: Value = serde_json::from_str(&file)?;
    assert_eq!(file[&chat]["watched"], true, "{file}");
    stand.no_complaints().await;
    Ok(())
}
