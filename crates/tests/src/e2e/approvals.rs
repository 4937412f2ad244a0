//! Calls that a person is asked about, made with the official SDKs: answered in
//! the client, in either era, or with `legation approve` where the client
//! cannot ask.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::report::{Report, say};
use super::sdk::client::{CLIENTS, Sdk, transport};
use super::tools::Tools;
use crate::harness::asked::{ASKED, AskedHub};
use crate::harness::hub::HubOptions;

const PATIENCE: Duration = Duration::from_secs(120);
const ROADS: [&str; 2] = ["bridge", "http"];
/// Uses of one approval at once.
const CROWD: usize = 1_000;

/// The hub that all of them use.
struct Asking(AskedHub);

/// A client's program, which makes the calls that it is told.
struct Client {
    _child: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
}

/// What came of a turn.
struct Said {
    results: Vec<Value>,
    /// How often the client was asked.
    asked: usize,
}

/// What a call was answered with.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Done,
    Pending(String),
    Denied,
}

/// Runs them all.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let asking = Asking(
        AskedHub::start(HubOptions {
            path_first: Some(tools.node_bin()),
            ..HubOptions::default()
        })
        .await?,
    );
    for (sdk, era) in CLIENTS {
        for road in ROADS {
            for asked in [true, false] {
                let able = if asked { "asked" } else { "not asked" };
                let name = format!("{sdk:?} {era} {road} {able}");
                if !report.wants(&name) {
                    continue;
                }
                say(&format!("  {name}"));
                let plan = json!({
                    "era": era, "transport": transport(&asking.0.hub, road)?,
                    "converse": true, "asked": asked,
                });
                let client = Client::start(tools, folder.path(), sdk, plan).await?;
                let outcome = if asked {
                    asking.answered_in_the_client(client, &name).await
                } else {
                    asking.answered_elsewhere(client, &name).await
                };
                report.check(
                    &name,
                    outcome.map_err(|error| {
                        format!("{error:#}; the hub said {:?}", asking.0.hub.said())
                    }),
                );
            }
        }
    }
    Ok(())
}

// === impl Asking ===

impl Asking {
    /// A client with elicitation: every answer a person can give there.
    async fn answered_in_the_client(&self, mut client: Client, name: &str) -> anyhow::Result<()> {
        let accept =
            |decision: &str| json!({"action": "accept", "content": {"decision": decision}});
        let yes = json!({"name": name, "says": "once"});
        for round in 0..2 {
            // Once is once: the second call is asked about again.
            let said = client.call(&yes, &accept("once")).await?;
            ensure!(
                said.only()? == Answer::Done && said.asked == 1,
                "accepted, round {round}: {said}"
            );
        }
        ensure!(self.0.executed(&yes)? == 2, "accepted calls were not made");
        for action in ["decline", "cancel"] {
            let arguments = json!({"name": name, "says": action});
            let closes = json!({"action": action});
            let said = client.call(&arguments, &closes).await?;
            let Answer::Pending(id) = said.only()? else {
                bail!("{action} is no answer, and led to {said}");
            };
            ensure!(said.asked == 1, "{action}: asked {} times", said.asked);
            self.0.tell(&["approve", &id]).await?;
            let said = client.call(&arguments, &closes).await?;
            ensure!(
                said.only()? == Answer::Done && said.asked == 0,
                "approved after {action}: {said}"
            );
            ensure!(self.0.executed(&arguments)? == 1, "made other than once");
        }
        let no = json!({"name": name, "says": "deny"});
        for asked in [1, 0] {
            let said = client.call(&no, &accept("deny")).await?;
            ensure!(
                said.only()? == Answer::Denied && said.asked == asked,
                "denied: {said}"
            );
        }
        ensure!(self.0.executed(&no)? == 0, "a denied call was made");
        Ok(())
    }

    /// A client without elicitation: it waits, and calls again; and a crowd
    /// that uses one answer at once.
    async fn answered_elsewhere(&self, mut client: Client, name: &str) -> anyhow::Result<()> {
        let arguments = json!({"name": name, "says": "later"});
        let id = client.pending(&arguments).await?;
        ensure!(
            client.pending(&arguments).await? == id,
            "the same call waits twice"
        );
        self.0.tell(&["approve", &id]).await?;
        let said = client.call(&arguments, &Value::Null).await?;
        ensure!(said.only()? == Answer::Done, "approved: {said}");
        let again = client.pending(&arguments).await?;
        ensure!(again != id, "an approval outlives its use");
        self.0.tell(&["deny", &again]).await?;
        let said = client.call(&arguments, &Value::Null).await?;
        ensure!(said.only()? == Answer::Denied, "denied: {said}");
        ensure!(self.0.executed(&arguments)? == 1, "made other than once");
        let shared = json!({"name": name, "says": "shared"});
        let id = client.pending(&shared).await?;
        self.0.tell(&["approve", &id]).await?;
        let said = client.turn(&shared, &Value::Null, CROWD).await?;
        let done = said.results.iter().filter(|result| is_done(result)).count();
        ensure!(
            done == 1 && said.results.len() == CROWD && self.0.executed(&shared)? == 1,
            "one approval was used {done} times by {}, the server called {} times",
            said.results.len(),
            self.0.executed(&shared)?
        );
        Ok(())
    }
}

// === impl Client ===

impl Client {
    async fn start(tools: &Tools, folder: &Path, sdk: Sdk, plan: Value) -> anyhow::Result<Self> {
        let mut child = sdk
            .driver(tools, folder, "asking.json", plan)?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the client")?;
        let to = child.stdin.take().context("no standard input")?;
        let from = child.stdout.take().context("no standard output")?;
        Ok(Self {
            _child: child,
            to,
            from: BufReader::new(from).lines(),
        })
    }

    /// One call, and what the client answers when it is asked.
    async fn call(&mut self, arguments: &Value, answer: &Value) -> anyhow::Result<Said> {
        self.turn(arguments, answer, 1).await
    }

    /// One call that must wait for a person; its approval's id.
    async fn pending(&mut self, arguments: &Value) -> anyhow::Result<String> {
        let said = self.call(arguments, &Value::Null).await?;
        ensure!(said.asked == 0, "a client that cannot be asked was: {said}");
        match said.only()? {
            Answer::Pending(id) => Ok(id),
            other => bail!("it does not wait: {other:?}"),
        }
    }

    async fn turn(
        &mut self,
        arguments: &Value,
        answer: &Value,
        times: usize,
    ) -> anyhow::Result<Said> {
        let mut turn = json!({"name": ASKED, "arguments": arguments, "times": times});
        if !answer.is_null() {
            turn["answer"] = answer.clone();
        }
        self.to.write_all(format!("{turn}\n").as_bytes()).await?;
        let line = timeout(PATIENCE, self.from.next_line())
            .await
            .context("the client does not answer")??
            .context("the client has ended")?;
        let mut said: Value = serde_json::from_str(&line)?;
        let Value::Array(results) = said["results"].take() else {
            bail!("no results: {line}");
        };
        Ok(Said {
            results,
            asked: said["asked"].as_array().map_or(0, Vec::len),
        })
    }
}

// === impl Said ===

impl Said {
    /// The answer of a turn of one call.
    fn only(&self) -> anyhow::Result<Answer> {
        let result = self.results.first().context("no result")?;
        if is_done(result) {
            return Ok(Answer::Done);
        }
        let data = &result["structuredContent"];
        match (data["reason_code"].as_str(), data["approval_id"].as_str()) {
            (Some("APPROVAL_PENDING"), Some(id)) => Ok(Answer::Pending(id.to_owned())),
            (Some("APPROVAL_DENIED"), _) => Ok(Answer::Denied),
            _ => bail!("neither done, pending nor denied: {result}"),
        }
    }
}

impl std::fmt::Display for Said {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{:?} after {} questions",
            self.results.first(),
            self.asked
        )
    }
}

/// Whether a result is the server's own.
fn is_done(result: &Value) -> bool {
    result["isError"] != true
        && result["failed"].is_null()
        && result["structuredContent"]["blocked"].is_null()
        && result["content"].is_array()
}
