//! Upstream servers that misbehave: what a caller gets, and that nobody else
//! notices.

use std::time::Duration;

use anyhow::Context;
use legation_tests::e2e::report::say;
use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Answer, Peer, PeerEra, everything, friendly};
use legation_tests::harness::process::{command, environment, now, program, until};
use legation_tests::harness::servers::stdio_entry;
use serde_json::{Value, json};

/// What calling the tool of a hostile server comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    /// The honest answer, the fault notwithstanding.
    Answers,
    /// An error, within the server's timeout.
    Fails,
    /// An error, because nothing of that server is offered.
    Unknown,
}

const STDIO: [(&str, Call); 17] = [
    ("none", Call::Answers),
    ("garbage", Call::Answers),
    ("half-line", Call::Fails),
    ("endless-line", Call::Fails),
    ("endless-cursors", Call::Answers),
    ("duplicates", Call::Unknown),
    ("unknown-ids", Call::Answers),
    ("after-cancel", Call::Fails),
    ("endless-result", Call::Fails),
    ("trickle", Call::Fails),
    ("ignore-term", Call::Answers),
    ("fork", Call::Answers),
    ("flood-stderr", Call::Answers),
    ("flood-progress", Call::Answers),
    ("flood-questions", Call::Answers),
    ("silent", Call::Unknown),
    ("exit-early", Call::Unknown),
];

const HTTP: [(&str, Call); 10] = [
    ("none", Call::Answers),
    ("wrong-type", Call::Unknown),
    ("status500", Call::Unknown),
    ("redirect", Call::Unknown),
    ("cut-body", Call::Fails),
    ("endless-event", Call::Fails),
    ("endless-result", Call::Fails),
    ("trickle", Call::Fails),
    ("bomb", Call::Fails),
    ("silent", Call::Unknown),
];

/// How many milliseconds a server has for a call: enough on a busy machine where it answers.
fn patience(expected: Call) -> u32 {
    match expected {
        Call::Answers => 30_000,
        Call::Fails | Call::Unknown => 3_000,
    }
}

fn judge(fault: &str, expected: Call, answer: &Answer) {
    let failed = answer.code().is_some() || answer.value["result"]["isError"] == true;
    match expected {
        Call::Answers => assert_eq!(answer.first_text(), "acted", "{fault}: {}", answer.text),
        Call::Fails | Call::Unknown => assert!(failed, "{fault}: {}", answer.text),
    }
}

/// Calls every hostile server, and the honest one between and beside them.
async fn behaves(hub: &Hub, cases: &[(&str, Call)]) -> anyhow::Result<()> {
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    hub.wait_for_tool(&peer, "honest-echo").await?;
    for (fault, expected) in cases {
        if *expected == Call::Answers {
            hub.wait_for_tool(&peer, &format!("{fault}-act")).await?;
        }
    }
    let calls = cases.iter().map(|(fault, expected)| {
        let peer = &peer;
        async move {
            let tool = format!("{fault}-act");
            let call = peer.call(&tool, json!({}));
            let begun = now();
            let answer = tokio::time::timeout(Duration::from_secs(120), call).await;
            assert!(answer.is_ok(), "{fault}: no answer");
            say(&format!("{fault}: answered after {:?}", begun.elapsed()));
            judge(fault, *expected, &answer.unwrap().unwrap());
        }
    });
    tokio::join!(futures_util::future::join_all(calls), honest(&peer));
    honest(&peer).await;
    Ok(())
}

async fn honest(peer: &Peer) {
    for round in 0..20 {
        let echoed = peer
            .call("honest-echo", json!({"round": round}))
            .await
            .unwrap();
        assert_eq!(echoed.first_text(), json!({"round": round}).to_string());
    }
}

#[tokio::test]
async fn children_that_misbehave() -> anyhow::Result<()> {
    let mut servers = json!({"honest": stdio_entry(Era::Both, "shared")?});
    for (fault, expected) in STDIO {
        servers[fault] = json!({"command": program("hostile-server")?, "args": ["--fault", fault], "timeout": patience(expected)});
    }
    let hub = Hub::start(HubOptions {
        servers,
        ..HubOptions::default()
    })
    .await?;
    behaves(&hub, &STDIO).await
}

#[tokio::test]
async fn remote_servers_that_misbehave() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut servers = json!({"honest": stdio_entry(Era::Both, "shared")?});
    let mut running = Vec::new();
    for (fault, expected) in HTTP {
        let file = folder.path().join(fault);
        let mut server = command(
            program("hostile-server")?,
            &environment(folder.path(), None),
        );
        running.push(
            server
                .args(["--http", "--fault", fault, "--port-file"])
                .arg(&file)
                .spawn()?,
        );
        until(fault, Duration::from_secs(10), async || file.exists()).await?;
        let port: u16 = std::fs::read_to_string(&file)?.parse()?;
        servers[fault] =
            json!({"type": "http", "url": Peer::local(port), "timeout": patience(expected)});
    }
    let hub = Hub::start(HubOptions {
        servers,
        ..HubOptions::default()
    })
    .await?;
    behaves(&hub, &HTTP).await
}

/// The most memory the hub ever had, in bytes.
fn most_memory(hub: &Hub) -> anyhow::Result<usize> {
    let pid = hub.pid().context("the hub runs")?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kib.context("a number of kB")?.parse::<usize>()? * 1024)
}

/// A result is held whole, because it is judged and filtered as a whole: once as it came, and once as
/// it leaves. One over the limit costs its own call an error and nobody anything else.
#[tokio::test]
async fn large_results_pass_in_two_copies_and_larger_ones_are_refused() -> anyhow::Result<()> {
    const MIB: usize = 1 << 20;
    let servers = json!({
        "large": {
            "command": program("hostile-server")?,
            "args": ["--fault", "large"],
            "filterMapping": {"act": {"maxResultBytes": 0}},
        },
    });
    let hub = Hub::start(HubOptions {
        servers,
        settings: format!("[limits]\nupstream_message_bytes = {}\n", 48 * MIB),
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    hub.wait_for_tool(&peer, "large-act").await?;
    let before = most_memory(&hub)?;
    let answer = peer.call("large-act", json!({"bytes": 40 * MIB})).await?;
    assert_eq!(answer.first_text().len(), 40 * MIB);
    let more = most_memory(&hub)? - before;
    say(&format!("40 MiB passed with {} MiB more", more / MIB));
    assert!(more < 90 * MIB, "{more} bytes more");
    let (refused, small) = tokio::join!(
        peer.call("large-act", json!({"bytes": 200 * MIB})),
        peer.call("large-act", json!({"bytes": 5})),
    );
    let refused = refused?;
    for said in ["50331648 bytes", "limits.upstream_message_bytes"] {
        assert!(refused.text.contains(said), "{}", refused.text);
    }
    assert_eq!(small?.first_text(), "xxxxx");
    assert!(most_memory(&hub)? - before < 90 * MIB);
    Ok(())
}

#[tokio::test]
async fn a_million_tools_do_not_end_the_hub() -> anyhow::Result<()> {
    let servers = json!({
        "honest": stdio_entry(Era::Both, "shared")?,
        "many": {"command": program("hostile-server")?, "args": ["--fault", "million-tools"]},
    });
    let hub = Hub::start(HubOptions {
        servers,
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Legacy, everything(), friendly()).await?;
    hub.wait_for_tool(&peer, "honest-echo").await?;
    until(
        "a verdict about the server with a million tools",
        Duration::from_secs(60),
        async || {
            let (_, listed, _) = hub
                .run(&["mcp", "list", "--json"])
                .await
                .unwrap_or_default();
            let listed: Value = serde_json::from_str(&listed).unwrap_or_default();
            !listed.to_string().contains("starting") && listed.to_string().contains("many")
        },
    )
    .await?;
    honest(&peer).await;
    Ok(())
}
