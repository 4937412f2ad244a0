//! The official SDKs and the Inspector through the hub, against five real
//! servers: what they get must equal what a direct connection gives.

pub mod client;
mod compare;
mod normal;
mod servers;

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use self::client::{CLIENTS, Sdk, transport};
use self::compare::{TASK_ONLY, equal, same_answer, same_list};
use self::servers::{Upstream, Workspace};
use super::report::{Report, say};
use super::tools::Tools;
use crate::harness::hub::{Hub, HubOptions};
use crate::harness::peer::{PeerEra, friendly};
use crate::harness::process::{command, program};

const PATIENCE: Duration = Duration::from_secs(120);
const ROADS: [&str; 3] = ["bridge", "socket", "http"];
const INSPECTOR_ROADS: [&str; 2] = ["bridge", "http"];

/// Everything a run of the matrix shares.
struct Matrix<'a> {
    tools: &'a Tools,
    folder: &'a Path,
    workspace: Workspace,
    upstreams: Vec<Upstream>,
    /// What each server says to a direct connection, by name.
    direct: HashMap<&'static str, Value>,
}

/// Runs the matrix.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let space = folder.path().join("space");
    std::fs::create_dir_all(&space)?;
    let workspace = Workspace::new(&space)?;
    workspace.reset().await?;
    let upstreams = servers::all(tools, &workspace);
    let mut matrix = Matrix {
        tools,
        folder: folder.path(),
        workspace,
        upstreams,
        direct: HashMap::new(),
    };
    matrix.ask_directly().await?;
    let servers: Value = matrix
        .upstreams
        .iter()
        .map(|upstream| (upstream.name.to_owned(), upstream.entry.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let hub = Hub::start(HubOptions {
        servers,
        path_first: Some(tools.node_bin()),
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Legacy, json!({}), friendly()).await?;
    for upstream in &matrix.upstreams {
        let first = upstream.calls[0].0;
        hub.wait_for_tool(&peer, &format!("{}-{first}", upstream.name))
            .await?;
    }
    for (sdk, era) in CLIENTS {
        for road in ROADS {
            let name = format!("{sdk:?} {era} {road}");
            if report.wants(&name) {
                say(&format!("  {name}"));
                if let Err(error) = matrix.through(&hub, sdk, era, road, report).await {
                    report.check(
                        &name,
                        Err(format!("{error:#}; the hub said {:?}", hub.said())),
                    );
                }
            }
        }
    }
    for era in ["legacy", "modern"] {
        for road in INSPECTOR_ROADS {
            let name = format!("Inspector {era} {road}");
            if report.wants(&name) {
                say(&format!("  {name}"));
                matrix.workspace.reset().await?;
                if let Err(error) = matrix.inspect(&hub, era, road, report).await {
                    report.check(&name, Err(format!("{error:#}")));
                }
            }
        }
    }
    Ok(())
}

/// The same clients without a hub: proof that the table and what is excused
/// in [`normal`] are enough, so that a difference through the hub is the hub's.
pub async fn direct(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let workspace = Workspace::new(folder.path())?;
    workspace.reset().await?;
    let upstreams = servers::all(tools, &workspace);
    let mut matrix = Matrix {
        tools,
        folder: folder.path(),
        workspace,
        upstreams,
        direct: HashMap::new(),
    };
    matrix.ask_directly().await?;
    for (sdk, era) in CLIENTS {
        matrix.workspace.reset().await?;
        for upstream in &matrix.upstreams {
            let name = format!("{sdk:?} {era} {} direct", upstream.name);
            if !report.wants(&name) {
                continue;
            }
            let mut transport = upstream.entry.clone();
            transport["kind"] = "stdio".into();
            let said = matrix
                .drive(
                    sdk,
                    plan(transport, era, std::slice::from_ref(upstream), false),
                )
                .await?;
            let expected = &matrix.direct[upstream.name];
            for (index, (tool, _)) in upstream.calls.iter().enumerate() {
                let outcome = same_answer(
                    tool,
                    "legacy",
                    &said["calls"][index],
                    &expected["calls"][index],
                );
                report.check(&format!("{name}: {tool}"), outcome);
            }
            for (list, key) in LISTS {
                report.check(
                    &format!("{name}: {list}"),
                    same_list(list, key, "", &said, expected),
                );
            }
        }
    }
    Ok(())
}

// === impl Matrix ===

impl Matrix<'_> {
    /// Each server alone, by the first SDK: the measure for everything else.
    async fn ask_directly(&mut self) -> anyhow::Result<()> {
        for upstream in &self.upstreams {
            let mut transport = upstream.entry.clone();
            transport["kind"] = "stdio".into();
            let plan = plan(transport, "legacy", std::slice::from_ref(upstream), false);
            let said = self.drive(Sdk::TypeScript1, plan).await?;
            self.direct.insert(upstream.name, said);
        }
        Ok(())
    }

    /// One client over one road: all servers at once.
    async fn through(
        &self,
        hub: &Hub,
        sdk: Sdk,
        era: &str,
        road: &str,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        self.workspace.reset().await?;
        let plan = plan(transport(hub, road)?, era, &self.upstreams, true);
        let said = self.drive(sdk, plan).await?;
        let name = format!("{sdk:?} {era} {road}");
        let spoke = if said["modern"] == true {
            "modern"
        } else {
            "legacy"
        };
        report.check(&format!("{name}: era"), equal(&json!(spoke), &json!(era)));
        let (mut call, mut read, mut get) = (0, 0, 0);
        for upstream in &self.upstreams {
            let direct = &self.direct[upstream.name];
            let prefix = format!("{} {name}:", upstream.name);
            for (list, key) in LISTS {
                report.check(
                    &format!("{prefix} {list}"),
                    same_list(list, key, upstream.name, &said, direct),
                );
            }
            for (index, (tool, _)) in upstream.calls.iter().enumerate() {
                let outcome = same_answer(tool, era, &said["calls"][call], &direct["calls"][index]);
                report.check(&format!("{prefix} {tool}"), outcome);
                call += 1;
            }
            for (index, uri) in upstream.reads.iter().enumerate() {
                report.check(
                    &format!("{prefix} {uri}"),
                    same_answer("", era, &said["reads"][read], &direct["reads"][index]),
                );
                read += 1;
            }
            for (index, (prompt, _)) in upstream.gets.iter().enumerate() {
                report.check(
                    &format!("{prefix} {prompt}"),
                    same_answer("", era, &said["gets"][get], &direct["gets"][index]),
                );
                get += 1;
            }
        }
        Ok(())
    }

    /// One process per call: the Inspector's command line.
    async fn inspect(
        &self,
        hub: &Hub,
        era: &str,
        road: &str,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let name = format!("Inspector {era} {road}");
        for (method, list, key) in [
            ("tools/list", "tools", "name"),
            ("prompts/list", "prompts", "name"),
            ("resources/list", "resources", "uri"),
        ] {
            let mut said = self
                .inspector(hub, era, road, &["--method", method])
                .await?;
            let mut direct = self.direct.clone();
            if era == "modern" {
                // Its own reading of a modern list knows no `execution`.
                compare::without_execution(&mut said["result"]);
                direct.values_mut().for_each(compare::without_execution);
            }
            for upstream in &self.upstreams {
                let outcome = same_list(
                    list,
                    key,
                    upstream.name,
                    &said["result"],
                    &direct[upstream.name],
                );
                report.check(&format!("{} {name}: {list}", upstream.name), outcome);
            }
        }
        for upstream in &self.upstreams {
            let direct = &self.direct[upstream.name];
            for (index, (tool, arguments)) in upstream.calls.iter().enumerate() {
                let flat = format!("{}-{tool}", upstream.name);
                let arguments = arguments.to_string();
                let call = [
                    "--method",
                    "tools/call",
                    "--tool-name",
                    &flat,
                    "--tool-args-json",
                    &arguments,
                ];
                let said = self.inspector(hub, era, road, &call).await?;
                // It declares tasks in both eras and so gets through to the result.
                let outcome = if *tool == TASK_ONLY {
                    compare::reported(&said)
                } else {
                    same_answer(tool, era, &said, &direct["calls"][index])
                };
                report.check(&format!("{} {name}: {tool}", upstream.name), outcome);
            }
        }
        Ok(())
    }

    async fn inspector(
        &self,
        hub: &Hub,
        era: &str,
        road: &str,
        what: &[&str],
    ) -> anyhow::Result<Value> {
        let launcher = self.tools.module(
            "inspector",
            "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
        );
        let mut environment = hub.environment();
        environment.insert("HOME".to_owned(), self.folder.display().to_string());
        let mut inspector = command(self.tools.node_bin().join("node"), &environment);
        inspector.arg(launcher).arg("--cli");
        if road == "http" {
            inspector.arg(hub.url()).args([
                "--header",
                &format!("Authorization: Bearer {}", hub.token()?),
            ]);
        } else {
            inspector.arg(program("legation")?).arg("bridge");
        }
        inspector
            .args(["--format", "json", "--protocol-era", era])
            .args(what);
        for (name, value) in hub.environment().into_iter().filter(|_| road == "bridge") {
            inspector.args(["-e", &format!("{name}={value}")]);
        }
        output(inspector).await
    }

    /// Runs a driver with a plan.
    async fn drive(&self, sdk: Sdk, plan: Value) -> anyhow::Result<Value> {
        output(sdk.driver(self.tools, self.folder, "plan.json", plan)?).await
    }
}

/// The lists of a driver's answer, and what identifies an entry.
const LISTS: [(&str, &str); 4] = [
    ("tools", "name"),
    ("prompts", "name"),
    ("resources", "uri"),
    ("templates", "uriTemplate"),
];

fn plan(transport: Value, era: &str, upstreams: &[Upstream], flat: bool) -> Value {
    let named = |upstream: &Upstream, name: &str| {
        if flat {
            format!("{}-{name}", upstream.name)
        } else {
            name.to_owned()
        }
    };
    let each = |list: &dyn Fn(&Upstream) -> &[(&'static str, Value)]| -> Vec<Value> {
        let entries = upstreams
            .iter()
            .flat_map(|upstream| list(upstream).iter().map(move |entry| (upstream, entry)));
        entries.map(|(upstream, (name, arguments))| json!({"name": named(upstream, name), "arguments": arguments})).collect()
    };
    json!({
        "era": era,
        "transport": transport,
        "calls": each(&|upstream| &upstream.calls),
        "gets": each(&|upstream| &upstream.gets),
        "reads": upstreams.iter().flat_map(|upstream| upstream.reads.clone()).collect::<Vec<_>>(),
    })
}

async fn output(mut command: Command) -> anyhow::Result<Value> {
    let run = command.stdin(Stdio::null()).output();
    let output = timeout(PATIENCE, run)
        .await
        .context("the client does not end")??;
    let text = String::from_utf8_lossy(&output.stdout);
    let Ok(value) = serde_json::from_str(text.trim()) else {
        bail!(
            "the client said {text:?} and {:?}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    Ok(value)
}
