//! Whole turns of real agents, offline: `legation connect` writes their
//! configuration, they start `legation bridge` themselves, a scripted model
//! tells them to call a tool, and the tool's answer ends up in what they say.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use super::model::{MAGIC, Model};
use super::report::Report;
use super::tools::Tools;
use crate::fixture::{Era, lock};
use crate::harness::hub::{Hub, HubOptions};
use crate::harness::peer::{PeerEra, friendly};
use crate::harness::process::{command, program};
use crate::harness::servers::stdio_entry;

const AGENTS: [&str; 2] = ["claude", "codex"];
const PATIENCE: Duration = Duration::from_secs(120);
/// What the tool is called with; it must come back in the final text.
const PROOF: &str = "went-there-and-back";

/// Runs one turn of each agent.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    for agent in AGENTS {
        if report.wants(agent) {
            let outcome = through_hub(tools, agent).await;
            report.check(
                &format!("{agent}: a turn through the bridge"),
                outcome.map_err(|error| format!("{error:#}")),
            );
        }
    }
    Ok(())
}

/// The same turns with the fixture configured by hand, without a hub.
pub async fn direct(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    for agent in AGENTS {
        if report.wants(agent) {
            let outcome = without_hub(tools, agent).await;
            report.check(
                &format!("{agent}: a turn without a hub"),
                outcome.map_err(|error| format!("{error:#}")),
            );
        }
    }
    Ok(())
}

async fn through_hub(tools: &Tools, agent: &str) -> anyhow::Result<()> {
    let servers = json!({"fixture": stdio_entry(Era::Both, "shared")?});
    let hub = Hub::start(HubOptions {
        servers,
        path_first: Some(tools.node_bin()),
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    hub.wait_for_tool(&peer, "fixture-echo").await?;
    let model = Model::start("fixture-echo", json!({"proof": PROOF})).await?;
    if agent == "codex" {
        prepare_codex(hub.folder(), model.port)?;
    }
    let (code, said, complained) = hub.run(&["connect", agent]).await?;
    if code != 0 {
        bail!("`legation connect {agent}` ended with {code}: {said}{complained}");
    }
    let outcome = turn(tools, agent, hub.folder(), hub.environment(), &model).await;
    outcome.with_context(|| format!("the hub said {:?}", hub.said()))?;
    let stats = peer.call("fixture-stats", json!({})).await?;
    // The call that asks is the second one.
    if stats.value["result"]["structuredContent"]["calls"] != 2 {
        bail!("the server was not called exactly once: {}", stats.text);
    }
    Ok(())
}

async fn without_hub(tools: &Tools, agent: &str) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let model = Model::start("echo", json!({"proof": PROOF})).await?;
    let fixture = program("fixture-server")?;
    if agent == "codex" {
        prepare_codex(folder.path(), model.port)?;
        let file = folder.path().join(".codex/config.toml");
        let entry = format!(
            "\n[mcp_servers.legation]\ncommand = {:?}\n",
            fixture.display().to_string()
        );
        std::fs::write(&file, std::fs::read_to_string(&file)? + &entry)?;
    } else {
        let entry =
            json!({"mcpServers": {"legation": {"type": "stdio", "command": fixture, "args": []}}});
        std::fs::write(folder.path().join(".claude.json"), entry.to_string())?;
    }
    let environment = tools.environment(folder.path());
    turn(tools, agent, folder.path(), environment, &model).await
}

/// One turn of an agent whose home is prepared.
async fn turn(
    tools: &Tools,
    agent: &str,
    home: &Path,
    environment: HashMap<String, String>,
    model: &Model,
) -> anyhow::Result<()> {
    let work = home.join("work");
    std::fs::create_dir_all(&work)?;
    let mut program = match agent {
        "claude" => claude_with(tools, environment, model.port),
        _ => codex(tools, environment),
    };
    program.current_dir(&work).stdin(Stdio::null());
    let output = timeout(PATIENCE, program.output())
        .await
        .context("the agent does not end")??;
    let said = String::from_utf8_lossy(&output.stdout);
    if !said.contains("FINAL[") || !said.contains(PROOF) {
        let requests = lock(&model.requests)
            .iter()
            .map(offered)
            .collect::<Vec<_>>();
        let complained = String::from_utf8_lossy(&output.stderr);
        bail!("the model was offered {requests:?}; the agent said {said:?} and {complained:?}");
    }
    Ok(())
}

/// The names of the tools in a model request, for a failure to show.
fn offered(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().into_iter().flatten();
    let names = tools.flat_map(|tool| {
        let inner = tool["tools"].as_array().into_iter().flatten();
        std::iter::once(tool)
            .chain(inner)
            .filter_map(|tool| tool["name"].as_str())
    });
    names.map(str::to_owned).collect()
}

/// Claude Code with a scripted model, told the magic word once.
pub(super) fn claude_with(
    tools: &Tools,
    mut environment: HashMap<String, String>,
    port: u16,
) -> Command {
    for (name, value) in [
        ("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{port}")),
        ("ANTHROPIC_API_KEY", "scripted".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_TELEMETRY", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("DISABLE_ERROR_REPORTING", "1".to_owned()),
        // Otherwise the tools hide behind a search tool that a scripted model does not use.
        ("ENABLE_TOOL_SEARCH", "false".to_owned()),
    ] {
        environment.insert(name.to_owned(), value);
    }
    let mut claude = command(tools.module("claude", ".bin/claude"), &environment);
    let prompt = format!("{MAGIC} please");
    claude.args([
        "-p",
        &prompt,
        "--allowedTools",
        "mcp__legation",
        "--output-format",
        "json",
    ]);
    claude
}

fn codex(tools: &Tools, mut environment: HashMap<String, String>) -> Command {
    environment.insert("SCRIPTED_KEY".to_owned(), "scripted".to_owned());
    let mut codex = command(tools.module("codex", ".bin/codex"), &environment);
    // `exec` cannot ask a person, so it refuses tools that are not approved beforehand.
    let approve = r#"mcp_servers.legation.default_tools_approval_mode="approve""#;
    codex.args([
        "exec",
        "--skip-git-repo-check",
        "--json",
        "-c",
        approve,
        &format!("{MAGIC} please"),
    ]);
    codex
}

/// A provider on loopback; `connect` must leave all of this as it is.
pub(super) fn prepare_codex(home: &Path, port: u16) -> anyhow::Result<()> {
    let folder = home.join(".codex");
    std::fs::create_dir_all(&folder)?;
    let settings = format!(
        r#"# Mine, to be kept.
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
"#
    );
    std::fs::write(folder.join("config.toml"), settings).context("cannot write the configuration")
}
