//! Clients as they are: the habits that real agents were seen to have, and
//! that nothing of one client reaches another.

use std::time::Duration;

use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{PeerEra, everything, friendly};
use legation_tests::harness::process::until;
use legation_tests::harness::servers::stdio_entry;
use serde_json::{Value, json};

async fn hub(era: Era) -> anyhow::Result<Hub> {
    let servers = json!({"fixture": stdio_entry(era, "shared")?});
    let hub = Hub::start(HubOptions {
        servers,
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    hub.wait_for_tool(&peer, "fixture-echo").await?;
    // The lists arrive one after another, and each arrival is a change.
    for (method, field) in [
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        until(method, Duration::from_secs(10), async || {
            peer.list(method, field)
                .await
                .is_ok_and(|list| !list.is_empty())
        })
        .await?;
    }
    Ok(hub)
}

#[tokio::test]
async fn one_that_cancels_every_finished_call() -> anyhow::Result<()> {
    let hub = hub(Era::Legacy).await?;
    for era in [PeerEra::Legacy, PeerEra::Modern] {
        let peer = hub.socket_peer(era, everything(), friendly()).await?;
        for round in 0..20 {
            let pending = peer
                .start(
                    "tools/call",
                    json!({"name": "fixture-echo", "arguments": {"n": round}}),
                )
                .await?;
            let id = pending.id;
            let answer = pending.answer.await?;
            assert_eq!(answer.first_text(), json!({"n": round}).to_string());
            peer.notify("notifications/cancelled", json!({"requestId": id}))
                .await?;
        }
        let stats = peer.call("fixture-stats", json!({})).await?;
        assert_eq!(
            stats.value["result"]["structuredContent"]["cancelled"], 0,
            "{}",
            stats.text
        );
    }
    Ok(())
}

#[tokio::test]
async fn one_that_discovers_twice_and_one_that_falls_back() -> anyhow::Result<()> {
    let hub = hub(Era::Legacy).await?;
    let peer = hub
        .socket_peer(PeerEra::Modern, everything(), friendly())
        .await?;
    let again = peer.once("server/discover", json!({})).await?;
    assert_eq!(
        again.result()?["supportedVersions"],
        peer.greeting["supportedVersions"]
    );
    assert_eq!(
        peer.call("fixture-echo", json!({"a": 1}))
            .await?
            .first_text(),
        r#"{"a":1}"#
    );
    Ok(())
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_upstream() -> anyhow::Result<()> {
    for server in [Era::Legacy, Era::Modern] {
        let hub = hub(server).await?;
        let mut expected = 0;
        for era in [PeerEra::Legacy, PeerEra::Modern] {
            for peer in [
                hub.http(era, json!({}), friendly()).await?,
                hub.socket_peer(era, json!({}), friendly()).await?,
            ] {
                let before = calls(&peer).await?;
                let endless =
                    json!({"name": "fixture-wait", "arguments": {"id": "x", "ms": 600_000}});
                let pending = peer.start("tools/call", endless).await?;
                // The calls that count are calls too: wait for two more than there were.
                until("the call to arrive", Duration::from_secs(10), async || {
                    calls(&peer).await.is_ok_and(|now| now > before + 1)
                })
                .await?;
                peer.cancel(&pending).await?;
                expected += 1;
                until(
                    "the cancellation to arrive",
                    Duration::from_secs(10),
                    async || {
                        stats(&peer)
                            .await
                            .is_ok_and(|stats| stats["cancelled"] == expected)
                    },
                )
                .await
                .map_err(|error| error.context(format!("{server:?} server, {era:?} client")))?;
            }
        }
    }
    Ok(())
}

async fn stats(peer: &legation_tests::harness::peer::Peer) -> anyhow::Result<Value> {
    let answer = peer.call("fixture-stats", json!({})).await?;
    Ok(answer.result()?["structuredContent"].clone())
}

async fn calls(peer: &legation_tests::harness::peer::Peer) -> anyhow::Result<u64> {
    stats(peer).await?["calls"]
        .as_u64()
        .ok_or_else(|| anyhow::anyhow!("no count"))
}

#[tokio::test]
async fn a_listener_hears_what_it_asked_for_and_nothing_else() -> anyhow::Result<()> {
    for server in [Era::Legacy, Era::Modern] {
        let hub = hub(server).await?;
        let wants = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["test://watched-resource"]}});
        let listener = hub
            .socket_peer(PeerEra::Modern, everything(), friendly())
            .await?;
        let _listen = listener.start("subscriptions/listen", wants).await?;
        until("the acknowledgement", Duration::from_secs(5), async || {
            !listener.heard().is_empty()
        })
        .await?;
        let other = hub
            .socket_peer(PeerEra::Modern, everything(), friendly())
            .await?;
        let _listen = other
            .start(
                "subscriptions/listen",
                json!({"notifications": {"resourceSubscriptions": ["test://static-binary"]}}),
            )
            .await?;
        until("the acknowledgement", Duration::from_secs(5), async || {
            !other.heard().is_empty()
        })
        .await?;
        other
            .call("fixture-touch", json!({"uri": "test://static-text"}))
            .await?;
        other
            .call("fixture-touch", json!({"uri": "test://watched-resource"}))
            .await?;
        other
            .call("fixture-test_trigger_tool_change", json!({}))
            .await?;
        until("both changes", Duration::from_secs(10), async || {
            listener.heard().len() >= 3
        })
        .await
        .map_err(|error| {
            error.context(format!("{server:?} server: heard {:?}", listener.heard()))
        })?;
        let methods = |heard: Vec<Value>| -> Vec<String> {
            let mut methods: Vec<_> = heard
                .iter()
                .map(|heard| heard["method"].as_str().unwrap().to_owned())
                .collect();
            methods.sort_unstable();
            methods.dedup();
            methods
        };
        let expected = [
            "notifications/resources/updated",
            "notifications/subscriptions/acknowledged",
            "notifications/tools/list_changed",
        ];
        assert_eq!(methods(listener.heard()), expected, "{server:?}");
        let uris: Vec<_> = listener
            .heard_of("notifications/resources/updated")
            .iter()
            .map(|heard| heard["params"]["uri"].clone())
            .collect();
        assert!(
            uris.iter().all(|uri| uri == "test://watched-resource"),
            "{uris:?}"
        );
        assert_eq!(
            methods(other.heard()),
            ["notifications/subscriptions/acknowledged"],
            "{server:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn the_log_level_of_one_is_not_the_level_of_another() -> anyhow::Result<()> {
    for server in [Era::Legacy, Era::Modern] {
        let hub = hub(server).await?;
        let loud = hub
            .socket_peer(PeerEra::Legacy, everything(), friendly())
            .await?;
        let quiet = hub
            .socket_peer(PeerEra::Legacy, everything(), friendly())
            .await?;
        loud.once("logging/setLevel", json!({"level": "debug"}))
            .await?
            .result()?;
        quiet
            .once("logging/setLevel", json!({"level": "error"}))
            .await?
            .result()?;
        loud.call("fixture-test_tool_with_logging", json!({}))
            .await?
            .result()?;
        quiet
            .call("fixture-test_tool_with_logging", json!({}))
            .await?
            .result()?;
        assert_eq!(
            quiet.heard_of("notifications/message").len(),
            0,
            "{server:?}"
        );
        if server == Era::Modern {
            // A modern server ties a log line to its request, so it reaches its caller.
            assert_eq!(
                loud.heard_of("notifications/message").len(),
                3,
                "{server:?}"
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn subscriptions_of_one_are_not_those_of_another() -> anyhow::Result<()> {
    for server in [Era::Legacy, Era::Modern] {
        let hub = hub(server).await?;
        let one = hub
            .socket_peer(PeerEra::Legacy, everything(), friendly())
            .await?;
        let two = hub
            .socket_peer(PeerEra::Legacy, everything(), friendly())
            .await?;
        let uri = json!({"uri": "test://watched-resource"});
        one.once("resources/subscribe", uri.clone())
            .await?
            .result()?;
        let told = async || {
            let _answer = two.call("fixture-touch", uri.clone()).await;
            !one.heard_of("notifications/resources/updated").is_empty()
        };
        until("the update", Duration::from_secs(10), told)
            .await
            .map_err(|error| error.context(format!("{server:?}")))?;
        assert!(
            two.heard_of("notifications/resources/updated").is_empty(),
            "{server:?}"
        );
        one.once("resources/unsubscribe", uri.clone())
            .await?
            .result()?;
    }
    Ok(())
}
