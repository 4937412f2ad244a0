//! Servers taken over from real programs and given back: each program writes its own
//! file with its own command, `legation import` reads it, `legation export` writes that of
//! another home, and the program says the same of its servers there as it did at first.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::report::Report;
use super::tools::Tools;
use crate::harness::process::{command, program};

const PROGRAMS: [&str; 4] = ["claude", "codex", "copilot", "opencode"];
const PATIENCE: Duration = Duration::from_secs(120);
/// Nobody listens there, and nobody has to.
const URL: &str = "http://127.0.0.1:9/mcp";
const KEY: &str = "sk-not-a-real-key-0123456789";
const TOKEN: &str = "tok-not-a-real-token-0123456789";

/// Moves the servers of each program there and back.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    for name in PROGRAMS {
        let title = format!("{name}: servers taken over from it, and given back");
        if report.wants(&title) {
            let outcome = there_and_back(tools, name).await;
            report.check(&title, outcome.map_err(|error| format!("{error:#}")));
        }
    }
    Ok(())
}

async fn there_and_back(tools: &Tools, name: &str) -> anyhow::Result<()> {
    let (first, second) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let hub = tempfile::tempdir()?;
    for home in [first.path(), second.path()] {
        std::fs::create_dir(home.join("work"))?;
        if name == "opencode" {
            // Otherwise it fetches a package of its own before it does anything.
            let folder = home.join(".config/opencode");
            std::fs::create_dir_all(folder.join("node_modules"))?;
            let there =
                json!({"packages": {"": {"dependencies": {"@opencode-ai/plugin": "1.18.33"}}}});
            std::fs::write(folder.join("package-lock.json"), there.to_string())?;
        }
    }
    let theirs = Theirs { tools, name };
    theirs.add(first.path()).await?;
    let said = theirs.tell(first.path()).await?;
    ensure!(
        said.contains("./notes.js") && said.contains(URL),
        "it does not tell of its own servers: {said}"
    );

    let taken = legation(tools, first.path(), hub.path(), &["import", name, "--yes"]).await?;
    let servers = taken["servers"].as_array().context("no servers")?;
    ensure!(
        servers.len() == 2 && servers.iter().all(|server| server["change"] == "add"),
        "not both were taken over: {taken}"
    );
    let kept = std::fs::read_to_string(hub.path().join("mcp.json"))?;
    let entries: Value = serde_json::from_str(&kept)?;
    let notes = &entries["mcpServers"]["notes"];
    ensure!(
        notes["args"] == json!(["./notes.js", "--flag", "two words"])
            && entries["mcpServers"]["tickets"]["url"] == URL,
        "not what the program wrote: {kept}"
    );
    ensure!(
        !kept.contains(KEY) && !kept.contains(TOKEN) && !taken.to_string().contains(KEY),
        "a secret was written down: {kept} {taken}"
    );

    let arguments = ["export", name, "--with-secrets", "--yes"];
    let given = legation(tools, second.path(), hub.path(), &arguments).await?;
    ensure!(given["changed"] == true, "nothing was given back: {given}");
    let again = theirs.tell(second.path()).await?;
    ensure!(
        again == said,
        "of what it was given back it says {again:?}, and said at first {said:?}"
    );
    Ok(())
}

/// A program with commands for its own servers.
struct Theirs<'a> {
    tools: &'a Tools,
    name: &'a str,
}

impl Theirs<'_> {
    /// Adds one server of each kind, as a person would.
    async fn add(&self, home: &Path) -> anyhow::Result<()> {
        let key = format!("API_KEY={KEY}");
        let bearer = format!("Authorization: Bearer {TOKEN}");
        let bearer_pair = format!("Authorization=Bearer {TOKEN}");
        let program = ["--", "node", "./notes.js", "--flag", "two words"];
        let (notes, tickets): (Vec<&str>, Vec<&str>) = match self.name {
            "claude" => (
                vec!["-s", "user", "notes", "-e", &key],
                vec!["-s", "user", "-t", "http", "tickets", URL, "-H", &bearer],
            ),
            "codex" => (
                vec!["notes", "--env", &key],
                vec![
                    "tickets",
                    "--url",
                    URL,
                    "--bearer-token-env-var",
                    "TICKETS_TOKEN",
                ],
            ),
            "copilot" => (
                vec!["notes", "--env", &key],
                vec!["--transport", "http", "tickets", URL, "--header", &bearer],
            ),
            _ => (
                vec!["notes", "--env", &key],
                vec!["tickets", "--url", URL, "--header", &bearer_pair],
            ),
        };
        let notes: Vec<&str> = ["mcp", "add"]
            .into_iter()
            .chain(notes)
            .chain(program)
            .collect();
        let tickets: Vec<&str> = ["mcp", "add"].into_iter().chain(tickets).collect();
        self.run(home, &notes).await?;
        self.run(home, &tickets).await.map(drop)
    }

    /// What it says of the two.
    async fn tell(&self, home: &Path) -> anyhow::Result<String> {
        if self.name == "opencode" {
            return self.run(home, &["mcp", "list"]).await;
        }
        let notes = self.run(home, &["mcp", "get", "notes"]).await?;
        Ok(notes + &self.run(home, &["mcp", "get", "tickets"]).await?)
    }

    async fn run(&self, home: &Path, arguments: &[&str]) -> anyhow::Result<String> {
        let path = self.tools.module(self.name, &format!(".bin/{}", self.name));
        let mut environment = self.tools.environment(home);
        let quiet = [
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("COPILOT_OFFLINE", "true"),
            ("COPILOT_AUTO_UPDATE", "false"),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
            ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
            ("NO_COLOR", "1"),
        ];
        environment.extend(quiet.map(|(name, value)| (name.to_owned(), value.to_owned())));
        output(std::path::absolute(path)?, &environment, home, arguments).await
    }
}

/// A command of the hub's, answered as JSON.
async fn legation(
    tools: &Tools,
    home: &Path,
    hub: &Path,
    arguments: &[&str],
) -> anyhow::Result<Value> {
    let mut environment = tools.environment(home);
    environment.insert("LEGATION_HOME".to_owned(), hub.display().to_string());
    let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
    let said = output(program("legation")?, &environment, home, &arguments).await?;
    serde_json::from_str(&said).with_context(|| format!("no JSON: {said}"))
}

/// What a program prints, with its home named alike wherever that is.
async fn output(
    path: impl AsRef<Path>,
    environment: &HashMap<String, String>,
    home: &Path,
    arguments: &[&str],
) -> anyhow::Result<String> {
    let mut program = command(path, environment);
    program.current_dir(home.join("work")).stdin(Stdio::null());
    let output = timeout(PATIENCE, program.args(arguments).output())
        .await
        .with_context(|| format!("{arguments:?} does not end"))??;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let complained = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{arguments:?} ended with {}: {said}{complained}",
            output.status
        );
    }
    Ok(said.replace(&home.display().to_string(), "~"))
}
