//! Real servers that are reached as few others are: over the transport of 2024-11-05,
//! over sessions that end, and in a sandbox.

mod installed;

use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::process::Child;

use super::report::Report;
use super::tools::Tools;
use crate::harness::hub::{Hub, HubOptions};
use crate::harness::peer::{Peer, PeerEra, everything, friendly};
use crate::harness::process::until;

/// How long a server may take to start, on a busy machine.
const START: Duration = Duration::from_secs(60);

/// The server with something of everything, behind a port of its own.
struct Everything<'a> {
    tools: &'a Tools,
    folder: &'a Path,
    transport: &'static str,
    port: u16,
    child: Child,
}

/// Runs all of them.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    installed::run(tools, report).await;
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("root");
    let outside = folder.path().join("outside");
    for (place, text) in [(&root, "inside"), (&outside, "outside")] {
        std::fs::create_dir(place)?;
        std::fs::write(place.join("note.txt"), text)?;
    }
    let mut older = Everything::start(tools, folder.path(), "sse").await?;
    let mut newer = Everything::start(tools, folder.path(), "streamableHttp").await?;
    let at = |place: &Path| place.display().to_string();
    // A sandbox shows places by where they are, and not by a link to them.
    let real = |place: std::path::PathBuf| place.canonicalize();
    let node = real(tools.node_bin().join("node"))?;
    let package = "@modelcontextprotocol/server-filesystem/dist/index.js";
    let filesystem = real(tools.module("servers", package))?;
    let hub = Hub::start(HubOptions {
        servers: json!({
            "older": {"type": "sse", "url": older.url("sse")},
            "found": {"type": "http", "url": older.url("sse")},
            "newer": {"type": "http", "url": newer.url("mcp")},
            "files": {
                "command": node,
                "args": [filesystem, at(&root), at(&outside)],
                "sandbox": {
                    "read": [at(&root), tools.group("servers")],
                    "network": "none",
                },
            },
        }),
        path_first: Some(tools.node_bin()),
        ..HubOptions::default()
    })
    .await?;
    for era in [PeerEra::Legacy, PeerEra::Modern] {
        let peer = hub.http(era, everything(), friendly()).await?;
        for server in ["older", "found", "newer"] {
            let name = format!("server-everything as {server} for a client of the era {era:?}");
            report.check(&name, offers_everything(&hub, &peer, server).await);
        }
        let name = format!("server-filesystem in a sandbox for a client of the era {era:?}");
        let confined = reads_its_root(&hub, &peer, &root, &outside).await;
        report.check(&name, confined);
    }
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    older.restart().await?;
    newer.restart().await?;
    for server in ["older", "found", "newer"] {
        let name = format!("server-everything as {server} after it was started again");
        report.check(&name, comes_back(&peer, server).await);
    }
    Ok(())
}

async fn offers_everything(hub: &Hub, peer: &Peer, server: &str) -> anyhow::Result<()> {
    hub.wait_for_tool(peer, &format!("{server}-echo")).await?;
    let call = |tool: &str, arguments: Value| {
        let tool = format!("{server}-{tool}");
        async move { peer.call(&tool, arguments).await }
    };
    let calls = (0..20).map(|n| call("get-sum", json!({"a": n, "b": 1})));
    for (n, answer) in futures_util::future::join_all(calls)
        .await
        .into_iter()
        .enumerate()
    {
        let answer = answer?;
        let sum = (n + 1).to_string();
        ensure!(answer.first_text().contains(&sum), "{}", answer.text);
    }
    let text = "héllo \u{1f980}";
    let echoed = call("echo", json!({"message": text})).await?;
    ensure!(echoed.first_text().contains(text), "{}", echoed.text);
    let long = call(
        "trigger-long-running-operation",
        json!({"duration": 0.2, "steps": 2}),
    );
    let long = long.await?;
    ensure!(long.first_text().contains("completed"), "{}", long.text);
    let prompt = json!({"name": format!("{server}-args-prompt"), "arguments": {"city": "Bern"}});
    let got = peer.request("prompts/get", prompt).await?;
    let message = &got.result()?["messages"][0]["content"]["text"];
    let named = message.as_str().is_some_and(|text| text.contains("Bern"));
    ensure!(named, "{}", got.text);
    Ok(())
}

async fn reads_its_root(hub: &Hub, peer: &Peer, root: &Path, outside: &Path) -> anyhow::Result<()> {
    hub.wait_for_tool(peer, "files-read_text_file").await?;
    let read = |place: &Path| {
        let path = place.join("note.txt").display().to_string();
        async move {
            let arguments = json!({"path": path});
            peer.call("files-read_text_file", arguments).await
        }
    };
    let inside = read(root).await?;
    ensure!(inside.first_text() == "inside", "{}", inside.text);
    // The server itself would allow it: it was named as a root.
    let denied = read(outside).await?;
    ensure!(denied.value["result"]["isError"] == true, "{}", denied.text);
    let path = root.join("new.txt");
    let arguments = json!({"path": path, "content": "x"});
    let written = peer.call("files-write_file", arguments).await?;
    ensure!(
        written.value["result"]["isError"] == true,
        "{}",
        written.text
    );
    ensure!(!path.exists(), "it could write");
    Ok(())
}

/// Calls until the session that follows is there: what is in between is a clear error.
async fn comes_back(peer: &Peer, server: &str) -> anyhow::Result<()> {
    let tool = format!("{server}-echo");
    let mut last = String::new();
    let back = until(server, START, async || {
        let answer = peer.call(&tool, json!({"message": "again"})).await;
        last = answer.map_or_else(|error| error.to_string(), |answer| answer.text);
        last.contains("Echo: again")
    });
    back.await.with_context(|| last.clone())
}

// === impl Everything ===

impl<'a> Everything<'a> {
    async fn start(
        tools: &'a Tools,
        folder: &'a Path,
        transport: &'static str,
    ) -> anyhow::Result<Self> {
        // Somebody else may take the port before the server does; then another.
        let mut last = None;
        for _ in 0..5 {
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            match Self::start_at(tools, folder, transport, port).await {
                Ok(started) => return Ok(started),
                Err(error) => last = Some(error),
            }
        }
        Err(last.context("nothing was tried")?)
    }

    async fn start_at(
        tools: &'a Tools,
        folder: &'a Path,
        transport: &'static str,
        port: u16,
    ) -> anyhow::Result<Self> {
        let script = tools.module(
            "servers",
            "@modelcontextprotocol/server-everything/dist/index.js",
        );
        let mut child = tools
            .node(folder)
            .arg(script)
            .arg(transport)
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        until("the server to listen", START, async || {
            let ended = child.try_wait().is_ok_and(|ended| ended.is_some());
            ended || TcpStream::connect(("127.0.0.1", port)).await.is_ok()
        })
        .await?;
        ensure!(child.try_wait()?.is_none(), "the server ended");
        Ok(Self {
            tools,
            folder,
            transport,
            port,
            child,
        })
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    async fn restart(&mut self) -> anyhow::Result<()> {
        self.child.kill().await?;
        *self = Self::start_at(self.tools, self.folder, self.transport, self.port).await?;
        Ok(())
    }
}
