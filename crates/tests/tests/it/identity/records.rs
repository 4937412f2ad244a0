//! Under whose identity a hub's records are made.

use std::time::Duration;

use legation_tests::fixture::Era;
use legation_tests::harness::hub::Hub;
use legation_tests::harness::peer::{PeerEra, friendly};
use legation_tests::harness::process::until;
use legation_tests::harness::servers::stdio_entry;
use serde_json::{Value, json};

use super::stand::{Kind, Stand, call};

/// The records that a query finds, newest first.
async fn query(hub: &Hub, arguments: &[&str]) -> anyhow::Result<Vec<Value>> {
    let mut all = vec!["--json", "audit", "query"];
    all.extend_from_slice(arguments);
    let (code, out, complaint) = hub.run(&all).await?;
    anyhow::ensure!(code == 0, "{complaint}");
    let answer: Value = serde_json::from_str(&out)?;
    let records = answer["records"].as_array().cloned().unwrap_or_default();
    Ok(records
        .into_iter()
        .map(|mut one| one["record"].take())
        .collect())
}

/// Whom the newest outcome of a tool names.
async fn named(hub: &Hub, tool: &str) -> anyhow::Result<(Value, Value, Value)> {
    let records = query(hub, &["--tool", tool, "--kind", "outcome", "-n", "1"]).await?;
    let one = records.first().cloned().unwrap_or_default();
    let member = |name: &str| one[name].clone();
    Ok((member("attribution"), member("agent_id"), member("sponsor")))
}

#[tokio::test]
async fn records_name_who_acts_from_the_sign_in_to_its_end() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let mut options = stand.options(&[("agent", Kind::Agent)]);
    options.servers = json!({"fixture": stdio_entry(Era::Modern, "shared")?});
    let hub = Hub::start(options).await?;
    let peer = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    hub.wait_for_tool(&peer, "fixture-echo").await?;
    let (agent, human) = (json!(stand.env["AGENT_ID"]), json!(stand.env["HUMAN_ID"]));
    let acts = (json!("agent_user"), agent.clone(), human);
    let nobody = (json!("none"), Value::Null, Value::Null);

    peer.call("fixture-echo", json!({"n": 1})).await?;
    assert_eq!(named(&hub, "fixture/echo").await?, nobody);
    let ready = call(&peer, "bootstrap").await?;
    assert_eq!(ready["attribution"], "agent_user", "{ready}");
    // Whatever is called after the answer names the agent, and not only what is called for it.
    peer.call("fixture-echo", json!({"n": 2})).await?;
    assert_eq!(named(&hub, "fixture/echo").await?, acts);

    // The agent reads the same, by its own tool.
    let logged = json!({"action": "deploy", "resource": "staging", "outcome": "done"});
    peer.call("audit-log", logged).await?;
    let asked = peer
        .call("audit-query", json!({"agent_id": agent, "limit": 50}))
        .await?;
    let records = asked.value["result"]["structuredContent"]["records"].clone();
    let records = records.as_array().cloned().unwrap_or_default();
    assert!(records.len() >= 3, "{}", asked.text);
    assert!(
        records.iter().all(|one| one["agent_id"] == agent),
        "{}",
        asked.text
    );
    let note = records.iter().find(|one| one["kind"] == "note");
    assert_eq!(
        note.map(|note| &note["text"]),
        Some(&json!("deploy: staging: done"))
    );
    let id = stand.env["AGENT_ID"].as_str();
    let of_agent = query(&hub, &["--agent", id, "-n", "500"]).await?;
    let others = query(&hub, &["--attribution", "none", "-n", "500"]).await?;
    assert!(
        of_agent
            .iter()
            .all(|one| one["attribution"] == "agent_user")
    );
    assert!(!others.is_empty() && others.iter().all(|one| one.get("agent_id").is_none()));

    // A command ends it, and begins it again, while the hub runs.
    for (command, expected) in [("revoke", &nobody), ("bootstrap", &acts)] {
        stand.answer(&hub, &[command]).await?;
        until(command, Duration::from_secs(20), async || {
            drop(peer.call("fixture-echo", json!({"n": 3})).await);
            named(&hub, "fixture/echo")
                .await
                .is_ok_and(|named| named == *expected)
        })
        .await?;
    }
    let (code, said, complaint) = hub.run(&["audit", "verify"]).await?;
    assert_eq!(code, 0, "{said} {complaint}");
    Ok(())
}
