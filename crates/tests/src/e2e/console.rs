//! The console in a real browser, beside an agent, a server whose tools change and a
//! model that says what it is told; and its desk, before two companies' mailboxes.

mod desk;

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout;

use super::report::{Report, say};
use super::tools::Tools;
use crate::harness::hub::{Hub, HubOptions};
use crate::harness::process::program;
use crate::harness::worker::Worker;

const PATIENCE: Duration = Duration::from_secs(300);
/// Where the programs are, from the root of the sources.
const PROGRAMS: &str = "crates/tests/clients/console";
/// What is asked about.
const RULE: &str =
    "[[rule]]\nid = \"asked\"\nrule = 'ask notes/write because \"somebody answers\"'";

/// Runs the browser.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    say("  the console in a browser");
    let worker = Worker::start().await?;
    let folder = tempfile::tempdir()?;
    let definitions = folder.path().join("tools.json");
    let tool = |name: &str, about: &str| {
        let schema = json!({"type": "object", "properties": {"note": {"type": "string"}}});
        json!({"name": name, "description": about, "inputSchema": schema})
    };
    let listed = json!([tool("read", "Reads a note"), tool("write", "Writes a note")]);
    std::fs::write(&definitions, listed.to_string())?;
    let server = std::env::current_dir()?.join(PROGRAMS).join("server.mjs");
    let hub = Hub::start(HubOptions {
        servers: json!({"notes": {
            "command": tools.node_bin().join("node"), "args": [server, definitions],
        }}),
        template: Some("personal"),
        governance: vec![("permissions.toml", RULE.into())],
        ..HubOptions::default()
    })
    .await?;
    let url = format!("http://127.0.0.1:{}", worker.port);
    for arguments in [
        &["models", "set", "enable", "local_model", "--endpoint", &url] as &[&str],
        &["models", "set", "default", "local_model"],
    ] {
        let (code, said, complained) = hub.run(arguments).await?;
        ensure!(code == 0, "{said}{complained}");
    }
    let other = Hub::start(HubOptions {
        servers: json!({}),
        ..HubOptions::default()
    })
    .await?;
    let plan = json!({
        "browser": tools.group("browser"), "axe": tools.group("axe"), "url": hub.base,
        "token": hub.token()?, "home": hub.home(), "other_home": other.home(),
        "legation": program("legation")?, "tools": definitions,
    });
    let answer = async |asked: &str| {
        ensure!(asked == "let go", "what is {asked:?}?");
        worker.let_go();
        Ok("done".to_owned())
    };
    let browser = Browser {
        tools,
        hub: &hub,
        program: "browser.mjs",
    };
    browser.checks(&plan, answer, report).await;
    desk::run(tools, report).await
}

/// A program that drives a browser at a hub's console.
struct Browser<'a> {
    tools: &'a Tools,
    hub: &'a Hub,
    program: &'a str,
}

// === impl Browser ===

impl Browser<'_> {
    /// Has the program make its checks; what it asks for meanwhile is answered.
    async fn checks(
        &self,
        plan: &Value,
        answer: impl AsyncFn(&str) -> anyhow::Result<String>,
        report: &mut Report,
    ) {
        let before = report.total();
        let conversed = converse(self, plan, answer, report).await;
        let outcome = match conversed {
            Err(error) => Err(format!("{error:#}; the hub said {:?}", self.hub.said())),
            Ok(()) if report.total() == before => Err("nothing was checked".to_owned()),
            Ok(()) => return,
        };
        report.check(&format!("console: {}", self.program), outcome);
    }
}

async fn converse(
    browser: &Browser<'_>,
    plan: &Value,
    answer: impl AsyncFn(&str) -> anyhow::Result<String>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let Browser {
        tools,
        hub,
        program,
    } = browser;
    let mut command = tools.node(hub.folder());
    command.envs(hub.environment());
    // The browser unpacks itself there, once.
    command.env("TMPDIR", tools.group("browser"));
    let mut child = command
        .arg(format!("{PROGRAMS}/{program}"))
        .arg(plan.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("cannot start the program")?;
    let mut to = child.stdin.take().context("it reads nothing")?;
    let mut lines = BufReader::new(child.stdout.take().context("it says nothing")?).lines();
    loop {
        let line = timeout(PATIENCE, lines.next_line()).await;
        let Some(line) = line.context("the program did not end")?? else {
            break;
        };
        let said: Value =
            serde_json::from_str(&line).with_context(|| format!("not a check: {line}"))?;
        if let Some(asked) = said["ask"].as_str() {
            let told = answer(asked).await?;
            to.write_all(format!("{told}\n").as_bytes()).await?;
            continue;
        }
        let name = said["check"].as_str().context("a check has no name")?;
        let outcome = match said["ok"] == true {
            true => Ok(()),
            false => Err(said["why"].as_str().unwrap_or("no reason").to_owned()),
        };
        report.check(&format!("console: {name}"), outcome);
    }
    let status = child.wait().await?;
    if !status.success() {
        bail!("the program ended with {status}");
    }
    Ok(())
}
