//! The server `delegate` from outside: its tools, its tasks in both shapes, what is told
//! unasked, and whose a task is. The local model is scripted.

use std::path::Path;
use std::time::Duration;

use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Peer, PeerEra, friendly};
use legation_tests::harness::process::until;
use legation_tests::harness::worker::Worker;
use serde_json::{Value, json};

const ERAS: [PeerEra; 2] = [PeerEra::Legacy, PeerEra::Modern];
const PATIENCE: Duration = Duration::from_secs(120);
const TASKS: &str = "io.modelcontextprotocol/tasks";

async fn hub(settings: &str) -> anyhow::Result<Hub> {
    Hub::start(HubOptions {
        servers: json!({}),
        settings: settings.to_owned(),
        clients: vec!["one".to_owned(), "other".to_owned()],
        ..HubOptions::default()
    })
    .await
}

/// A hub whose local model is scripted.
async fn with_model(settings: &str) -> anyhow::Result<(Hub, Worker)> {
    let worker = Worker::start().await?;
    let hub = hub(settings).await?;
    let url = format!("http://127.0.0.1:{}", worker.port);
    for arguments in [
        &["models", "set", "enable", "local_model", "--endpoint", &url] as &[&str],
        &["models", "set", "default", "local_model"],
    ] {
        let (code, said, complained) = hub.run(arguments).await?;
        assert_eq!(code, 0, "{said}{complained}");
    }
    Ok((hub, worker))
}

async fn structured(peer: &Peer, tool: &str, arguments: Value) -> anyhow::Result<Value> {
    let answer = peer.call(tool, arguments).await?;
    let result = &answer.value["result"];
    anyhow::ensure!(result["isError"] != true, "{}", answer.text);
    Ok(result["structuredContent"].clone())
}

/// Polls a task until it is over.
async fn ended(peer: &Peer, id: &Value) -> anyhow::Result<Value> {
    let mut last = Value::Null;
    until("the task is over", PATIENCE, async || {
        let polled = structured(peer, "delegate-poll_task", json!({"task_id": id})).await;
        last = polled.unwrap_or_default();
        let status = last["status"].as_str().unwrap_or_default();
        ["completed", "failed", "cancelled"].contains(&status)
    })
    .await?;
    Ok(last)
}

#[tokio::test]
async fn every_tool_says_what_it_answers_and_a_task_runs_to_its_end() -> anyhow::Result<()> {
    let (hub, worker) = with_model("").await?;
    for era in ERAS {
        let peer = hub.http_as("one", era, json!({}), friendly()).await?;
        let tools = peer.list("tools/list", "tools").await?;
        let own = tools.iter().filter(|tool| {
            let name = tool["name"].as_str().unwrap_or_default();
            name.starts_with("delegate-")
        });
        let own: Vec<&Value> = own.collect();
        assert_eq!(own.len(), 7, "{own:?}");
        for tool in own {
            assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
        }
        let message = json!({"message": "SAY all is well", "hint": "general"});
        let first = structured(&peer, "delegate-chat", message).await?;
        let last = ended(&peer, &first["task_id"]).await?;
        assert_eq!(last["status"], "completed", "{last}");
        assert_eq!(last["response"], "all is well", "{last}");
        assert_eq!(last["token_usage"]["output"], 5, "{last}");
        let waited = json!({"message": "SAY waited for", "wait": true});
        let waited = structured(&peer, "delegate-chat", waited).await?;
        assert_eq!(waited["response"], "waited for", "{waited}");
        let status = structured(&peer, "delegate-status", json!({})).await?;
        assert_eq!(status["state"], "idle", "{status}");
        assert_eq!(status["gpu_utilization"], Value::Null, "{status}");
        let capable = structured(&peer, "delegate-get_capabilities", json!({})).await?;
        assert_eq!(
            capable["rate_limit"]["requests_per_minute"], 10,
            "{capable}"
        );
        assert_eq!(capable["models"][0]["name"], "worker", "{capable}");
        assert_eq!(capable["models"][0]["local"], true, "{capable}");
    }
    assert!(worker.requests().len() >= 4);
    Ok(())
}

#[tokio::test]
async fn a_task_is_nobody_elses() -> anyhow::Result<()> {
    let (hub, worker) = with_model("").await?;
    let one = hub
        .http_as("one", PeerEra::Modern, json!({}), friendly())
        .await?;
    let other = hub
        .http_as("other", PeerEra::Modern, json!({}), friendly())
        .await?;
    let message = json!({"message": "HOLD my secret"});
    let task = structured(&one, "delegate-chat", message).await?;
    let id = &task["task_id"];
    until("it is worked on", PATIENCE, async || worker.held() == 1).await?;
    for (tool, arguments) in [
        ("delegate-poll_task", json!({"task_id": id})),
        ("delegate-cancel", json!({"task_id": id})),
        (
            "delegate-report_issue",
            json!({"task_id": id, "issue_type": "slow", "description": "x"}),
        ),
    ] {
        let answer = other.call(tool, arguments).await?;
        assert!(
            answer.text.contains("there is no task") && answer.text.contains(r#""isError":true"#),
            "{tool}: {}",
            answer.text
        );
    }
    let status = structured(&other, "delegate-status", json!({})).await?;
    assert_eq!(status["state"], "busy", "{status}");
    assert_eq!(status["active_task"]["task_id"], Value::Null, "{status}");
    let own = structured(&one, "delegate-status", json!({})).await?;
    assert_eq!(own["active_task"]["task_id"], *id, "{own}");
    let history = structured(&other, "delegate-get_history", json!({})).await?;
    assert!(!history.to_string().contains("secret"), "{history}");
    // Its client calls it off, and the model's answer is dropped at once.
    let reason = json!({"task_id": id, "reason": "not needed"});
    let ended = structured(&one, "delegate-cancel", reason).await?;
    assert_eq!(ended["status"], "cancelled", "{ended}");
    assert!(
        ended["error"].as_str().unwrap().contains("not needed"),
        "{ended}"
    );
    until("the stream is dropped", PATIENCE, async || {
        worker.held() == 0
    })
    .await?;
    assert_eq!(worker.dropped(), 1);
    Ok(())
}

#[tokio::test]
async fn only_handing_in_is_limited_and_only_for_who_does_too_much() -> anyhow::Result<()> {
    let (hub, _worker) = with_model("[external]\nrate_limit = 2\n").await?;
    let one = hub
        .http_as("one", PeerEra::Modern, json!({}), friendly())
        .await?;
    let other = hub
        .http_as("other", PeerEra::Modern, json!({}), friendly())
        .await?;
    let chat = json!({"message": "SAY hello"});
    let first = structured(&one, "delegate-chat", chat.clone()).await?;
    structured(&one, "delegate-chat", chat.clone()).await?;
    let third = one.call("delegate-chat", chat.clone()).await?;
    assert!(
        third.text.contains("2 tasks a minute") && third.text.contains("nothing was handed in"),
        "{}",
        third.text
    );
    for _ in 0..5 {
        let poll = json!({"task_id": first["task_id"]});
        structured(&one, "delegate-poll_task", poll).await?;
    }
    structured(&other, "delegate-chat", chat).await?;
    Ok(())
}

#[tokio::test]
async fn switched_off_it_is_offered_to_nobody() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    private(folder.path())?;
    let path = folder.path().join("delegate.sock");
    let settings = format!("[external]\nenabled = false\nsocket_path = {path:?}\n");
    let hub = hub(&settings).await?;
    let peer = hub
        .http_as("one", PeerEra::Modern, json!({}), friendly())
        .await?;
    let tools = peer.list("tools/list", "tools").await?;
    let offered = |tool: &Value| {
        tool["name"]
            .as_str()
            .unwrap_or_default()
            .starts_with("delegate")
    };
    assert!(!tools.iter().any(offered), "{tools:?}");
    let answer = peer.call("delegate-chat", json!({"message": "x"})).await?;
    assert!(answer.value.get("error").is_some(), "{}", answer.text);
    assert!(!path.exists());
    Ok(())
}

#[tokio::test]
async fn a_socket_of_its_own_serves_nothing_else() -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir()?;
    private(folder.path())?;
    let path = folder.path().join("delegate.sock");
    let hub = hub(&format!("[external]\nsocket_path = {path:?}\n")).await?;
    assert_eq!(
        std::fs::metadata(&path)?.permissions().mode() & 0o777,
        0o600
    );
    let said = tokio::task::spawn_blocking(move || -> anyhow::Result<String> {
        use std::io::{BufRead as _, BufReader, Write as _};
        let mut stream = std::os::unix::net::UnixStream::connect(path)?;
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let list =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
        writeln!(stream, "{list}")?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(line)
    });
    let answer: Value = serde_json::from_str(&said.await??)?;
    let tools = answer["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 7, "{answer}");
    assert_eq!(tools[0]["name"], "chat", "{answer}");
    drop(hub);
    Ok(())
}

#[tokio::test]
async fn a_client_with_tasks_needs_no_polling_by_its_model() -> anyhow::Result<()> {
    let (hub, worker) = with_model("").await?;
    let capabilities = json!({"extensions": {TASKS: {}}});
    let one = hub
        .http_as("one", PeerEra::Modern, capabilities.clone(), friendly())
        .await?;
    let chat = json!({"message": "HOLD as a task"});
    let created = one.call("delegate-chat", chat).await?;
    let created = &created.value["result"];
    assert_eq!(created["resultType"], "task", "{created}");
    assert_eq!(created["status"], "working", "{created}");
    let id = created["taskId"].as_str().unwrap().to_owned();
    // It is the task's own id.
    let polled = one
        .call("delegate-poll_task", json!({"task_id": id}))
        .await?;
    assert!(polled.text.contains(&id), "{}", polled.text);
    let other = hub
        .http_as("other", PeerEra::Modern, capabilities.clone(), friendly())
        .await?;
    let foreign = other.request("tasks/get", json!({"taskId": id})).await?;
    assert_eq!(foreign.value["error"]["code"], -32602, "{}", foreign.text);
    until("it is worked on", PATIENCE, async || worker.held() == 1).await?;
    worker.let_go();
    // It survives the hub.
    let hub = hub.restart().await?;
    let one = hub
        .http_as("one", PeerEra::Modern, capabilities, friendly())
        .await?;
    let mut last = Value::Null;
    until("the task is over", PATIENCE, async || {
        let got = one.request("tasks/get", json!({"taskId": id})).await;
        last = got
            .map(|got| got.value["result"].clone())
            .unwrap_or_default();
        last["status"] == "completed"
    })
    .await?;
    let result = &last["result"]["structuredContent"];
    assert_eq!(result["status"], "completed", "{last}");
    assert!(
        result["response"].as_str().unwrap().ends_with("a task"),
        "{last}"
    );
    Ok(())
}

#[tokio::test]
async fn the_shape_of_2025_11_25_has_the_same_tasks() -> anyhow::Result<()> {
    let (hub, worker) = with_model("").await?;
    let capabilities = json!({"tasks": {"list": {}, "cancel": {}}});
    let one = hub
        .http_as("one", PeerEra::Legacy, capabilities, friendly())
        .await?;
    let hand_in = |message: &str| {
        json!({
            "name": "delegate-chat",
            "arguments": {"message": message},
            "task": {"ttl": 60_000},
        })
    };
    let created = one
        .request("tools/call", hand_in("SAY done as a task"))
        .await?;
    let task = &created.value["result"]["task"];
    assert_eq!(task["status"], "working", "{}", created.text);
    let id = task["taskId"].clone();
    let result = one.request("tasks/result", json!({"taskId": id})).await?;
    let structured = &result.value["result"]["structuredContent"];
    assert_eq!(structured["response"], "done as a task", "{}", result.text);
    let got = one.request("tasks/get", json!({"taskId": id})).await?;
    assert_eq!(got.value["result"]["status"], "completed", "{}", got.text);
    let created = one
        .request("tools/call", hand_in("HOLD for ever and ever"))
        .await?;
    let held = created.value["result"]["task"]["taskId"].clone();
    until("it is worked on", PATIENCE, async || worker.held() == 1).await?;
    let listed = one.request("tasks/list", json!({})).await?;
    assert!(
        listed.text.contains(held.as_str().unwrap()) && listed.text.contains(id.as_str().unwrap()),
        "{}",
        listed.text
    );
    let cancelled = one.request("tasks/cancel", json!({"taskId": held})).await?;
    assert_eq!(
        cancelled.value["result"]["status"], "cancelled",
        "{}",
        cancelled.text
    );
    until("the stream is dropped", PATIENCE, async || {
        worker.held() == 0
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn whoever_declares_to_understand_it_is_told_of_its_tasks() -> anyhow::Result<()> {
    let (hub, _worker) = with_model("").await?;
    let declared = json!({"experimental": {"legation/tasks": {}}});
    let told = hub
        .bridge_as("one", PeerEra::Legacy, declared, friendly())
        .await?;
    let silent = hub
        .bridge_as("one", PeerEra::Legacy, json!({}), friendly())
        .await?;
    let other = json!({"experimental": {"legation/tasks": {}}});
    let other = hub
        .bridge_as("other", PeerEra::Legacy, other, friendly())
        .await?;
    let chat = json!({"message": "SAY told of", "wait": true});
    let task = structured(&told, "delegate-chat", chat).await?;
    let completed = |peer: &Peer| peer.heard_of("notifications/task_completed").pop();
    until("it is told", PATIENCE, async || completed(&told).is_some()).await?;
    let params = completed(&told).unwrap()["params"].clone();
    assert_eq!(params["task_id"], task["task_id"], "{params}");
    assert_eq!(params["status"], "completed", "{params}");
    assert_eq!(params["response"], "told of", "{params}");
    for peer in [&silent, &other] {
        // Whatever was to be told is told before this is answered.
        structured(peer, "delegate-status", json!({})).await?;
        assert_eq!(completed(peer), None);
    }
    Ok(())
}

#[tokio::test]
async fn the_owner_does_the_same_at_the_terminal() -> anyhow::Result<()> {
    let (hub, _worker) = with_model("").await?;
    let (code, said, talk) = hub.run(&["run", "SAY hello you", "--plain"]).await?;
    assert_eq!((code, said.as_str()), (0, "hello you\n"), "{talk}");
    let (code, said, _) = hub.run(&["run", "SAY as JSON", "--json"]).await?;
    let task: Value = serde_json::from_str(&said)?;
    assert_eq!((code, &task["response"]), (0, &json!("as JSON")), "{said}");
    let id = task["task_id"].as_str().unwrap();
    let (_, said, _) = hub.run(&["task", "list", "--all"]).await?;
    assert!(said.contains(id) && said.contains("completed"), "{said}");
    let (code, said, _) = hub.run(&["task", "show", &id[..12]]).await?;
    assert!(code == 0 && said.contains("as JSON"), "{said}");
    let (code, _, talk) = hub.run(&["task", "cancel", id]).await?;
    assert!(code == 1 && talk.contains("completed"), "{talk}");
    let (code, said, _) = hub.run(&["session", "list", "--json"]).await?;
    let sessions: Value = serde_json::from_str(&said)?;
    let session = sessions["sessions"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(code, 0);
    let (_, said, _) = hub.run(&["session", "export", &session]).await?;
    assert!(
        said.contains("SAY hello you") && said.contains("as JSON"),
        "{said}"
    );
    let (code, _, _) = hub.run(&["session", "delete", &session]).await?;
    assert_eq!(code, 2, "nobody was there to ask");
    let (code, _, talk) = hub.run(&["session", "delete", &session, "--yes"]).await?;
    assert_eq!(code, 0, "{talk}");
    let (_, said, _) = hub.run(&["session", "list"]).await?;
    assert!(!said.contains(&session), "{said}");
    Ok(())
}

#[tokio::test]
async fn without_a_model_the_exit_code_says_so() -> anyhow::Result<()> {
    let hub = hub("").await?;
    let (code, _, talk) = hub.run(&["run", "anything", "--plain"]).await?;
    assert_eq!(code, 4, "{talk}");
    Ok(())
}

fn private(folder: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(std::fs::set_permissions(
        folder,
        std::fs::Permissions::from_mode(0o700),
    )?)
}
