//! Delegated work that two people want something of at once, or that tries to leave its folder. The
//! local model is scripted.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::process::until;
use legation_tests::harness::worker::Worker;
use serde_json::{Value, json};
use tokio::process::Child;
use tokio::time::timeout;

use super::api::Listener;

const PATIENCE: Duration = Duration::from_secs(120);

async fn hub(options: HubOptions) -> anyhow::Result<(Hub, Worker)> {
    let worker = Worker::start().await?;
    let hub = Hub::start(HubOptions {
        servers: json!({}),
        ..options
    })
    .await?;
    worker.serve(&hub).await?;
    Ok((hub, worker))
}

/// A person's task in a folder.
fn begin(hub: &Hub, folder: &Path, message: &str) -> anyhow::Result<Child> {
    let mut run = hub.command(&["run", "--json", message])?;
    run.current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(run.spawn()?)
}

/// How it was at its end.
async fn end(run: Child) -> anyhow::Result<Value> {
    let ended = timeout(PATIENCE, run.wait_with_output()).await??;
    let said = String::from_utf8_lossy(&ended.stdout);
    let complained = String::from_utf8_lossy(&ended.stderr);
    serde_json::from_str(&said).with_context(|| format!("{said}{complained}"))
}

/// A call as the scripted model is told to make it.
fn call(tool: &str, arguments: &Value) -> String {
    format!("CALL {tool} {arguments}")
}

#[tokio::test]
async fn two_people_in_a_conversation_are_answered_one_after_the_other() -> anyhow::Result<()> {
    let (hub, worker) = hub(HubOptions::default()).await?;
    let folder = tempfile::tempdir()?;
    let first = begin(&hub, folder.path(), "HOLD first of all")?;
    until("the first is answered", PATIENCE, async || {
        worker.held() == 1
    })
    .await?;
    let second = begin(&hub, folder.path(), "SAY second")?;
    let queued = async || {
        let listed = hub.run(&["task", "list", "--json"]).await;
        let listed = listed.map(|(_, said, _)| said).unwrap_or_default();
        let listed: Value = serde_json::from_str(&listed).unwrap_or_default();
        let tasks = listed["tasks"].as_array().cloned().unwrap_or_default();
        tasks.iter().any(|task| task["status"] == "queued")
    };
    until("the second waits", PATIENCE, queued).await?;
    assert_eq!(worker.dropped(), 0, "nobody takes the other's turn");
    worker.let_go();
    let (first, second) = (end(first).await?, end(second).await?);
    assert_eq!(first["response"], "first of all", "{first}");
    assert_eq!(second["response"], "second", "{second}");
    assert_eq!(first["session"], second["session"], "{second}");
    let session = first["session"].as_str().unwrap_or_default();
    let (_, said, _) = hub.run(&["session", "export", session]).await?;
    let answers = (said.rfind("first of all"), said.rfind("\"second\""));
    assert!(answers.0 < answers.1, "{said}");
    // The second was answered with the first in sight.
    let asked = worker.requests().last().map(Value::to_string);
    assert!(
        asked
            .as_ref()
            .is_some_and(|asked| asked.contains("HOLD first of all")),
        "{asked:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_task_finds_no_way_out_of_its_folder() -> anyhow::Result<()> {
    const HIDDEN: &str = "kestrel-of-the-hub";
    let (hub, _worker) = hub(HubOptions {
        environment: [("HARBOR_KEY".to_owned(), HIDDEN.to_owned())].into(),
        ..HubOptions::default()
    })
    .await?;
    let place = tempfile::tempdir()?;
    let folder = place.path().join("work");
    std::fs::create_dir(&folder)?;
    let outside = place.path().join("outside.txt");
    std::fs::write(&outside, "plover-outside")?;
    symlink(&outside, folder.join("link.txt"))?;
    symlink("/proc", folder.join("processes"))?;
    let token = hub.token()?;
    let (pid, home) = (hub.pid().context("it runs")?, hub.home());
    let home = home.display();
    let read = |path: &str| call("read_file", &json!({ "path": path }));
    let bash = |command: &str| call("bash", &json!({ "command": command }));
    for message in [
        read("../outside.txt"),
        read("link.txt"),
        read(&outside.display().to_string()),
        read("/proc/self/environ"),
        read("processes/self/environ"),
        read(&format!("processes/{pid}/environ")),
        read(&format!("{home}/token")),
        call("grep", &json!({"pattern": "plover", "path": ".."})),
        call("glob", &json!({"pattern": "../*"})),
        bash("env; cat ../outside.txt link.txt; true"),
        bash(&format!(
            "cat /proc/{pid}/environ /proc/*/environ {home}/token; true"
        )),
        bash(&format!(
            "cat processes/{pid}/root/{} {home}/mcp.sock; true",
            outside.display()
        )),
    ] {
        let done = end(begin(&hub, &folder, &message)?).await?;
        // The message is in its title; what it came to is in its answer.
        let response = done["response"].as_str().unwrap_or_default();
        assert!(response.starts_with("DONE["), "{message}: {done}");
        for secret in [HIDDEN, "plover-outside", &token] {
            assert!(!response.contains(secret), "{message}: {done}");
        }
    }
    for (path, target) in [("../new.txt", "new.txt"), ("link.txt", "outside.txt")] {
        let message = call("write_file", &json!({"path": path, "content": "mine"}));
        end(begin(&hub, &folder, &message)?).await?;
        let found = std::fs::read_to_string(place.path().join(target)).unwrap_or_default();
        assert!(!found.contains("mine"), "{path} leads out");
    }
    Ok(())
}

#[tokio::test]
async fn who_listens_hears_how_much_a_command_said_before_its_end() -> anyhow::Result<()> {
    let (hub, _worker) = hub(HubOptions::default()).await?;
    let folder = tempfile::tempdir()?;
    let mut listener = Listener::start(&hub, "").await?;
    let command = "for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done";
    let message = call("bash", &json!({ "command": command }));
    let run = begin(&hub, folder.path(), &message)?;
    let (_, started) = timeout(PATIENCE, listener.next("tool.execution_start")).await??;
    assert_eq!(started["mcpToolName"], "bash", "{started}");
    let partial = listener.next("tool.execution_partial_result");
    let (_, partial) = timeout(PATIENCE, partial).await??;
    assert_eq!(partial["toolCallId"], started["toolCallId"]);
    let bytes = partial["bytes"].as_u64().unwrap_or_default();
    assert!((2..=12).contains(&bytes), "{partial}");
    let (_, over) = timeout(PATIENCE, listener.next("tool.execution_complete")).await??;
    assert_eq!(over["toolCallId"], started["toolCallId"]);
    end(run).await?;
    Ok(())
}
