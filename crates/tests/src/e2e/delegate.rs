//! Claude Code hands work to a model on the machine: what the predecessor of the `delegate`
//! server set itself as criteria, each shown with the real agent. What Claude Code's own
//! model says is scripted, and so is the local model; everything between them is not.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use tokio::process::Child;
use tokio::time::timeout;

use super::agents::claude_with;
use super::model::{Model, Plan};
use super::report::Report;
use super::tools::Tools;
use crate::fixture::{Era, lock};
use crate::harness::hub::{Hub, HubOptions};
use crate::harness::peer::{PeerEra, friendly};
use crate::harness::process::until;
use crate::harness::servers::stdio_entry;
use crate::harness::worker::Worker;

const PATIENCE: Duration = Duration::from_secs(120);
/// Polls after which Claude Code gives up.
const POLLS: usize = 200;

/// Everything that takes part.
struct Stage<'a> {
    tools: &'a Tools,
    worker: Worker,
    hub: Hub,
}

/// Runs every criterion.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let name = "delegate: seven criteria with Claude Code";
    if !report.wants(name) {
        return Ok(());
    }
    // More is handed in here than anybody would in a minute.
    let mut stage = Stage::start(tools, "[external]\nrate_limit = 0\n").await?;
    let mut check = |what: &str, outcome: anyhow::Result<()>| {
        report.check(
            &format!("delegate: {what}"),
            outcome.map_err(|error| format!("{error:#}")),
        );
    };
    check("1 the socket is there from the start", stage.socket().await);
    check(
        "2 and 3 a task through .mcp.json, by polling",
        stage.polled().await,
    );
    check("4 both see one conversation", stage.shared().await);
    check("5 a person goes first", stage.preempted().await);
    match stage.restarted().await {
        Ok(again) => {
            stage = again;
            check("6 it is there after a restart", stage.remembered().await);
        }
        Err(error) => return Err(error),
    }
    check(
        "a wrong result is reported with its transcript",
        stage.reported().await,
    );
    check(
        "a task polled by the SDK, and as a task of 2025-11-25",
        stage.sdk(1).await,
    );
    check(
        "a task polled by the SDK of the modern era",
        stage.sdk(2).await,
    );
    drop(stage);
    check(
        "7 whoever does not want it does not have it",
        without(tools).await,
    );
    Ok(())
}

// === impl Stage ===

impl<'a> Stage<'a> {
    /// A hub whose local model is scripted, and a folder with the `.mcp.json` of the
    /// documentation.
    async fn start(tools: &'a Tools, settings: &str) -> anyhow::Result<Self> {
        let worker = Worker::start().await?;
        let hub = hub(tools, settings).await?;
        let stage = Self { tools, worker, hub };
        stage.local_model().await?;
        let work = stage.work();
        std::fs::create_dir_all(&work)?;
        let legation = crate::harness::process::program("legation")?;
        let servers = json!({"mcpServers": {"legation": {
            "type": "stdio",
            "command": legation,
            "args": ["bridge", "--server", "delegate"],
        }}});
        std::fs::write(work.join(".mcp.json"), servers.to_string())?;
        let settings = work.join(".claude");
        std::fs::create_dir_all(&settings)?;
        // What a person says once, when Claude Code asks about the folder's servers.
        let trusted = json!({"enableAllProjectMcpServers": true});
        std::fs::write(settings.join("settings.local.json"), trusted.to_string())?;
        Ok(stage)
    }

    async fn local_model(&self) -> anyhow::Result<()> {
        let url = format!("http://127.0.0.1:{}", self.worker.port);
        for arguments in [
            &["models", "set", "enable", "local_model", "--endpoint", &url] as &[&str],
            &["models", "set", "default", "local_model"],
        ] {
            self.command(arguments, 0).await?;
        }
        Ok(())
    }

    fn work(&self) -> std::path::PathBuf {
        self.hub.folder().join("work")
    }

    /// What a command prints, run in the folder; it must end with this code.
    async fn command(&self, arguments: &[&str], code: i32) -> anyhow::Result<String> {
        let mut command = self.hub.command(arguments)?;
        if self.work().is_dir() {
            command.current_dir(self.work());
        }
        let ended = timeout(PATIENCE, command.stdin(Stdio::null()).output()).await??;
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        ensure!(
            ended.status.code() == Some(code),
            "{arguments:?} ended with {}: {said}{}; the hub said {:?}",
            ended.status,
            String::from_utf8_lossy(&ended.stderr),
            self.hub.said()
        );
        Ok(said)
    }

    /// Starts Claude Code in the folder, with a model that goes by a plan.
    async fn agent(&self, plan: Box<Plan>) -> anyhow::Result<(Model, Child)> {
        let model = Model::planned(plan).await?;
        let environment = self.hub.environment();
        let mut claude = claude_with(self.tools, environment, model.port);
        claude.current_dir(self.work());
        claude.stdin(Stdio::null()).stdout(Stdio::piped());
        let child = claude.stderr(Stdio::piped()).spawn()?;
        Ok((model, child))
    }

    /// The results that Claude Code's tools brought, once it has ended.
    async fn results(&self, (model, agent): (Model, Child)) -> anyhow::Result<Vec<Value>> {
        let ended = timeout(PATIENCE, agent.wait_with_output())
            .await
            .context("the agent does not end")??;
        let said = String::from_utf8_lossy(&ended.stdout);
        let requests = lock(&model.requests).clone();
        let results = requests.iter().map(tool_results).max_by_key(Vec::len);
        let results = results.unwrap_or_default();
        if !said.contains("FINAL[") || results.is_empty() {
            bail!(
                "the agent said {said:?} and {:?}; the hub said {:?}",
                String::from_utf8_lossy(&ended.stderr),
                self.hub.said()
            );
        }
        results
            .iter()
            .map(|text| serde_json::from_str(text).with_context(|| format!("no JSON: {text}")))
            .collect()
    }

    /// The socket answers, and closed to others.
    async fn socket(&self) -> anyhow::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(self.hub.socket())?.permissions().mode();
        ensure!(mode & 0o777 == 0o600, "the socket has the mode {mode:o}");
        let peer = self
            .hub
            .socket_peer(PeerEra::Modern, json!({}), friendly())
            .await?;
        let tools = peer.list("tools/list", "tools").await?;
        let named = |name: &str| tools.iter().any(|tool| tool["name"] == name);
        for tool in [
            "chat",
            "poll_task",
            "cancel",
            "get_history",
            "get_capabilities",
            "report_issue",
            "status",
        ] {
            ensure!(named(&format!("delegate-{tool}")), "{tool} is not offered");
        }
        for tool in &tools {
            let is_own = tool["name"]
                .as_str()
                .unwrap_or_default()
                .starts_with("delegate-");
            ensure!(
                !is_own || tool["outputSchema"]["type"] == "object",
                "{} does not say what it answers",
                tool["name"]
            );
        }
        Ok(())
    }

    /// `chat` answers at once, `poll_task` brings the result.
    async fn polled(&self) -> anyhow::Result<()> {
        let plan = handing_in(json!({"message": "SAY it is done", "hint": "general"}));
        let agent = self.agent(plan).await?;
        let results = self.results(agent).await?;
        let (first, last) = (&results[0], &results[results.len() - 1]);
        let id = first["task_id"].as_str().unwrap_or_default();
        ensure!(id.starts_with("task_"), "{first}");
        ensure!(
            ["queued", "in_progress"].contains(&first["status"].as_str().unwrap_or_default()),
            "{first}"
        );
        ensure!(
            last["status"] == "completed" && last["response"] == "it is done",
            "{last}"
        );
        ensure!(last["token_usage"]["output"].is_u64(), "{last}");
        Ok(())
    }

    /// What the person said Claude Code reads, and the model has read what both said.
    async fn shared(&self) -> anyhow::Result<()> {
        let said = self
            .command(&["run", "SAY hello human", "--plain"], 0)
            .await?;
        ensure!(said.trim() == "hello human", "{said:?}");
        let agent = self
            .agent(Box::new(|results| match results.len() {
                0 => Some(("__get_history", json!({"limit": 50}))),
                _ => None,
            }))
            .await?;
        let results = self.results(agent).await?;
        let messages = results[0]["messages"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let has = |source: &str, words: &str| {
            messages.iter().any(|message| {
                let text = message["text"].as_str().unwrap_or_default();
                message["source"] == source && text.contains(words)
            })
        };
        for (source, words) in [
            ("client", "SAY it is done"),
            ("model", "it is done"),
            ("human", "SAY hello human"),
            ("model", "hello human"),
        ] {
            ensure!(
                has(source, words),
                "{words:?} of {source} is not in {messages:?}"
            );
        }
        let requests = self.worker.requests();
        let last = requests.last().map(Value::to_string).unwrap_or_default();
        ensure!(
            last.contains("SAY it is done") && last.contains("SAY hello human"),
            "the model did not read the conversation: {last}"
        );
        Ok(())
    }

    /// A person's message drops the stream of Claude Code's task, is answered, and the task
    /// goes on by itself.
    async fn preempted(&self) -> anyhow::Result<()> {
        let plan = handing_in(json!({"message": "HOLD begun and ended", "hint": "general"}));
        let agent = self.agent(plan).await?;
        until("the task is worked on", PATIENCE, async || {
            self.worker.held() == 1
        })
        .await?;
        let said = self.command(&["run", "SAY me first", "--plain"], 0).await?;
        ensure!(said.trim() == "me first", "{said:?}");
        // It would not end by itself before it is let go; the model may hear of it after the person does.
        until("the task's stream is dropped", PATIENCE, async || {
            self.worker.dropped() == 1
        })
        .await?;
        // It goes on, and is held again: nobody is in its way any more.
        until("the task goes on", PATIENCE, async || {
            self.worker.held() == 1
        })
        .await?;
        self.worker.let_go();
        let results = self.results(agent).await?;
        let last = &results[results.len() - 1];
        ensure!(last["status"] == "completed", "{last}");
        let response = last["response"].as_str().unwrap_or_default();
        ensure!(
            response.starts_with("begun") && response.ends_with("and ended"),
            "{last}"
        );
        let history = self.history().await?;
        // The task's own message has its words too, before everything else.
        let (person, task) = (history.find("\"me first\""), history.rfind("and ended"));
        ensure!(
            person.is_some() && person < task,
            "the person was not answered first: {history}"
        );
        Ok(())
    }

    /// The whole conversation, as the owner exports it.
    async fn history(&self) -> anyhow::Result<String> {
        let sessions = self.command(&["session", "list", "--json"], 0).await?;
        let sessions: Value = serde_json::from_str(&sessions)?;
        let of_work = |session: &&Value| {
            let folder = session["workspace"].as_str().unwrap_or_default();
            Path::new(folder).ends_with("work") && session["current"] == true
        };
        let all = sessions["sessions"].as_array().into_iter().flatten();
        let session = all.clone().find(of_work);
        let session = session.with_context(|| format!("no session of the folder: {sessions}"))?;
        let id = session["id"].as_str().unwrap_or_default();
        self.command(&["session", "export", id], 0).await
    }

    /// The TypeScript SDK of a generation, which holds every answer to its schema.
    async fn sdk(&self, generation: u8) -> anyhow::Result<()> {
        let (group, package) = match generation {
            1 => ("sdk1", "@modelcontextprotocol/sdk"),
            _ => ("sdk2", "@modelcontextprotocol/client"),
        };
        let plan = json!({
            "sdk": self.tools.module(group, package),
            "generation": generation,
            "transport": {
                "command": crate::harness::process::program("legation")?,
                "args": ["bridge", "--server", "delegate"],
                "env": self.hub.environment(),
                "cwd": self.work(),
            },
        });
        let file = self.hub.folder().join(format!("plan{generation}.json"));
        std::fs::write(&file, plan.to_string())?;
        let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers/delegating.mjs");
        let mut node = self.tools.node(self.hub.folder());
        node.arg(driver).arg(&file).stdin(Stdio::null());
        let ended = timeout(PATIENCE, node.output()).await??;
        let said = String::from_utf8_lossy(&ended.stdout);
        let told: Value = serde_json::from_str(&said)
            .with_context(|| format!("{said} {}", String::from_utf8_lossy(&ended.stderr)))?;
        ensure!(
            told["tools"]
                .as_array()
                .is_some_and(|tools| tools.len() == 7),
            "{told}"
        );
        ensure!(told["last"]["response"] == "polled by an SDK", "{told}");
        if generation == 1 {
            ensure!(told["steps"][0] == "taskCreated", "{told}");
            ensure!(told["result"]["response"] == "told as a task", "{told}");
        }
        Ok(())
    }

    async fn restarted(self) -> anyhow::Result<Self> {
        let Self { tools, worker, hub } = self;
        let hub = hub.restart().await?;
        Ok(Self { tools, worker, hub })
    }

    /// The hub was killed and started again: Claude Code reads what was said before, and the
    /// conversation goes on.
    async fn remembered(&self) -> anyhow::Result<()> {
        let agent = self
            .agent(Box::new(|results| match results.len() {
                0 => Some(("__get_history", json!({"limit": 50}))),
                1 => Some(("__chat", json!({"message": "SAY still here", "wait": true}))),
                _ => None,
            }))
            .await?;
        let results = self.results(agent).await?;
        let before = results[0].to_string();
        for words in ["SAY it is done", "hello human", "me first"] {
            ensure!(before.contains(words), "{words:?} is not in {before}");
        }
        ensure!(results[1]["response"] == "still here", "{}", results[1]);
        Ok(())
    }

    async fn reported(&self) -> anyhow::Result<()> {
        let agent = self
            .agent(Box::new(|results| match results {
                [] => Some(("__chat", json!({"message": "SAY nonsense", "wait": true}))),
                [first] => {
                    let task: Value = serde_json::from_str(first).unwrap_or_default();
                    let report = json!({
                        "task_id": task["task_id"],
                        "issue_type": "hallucination",
                        "description": "it made that up",
                        "expected": "sense",
                    });
                    Some(("__report_issue", report))
                }
                _ => None,
            }))
            .await?;
        let results = self.results(agent).await?;
        ensure!(results[1]["recorded"] == true, "{}", results[1]);
        let id = results[1]["report_id"].as_str().unwrap_or_default();
        let listed = self.command(&["report", "list"], 0).await?;
        ensure!(listed.contains("hallucination"), "{listed}");
        let exported = self.command(&["report", "export", id], 0).await?;
        ensure!(
            exported.contains("it made that up") && exported.contains("SAY nonsense"),
            "{exported}"
        );
        Ok(())
    }
}

/// Without `[external]` everything else is as it was.
async fn without(tools: &Tools) -> anyhow::Result<()> {
    let hub = hub(tools, "[external]\nenabled = false\n").await?;
    let peer = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    hub.wait_for_tool(&peer, "fixture-echo").await?;
    let listed = peer.list("tools/list", "tools").await?;
    let offered = |tool: &Value| {
        let name = tool["name"].as_str().unwrap_or_default();
        name.starts_with("delegate-")
    };
    ensure!(!listed.iter().any(offered), "delegate is offered");
    let answer = peer
        .call("fixture-echo", json!({"text": "as ever"}))
        .await?;
    ensure!(answer.text.contains("as ever"), "{}", answer.text);
    // A bridge to it is told so, and nothing hangs.
    let mut bridge = hub.command(&["bridge", "--server", "delegate"])?;
    bridge.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = bridge.stderr(Stdio::null()).spawn()?;
    let mut input = child.stdin.take().context("no standard input")?;
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    tokio::io::AsyncWriteExt::write_all(&mut input, format!("{request}\n").as_bytes()).await?;
    drop(input);
    let ended = timeout(PATIENCE, child.wait_with_output()).await??;
    let said = String::from_utf8_lossy(&ended.stdout);
    ensure!(said.contains("\"error\""), "it was let in: {said}");
    Ok(())
}

async fn hub(tools: &Tools, settings: &str) -> anyhow::Result<Hub> {
    Hub::start(HubOptions {
        servers: json!({"fixture": stdio_entry(Era::Both, "shared")?}),
        path_first: Some(tools.node_bin()),
        settings: settings.to_owned(),
        ..HubOptions::default()
    })
    .await
}

/// Hands a task in and polls it until it is over.
fn handing_in(task: Value) -> Box<Plan> {
    Box::new(move |results| {
        let Some(last) = results.last() else {
            return Some(("__chat", task.clone()));
        };
        let last: Value = serde_json::from_str(last).unwrap_or_default();
        let status = last["status"].as_str().unwrap_or_default();
        let is_over = ["completed", "failed", "cancelled", ""].contains(&status);
        (!is_over && results.len() < POLLS)
            .then(|| ("__poll_task", json!({"task_id": last["task_id"]})))
    })
}

/// The texts of the results in a request to Claude Code's model.
fn tool_results(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().into_iter().flatten();
    let parts = messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
    parts
        .filter(|part| part["type"] == "tool_result")
        .map(|part| super::model::text(&part["content"]))
        .collect()
}
