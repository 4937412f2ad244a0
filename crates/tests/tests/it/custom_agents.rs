//! Agents of files, and the servers that they bring along. The local model is scripted.

use std::time::Duration;

use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Peer, PeerEra, friendly};
use legation_tests::harness::process::until;
use legation_tests::harness::servers::stdio_entry;
use legation_tests::harness::worker::Worker;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(120);

/// The tools of a server, by their names in the catalogue.
async fn tools_of(peer: &Peer, server: &str) -> anyhow::Result<Vec<String>> {
    let tools = peer.list("tools/list", "tools").await?;
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    let own = names.filter(|name| name.starts_with(&format!("{server}-")));
    Ok(own.map(str::to_owned).collect())
}

async fn chat(peer: &Peer, arguments: Value) -> anyhow::Result<Value> {
    let answer = peer.call("delegate-chat", arguments).await?;
    anyhow::ensure!(answer.value["result"]["isError"] != true, "{}", answer.text);
    Ok(answer.value["result"]["structuredContent"].clone())
}

#[tokio::test]
async fn an_agents_own_server_lives_as_long_as_its_task_and_for_it_alone() -> anyhow::Result<()> {
    let worker = Worker::start().await?;
    let hub = Hub::start(HubOptions {
        servers: json!({}),
        clients: vec!["one".to_owned()],
        ..HubOptions::default()
    })
    .await?;
    let url = format!("http://127.0.0.1:{}", worker.port);
    for arguments in [
        &["models", "set", "enable", "local_model", "--endpoint", &url] as &[&str],
        &["models", "set", "default", "local_model"],
    ] {
        let (code, said, complained) = hub.run(arguments).await?;
        assert_eq!(code, 0, "{said}{complained}");
    }
    let servers = json!({
        "own": stdio_entry(Era::Both, "shared")?,
        "gone": { "command": "no-such-program-anywhere" },
    });
    let agents = hub.home().join("agents");
    std::fs::create_dir_all(&agents)?;
    let head = format!("---\ndescription: Echoes\nmcp-servers: {servers}\n---\nEcho.\n");
    std::fs::write(agents.join("helper.agent.md"), head)?;

    let peer = hub
        .http_as("one", PeerEra::Modern, json!({}), friendly())
        .await?;
    let order = r#"CALL own-echo {"what": "brought along"}"#;
    let done = chat(
        &peer,
        json!({ "message": order, "agent": "helper", "wait": true }),
    )
    .await?;
    assert_eq!(done["status"], "completed", "{done}");
    let response = done["response"].as_str().unwrap_or_default();
    assert!(response.contains("brought along"), "{done}");
    assert_eq!(done["tool_calls"][0]["tool"], "own-echo", "{done}");
    // What does not start is told and holds nothing up.
    let history = peer.call("delegate-get_history", json!({})).await?;
    let text = history.text;
    assert!(
        text.contains("A server of the agent does not run. gone"),
        "{text}"
    );

    // While it runs nobody else sees it, and afterwards nothing is left of it.
    let order = r#"HOLD a while"#;
    let held = chat(&peer, json!({ "message": order, "agent": "helper" })).await?;
    until("it is worked on", PATIENCE, async || worker.held() == 1).await?;
    assert_eq!(tools_of(&peer, "own").await?, [""; 0]);
    let stranger = peer.call("own-echo", json!({ "what": "mine" })).await?;
    assert!(stranger.value.get("error").is_some(), "{}", stranger.text);
    let listed = async || {
        let (_, said, _) = hub.run(&["status", "--json"]).await.unwrap_or_default();
        said.contains("helper.agent.md")
    };
    let file = std::fs::read_to_string(hub.home().join("mcp.json")).unwrap_or_default();
    assert!(!file.contains("own"), "it is in no configuration: {file}");
    worker.let_go();
    until("it is over", PATIENCE, async || {
        let poll = json!({ "task_id": held["task_id"] });
        let polled = peer.call("delegate-poll_task", poll).await;
        polled.is_ok_and(|polled| polled.text.contains(r#""completed""#))
    })
    .await?;
    until("its servers are gone", PATIENCE, async || !listed().await).await?;
    // A task without the agent has nothing of it.
    let other = chat(
        &peer,
        json!({ "message": "CALL own-echo {}", "wait": true }),
    )
    .await?;
    let response = other["response"].as_str().unwrap_or_default();
    assert!(response.contains("There is no tool"), "{other}");
    Ok(())
}
