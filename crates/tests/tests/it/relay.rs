//! What a channel client asks of its own tools, answered by a person elsewhere:
//! once, to that session, and to nobody else.

use std::time::Duration;

use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::process::until;
use serde_json::{Value, json};

use crate::inbox::{Lines, ask, channel, next, send};

pub(crate) const REQUEST: &str = "notifications/claude/channel/permission_request";
const ANSWER: &str = "notifications/claude/channel/permission";
const PATIENCE: Duration = Duration::from_secs(120);

/// The questions that are listed for the owner.
pub(crate) async fn listed(hub: &Hub) -> Vec<Value> {
    let (code, out, complaint) = hub.run(&["approvals", "--json"]).await.unwrap();
    assert_eq!(code, 0, "{complaint}");
    let all: Value = serde_json::from_str(&out).unwrap();
    all["waiting"].as_array().unwrap().clone()
}

pub(crate) async fn waits(hub: &Hub, count: usize) -> anyhow::Result<Vec<Value>> {
    until("what waits", PATIENCE, async || {
        listed(hub).await.len() == count
    })
    .await?;
    Ok(listed(hub).await)
}

/// Asks as Claude Code does.
pub(crate) fn request(id: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": REQUEST, "params": {
        "request_id": id, "tool_name": "Bash", "description": "Run a command",
        "input_preview": "rm -r \u{202e}build",
    } })
}

/// The next answer to a question of the client's own.
pub(crate) async fn answer(lines: &mut Lines) -> anyhow::Result<Value> {
    loop {
        let message = next(lines).await?;
        if message["method"] == ANSWER {
            return Ok(message["params"].clone());
        }
    }
}

#[tokio::test]
async fn a_channel_clients_question_is_answered_once_and_to_it_alone() -> anyhow::Result<()> {
    let hub = Hub::start(HubOptions::default()).await?;
    let (mut claude, mut lines) = channel(&hub, "claude-code").await?;
    let (mut again, mut others) = channel(&hub, "claude-code").await?;
    let (mut plain, mut plains) = channel(&hub, "copilot-cli").await?;
    ask(&mut claude, &mut lines, 2, "ping", json!({})).await?;
    ask(&mut again, &mut others, 2, "ping", json!({})).await?;
    // A client that registers no channel asks nobody; neither does nonsense.
    send(&mut plain, &request("other")).await?;
    ask(&mut plain, &mut plains, 2, "ping", json!({})).await?;
    for params in [
        json!({}),
        json!({"request_id": 7, "tool_name": "x"}),
        json!({"request_id": "", "tool_name": "x"}),
    ] {
        send(
            &mut claude,
            &json!({"jsonrpc": "2.0", "method": REQUEST, "params": params}),
        )
        .await?;
    }
    send(&mut claude, &request("abcde")).await?;
    send(&mut claude, &request("abcde")).await?;
    let all = waits(&hub, 1).await?;
    let one = &all[0];
    assert_eq!(one["kind"], "client permission", "{one}");
    assert_eq!((&one["item"], &one["server"]), (&json!("Bash"), &json!("")));
    assert_eq!(one["answers"], json!(["once", "deny"]));
    let id = one["id"].as_str().unwrap();
    let (_, shown, _) = hub.run(&["approvals", "show", id]).await?;
    assert!(
        shown.contains("Bash") && !shown.contains('\u{202e}'),
        "{shown}"
    );
    let (code, _, complaint) = hub.run(&["approve", "--always", id]).await?;
    assert_ne!(code, 0, "{complaint}");
    let (code, _, complaint) = hub.run(&["approve", id]).await?;
    assert_eq!(code, 0, "{complaint}");
    assert_eq!(
        answer(&mut lines).await?,
        json!({"request_id": "abcde", "behavior": "allow"})
    );
    let (code, ..) = hub.run(&["deny", id]).await?;
    assert_ne!(code, 0, "it was answered before");

    send(&mut again, &request("fghij")).await?;
    let id = waits(&hub, 1).await?[0]["id"].as_str().unwrap().to_owned();
    hub.run(&["deny", &id]).await?;
    assert_eq!(
        answer(&mut others).await?,
        json!({"request_id": "fghij", "behavior": "deny"})
    );
    // The first session heard nothing of it: the next thing it reads is its pong.
    let ping = json!({"jsonrpc": "2.0", "id": 9, "method": "ping", "params": {}});
    send(&mut claude, &ping).await?;
    assert_eq!(next(&mut lines).await?["id"], 9);
    // It ends with its session.
    send(&mut claude, &request("klmno")).await?;
    let id = waits(&hub, 1).await?[0]["id"].as_str().unwrap().to_owned();
    claude.kill().await?;
    waits(&hub, 0).await?;
    let (code, ..) = hub.run(&["approve", &id]).await?;
    assert_ne!(code, 0, "nobody waits for it");
    for (topic, count) in [
        ("APPROVAL_REQUESTED", 3),
        ("APPROVAL_GRANTED", 1),
        ("APPROVAL_DENIED", 1),
        ("APPROVAL_EXPIRED", 1),
    ] {
        let (_, out, _) = hub
            .run(&["audit", "query", "--topic", topic, "--json"])
            .await?;
        let found: Value = serde_json::from_str(&out)?;
        let records = found["records"].as_array().unwrap();
        let own = records
            .iter()
            .filter(|one| one.to_string().contains("client permission"));
        assert_eq!(own.count(), count, "{topic}: {found}");
    }
    Ok(())
}
