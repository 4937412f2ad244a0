//! What people write in watched chats comes into the inbox, whoever is connected.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use legation_tests::harness::hub::Hub;
use legation_tests::harness::process::until;
use serde_json::{Value, json};

use super::stand::{ERAS, Stand, client, done};

const PATIENCE: Duration = Duration::from_secs(30);

/// The records in the inbox's files, in order.
fn records(home: &Path) -> Vec<Value> {
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

async fn has(hub: &Hub, words: &str) -> anyhow::Result<()> {
    until(words, PATIENCE, async || {
        records(&hub.home())
            .iter()
            .any(|record| record.to_string().contains(words))
    })
    .await
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
    let mut options = stand.options();
    options.settings = options
        .settings
        .replace("inbox = \"off\"", "inbox = \"chats\"");
    let hub = Hub::start(options).await?;
    has(&hub, "history 2.").await?;
    let peer = client(&hub, ERAS[0]).await?;
    done(&peer, "send", json!({ "text": "my own words." })).await?;
    let first = stand.say(&chat, "first <b>new</b> & bold.").await;
    let second = stand.say(&chat, "second word.").await;
    has(&hub, "second word.").await?;
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
