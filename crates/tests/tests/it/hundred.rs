//! A hundred servers, ten of them broken: the others do not notice, and the broken ones say why.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use futures_util::future::join_all;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::hundred::{BROKEN, GOOD, Hundred};
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::process::until;
use serde_json::{Value, json};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// Of each server its status, and why it is so.
type States = BTreeMap<String, (String, String)>;

/// Waits until every server that works is connected.
async fn connected(hub: &Hub, hundred: &Hundred) -> anyhow::Result<States> {
    let mut last = States::new();
    let waited = until("ninety servers", PATIENCE, async || {
        last = listed(hub).await.unwrap_or_default();
        hundred
            .good
            .iter()
            .all(|name| last.get(name).is_some_and(|state| state.0 == "connected"))
    });
    waited.await.with_context(|| format!("{last:?}"))?;
    Ok(last)
}

/// What `mcp list --json` says.
async fn listed(hub: &Hub) -> anyhow::Result<States> {
    let (code, said, complaint) = hub.run(&["mcp", "list", "--json"]).await?;
    anyhow::ensure!(code == 0, "{complaint}");
    let said: Value = serde_json::from_str(&said)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let servers = said["servers"].as_array().context("no servers")?;
    let of = |server: &Value| {
        let state = (text(&server["status"]), text(&server["reason"]));
        (text(&server["name"]), state)
    };
    Ok(servers.iter().map(of).collect())
}

/// Calls every server that works, all at once.
async fn all_answer(peer: &Peer, hundred: &Hundred) -> anyhow::Result<()> {
    let calls = hundred.good.iter().map(|name| async move {
        let tool = format!("{name}-echo");
        let echoed = peer.call(&tool, json!({"to": name})).await?;
        let expected = json!({"to": name}).to_string();
        anyhow::ensure!(echoed.first_text() == expected, "{name}: {}", echoed.text);
        Ok(())
    });
    join_all(calls).await.into_iter().collect()
}

#[tokio::test]
async fn of_a_hundred_servers_the_good_answer_and_the_broken_say_why() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let hundred = Hundred::start(folder.path()).await?;
    let hub = Hub::start(HubOptions {
        servers: hundred.servers.clone(),
        ..HubOptions::default()
    })
    .await?;
    let mut last = connected(&hub, &hundred).await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    all_answer(&peer, &hundred).await?;
    let waited = until("ten reasons", PATIENCE, async || {
        last = listed(&hub).await.unwrap_or_default();
        BROKEN.iter().all(|(name, _)| {
            let found = last.get(*name);
            found.is_some_and(|(status, _)| status == "failed")
        })
    });
    waited.await.with_context(|| format!("{last:?}"))?;
    for (name, why) in BROKEN {
        let (_, reason) = &last[name];
        assert!(reason.contains(why), "{name}: {reason}");
    }
    for name in &hundred.good {
        assert_eq!(last[name].0, "connected", "{name}");
    }
    assert_eq!(last.len(), GOOD + BROKEN.len());

    // What is remembered is listed before any program has said a word.
    hundred.hold()?;
    let hub = hub.restart().await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    let tools = peer.list("tools/list", "tools").await?;
    for name in &hundred.good {
        let tool = format!("{name}-echo");
        let found = tools.iter().any(|listed| listed["name"] == tool);
        assert!(found, "{tool} is not among {} tools", tools.len());
    }
    let listed = listed(&hub).await?;
    for name in &hundred.programs {
        assert_eq!(listed[name].0, "starting", "{name}");
    }
    hundred.release()?;
    connected(&hub, &hundred).await?;
    all_answer(&peer, &hundred).await
}
