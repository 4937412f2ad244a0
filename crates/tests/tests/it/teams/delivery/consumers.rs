//! The four clients, and what each got.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legation_tests::e2e::tools::Tools;
use legation_tests::harness::hub::Hub;
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::process::{command, program};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::runtime::Handle;

/// A client that says what it gets.
#[derive(Debug)]
pub(super) struct Consumer {
    pub(super) name: &'static str,
    pub(super) got: Arc<Got>,
    child: Option<Child>,
    /// Kept open: the programs end with it.
    input: Option<ChildStdin>,
}

/// What a client got so far.
#[derive(Debug, Default)]
pub(super) struct Got {
    /// Messages, in the order in which they were pulled.
    pub(super) pulled: Mutex<Vec<Value>>,
    /// Notifications, in their order.
    pub(super) pushed: Mutex<Vec<Value>>,
    /// How many sessions were begun.
    pub(super) sessions: Mutex<usize>,
    /// What broke.
    pub(super) broke: Mutex<Vec<String>>,
    /// Nothing may be asked: the hub is away.
    pub(super) quiet: AtomicBool,
}

// === impl Got ===

impl Got {
    fn take(&self, line: &Value) {
        if let Some(messages) = line["pulled"].as_array() {
            self.pulled.lock().unwrap().extend(messages.iter().cloned());
        } else if line["pushed"].is_object() {
            self.pushed.lock().unwrap().push(line["pushed"].clone());
        } else if line["ready"] == true {
            *self.sessions.lock().unwrap() += 1;
        } else {
            self.broke.lock().unwrap().push(line.to_string());
        }
    }

    pub(super) fn count(&self) -> usize {
        self.pulled.lock().unwrap().len()
    }

    /// The params of the notifications of a method.
    pub(super) fn heard(&self, method: &str) -> Vec<Value> {
        let pushed = self.pushed.lock().unwrap();
        let heard = pushed.iter().filter(|one| one["method"] == method);
        heard.map(|one| one["params"].clone()).collect()
    }
}

// === impl Consumer ===

impl Consumer {
    /// The SDKs, where the suite has installed them.
    pub(super) fn sdks(folder: &Path, url: &str) -> anyhow::Result<Vec<Self>> {
        let tools = tools()?;
        let drivers = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers");
        let sdk = tools.module("sdk2", "@modelcontextprotocol/client");
        let mut consumers = Vec::new();
        let plan = |client: &str| -> anyhow::Result<PathBuf> {
            let file = folder.join(format!("{client}.plan.json"));
            let token = token(client);
            std::fs::write(
                &file,
                json!({"sdk": sdk, "url": url, "token": token}).to_string(),
            )?;
            Ok(file)
        };
        if sdk.exists() {
            let mut node = tools.node(folder);
            node.arg(drivers.join("delivery.mjs"))
                .arg(plan("typescript")?);
            consumers.push(Self::spawn("typescript", node)?);
        }
        if tools.python("python").exists() {
            let mut python = command(tools.python("python"), &tools.environment(folder));
            python
                .arg("-B")
                .arg(drivers.join("delivery.py"))
                .arg(plan("python")?);
            consumers.push(Self::spawn("python", python)?);
        }
        Ok(consumers)
    }

    fn spawn(name: &'static str, mut command: Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn()?;
        let got = Arc::new(Got::default());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let kept = Arc::clone(&got);
        Handle::current().spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                kept.take(&serde_json::from_str(&line).unwrap_or(json!({ "said": line })));
            }
        });
        Ok(Self {
            name,
            got,
            input: child.stdin.take(),
            child: Some(child),
        })
    }

    /// A client that is told nothing: it asks, and says what it has.
    pub(super) fn plain(url: String) -> Self {
        let got = Arc::new(Got::default());
        let kept = Arc::clone(&got);
        Handle::current().spawn(async move {
            let mut last = None;
            loop {
                if let Err(error) = ask(&url, &kept, &mut last).await {
                    kept.take(&json!({ "broke": error.to_string() }));
                }
                // tidy: it is how often this client speaks; no check waits for it
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        Self {
            name: "plain",
            got,
            child: None,
            input: None,
        }
    }

    /// A client that behaves as Claude Code does with a channel: it is told, and
    /// shows now and then that it is alive.
    pub(super) async fn channel(hub: &Hub) -> anyhow::Result<Self> {
        let folder = hub.home().join("clients");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("channel.token"), token("channel"))?;
        let mut command = hub.command(&["bridge", "--channel", "--client", "channel"])?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn()?;
        let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let got = Arc::new(Got::default());
        let (heard, alive) = (Arc::clone(&got), Arc::clone(&got));
        Handle::current().spawn(async move {
            let mut lines = BufReader::new(output).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let message: Value = serde_json::from_str(&line).unwrap_or_default();
                if message["method"].is_string() {
                    heard.take(&json!({ "pushed": message }));
                } else if let Some(pulled) = message["result"].get("structuredContent") {
                    heard.take(&json!({ "pulled": pulled["messages"] }));
                }
            }
        });
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"experimental": {"claude/channel": {}}}, "clientInfo": {"name": "claude-code", "version": "2.0.0"}});
        let hello =
            json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello});
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        input
            .write_all(format!("{hello}\n{ready}\n").as_bytes())
            .await?;
        Handle::current().spawn(async move {
            for number in 0u64.. {
                // tidy: it is how often this client speaks; no check waits for it
                tokio::time::sleep(Duration::from_millis(400)).await;
                if alive.quiet.load(Ordering::Relaxed) {
                    continue;
                }
                // Mostly a sign of life, and now and then what it may have missed.
                let method = json!({"jsonrpc": "2.0", "id": number, "method": "ping"});
                let since = json!({"name": "inbox-pull", "arguments": {}});
                let pull = json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": since});
                let line = if number % 20 == 19 { pull } else { method };
                if input.write_all(format!("{line}\n").as_bytes()).await.is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            name: "channel",
            got,
            child: Some(child),
            input: None,
        })
    }

    /// Whether its program still runs.
    pub(super) fn runs(&mut self) -> bool {
        let child = self.child.as_mut();
        child.is_none_or(|child| matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        drop(self.input.take());
    }
}

/// Pulls until something breaks.
async fn ask(url: &str, got: &Got, last: &mut Option<String>) -> anyhow::Result<()> {
    let token = token("plain");
    let peer = Peer::http(url, Some(&token), PeerEra::Modern, everything(), friendly()).await?;
    got.take(&json!({ "ready": true }));
    loop {
        let arguments = match last {
            None => json!({}),
            Some(last) => json!({ "since_id": last }),
        };
        let answer =
            tokio::time::timeout(Duration::from_secs(120), peer.call("inbox-pull", arguments));
        let answer = answer.await??;
        let messages = answer.result()?["structuredContent"]["messages"].clone();
        match messages.as_array().and_then(|all| all.last()) {
            // tidy: it is how often this client speaks; no check waits for it
            None => tokio::time::sleep(Duration::from_millis(300)).await,
            Some(one) => {
                *last = one["id"].as_str().map(str::to_owned);
                got.take(&json!({ "pulled": messages }));
            }
        }
    }
}

fn token(client: &str) -> String {
    legation_tests::harness::hub::client_token(client)
}

/// Where the suite installs programs: beside the build.
fn tools() -> anyhow::Result<Tools> {
    let built = program("legation")?;
    let target = built.ancestors().nth(2).unwrap_or(Path::new("target"));
    Ok(Tools::new(target.join("tools")))
}

/// The records of the files by their numbers.
pub(super) fn by_seq(records: &[Value]) -> HashMap<u64, &Value> {
    let pairs = records
        .iter()
        .filter_map(|one| Some((one["seq"].as_u64()?, one)));
    pairs.collect()
}
