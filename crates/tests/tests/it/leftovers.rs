//! No process outlives its hub, whatever ended the hub, and none outlives its
//! configuration.

use std::time::Duration;

use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{PeerEra, everything, friendly};
use legation_tests::harness::process::{marked, program, until};
use legation_tests::harness::servers::stdio_entry;
use serde_json::{Value, json};

fn servers() -> anyhow::Result<Value> {
    let hostile = |fault: &str| -> anyhow::Result<Value> {
        Ok(json!({"command": program("hostile-server")?, "args": ["--fault", fault]}))
    };
    let fixture = program("fixture-server")?;
    Ok(json!({
        "plain": stdio_entry(Era::Both, "shared")?,
        "forks": hostile("fork")?,
        "deaf": hostile("ignore-term")?,
        // As npx does: a wrapper that waits for the server it started.
        "wrapped": {"command": "sh", "args": ["-c", format!("{} --era legacy; true", fixture.display())]},
    }))
}

/// A hub with all of them running: the hub, four servers, a wrapper and two children.
async fn running() -> anyhow::Result<Hub> {
    let hub = Hub::start(HubOptions {
        servers: servers()?,
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Legacy, everything(), friendly()).await?;
    for tool in ["plain-echo", "forks-act", "deaf-act", "wrapped-echo"] {
        hub.wait_for_tool(&peer, tool).await?;
    }
    let mark = hub.mark.clone();
    until("the grandchildren", Duration::from_secs(10), async || {
        marked(&mark)
            .iter()
            .filter(|(_, line)| line.starts_with("sleep "))
            .count()
            == 2
    })
    .await?;
    Ok(hub)
}

#[tokio::test]
async fn none_after_sigkill() -> anyhow::Result<()> {
    let mut hub = running().await?;
    hub.kill().await?;
    hub.none_left().await
}

#[tokio::test]
async fn none_after_sigterm() -> anyhow::Result<()> {
    let mut hub = running().await?;
    assert_eq!(hub.stop().await?, 0, "{:?}", hub.said());
    hub.none_left().await
}

#[tokio::test]
async fn none_of_a_hundred_generations() -> anyhow::Result<()> {
    let generation = |number: usize| -> anyhow::Result<Value> {
        let mut entry = stdio_entry(Era::Legacy, "shared")?;
        entry["args"] = json!(["--era", "legacy", "--name", format!("generation-{number}")]);
        let forks = json!({"command": program("hostile-server")?, "args": ["--fault", "fork"], "env": {"GENERATION": number.to_string()}});
        Ok(json!({"server": entry, "forks": forks}))
    };
    let mut hub = Hub::start(HubOptions {
        servers: generation(0)?,
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Legacy, everything(), friendly()).await?;
    hub.wait_for_tool(&peer, "server-echo").await?;
    for number in 1..=100 {
        hub.configure(generation(number)?)?;
        let mark = hub.mark.clone();
        let name = format!("generation-{number}");
        until(&name, Duration::from_secs(20), async || {
            marked(&mark).iter().any(|(_, line)| line.contains(&name))
        })
        .await?;
    }
    let mark = hub.mark.clone();
    // The hub itself, two servers and the children of one.
    until(
        "older generations to end",
        Duration::from_secs(20),
        async || {
            let left = marked(&mark);
            let servers = left
                .iter()
                .filter(|(_, line)| line.contains("-server ") && !line.contains("guard"))
                .count();
            let children = left
                .iter()
                .filter(|(_, line)| line.starts_with("sleep "))
                .count();
            servers == 2 && children == 2
        },
    )
    .await
    .map_err(|error| error.context(format!("{:?}", marked(&hub.mark))))?;
    hub.kill().await?;
    hub.none_left().await
}
