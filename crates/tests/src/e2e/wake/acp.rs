//! An agent that speaks the Agent Client Protocol, started through `legation acp` by an
//! editor that this plays: two of its sessions in one process, idle, woken by a message
//! each, and what comes of it shown to the editor.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::{sleep, timeout};

use super::client::Client;
use super::{LOOK, SESSIONS, START, Times, WAKE, turns, waits, woken};
use crate::e2e::model::Model;
use crate::e2e::tools::Tools;
use crate::harness::hub::{Hub, HubOptions};
use crate::harness::process::now;

/// The agent of them that is there without a terminal.
const AGENT: Client = Client::Opencode;

/// An editor, as far as the agent sees one.
struct Editor {
    child: Child,
    to_agent: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    /// Everything the agent said that was no answer.
    said: Vec<Value>,
    asked: u64,
}

/// Wakes two sessions of one process after they were idle for so long.
pub(super) async fn run(tools: &Tools, idle: Duration) -> anyhow::Result<Times> {
    let hub = Hub::start(HubOptions {
        servers: json!({}),
        path_first: Some(tools.node_bin()),
        ..HubOptions::default()
    })
    .await?;
    let model = Model::start("no tool at all", json!({})).await?;
    let folders = SESSIONS.map(|name| hub.folder().join(name));
    for folder in &folders {
        std::fs::create_dir_all(folder)?;
    }
    AGENT.prepare(hub.folder(), &folders, model.port)?;
    let connect = ["connect", AGENT.name(), "--no-wake"];
    let (code, said, complained) = hub.run(&connect).await?;
    ensure!(
        code == 0,
        "`legation connect` ended with {code}: {said}{complained}"
    );
    let begun = now();
    let mut editor = Editor::start(tools, &hub, &model)?;
    editor.greet().await?;
    let mut sessions = Vec::new();
    for (name, folder) in SESSIONS.iter().zip(&folders) {
        let session = editor.open(folder).await?;
        editor.prompt(&session, &format!("{name} please")).await?;
        ensure!(!turns(&model, name, name).is_empty(), "{name} had no turn");
        sessions.push(session);
    }
    waits(AGENT, &hub).await?;
    let start = begun.elapsed().as_secs_f64();
    // tidy: the session is idle for as long as was asked for
    sleep(idle).await;

    let mut seconds = Vec::new();
    for (number, (name, folder)) in SESSIONS.iter().zip(&folders).enumerate() {
        let said = now();
        let id = format!("left-for-{name}");
        let about = format!("folder={}", folder.display());
        let post = [
            "inbox",
            "post",
            "The build is green.",
            "--id",
            &id,
            "--meta",
            &about,
        ];
        let (code, _, complained) = hub.run(&post).await?;
        ensure!(
            code == 0,
            "`legation inbox post` ended with {code}: {complained}"
        );
        let (session, took) = woken(&model, &id, said).await?;
        ensure!(session == *name, "the message for {name} woke {session}");
        editor.sees(&sessions[number], &id).await?;
        seconds.push(took);
    }
    // What the person asks afterwards is answered as ever.
    editor.prompt(&sessions[0], "and another thing").await?;
    editor.end().await?;
    let (_, left, _) = hub.run(&["inbox", "session", "list", "--json"]).await?;
    let left: Vec<Value> = serde_json::from_str(&left)?;
    ensure!(left.is_empty(), "sessions are left behind: {left:?}");
    Ok(Times {
        start,
        teams: seconds[0],
        folder: seconds[1],
    })
}

// === impl Editor ===

impl Editor {
    fn start(tools: &Tools, hub: &Hub, model: &Model) -> anyhow::Result<Self> {
        let program = tools.module(AGENT.name(), &format!(".bin/{}", AGENT.name()));
        let program = std::path::absolute(&program).unwrap_or(program);
        let program = program.to_str().context("a path in UTF-8")?;
        let mut environment = hub.environment();
        AGENT.environment(&mut environment, model.port);
        let mut command = hub.command(&["acp", "--client", AGENT.name(), "--", program, "acp"])?;
        command.envs(environment).current_dir(hub.folder());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn()?;
        let (to_agent, from_agent) = (child.stdin.take(), child.stdout.take());
        Ok(Self {
            to_agent: to_agent.context("a pipe")?,
            lines: BufReader::new(from_agent.context("a pipe")?).lines(),
            child,
            said: Vec::new(),
            asked: 0,
        })
    }

    async fn greet(&mut self) -> anyhow::Result<()> {
        let able =
            json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
        let hello = json!({"protocolVersion": 1, "clientCapabilities": able});
        let answer = self.ask("initialize", hello).await?;
        ensure!(answer["protocolVersion"] == 1, "another protocol: {answer}");
        Ok(())
    }

    async fn open(&mut self, folder: &Path) -> anyhow::Result<String> {
        let new = json!({"cwd": folder, "mcpServers": []});
        let answer = self.ask("session/new", new).await?;
        let session = answer["sessionId"].as_str().context("a session")?;
        Ok(session.to_owned())
    }

    async fn prompt(&mut self, session: &str, text: &str) -> anyhow::Result<()> {
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": session, "prompt": prompt});
        let answer = self.ask("session/prompt", params).await?;
        ensure!(answer["stopReason"] == "end_turn", "{answer}");
        Ok(())
    }

    async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.asked += 1;
        let id = self.asked;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.to_agent
            .write_all(format!("{request}\n").as_bytes())
            .await?;
        loop {
            let message = self.next(START).await?;
            if message.get("method").is_some() {
                self.said.push(message);
                continue;
            }
            // The hub's own requests are answered to nobody else.
            ensure!(message["id"] == id, "an answer to nothing: {message}");
            ensure!(message.get("error").is_none(), "{method}: {message}");
            return Ok(message["result"].clone());
        }
    }

    async fn next(&mut self, patience: Duration) -> anyhow::Result<Value> {
        let line = timeout(patience, self.lines.next_line()).await;
        let line = line.context("the agent says nothing")??;
        Ok(serde_json::from_str(&line.context("the agent ended")?)?)
    }

    /// Waits until it was shown what woke a session, and what came of it.
    async fn sees(&mut self, session: &str, id: &str) -> anyhow::Result<()> {
        let is_it = |message: &Value, kind: &str, words: &str| {
            let update = &message["params"]["update"];
            message["params"]["sessionId"] == session
                && update["sessionUpdate"] == kind
                && update["content"]["text"]
                    .as_str()
                    .is_some_and(|text| text.contains(words))
        };
        let begun = now();
        loop {
            let shown = self
                .said
                .iter()
                .position(|one| is_it(one, "user_message_chunk", id));
            let answered = shown.is_some_and(|at| {
                let later = &self.said[at..];
                later
                    .iter()
                    .any(|one| is_it(one, "agent_message_chunk", ""))
            });
            if answered {
                return Ok(());
            }
            ensure!(
                begun.elapsed() < WAKE,
                "the editor was not shown {id}: {:?}",
                self.said
            );
            let message = self.next(WAKE).await?;
            ensure!(
                message.get("method").is_some(),
                "an answer to nothing: {message}"
            );
            self.said.push(message);
        }
    }

    /// The editor closes, and everything ends with it.
    async fn end(self) -> anyhow::Result<()> {
        let Self {
            mut child,
            to_agent,
            mut lines,
            ..
        } = self;
        drop(to_agent);
        let drained = async {
            while let Ok(Some(_)) = lines.next_line().await {}
            child.wait().await
        };
        timeout(START, drained).await.context("it does not end")??;
        // tidy: its sessions leave the board with it, which is a file
        sleep(LOOK).await;
        Ok(())
    }
}
