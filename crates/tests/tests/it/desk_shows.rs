//! A day at the desk through a client that others wrote: two companies' tenants with a month in each,
//! the business template, and an SDK that holds every answer against its schema.

mod sequences;
mod tools;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use legation_tests::e2e::sdk::client::Sdk;
use legation_tests::e2e::tools::Tools;
use legation_tests::harness::hub::client_token;
use legation_tests::harness::office::{OWNS, Office};
use legation_tests::harness::process::program;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(120);
/// The PIN that certifies.
const PIN: &str = "482913\n";

/// The TypeScript SDK with a person at it, who agrees to what is asked.
struct Client {
    _child: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
    _folder: tempfile::TempDir,
}

/// Where the suite has installed the SDK; `None` where it has not.
fn sdk() -> anyhow::Result<Option<Tools>> {
    let built = program("legation")?;
    let target = built.ancestors().nth(2).unwrap_or(Path::new("target"));
    let tools = Tools::new(target.join("tools"));
    let there: PathBuf = tools.module("sdk2", "@modelcontextprotocol/client");
    Ok(there.exists().then_some(tools))
}

// === impl Client ===

impl Client {
    /// A conversation of a client's, with everything listed that there is.
    async fn start(office: &Office, tools: &Tools, id: &str, era: &str) -> anyhow::Result<Self> {
        // What comes with one token over HTTP is one conversation; each pipe is a conversation.
        let transport = match id {
            OWNS => {
                office.hub.lay_down(id)?;
                json!({
                    "kind": "stdio", "command": program("legation")?,
                    "args": ["bridge", "--client", id], "env": office.hub.environment(),
                })
            }
            id => json!({"kind": "http", "url": office.hub.url(), "token": client_token(id)}),
        };
        let plan = json!({"era": era, "transport": transport, "converse": true, "asked": true});
        let folder = tempfile::tempdir()?;
        let mut child = Sdk::TypeScript2
            .driver(tools, folder.path(), "plan.json", plan)?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the client")?;
        let to = child.stdin.take().context("no standard input")?;
        let from = child.stdout.take().context("no standard output")?;
        let mut client = Self {
            _child: child,
            to,
            from: BufReader::new(from).lines(),
            _folder: folder,
        };
        // Only listed tools have schemas that answers are held against.
        client.list("listTools", "tools").await?;
        Ok(client)
    }

    async fn turn(&mut self, mut turn: Value) -> anyhow::Result<Value> {
        turn["answer"] = json!({"action": "accept", "content": {"decision": "once"}});
        self.to.write_all(format!("{turn}\n").as_bytes()).await?;
        let line = timeout(PATIENCE, self.from.next_line())
            .await
            .context("the client does not answer")??
            .context("the client has ended")?;
        let mut said: Value = serde_json::from_str(&line)?;
        Ok(said["results"][0].take())
    }

    async fn list(&mut self, what: &str, field: &str) -> anyhow::Result<Vec<Value>> {
        let mut listed = self.turn(json!({"list": what})).await?;
        let Value::Array(list) = listed[field].take() else {
            anyhow::bail!("{what}: {listed}");
        };
        Ok(list)
    }

    /// What a resource says, or why it does not.
    async fn read(&mut self, uri: &str) -> anyhow::Result<Result<Value, String>> {
        let read = self.turn(json!({"uri": uri})).await?;
        if let Some(failed) = read["failed"].as_str() {
            return Ok(Err(failed.to_owned()));
        }
        let text = read["contents"][0]["text"].as_str();
        let text = text.with_context(|| format!("{uri}: {read}"))?;
        Ok(Ok(serde_json::from_str(text)?))
    }

    /// A call whatever comes of it: the result as the SDK returns it.
    async fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        let name = format!("desk-{tool}");
        self.turn(json!({"name": name, "arguments": arguments}))
            .await
    }

    /// A call that has to go well; the SDK has held the answer against the tool's schema.
    async fn good(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        let mut result = self.call(tool, arguments).await?;
        let content = result["structuredContent"].take();
        let is_good = result["isError"] != true && result["failed"].is_null();
        ensure!(
            is_good && content.is_object() && content["blocked"].is_null(),
            "{tool}: {result} {content}"
        );
        Ok(content)
    }

    /// A call that a rule stops or that fails, with a word.
    async fn refused(&mut self, tool: &str, arguments: Value, why: &str) -> anyhow::Result<Value> {
        let result = self.call(tool, arguments).await?;
        let refused = result["isError"] == true || result["failed"].is_string();
        ensure!(
            refused && result.to_string().contains(why),
            "{tool} {why}: {result}"
        );
        Ok(result)
    }
}

/// Runs a command of the owner's with something on standard input.
async fn piped(office: &Office, arguments: &[&str], input: &str) -> anyhow::Result<()> {
    let mut child = office
        .hub
        .command(arguments)?
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut to = child.stdin.take().context("no standard input")?;
    to.write_all(input.as_bytes()).await?;
    drop(to);
    let output = child.wait_with_output().await?;
    ensure!(output.status.success(), "{arguments:?}: {output:?}");
    Ok(())
}

/// The list at a member.
fn all<'v>(value: &'v Value, member: &str) -> &'v [Value] {
    value[member].as_array().map_or(&[], Vec::as_slice)
}

/// Every line of a brief: its part and itself.
fn lines(brief: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    let sections = all(brief, "sections").iter();
    let parts = sections.flat_map(|section| all(section, "parts"));
    parts.flat_map(|part| all(part, "lines").iter().map(move |line| (part, line)))
}
