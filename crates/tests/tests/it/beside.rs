//! Tasks that servers begin instead of answering a call of a delegated task: they run beside its
//! conversation. The local model is scripted.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use legation_tests::fixture::{self, Era, Files, Fixture};
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{PeerEra, friendly};
use legation_tests::harness::process::until;
use legation_tests::harness::servers::stdio_entry;
use legation_tests::harness::worker::{Worker, text};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

const PATIENCE: Duration = Duration::from_secs(120);

/// A server that outlives the hub.
struct Upstream {
    fixture: Arc<Fixture>,
    port: u16,
    served: AbortHandle,
}

impl Upstream {
    async fn start(era: Era) -> anyhow::Result<Self> {
        let name = "beside".to_owned();
        let fixture = Fixture::new(era, name, Vec::new(), Files::default());
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let served = Handle::current().spawn(fixture::http::serve(Arc::clone(&fixture), listener));
        Ok(Self {
            fixture,
            port,
            served: served.abort_handle(),
        })
    }

    fn entry(&self) -> Value {
        json!({"type": "http", "url": format!("http://127.0.0.1:{}/mcp", self.port)})
    }

    /// How its tasks stand, oldest first.
    fn statuses(&self) -> Vec<String> {
        let all = self.fixture.tasks.all();
        let status = |task: &Value| task["status"].as_str().unwrap_or_default().to_owned();
        all.iter().map(|task| status(&task.legacy())).collect()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.served.abort();
    }
}

/// What the model says: it knows what it was brought by the hub's words.
fn says(messages: &Value) -> Option<String> {
    let last = messages.as_array()?.last()?;
    let said = text(&last["content"]);
    let brought = last["role"] == "user" && said.contains("the background task");
    let line = said.lines().last().unwrap_or_default().to_owned();
    brought.then(|| format!("I was brought: {line}"))
}

/// A hub with one server, and an agent who may call what it has.
async fn hub(entry: Value) -> anyhow::Result<(Hub, Worker)> {
    let worker = Worker::with(says).await?;
    let hub = Hub::start(HubOptions {
        servers: json!({ "far": entry }),
        clients: vec!["one".to_owned()],
        ..HubOptions::default()
    })
    .await?;
    worker.serve(&hub).await?;
    let agents = hub.home().join("agents");
    std::fs::create_dir_all(&agents)?;
    let head = "---\ndescription: Asks far away\ntools: [\"far/*\"]\n---\nAsk.\n";
    std::fs::write(agents.join("asker.agent.md"), head)?;
    Ok((hub, worker))
}

/// Has an agent hand something in.
async fn chat(hub: &Hub, arguments: Value) -> anyhow::Result<Value> {
    let peer = hub
        .http_as("one", PeerEra::Modern, json!({}), friendly())
        .await?;
    let answer = peer.call("delegate-chat", arguments).await?;
    anyhow::ensure!(answer.value["result"]["isError"] != true, "{}", answer.text);
    Ok(answer.value["result"]["structuredContent"].clone())
}

/// Hands in a task that calls a tool of the server, and leaves it to the hub.
async fn hand_in(hub: &Hub, tool: &str, arguments: &Value) -> anyhow::Result<String> {
    let message = format!("CALL far-{tool} {arguments}");
    let task = chat(hub, json!({"message": message, "agent": "asker"})).await?;
    Ok(task["task_id"].as_str().unwrap_or_default().to_owned())
}

/// The task as `task list` shows it.
async fn listed(hub: &Hub, id: &str) -> Value {
    let listed = hub.run(&["task", "list", "--all", "--json"]).await;
    let listed = listed.map(|(_, said, _)| said).unwrap_or_default();
    let listed: Value = serde_json::from_str(&listed).unwrap_or_default();
    let tasks = listed["tasks"].as_array().cloned().unwrap_or_default();
    let found = tasks.into_iter().find(|task| task["task_id"] == id);
    found.unwrap_or_default()
}

/// Waits until the task is so.
async fn seen(hub: &Hub, id: &str, is: fn(&Value) -> bool) -> anyhow::Result<Value> {
    let mut last = Value::Null;
    let found = until("the task is so", PATIENCE, async || {
        last = listed(hub, id).await;
        is(&last)
    })
    .await;
    found.map_err(|error| error.context(last.to_string()))?;
    Ok(last)
}

fn waits(task: &Value) -> bool {
    task["background"][0]["status"] == "working" && task["tool_calls"][0]["status"] == "running"
}

fn is_over(task: &Value) -> bool {
    ["completed", "failed", "cancelled"].contains(&task["status"].as_str().unwrap_or_default())
}

/// A tool of that era that runs as a task when a delegated task calls it: in the modern one the server
/// chooses that, in the legacy one who calls, and the hub does so where the tool wants nothing else.
fn slow_tool(era: Era) -> &'static str {
    match era {
        Era::Legacy => "compute_as_task",
        Era::Modern | Era::Both => "slow_compute",
    }
}

fn slow(until: &Path) -> Value {
    json!({"seconds": 0, "label": "kestrel", "until": until})
}

#[tokio::test]
async fn a_servers_task_runs_beside_the_conversation_and_outlives_the_hub() -> anyhow::Result<()> {
    outlives(Era::Modern).await
}

#[tokio::test]
async fn a_task_of_2025_11_25_does_so_too() -> anyhow::Result<()> {
    outlives(Era::Legacy).await
}

async fn outlives(era: Era) -> anyhow::Result<()> {
    let far = Upstream::start(era).await?;
    let (hub, worker) = hub(far.entry()).await?;
    let place = tempfile::tempdir()?;
    let go = place.path().join("go");
    let tool = slow_tool(era);
    let id = hand_in(&hub, tool, &slow(&go)).await?;
    let task = seen(&hub, &id, waits).await?;
    let beside = &task["background"][0];
    assert_eq!(beside["kind"], "mcp-task", "{task}");
    assert_eq!(beside["server"], "far", "{task}");
    assert_eq!(beside["poll_interval_ms"], 100, "{task}");
    let upstream = far.fixture.tasks.all();
    assert_eq!(beside["server_task_id"], upstream[0].id.as_str(), "{task}");
    // The turn went on: the model was told and has spoken, and the conversation is free.
    until("the model was told", PATIENCE, async || {
        let told = |asked: &Value| asked.to_string().contains("runs in the background as task");
        worker.requests().iter().any(told)
    })
    .await?;
    let other = chat(&hub, json!({"message": "SAY meanwhile", "wait": true})).await?;
    assert_eq!(other["response"], "meanwhile", "{other}");
    // The hub is killed, and goes on with it.
    let hub = hub.restart().await?;
    seen(&hub, &id, waits).await?;
    std::fs::write(&go, "")?;
    let task = seen(&hub, &id, is_over).await?;
    assert_eq!(task["status"], "completed", "{task}");
    assert_eq!(
        task["response"], "I was brought: Computed kestrel",
        "{task}"
    );
    assert_eq!(task["background"][0]["status"], "completed", "{task}");
    assert_eq!(task["tool_calls"][0]["status"], "success", "{task}");
    assert_eq!(far.statuses(), ["completed"], "it was begun once");
    // It is shown with what it ran.
    let (_, said, _) = hub.run(&["task", "show", &id]).await?;
    assert!(
        said.contains(&format!("beside    far-{tool} at far: completed")),
        "{said}"
    );
    Ok(())
}

#[tokio::test]
async fn what_runs_beside_a_task_is_called_off_with_it() -> anyhow::Result<()> {
    for era in [Era::Legacy, Era::Modern] {
        let far = Upstream::start(era).await?;
        let (hub, _worker) = hub(far.entry()).await?;
        let never = Path::new("/nowhere/at/all");
        let id = hand_in(&hub, slow_tool(era), &slow(never)).await?;
        seen(&hub, &id, waits).await?;
        assert_eq!(far.statuses(), ["working"]);
        let (code, _, complained) = hub.run(&["task", "cancel", &id]).await?;
        assert_eq!(code, 0, "{complained}");
        let task = seen(&hub, &id, is_over).await?;
        assert_eq!(task["status"], "cancelled", "{task}");
        assert_eq!(task["background"][0]["status"], "cancelled", "{task}");
        assert_eq!(far.statuses(), ["cancelled"]);
    }
    Ok(())
}

#[tokio::test]
async fn a_tool_that_only_runs_as_a_task_can_be_called_in_both_eras() -> anyhow::Result<()> {
    for era in [Era::Legacy, Era::Modern] {
        let far = Upstream::start(era).await?;
        let (hub, _worker) = hub(far.entry()).await?;
        let id = hand_in(&hub, "failing_job", &json!({})).await?;
        let task = seen(&hub, &id, is_over).await?;
        let response = "I was brought: The job failed";
        assert_eq!(task["response"], response, "{task}");
        assert_eq!(task["tool_calls"][0]["status"], "error", "{task}");
        assert_eq!(task["background"][0]["kind"], "mcp-task", "{task}");
    }
    Ok(())
}

#[tokio::test]
async fn a_task_that_its_server_forgot_says_so() -> anyhow::Result<()> {
    let (hub, _worker) = hub(stdio_entry(Era::Both, "shared")?).await?;
    let never = Path::new("/nowhere/at/all");
    let id = hand_in(&hub, "slow_compute", &slow(never)).await?;
    seen(&hub, &id, waits).await?;
    // The server ends with the hub, and its next one knows nothing.
    let hub = hub.restart().await?;
    let task = seen(&hub, &id, is_over).await?;
    let response = task["response"].as_str().unwrap_or_default();
    assert!(
        response.contains("no longer answers for the task"),
        "{task}"
    );
    let beside = &task["background"][0];
    assert_eq!(beside["status"], "failed", "{task}");
    let why = beside["status_message"].as_str().unwrap_or_default();
    assert!(why.contains("no longer answers"), "{task}");
    Ok(())
}
