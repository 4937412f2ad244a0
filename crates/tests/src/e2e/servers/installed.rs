//! A real package of npm's, installed by what a registry says of it and run by npm's own program.

use anyhow::ensure;
use serde_json::{Value, json};

use super::super::report::Report;
use super::super::tools::Tools;
use crate::harness::hub::{Hub, HubOptions};
use crate::harness::served::{Served, json_answer};

const PACKAGE: &str = "@modelcontextprotocol/server-everything";

pub(super) async fn run(tools: &Tools, report: &mut Report) {
    let name = "server-everything, installed by what a registry says";
    report.check(name, installed(tools).await);
}

async fn installed(tools: &Tools) -> anyhow::Result<()> {
    let text =
        std::fs::read_to_string(tools.module("servers", &format!("{PACKAGE}/package.json")))?;
    let package: Value = serde_json::from_str(&text)?;
    let version = package["version"].clone();
    let answer = json!({"server": {
        "name": "io.example/everything", "version": version, "description": "Something of everything.",
        "packages": [{
            "registryType": "npm", "identifier": PACKAGE, "version": version,
            "runtimeHint": "npx", "transport": {"type": "stdio"},
            "runtimeArguments": [{"type": "positional", "value": "-y"}],
            "packageArguments": [{"type": "positional", "value": "stdio"}],
            // What is installed already is taken, and nobody asked for it.
            "environmentVariables": [{"name": "npm_config_offline", "value": "true"}],
        }],
    }});
    let registry = Served::start(None, move |parts, _| match parts.uri.path() {
        "/v0.1/servers/io.example%2Feverything/versions/latest" => json_answer(200, &answer),
        _ => json_answer(404, &json!({})),
    })
    .await?;
    // npm's program looks in the folder it is started in first.
    let folder = tools.group("servers").canonicalize()?.display().to_string();
    let hub = Hub::start(HubOptions {
        servers: json!({}),
        settings: format!("[registry]\nurl = \"{}\"\n", registry.base),
        path_first: Some(tools.node_bin().canonicalize()?),
        under: vec!["env".to_owned(), format!("--chdir={folder}")],
        ..HubOptions::default()
    })
    .await?;
    let install = ["mcp", "install", "io.example/everything", "--yes", "--json"];
    let (code, out, complaint) = hub.run(&install).await?;
    ensure!(code == 0, "{out}{complaint}");
    let plan: Value = serde_json::from_str(&out)?;
    let version = version.as_str().unwrap_or_default();
    let wanted = json!(["npx", "-y", format!("{PACKAGE}@{version}"), "stdio"]);
    ensure!(plan["target"] == wanted, "{plan}");
    let call = [
        "mcp",
        "call",
        "everything/get-sum",
        r#"{"a": 20, "b": 22}"#,
        "--json",
    ];
    let (code, out, complaint) = hub.run(&call).await?;
    ensure!(code == 0 && out.contains("42"), "{out}{complaint}");
    Ok(())
}
