//! What a hundred servers cost a hub: a line of JSON for each round, for `cargo xtask bench`.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Parser;
use futures_util::future::join_all;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::hundred::{GOOD, Hundred};
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::process::now;
use serde_json::json;

/// Measures a hub with a hundred servers, ten of them broken.
#[derive(Debug, Parser)]
struct Args {
    /// How often.
    #[arg(default_value_t = 1)]
    rounds: usize,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    for _ in 0..args.rounds {
        let line = round().await?;
        writeln!(std::io::stdout(), "{line}")?;
    }
    Ok(())
}

/// One hub with servers that it has never seen, and the same hub once more.
async fn round() -> anyhow::Result<serde_json::Value> {
    let folder = tempfile::tempdir()?;
    let hundred = Hundred::start(folder.path()).await?;
    let hub = Hub::start(HubOptions {
        servers: hundred.servers.clone(),
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    // All at once, while the hub connects: each waits for its own server and for no other.
    let calls = hundred.good.iter().map(|name| called_ms(&peer, name));
    let mut called = Vec::new();
    for ms in join_all(calls).await {
        called.push(ms?);
    }
    called.sort_by(f64::total_cmp);
    let resident_mib = resident_mib(hub.pid().context("the hub has ended")?)?;

    hundred.hold()?;
    let hub = hub.restart().await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    let begun = now();
    let tools = peer.list("tools/list", "tools").await?;
    let remembered = begun.elapsed();
    for name in &hundred.good {
        let tool = format!("{name}-echo");
        let found = tools.iter().any(|listed| listed["name"] == tool);
        ensure!(found, "{tool} was forgotten");
    }
    hundred.release()?;
    Ok(json!({
        "called_p50_ms": called[GOOD / 2],
        "called_max_ms": called[GOOD - 1],
        "remembered_ms": milliseconds(remembered),
        "resident_mib": resident_mib,
    }))
}

/// How long after its own handshake a server had its first call, which waited for it.
async fn called_ms(peer: &Peer, name: &str) -> anyhow::Result<f64> {
    let answer = peer.call(&format!("{name}-stats"), json!({})).await?;
    let stats = &answer.value["result"]["structuredContent"];
    let us = stats["first_call_us"].as_f64();
    let us = us.with_context(|| format!("{name}: {}", answer.text))?;
    Ok(us / 1000.0)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn resident_mib(pid: u32) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kib: f64 = kib.context("a number of kB")?.parse()?;
    Ok(kib / 1024.0)
}
