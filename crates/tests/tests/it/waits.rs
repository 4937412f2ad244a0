//! `inbox wait` as a task, in both shapes that tasks have.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use legation_tests::e2e::tools::Tools;
use legation_tests::harness::hub::{Hub, HubOptions, client_token};
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::process::{command, program, until};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(120);

async fn hub() -> anyhow::Result<Hub> {
    Hub::start(HubOptions {
        servers: json!({}),
        clients: vec!["codex".to_owned()],
        ..HubOptions::default()
    })
    .await
}

fn tasks() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})
}

async fn post(hub: &Hub, id: &str) -> anyhow::Result<()> {
    let (code, _, complaint) = hub.run(&["inbox", "post", "hello", "--id", id]).await?;
    anyhow::ensure!(code == 0, "{complaint}");
    Ok(())
}

fn ids(result: &Value) -> Vec<&str> {
    let messages = result["structuredContent"]["messages"].as_array();
    let messages = messages.into_iter().flatten();
    messages.filter_map(|one| one["id"].as_str()).collect()
}

/// Begins a wait; its handle.
async fn begin(peer: &Peer, arguments: Value) -> anyhow::Result<Value> {
    let mut call = json!({"name": "inbox-wait", "arguments": arguments});
    if peer.era() == PeerEra::Legacy {
        call["task"] = json!({"ttl": 60_000});
    }
    let answer = peer.once("tools/call", call).await?;
    let result = answer.result()?;
    let task = match peer.era() {
        PeerEra::Legacy => &result["task"],
        PeerEra::Modern => {
            assert_eq!(result["resultType"], "task", "{}", answer.text);
            result
        }
    };
    assert_eq!(task["status"], "working", "{}", answer.text);
    Ok(task["taskId"].clone())
}

async fn get(peer: &Peer, task: &Value) -> anyhow::Result<Value> {
    let answer = peer.once("tasks/get", json!({ "taskId": task })).await?;
    Ok(answer.result()?.clone())
}

#[tokio::test]
async fn a_wait_is_a_task_for_clients_of_the_extension() -> anyhow::Result<()> {
    let hub = hub().await?;
    let peer = hub
        .socket_peer(PeerEra::Modern, tasks(), friendly())
        .await?;
    let task = begin(&peer, json!({})).await?;
    assert_eq!(get(&peer, &task).await?["status"], "working");
    // It is nobody else's.
    let other = hub
        .http_as("codex", PeerEra::Modern, tasks(), friendly())
        .await?;
    let theirs = other.once("tasks/get", json!({ "taskId": task })).await?;
    assert_eq!(theirs.code(), Some(-32602), "{}", theirs.text);
    let wants = json!({"notifications": {"taskIds": [task]}});
    let _listen = peer.start("subscriptions/listen", wants).await?;
    until("the acknowledgement", PATIENCE, async || {
        !peer.heard().is_empty()
    })
    .await?;
    post(&hub, "m1").await?;
    until("the word of it", PATIENCE, async || {
        !peer.heard_of("notifications/tasks").is_empty()
    })
    .await?;
    let told = &peer.heard_of("notifications/tasks")[0]["params"];
    assert_eq!(
        (&told["taskId"], &told["status"]),
        (&task, &json!("completed"))
    );
    assert_eq!(ids(&told["result"]), ["m1"], "{told}");
    for _ in 0..2 {
        // It is there until its time is over.
        let done = get(&peer, &task).await?;
        assert_eq!(done["status"], "completed", "{done}");
        assert_eq!(ids(&done["result"]), ["m1"], "{done}");
    }
    // What was read with the task is read, and what is there already needs no task.
    post(&hub, "m2").await?;
    let answer = peer.call("inbox-wait", json!({})).await?;
    assert_eq!(ids(answer.result()?), ["m2"], "{}", answer.text);
    // Its time is over without a message.
    let short = begin(&peer, json!({"timeout_s": 0})).await?;
    until("the end", PATIENCE, async || {
        get(&peer, &short)
            .await
            .is_ok_and(|task| task["status"] == "completed")
    })
    .await?;
    assert_eq!(
        ids(&get(&peer, &short).await?["result"]),
        Vec::<&str>::new()
    );
    let called_off = begin(&peer, json!({})).await?;
    let seen = peer
        .call("inbox-pull", json!({"consumer": "another"}))
        .await?;
    assert_eq!(ids(seen.result()?), ["m1", "m2"], "{}", seen.text);
    let lost = begin(&peer, json!({"consumer": "another"})).await?;
    peer.once("tasks/cancel", json!({ "taskId": called_off }))
        .await?
        .result()?;
    assert_eq!(get(&peer, &called_off).await?["status"], "cancelled");
    post(&hub, "m3").await?;
    let answer = peer.call("inbox-pull", json!({})).await?;
    assert_eq!(ids(answer.result()?), ["m3"], "{}", answer.text);
    assert_eq!(get(&peer, &called_off).await?["status"], "cancelled");
    // What ended with its hub says so, and what it had taken nobody has read.
    until("its message", PATIENCE, async || {
        get(&peer, &lost)
            .await
            .is_ok_and(|task| task["status"] == "completed")
    })
    .await?;
    let hub = hub.restart().await?;
    let peer = hub
        .socket_peer(PeerEra::Modern, tasks(), friendly())
        .await?;
    let ended = get(&peer, &called_off).await?;
    assert_eq!(ended["status"], "failed", "{ended}");
    let why = ended["error"]["message"].as_str().unwrap_or_default();
    assert!(why.contains("call wait again"), "{ended}");
    let never = json!({"taskId": "wait-nothing"});
    assert_eq!(peer.once("tasks/get", never).await?.code(), Some(-32602));
    Ok(())
}

#[tokio::test]
async fn what_a_task_brought_and_nobody_fetched_is_offered_again() -> anyhow::Result<()> {
    let hub = hub().await?;
    let peer = hub
        .socket_peer(PeerEra::Modern, tasks(), friendly())
        .await?;
    let task = begin(&peer, json!({})).await?;
    let wants = json!({"notifications": {"taskIds": [task]}});
    let _listen = peer.start("subscriptions/listen", wants).await?;
    until("the acknowledgement", PATIENCE, async || {
        !peer.heard().is_empty()
    })
    .await?;
    post(&hub, "m1").await?;
    until("the end", PATIENCE, async || {
        !peer.heard_of("notifications/tasks").is_empty()
    })
    .await?;
    // It is on its way to the client in the task, and the hub dies with it.
    let pulled = peer.call("inbox-pull", json!({})).await?;
    assert_eq!(ids(pulled.result()?), Vec::<&str>::new(), "{}", pulled.text);
    let hub = hub.restart().await?;
    let peer = hub
        .socket_peer(PeerEra::Modern, tasks(), friendly())
        .await?;
    let pulled = peer.call("inbox-pull", json!({})).await?;
    assert_eq!(ids(pulled.result()?), ["m1"], "{}", pulled.text);
    Ok(())
}

#[tokio::test]
async fn a_wait_is_a_task_of_2025_11_25_where_that_is_asked_for() -> anyhow::Result<()> {
    let hub = hub().await?;
    let peer = hub
        .bridge(PeerEra::Legacy, everything(), friendly())
        .await?;
    let tools = peer.list("tools/list", "tools").await?;
    let support = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name);
        tool.map(|tool| tool["execution"]["taskSupport"].clone())
    };
    assert_eq!(support("inbox-wait"), Some(json!("optional")));
    assert_eq!(support("inbox-pull"), Some(Value::Null));
    let task = begin(&peer, json!({})).await?;
    let listed = peer.list("tasks/list", "tasks").await?;
    assert_eq!(listed[0]["taskId"], task);
    assert_eq!(listed[0]["status"], "working");
    let waiting = peer
        .start("tasks/result", json!({ "taskId": task }))
        .await?;
    post(&hub, "m1").await?;
    let result = timeout(PATIENCE, waiting.answer).await??;
    assert_eq!(ids(result.result()?), ["m1"], "{}", result.text);
    let related = &result.result()?["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(related["taskId"], task);
    let pulled = peer.call("inbox-pull", json!({})).await?;
    assert_eq!(ids(pulled.result()?), Vec::<&str>::new(), "{}", pulled.text);
    let again = begin(&peer, json!({})).await?;
    let cancelled = peer
        .once("tasks/cancel", json!({ "taskId": again }))
        .await?;
    assert_eq!(
        cancelled.result()?["status"],
        "cancelled",
        "{}",
        cancelled.text
    );
    // Without a wish for one it is a call like any other.
    let plain = peer.call("inbox-wait", json!({"timeout_s": 0})).await?;
    assert_eq!(ids(plain.result()?), Vec::<&str>::new(), "{}", plain.text);
    Ok(())
}

/// A program that says what it sees, a line of JSON each.
struct Driver {
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Driver {
    fn start(mut command: Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn()?;
        let output = child.stdout.take().unwrap();
        Ok(Self {
            lines: BufReader::new(output).lines(),
            _child: child,
        })
    }

    async fn says(&mut self) -> anyhow::Result<Value> {
        let line = timeout(PATIENCE, self.lines.next_line()).await??;
        let line = line.ok_or_else(|| anyhow::anyhow!("it ended"))?;
        Ok(serde_json::from_str(&line)?)
    }
}

fn plan(hub: &Hub, sdk: &Path, client: &str) -> anyhow::Result<std::path::PathBuf> {
    let file = hub.folder().join(format!("{client}.plan.json"));
    let token = match client {
        "codex" => client_token(client),
        _ => hub.token()?,
    };
    let plan = json!({"sdk": sdk, "url": hub.url(), "token": token});
    std::fs::write(&file, plan.to_string())?;
    Ok(file)
}

#[tokio::test]
async fn the_sdks_wait_in_tasks_in_either_shape() -> anyhow::Result<()> {
    let built = program("legation")?;
    let target = built.ancestors().nth(2).unwrap_or(Path::new("target"));
    let tools = Tools::new(target.join("tools"));
    let drivers = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers");
    let hub = hub().await?;
    let sdk = tools.module("sdk2", "@modelcontextprotocol/client");
    // Where the suite has not installed them there is nothing to drive; `cargo xtask test` has.
    let mut typescript = None;
    if sdk.exists() {
        let mut node = tools.node(hub.folder());
        node.arg(drivers.join("waiting.mjs"))
            .arg(plan(&hub, &sdk, "owner")?);
        let mut driver = Driver::start(node)?;
        let begun = driver.says().await?;
        assert_eq!(begun["task"]["status"], "working", "{begun}");
        typescript = Some(driver);
    }
    let mut python = None;
    if tools.python("python").exists() {
        let mut run = command(tools.python("python"), &tools.environment(hub.folder()));
        run.arg("-B")
            .arg(drivers.join("waiting.py"))
            .arg(plan(&hub, &sdk, "codex")?);
        let mut driver = Driver::start(run)?;
        let begun = driver.says().await?;
        assert_eq!(begun["task"]["status"], "working", "{begun}");
        let state = driver.says().await?;
        assert_eq!(state["state"], "working", "{state}");
        assert_eq!(state["listed"], json!([begun["task"]["taskId"]]), "{state}");
        python = Some(driver);
    }
    post(&hub, "m1").await?;
    if let Some(mut driver) = typescript {
        let ended = driver.says().await?;
        assert_eq!(ended["ended"]["status"], "completed", "{ended}");
        assert_eq!(ids(&ended["ended"]["result"]), ["m1"], "{ended}");
    }
    if let Some(mut driver) = python {
        let ended = driver.says().await?;
        assert_eq!(ids(&ended["ended"]), ["m1"], "{ended}");
    }
    Ok(())
}
