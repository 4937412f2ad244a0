//! The bridge: it starts a hub, it carries its client across the hub's
//! restart, and a copy of it that only asks and leaves harms nobody.

use std::time::Duration;

use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::process::until;
use legation_tests::harness::servers::stdio_entry;
use serde_json::{Value, json};

const ERAS: [PeerEra; 2] = [PeerEra::Legacy, PeerEra::Modern];

async fn hub() -> anyhow::Result<Hub> {
    let servers = json!({"fixture": stdio_entry(Era::Both, "shared")?});
    Hub::start(HubOptions {
        servers,
        ..HubOptions::default()
    })
    .await
}

async fn echoes(peer: &Peer, what: &str) -> anyhow::Result<()> {
    let arguments = json!({"what": what});
    let expected = arguments.to_string();
    let answer = peer.call("fixture-echo", arguments).await?;
    anyhow::ensure!(answer.first_text() == expected, "{}", answer.text);
    Ok(())
}

#[tokio::test]
async fn speaks_both_eras() -> anyhow::Result<()> {
    let hub = hub().await?;
    for era in ERAS {
        let peer = hub.bridge(era, everything(), friendly()).await?;
        hub.wait_for_tool(&peer, "fixture-echo").await?;
        echoes(&peer, "through the bridge").await?;
        let asked = peer
            .call("fixture-test_input_required_result_elicitation", json!({}))
            .await?;
        // A shared server of the legacy era is offered nothing to ask with; this one is modern too.
        assert_eq!(
            asked.first_text(),
            "Hello, Alice!",
            "{era:?}: {}",
            asked.text
        );
    }
    Ok(())
}

#[tokio::test]
async fn starts_a_hub_when_none_runs() -> anyhow::Result<()> {
    let mut hub = hub().await?;
    assert_eq!(hub.stop().await?, 0);
    let (first, second) = tokio::join!(
        hub.bridge(ERAS[0], everything(), friendly()),
        hub.bridge(ERAS[1], everything(), friendly())
    );
    let (first, second) = (first?, second?);
    hub.wait_for_tool(&first, "fixture-echo").await?;
    echoes(&first, "one").await?;
    echoes(&second, "two").await?;
    let (code, status, _) = hub.run(&["status", "--json"]).await?;
    assert_eq!(code, 0, "{status}");
    let started: Value = serde_json::from_str(&status)?;
    assert!(
        started["pid"].as_u64() != hub.pid().map(u64::from),
        "{status}"
    );
    let (code, _, complaint) = hub.run(&["stop"]).await?;
    assert_eq!(code, 0, "{complaint}");
    Ok(())
}

#[tokio::test]
async fn starts_no_hub_for_a_client_that_leaves_without_a_word() -> anyhow::Result<()> {
    let mut hub = hub().await?;
    assert_eq!(hub.stop().await?, 0);
    let (code, said, complaint) = hub.run(&["bridge"]).await?;
    assert_eq!((code, said.as_str()), (0, ""), "{complaint}");
    let (code, status, _) = hub.run(&["status"]).await?;
    assert_eq!(code, 4, "somebody started a hub: {status}");
    Ok(())
}

#[tokio::test]
async fn carries_its_client_across_a_restart() -> anyhow::Result<()> {
    for era in ERAS {
        let hub = hub().await?;
        let peer = hub.bridge(era, everything(), friendly()).await?;
        hub.wait_for_tool(&peer, "fixture-echo").await?;
        let endless = json!({"name": "fixture-wait", "arguments": {"id": "lost", "ms": 600_000}});
        let pending = peer.start("tools/call", endless).await?;
        echoes(&peer, "before").await?;
        let hub = hub.restart().await?;
        let lost = tokio::time::timeout(Duration::from_secs(120), pending.answer).await??;
        assert!(
            lost.code().is_some(),
            "{era:?}: the lost call answered {}",
            lost.text
        );
        until(
            "the bridge to come back",
            Duration::from_secs(20),
            async || echoes(&peer, "after").await.is_ok(),
        )
        .await
        .map_err(|error| error.context(format!("{era:?}: the hub said {:?}", hub.said())))?;
        assert!(peer.heard_of("initialize").is_empty());
    }
    Ok(())
}

#[tokio::test]
async fn listeners_are_carried_across_a_restart() -> anyhow::Result<()> {
    let hub = hub().await?;
    let peer = hub
        .bridge(PeerEra::Modern, everything(), friendly())
        .await?;
    hub.wait_for_tool(&peer, "fixture-echo").await?;
    let listen = peer
        .start(
            "subscriptions/listen",
            json!({"notifications": {"toolsListChanged": true}}),
        )
        .await?;
    let hub = hub.restart().await?;
    until(
        "the bridge to come back",
        Duration::from_secs(20),
        async || echoes(&peer, "after").await.is_ok(),
    )
    .await?;
    peer.call("fixture-test_trigger_tool_change", json!({}))
        .await?;
    until(
        "the change to be told",
        Duration::from_secs(10),
        async || {
            peer.heard_of("notifications/tools/list_changed")
                .iter()
                .any(|heard| {
                    heard["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == listen.id
                })
        },
    )
    .await
    .map_err(|error| {
        error.context(format!(
            "heard {:?}; the hub said {:?}",
            peer.heard(),
            hub.said()
        ))
    })
}

#[tokio::test]
async fn a_copy_that_only_asks_leaves_the_hub_as_it_was() -> anyhow::Result<()> {
    let hub = hub().await?;
    let peer = hub
        .bridge(PeerEra::Legacy, everything(), friendly())
        .await?;
    hub.wait_for_tool(&peer, "fixture-echo").await?;
    for _copy in 0..5 {
        // Connecting discovers; dropping kills the bridge at once.
        drop(
            hub.bridge(PeerEra::Modern, everything(), friendly())
                .await?,
        );
        echoes(&peer, "still here").await?;
    }
    Ok(())
}

#[tokio::test]
async fn says_what_is_wrong_when_there_can_be_no_hub() -> anyhow::Result<()> {
    let mut hub = hub().await?;
    assert_eq!(hub.stop().await?, 0);
    std::fs::write(hub.home().join("legation.toml"), "this is = = no settings")?;
    let refused = hub.bridge(PeerEra::Legacy, everything(), friendly()).await;
    let why = format!("{:#}", refused.err().unwrap());
    assert!(
        why.contains("\"error\"") && why.contains("legation.toml"),
        "{why}"
    );
    Ok(())
}

#[tokio::test]
async fn serves_one_server_under_plain_names() -> anyhow::Result<()> {
    let servers =
        json!({"one": stdio_entry(Era::Both, "shared")?, "two": stdio_entry(Era::Both, "shared")?});
    let hub = Hub::start(HubOptions {
        servers,
        ..HubOptions::default()
    })
    .await?;
    let all = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    for tool in ["one-echo", "two-echo"] {
        hub.wait_for_tool(&all, tool).await?;
    }
    let command = hub.command(&["bridge", "--server", "one"])?;
    let wire = |shared| legation_tests::harness::lines::LineWire::spawn(command, shared);
    let peer = Peer::lines(wire, PeerEra::Modern, everything(), friendly()).await?;
    let tools = peer.list("tools/list", "tools").await?;
    assert!(tools.iter().any(|tool| tool["name"] == "echo"), "{tools:?}");
    assert!(
        !tools
            .iter()
            .any(|tool| tool["name"].as_str().unwrap().contains("two"))
    );
    assert_eq!(
        peer.call("echo", json!({"a": 1})).await?.first_text(),
        r#"{"a":1}"#
    );
    Ok(())
}

#[tokio::test]
async fn a_view_is_there_as_soon_as_the_settings_say_so() -> anyhow::Result<()> {
    let hub = hub().await?;
    let all = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    hub.wait_for_tool(&all, "fixture-echo").await?;
    let view = |tools: &str| format!("[views.few]\nservers = [\"fixture\"]\ntools = [{tools}]\n");
    for (tools, shown) in [("\"echo\"", 1), ("\"echo\", \"wait\"", 2)] {
        std::fs::write(hub.home().join("legation.toml"), view(tools))?;
        until("the view", Duration::from_secs(20), async || {
            let Ok(command) = hub.command(&["bridge", "--view", "few"]) else {
                return false;
            };
            let wire = |shared| legation_tests::harness::lines::LineWire::spawn(command, shared);
            let peer = Peer::lines(wire, PeerEra::Modern, everything(), friendly()).await;
            let Ok(peer) = peer else { return false };
            let tools = peer.list("tools/list", "tools").await;
            tools.is_ok_and(|tools| tools.len() == shown)
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_hub_that_was_stopped_stays_so_until_the_client_speaks() -> anyhow::Result<()> {
    let mut hub = hub().await?;
    let peer = hub
        .bridge(PeerEra::Legacy, everything(), friendly())
        .await?;
    hub.wait_for_tool(&peer, "fixture-echo").await?;
    let (code, _, complaint) = hub.run(&["stop"]).await?;
    assert_eq!(code, 0, "{complaint}");
    // tidy: that nothing happens can only be seen after waiting; longer than a bridge waits for a hub that restarts.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let (code, status, _) = hub.run(&["status"]).await?;
    assert_eq!(code, 4, "somebody started a hub: {status}");
    until("the next hub", Duration::from_secs(20), async || {
        echoes(&peer, "awake").await.is_ok()
    })
    .await?;
    let (code, _, complaint) = hub.run(&["stop"]).await?;
    assert_eq!(code, 0, "{complaint}");
    drop(hub.kill().await);
    Ok(())
}
