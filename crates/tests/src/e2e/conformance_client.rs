//! The official conformance suite against the hub's upstream side.
//!
//! The suite starts a server and a command that is to be its client. Our
//! command starts a hub whose only upstream is that server, and then uses
//! through the hub whatever the server offers: every tool with arguments made
//! from its schema, every resource, every prompt. So no scenario needs code of
//! its own, and a scenario added later is exercised by itself.

mod auth;

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};
use tokio::time::{sleep, timeout};

use super::conformance::{Outcome, judge};
use super::report::{Report, say};
use super::tools::Tools;
use crate::harness::hub::{Hub, HubOptions};
use crate::harness::peer::{Answerer, Peer, PeerEra, everything, friendly};
use crate::harness::process::{now, program};

/// How the hub's own tools begin.
const NATIVE: [&str; 4] = ["hub-", "audit-", "inbox-", "delegate-"];
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a server may take to appear; one without tools never does.
const APPEARS: Duration = Duration::from_secs(5);

/// What the suite calls the revision of scenarios that belong to none.
const EXTENSION: &str = "extension";

/// Runs the client requirements of both revisions, and the extensions the hub speaks.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    for revision in ["2025-11-25", "2026-07-28", EXTENSION] {
        for scenario in scenarios(tools, revision).await? {
            let name = format!("client {revision} {scenario}");
            if !report.wants(&name) {
                continue;
            }
            match one(tools, revision, &scenario).await {
                Ok(outcome) => {
                    say(&format!("  {name}: {} checks passed", outcome.passed));
                    report.add(outcome.passed, outcome.unexpected.len() as u64);
                    for failure in &outcome.unexpected {
                        say(&format!("  FAILED  {name}: {failure}"));
                    }
                }
                Err(error) => report.check(&name, Err(format!("{error:#}"))),
            }
        }
    }
    Ok(())
}

/// What the suite has for a revision, the frozen requirements and what came
/// after them. What the skills extension asks of its clients, to compare contents with digests, is for
/// those to do who load a skill: the hub passes entries and files on as they are.
async fn scenarios(tools: &Tools, revision: &str) -> anyhow::Result<Vec<String>> {
    let folder = tempfile::tempdir()?;
    let mut list = tools.conformance(folder.path());
    let output = list
        .args(["list", "--client"])
        .stdin(Stdio::null())
        .output()
        .await?;
    let text = String::from_utf8_lossy(&output.stdout);
    let names: Vec<_> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- ")?.split_once(" ["))
        .filter(|(name, revisions)| {
            let is_spoken = revision != EXTENSION || name.starts_with("auth/");
            revisions.contains(revision) && is_spoken
        })
        .map(|(name, _)| name.to_owned())
        .collect();
    if names.is_empty() {
        bail!("the suite lists nothing: {text}");
    }
    Ok(names)
}

async fn one(tools: &Tools, revision: &str, scenario: &str) -> anyhow::Result<Outcome> {
    let folder = tempfile::tempdir()?;
    let results = folder.path().join("results");
    let driver = format!("{} conformance-client-driver", program("e2e")?.display());
    let mut suite = tools.conformance(folder.path());
    suite
        .args([
            "client",
            "--command",
            &driver,
            "--scenario",
            scenario,
            "--output-dir",
        ])
        .arg(&results)
        .stdin(Stdio::null());
    if revision != EXTENSION {
        suite.args(["--spec-version", revision]);
    }
    let output = timeout(PATIENCE, suite.output())
        .await
        .context("the suite does not end")??;
    // Scenarios of a group are in a folder of its name.
    let group = scenario
        .rsplit_once('/')
        .map(|(group, _)| results.join(group));
    let mut outcome = judge(&group.unwrap_or(results), &[])?;
    if !output.status.success() && outcome.unexpected.is_empty() {
        let said = String::from_utf8_lossy(&output.stdout);
        let complained = String::from_utf8_lossy(&output.stderr);
        outcome
            .unexpected
            .push(format!("the suite failed: {said}{complained}"));
    }
    Ok(outcome)
}

fn name_of(tool: &Value) -> &str {
    tool["name"].as_str().unwrap_or_default()
}

/// The command under the suite: uses everything a server offers, through a hub.
pub async fn drive(url: &str, revision: &str, context: &str) -> anyhow::Result<()> {
    let era = if revision >= "2026-07-28" {
        PeerEra::Modern
    } else {
        PeerEra::Legacy
    };
    let context: Value = serde_json::from_str(context).unwrap_or_default();
    let servers = json!({"suite": auth::entry(url, &context)});
    let hub = Hub::start(HubOptions {
        servers,
        ..HubOptions::default()
    })
    .await?;
    auth::person(&hub, "suite").await?;
    // The socket, because it needs no request headers of our own: those under
    // test are the ones the hub makes.
    let peer = hub.socket_peer(era, everything(), with_defaults()).await?;
    let begun = now();
    let mut tools = Vec::new();
    while tools.is_empty() && begun.elapsed() < APPEARS {
        tools = peer.list("tools/list", "tools").await.unwrap_or_default();
        // The hub's own are there at once.
        tools.retain(|tool| !NATIVE.iter().any(|own| name_of(tool).starts_with(own)));
        sleep(Duration::from_millis(50)).await;
    }
    match context["toolCalls"].as_array() {
        Some(calls) => {
            for call in calls {
                peer.call(
                    call["name"].as_str().unwrap_or_default(),
                    call["arguments"].clone(),
                )
                .await?;
            }
        }
        None => call_all(&peer, &tools).await?,
    }
    for resource in peer
        .list("resources/list", "resources")
        .await
        .unwrap_or_default()
    {
        peer.request("resources/read", json!({"uri": resource["uri"]}))
            .await?;
    }
    for prompt in peer
        .list("prompts/list", "prompts")
        .await
        .unwrap_or_default()
    {
        peer.request("prompts/get", json!({"name": prompt["name"]}))
            .await?;
    }
    Ok(())
}

async fn call_all(peer: &Peer, tools: &[Value]) -> anyhow::Result<()> {
    for tool in tools {
        let properties = tool["inputSchema"]["properties"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        let mut arguments: Map<String, Value> = properties
            .iter()
            .map(|(name, schema)| (name.clone(), example(schema)))
            .collect();
        // The suite's echo tool wants to see what became of its neighbour's schema.
        if arguments.contains_key("schema") {
            let neighbour = tools
                .iter()
                .find(|other| other["name"] == "json_schema_2020_12_tool");
            let schema = neighbour
                .map(|other| other["inputSchema"].clone())
                .unwrap_or_default();
            arguments.insert("schema".to_owned(), schema);
        }
        peer.call(
            tool["name"].as_str().unwrap_or_default(),
            Value::Object(arguments),
        )
        .await?;
    }
    Ok(())
}

/// A value that a schema allows, as far as the suite's schemas go.
fn example(schema: &Value) -> Value {
    if let Some(value) = schema.get("default") {
        return value.clone();
    }
    match schema["type"].as_str() {
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        Some("object") => json!({}),
        Some("array") => json!([]),
        _ => schema["enum"]
            .get(0)
            .cloned()
            .unwrap_or_else(|| json!("example")),
    }
}

/// Accepts every form with its defaults (2025-11-25, client/elicitation).
fn with_defaults() -> Answerer {
    let friendly = friendly();
    Arc::new(move |method, params| {
        if method != "elicitation/create" {
            return friendly(method, params);
        }
        if let Some(url) = params["url"].as_str() {
            let url = url.to_owned();
            tokio::runtime::Handle::current().spawn(async move {
                if let Err(error) = auth::browse(&url).await {
                    say(&format!("    the browser: {error:#}"));
                }
            });
            return json!({"action": "accept"});
        }
        let properties = params["requestedSchema"]["properties"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        let content: Map<String, Value> = properties
            .iter()
            .map(|(name, schema)| (name.clone(), example(schema)))
            .collect();
        json!({"action": "accept", "content": content})
    })
}

/// What the suite says about itself in the environment: (revision, context).
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "the suite speaks to its clients through the environment"
)]
pub fn told() -> (String, String) {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    (
        variable("MCP_CONFORMANCE_PROTOCOL_VERSION"),
        variable("MCP_CONFORMANCE_CONTEXT"),
    )
}
