//! A real llama.cpp engine behind the product's own client and commands.
//!
//! The model is written by [`weights`] and says what a check scripts; tokens,
//! template, cache, grammars, tool calls and streams are the engine's own.

pub mod preempt;
mod relay;
mod tasks;
mod turns;
mod weights;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;
use tokio::time::timeout;

use super::report::Report;
use super::tools::Tools;
use crate::harness::process::{command, program};
use preempt::Plan;

const PATIENCE: Duration = Duration::from_secs(120);
/// How often a person comes first where every check is run.
const ROUNDS: u64 = 10;
/// The program that serves the model, from the root of the sources.
const PROGRAM: &str = "crates/tests/clients/engine/serve.py";

/// A running engine; stopped when dropped.
struct Engine {
    url: String,
    folder: tempfile::TempDir,
    _child: Child,
}

/// Runs every check.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let engine = Engine::start(tools).await?;
    let name = "commands";
    if report.wants(name) {
        report.check(name, engine.commands(tools).await);
    }
    turns::run(&engine.url, report).await?;
    tasks::run(&engine.url, report).await?;
    let plan = Plan {
        rounds: ROUNDS,
        seed: 0,
    };
    preempt::run(&engine.url, plan, report).await?;
    Ok(())
}

/// Disturbs tasks as often as a plan says; what was measured, as JSON.
pub async fn preempted(
    tools: &Tools,
    plan: Plan,
    report: &mut Report,
) -> anyhow::Result<Vec<Value>> {
    let engine = Engine::start(tools).await?;
    let measured = preempt::run(&engine.url, plan, report).await?;
    Ok(measured
        .map(|measured| measured.lines())
        .unwrap_or_default())
}

// === impl Engine ===

impl Engine {
    async fn start(tools: &Tools) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let model = folder.path().join("echo.gguf");
        std::fs::write(&model, weights::file())?;
        // Its server takes no port of 0; one that was free just now will do.
        let free = std::net::TcpListener::bind("127.0.0.1:0")?;
        let port = free.local_addr()?.port();
        drop(free);
        let environment = tools.environment(folder.path());
        let mut child = command(tools.engine_python(), &environment)
            .arg(PROGRAM)
            .arg(&model)
            .arg(port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("the engine cannot be started")?;
        let said = child.stdout.take().context("no standard output")?;
        let mut lines = BufReader::new(said).lines();
        let ready = async {
            while let Some(line) = lines.next_line().await? {
                if line.starts_with("READY ") {
                    return Ok(());
                }
            }
            anyhow::bail!("the engine ended before it was ready")
        };
        timeout(PATIENCE, ready).await.context("not ready")??;
        Ok(Self {
            url: format!("http://127.0.0.1:{port}"),
            folder,
            _child: child,
        })
    }

    /// What the owner does with a server that runs on the machine.
    async fn commands(&self, tools: &Tools) -> anyhow::Result<()> {
        let home = self.folder.path();
        let say = async |arguments: &[&str], code| said(tools, home, arguments, code).await;
        say(&["governance", "init", "--template", "personal"], 0).await?;
        say(
            &[
                "models",
                "set",
                "enable",
                "local_model",
                "--endpoint",
                &self.url,
            ],
            0,
        )
        .await?;
        say(&["models", "set", "default", "local_model"], 0).await?;
        let listed = say(&["models", "list", "--configured", "--json"], 0).await?;
        ensure!(listed["default_provider"] == "local_model", "{listed}");
        let explained = say(&["models", "explain", "--json"], 0).await?;
        ensure!(explained["provider"] == "local_model", "{explained}");
        let tested = say(&["models", "test", "--json"], 0).await?;
        let found = &tested[0];
        ensure!(found["answers"] == true, "{tested}");
        ensure!(
            found["server"]
                == json!({
                    "server": "llama.cpp", "resumption": "exact", "context": 8192, "tools": true,
                }),
            "{tested}"
        );
        ensure!(found["answer"]["finish"] == "stop", "{tested}");
        ensure!(found["answer"]["output_tokens"].is_u64(), "{tested}");
        // Nobody is there.
        let nowhere = [
            "models",
            "set",
            "enable",
            "local_model",
            "--endpoint",
            "http://127.0.0.1:9",
        ];
        say(&nowhere, 0).await?;
        let tested = say(&["models", "test", "--json"], 4).await?;
        ensure!(tested[0]["class"] == "unreachable", "{tested}");
        Ok(())
    }
}

/// What a command of `legation` prints; null where that is not JSON.
async fn said(tools: &Tools, home: &Path, arguments: &[&str], code: i32) -> anyhow::Result<Value> {
    let mut legation = command(program("legation")?, &tools.environment(home));
    legation.env("LEGATION_HOME", home.join("legation"));
    legation.args(arguments).stdin(Stdio::null());
    let ended = timeout(PATIENCE, legation.output()).await??;
    let output = String::from_utf8_lossy(&ended.stdout);
    ensure!(
        ended.status.code() == Some(code),
        "{arguments:?} ended with {}: {output}{}",
        ended.status,
        String::from_utf8_lossy(&ended.stderr)
    );
    Ok(serde_json::from_str(&output).unwrap_or_default())
}
