//! Clients that take their time: thousands that say nothing, some that never
//! finish a request, some that never read an answer.

use std::time::Duration;

use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::servers::stdio_entry;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const IDLE: u64 = 10_000;

async fn hub() -> anyhow::Result<(Hub, Peer)> {
    let servers = json!({"fixture": stdio_entry(Era::Both, "shared")?});
    let hub = Hub::start(HubOptions {
        servers,
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    hub.wait_for_tool(&peer, "fixture-echo").await?;
    Ok((hub, peer))
}

async fn answers(peer: &Peer) -> anyhow::Result<()> {
    let call = peer.call("fixture-echo", json!({"a": 1}));
    let answer = tokio::time::timeout(Duration::from_secs(120), call).await??;
    anyhow::ensure!(answer.first_text() == r#"{"a":1}"#, "{}", answer.text);
    Ok(())
}

#[tokio::test]
async fn ten_thousand_idle_connections() -> anyhow::Result<()> {
    // Both sides need a descriptor each; the hub inherits the limit.
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    )?;
    let possible = limit
        .maximum
        .map_or(IDLE, |maximum| maximum.saturating_sub(500))
        .min(IDLE);
    let (hub, peer) = hub().await?;
    let address = hub.base.strip_prefix("http://").unwrap();
    let mut idle = Vec::new();
    for number in 0..possible {
        let mut stream = TcpStream::connect(address).await?;
        match number % 3 {
            0 => {}
            1 => stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: loc").await?,
            _ => {
                stream
                    .write_all(
                        b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{",
                    )
                    .await?
            }
        }
        idle.push(stream);
    }
    answers(&peer).await?;
    drop(idle);
    answers(&peer).await
}

#[tokio::test]
async fn clients_that_never_read() -> anyhow::Result<()> {
    let (hub, peer) = hub().await?;
    let address = hub.base.strip_prefix("http://").unwrap();
    let token = hub.token()?;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}})
    .to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/list\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut deaf = Vec::new();
    for _client in 0..20 {
        let mut stream = TcpStream::connect(address).await?;
        // As many requests as the connection takes while nobody reads the answers.
        for _request in 0..2_000 {
            let written = tokio::time::timeout(
                Duration::from_millis(20),
                stream.write_all(request.as_bytes()),
            )
            .await;
            if !matches!(written, Ok(Ok(()))) {
                break;
            }
        }
        deaf.push(stream);
    }
    for _round in 0..10 {
        answers(&peer).await?;
    }
    let resident = resident_kib(hub.pid().unwrap())?;
    assert!(
        resident < 300 * 1024,
        "{resident} KiB for twenty clients that do not read"
    );
    Ok(())
}

fn resident_kib(pid: u32) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap_or_default();
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
