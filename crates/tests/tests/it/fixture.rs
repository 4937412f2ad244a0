//! The fixture and the test client agree in both eras over both transports,
//! so that a later disagreement is the hub's.

use std::time::Duration;

use legation_tests::fixture::Era;
use legation_tests::harness::lines::LineWire;
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::process::{command, environment, program, until};
use legation_tests::harness::servers::{HttpFixture, era_name};
use serde_json::json;

const BOTH: [(Era, PeerEra); 2] = [
    (Era::Legacy, PeerEra::Legacy),
    (Era::Modern, PeerEra::Modern),
];

async fn stdio(folder: &std::path::Path, era: Era, peer: PeerEra) -> anyhow::Result<Peer> {
    let mut command = command(program("fixture-server")?, &environment(folder, None));
    command.args(["--era", era_name(era)]);
    Peer::lines(
        |shared| LineWire::spawn(command, shared),
        peer,
        everything(),
        friendly(),
    )
    .await
}

async fn behaves(peer: &Peer) -> anyhow::Result<()> {
    let tools = peer.list("tools/list", "tools").await?;
    assert_eq!(tools[0]["name"], "test_simple_text");

    let echoed = peer.call("echo", json!({"deep": [1, {"x": null}]})).await?;
    assert_eq!(echoed.first_text(), r#"{"deep":[1,{"x":null}]}"#);

    let asked = peer.call("elicit_echo", json!({"id": "q7"})).await?;
    assert_eq!(asked.first_text(), "q7=re:q7");

    let thrice = peer
        .call("test_input_required_result_multiple_inputs", json!({}))
        .await?;
    assert!(
        thrice.first_text().starts_with("Alice: sampled"),
        "{}",
        thrice.text
    );

    let raw = r#"{"content":[],"big":18446744073709551615,"x":1.50}"#;
    let verbatim = peer.call("fidelity", json!({"raw": raw})).await?;
    assert!(verbatim.text.contains(raw), "{}", verbatim.text);

    let params = json!({"name": "wait", "arguments": {"id": "p", "ms": 20, "steps": 4}, "_meta": {"progressToken": "tok"}});
    assert_eq!(peer.once("tools/call", params).await?.first_text(), "p");
    let progress = peer.heard_of("notifications/progress");
    assert_eq!(progress.len(), 4);
    assert!(
        progress
            .iter()
            .all(|heard| heard["params"]["progressToken"] == "tok")
    );

    let unknown = peer
        .once("resources/read", json!({"uri": "test://nowhere"}))
        .await?;
    let expected = if peer.era() == PeerEra::Legacy {
        -32002
    } else {
        -32602
    };
    assert_eq!(unknown.code(), Some(expected));
    cancels(peer).await
}

async fn cancels(peer: &Peer) -> anyhow::Result<()> {
    let endless = json!({"name": "wait", "arguments": {"id": "never", "ms": 600_000}});
    let pending = peer.start("tools/call", endless).await?;
    let count = async |name: &str| {
        let stats = peer.call("stats", json!({})).await;
        stats
            .ok()
            .and_then(|stats| stats.value["result"]["structuredContent"][name].as_u64())
    };
    until("the call to arrive", Duration::from_secs(5), async || {
        count("calls").await.is_some()
    })
    .await?;
    peer.cancel(&pending).await?;
    until(
        "the call to be cancelled",
        Duration::from_secs(5),
        async || count("cancelled").await == Some(1),
    )
    .await
}

#[tokio::test]
async fn over_stdio() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for (era, peer_era) in BOTH {
        behaves(&stdio(folder.path(), era, peer_era).await?).await?;
    }
    Ok(())
}

#[tokio::test]
async fn over_http() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for (era, peer_era) in BOTH {
        let server = HttpFixture::start(era, folder.path()).await?;
        let peer = Peer::http(
            &Peer::local(server.port),
            None,
            peer_era,
            everything(),
            friendly(),
        )
        .await?;
        behaves(&peer).await?;
    }
    Ok(())
}

#[tokio::test]
async fn each_era_refuses_the_other() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let modern_to_legacy = stdio(folder.path(), Era::Legacy, PeerEra::Modern).await;
    assert!(format!("{:?}", modern_to_legacy.err()).contains("-32601"));
    let legacy_to_modern = stdio(folder.path(), Era::Modern, PeerEra::Legacy).await;
    assert!(format!("{:?}", legacy_to_modern.err()).contains("-32022"));
    Ok(())
}

#[tokio::test]
async fn listeners_hear_what_they_asked_for() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let peer = stdio(folder.path(), Era::Modern, PeerEra::Modern).await?;
    let filter =
        json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["test://a"]}});
    let listen = peer.start("subscriptions/listen", filter).await?;
    for uri in ["test://b", "test://a"] {
        peer.call("touch", json!({"uri": uri})).await?;
    }
    peer.call("test_trigger_prompt_change", json!({})).await?;
    peer.call("test_trigger_tool_change", json!({})).await?;
    let heard: Vec<_> = peer
        .heard()
        .iter()
        .map(|heard| heard["method"].clone())
        .collect();
    assert_eq!(
        heard,
        [
            "notifications/subscriptions/acknowledged",
            "notifications/resources/updated",
            "notifications/tools/list_changed"
        ]
    );
    let tagged = |heard: &serde_json::Value| {
        heard["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == listen.id
    };
    assert!(peer.heard().iter().all(tagged));
    Ok(())
}

#[tokio::test]
async fn tasks_of_2025_11_25() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let peer = stdio(folder.path(), Era::Legacy, PeerEra::Legacy).await?;
    let start = async |tool: &str, arguments: serde_json::Value| -> anyhow::Result<String> {
        let params = json!({"name": tool, "arguments": arguments, "task": {"ttl": 60_000}});
        let created = peer.once("tools/call", params).await?;
        let id = created.result()?["task"]["taskId"]
            .as_str()
            .map(str::to_owned);
        id.ok_or_else(|| anyhow::anyhow!("no task: {}", created.text))
    };
    let refused = peer.call("failing_job", json!({})).await?;
    assert_eq!(refused.code(), Some(-32601));

    let asking = start("confirm_delete", json!({"filename": "f.txt"})).await?;
    let state = peer.once("tasks/get", json!({"taskId": asking})).await?;
    assert_eq!(state.result()?["status"], "input_required");
    let result = peer.once("tasks/result", json!({"taskId": asking})).await?;
    assert_eq!(result.first_text(), "Deleted f.txt");
    let related = &result.result()?["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(related["taskId"], asking.as_str());

    let slow = start("slow_compute", json!({"seconds": 600})).await?;
    let listed = peer.list("tasks/list", "tasks").await?;
    assert_eq!(listed.len(), 2);
    let cancelled = peer.once("tasks/cancel", json!({"taskId": slow})).await?;
    assert_eq!(cancelled.result()?["status"], "cancelled");
    assert_eq!(
        peer.once("tasks/result", json!({"taskId": slow}))
            .await?
            .code(),
        Some(-32603)
    );
    Ok(())
}
