//! The commands against a running hub: servers, calls, records, agents.

use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{PeerEra, everything, friendly};
use legation_tests::harness::process::program;
use legation_tests::harness::servers::stdio_entry;
use serde_json::{Value, json};

async fn hub() -> anyhow::Result<Hub> {
    let servers = json!({"fixture": stdio_entry(Era::Both, "shared")?});
    let hub = Hub::start(HubOptions {
        servers,
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    hub.wait_for_tool(&peer, "fixture-echo").await?;
    Ok(hub)
}

/// A command that must end with a code, and what it printed as JSON.
async fn said(hub: &Hub, arguments: &[&str], code: i32) -> anyhow::Result<Value> {
    let (found, output, complaint) = hub.run(arguments).await?;
    anyhow::ensure!(
        found == code,
        "{arguments:?} ended with {found}: {output}{complaint}"
    );
    Ok(serde_json::from_str(&output).unwrap_or_default())
}

#[tokio::test]
async fn servers_are_added_used_and_removed() -> anyhow::Result<()> {
    let hub = hub().await?;
    let program = program("fixture-server")?.display().to_string();
    said(
        &hub,
        &[
            "mcp", "add", "second", "--json", "--", &program, "--era", "legacy",
        ],
        0,
    )
    .await?;
    let listed = said(&hub, &["mcp", "list", "--json"], 0).await?;
    let names: Vec<_> = listed["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| server["name"].clone())
        .collect();
    assert!(
        names.contains(&json!("fixture")) && names.contains(&json!("second")),
        "{listed}"
    );
    let called = said(
        &hub,
        &["mcp", "call", "second/echo", r#"{"a": 1}"#, "--json"],
        0,
    )
    .await?;
    assert!(called.to_string().contains(r#"{\"a\":1}"#), "{called}");
    let tools = said(&hub, &["mcp", "tools", "--json"], 0).await?;
    assert!(
        tools["tools"]
            .as_array()
            .unwrap()
            .iter()
            .any(|tool| tool["name"] == "second-echo")
    );
    let shown = said(&hub, &["mcp", "show", "second", "--json"], 0).await?;
    assert_eq!(shown["server"]["status"], "connected", "{shown}");
    said(&hub, &["mcp", "disable", "second", "--json"], 0).await?;
    let refused = hub.run(&["mcp", "call", "second-echo", "{}"]).await?;
    assert_ne!(refused.0, 0, "{refused:?}");
    said(&hub, &["mcp", "enable", "second", "--json"], 0).await?;
    said(&hub, &["mcp", "reload", "second", "--json"], 0).await?;
    said(&hub, &["mcp", "remove", "second", "--json"], 0).await?;
    let listed = said(&hub, &["mcp", "list", "--json"], 0).await?;
    assert!(!listed.to_string().contains("second"), "{listed}");
    let unknown = hub.run(&["mcp", "show", "second"]).await?;
    assert_ne!(unknown.0, 0);
    Ok(())
}

/// As [`said`], of a command that was given in a folder.
async fn said_in(
    hub: &Hub,
    folder: &std::path::Path,
    arguments: &[&str],
    code: i32,
) -> anyhow::Result<Value> {
    let mut command = hub.command(arguments)?;
    let ended = command.current_dir(folder).output().await?;
    let output = String::from_utf8_lossy(&ended.stdout);
    let complaint = String::from_utf8_lossy(&ended.stderr).into_owned();
    anyhow::ensure!(
        ended.status.code() == Some(code),
        "{arguments:?}: {output}{complaint}"
    );
    Ok(serde_json::from_str(&output).unwrap_or(json!(complaint)))
}

#[tokio::test]
async fn workspace_servers_are_named_with_their_folder() -> anyhow::Result<()> {
    let hub = hub().await?;
    let program = program("fixture-server")?.display().to_string();
    let entry = json!({"mcpServers": {"notes": {"command": program, "args": ["--era", "legacy"]}}});
    let mut folders = Vec::new();
    let mut peers = Vec::new();
    for name in ["red", "blue"] {
        let folder = hub.folder().join(name);
        std::fs::create_dir_all(&folder)?;
        let folder = folder.canonicalize()?;
        std::fs::write(folder.join(".mcp.json"), entry.to_string())?;
        said_in(&hub, &folder, &["trust", "--yes", "--json"], 0).await?;
        let peer = hub
            .bridge_in(&folder, PeerEra::Legacy, everything(), friendly())
            .await?;
        hub.wait_for_tool(&peer, "notes-echo").await?;
        peers.push(peer);
        folders.push(folder);
    }
    let labels: Vec<String> = folders
        .iter()
        .map(|folder| format!("notes@{}", folder.display()))
        .collect();
    let listed = said(&hub, &["mcp", "list", "--json"], 0).await?;
    for label in &labels {
        let server = listed["servers"]
            .as_array()
            .and_then(|servers| servers.iter().find(|server| server["label"] == **label));
        assert_eq!(
            server.map(|server| &server["name"]),
            Some(&json!("notes")),
            "{listed}"
        );
    }
    // From elsewhere the bare name says too little, and the label enough.
    let vague = said_in(&hub, hub.folder(), &["mcp", "show", "notes"], 1).await?;
    for label in &labels {
        assert!(vague.to_string().contains(label), "{vague}");
        for command in ["show", "logs", "tools", "reload"] {
            let told = said(&hub, &["mcp", command, label, "--json"], 0).await?;
            match command {
                "show" => assert_eq!(told["server"]["label"], **label, "{told}"),
                "tools" => assert!(
                    told["tools"]
                        .as_array()
                        .is_some_and(|tools| !tools.is_empty()
                            && tools.iter().all(|tool| tool["server"] == **label)),
                    "{told}"
                ),
                _ => {}
            }
        }
        let tool = format!("{label}/echo");
        // It is found, and asked about: a folder brought it along.
        let (code, _, called) = hub.run(&["mcp", "call", &tool, "{}", "--json"]).await?;
        assert_eq!(code, 3, "{called}");
        assert!(
            called.contains("`notes/echo` needs a person's approval"),
            "{called}"
        );
    }
    // In a folder its own is meant, and only that one is switched off.
    said_in(
        &hub,
        &folders[0],
        &["mcp", "disable", "notes", "--session", "--json"],
        0,
    )
    .await?;
    for (folder, status) in folders.iter().zip(["disabled", "connected"]) {
        let shown = said_in(&hub, folder, &["mcp", "show", "notes", "--json"], 0).await?;
        assert_eq!(shown["server"]["status"], status, "{shown}");
    }
    Ok(())
}

#[tokio::test]
async fn every_call_has_two_records() -> anyhow::Result<()> {
    let hub = hub().await?;
    let before = said(&hub, &["audit", "verify", "--json"], 0).await?;
    let peer = hub
        .socket_peer(PeerEra::Legacy, everything(), friendly())
        .await?;
    for round in 0..25 {
        peer.call("fixture-echo", json!({"round": round}))
            .await?
            .result()?;
    }
    peer.call("fixture-test_error_handling", json!({}))
        .await?
        .result()?;
    let after = said(&hub, &["audit", "verify", "--json"], 0).await?;
    let grown = |kind: &str| after[kind].as_u64().unwrap() - before[kind].as_u64().unwrap();
    assert_eq!((grown("intents"), grown("outcomes")), (26, 26), "{after}");
    assert_eq!(after["intact"], true);
    let tail = said(&hub, &["audit", "tail", "--json", "-n", "2"], 0).await?;
    assert_eq!(tail["records"].as_array().unwrap().len(), 2);
    // A call's arguments are recorded as a commitment, never as they are.
    let secret = "a-secret-in-an-argument";
    peer.call("fixture-echo", json!({"secret": secret}))
        .await?
        .result()?;
    let (_, tail, _) = hub.run(&["audit", "tail", "--json", "-n", "4"]).await?;
    assert!(!tail.contains(secret), "{tail}");
    Ok(())
}

#[tokio::test]
async fn a_changed_ledger_is_found_out() -> anyhow::Result<()> {
    let mut hub = hub().await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    for round in 0..5 {
        peer.call("fixture-echo", json!({"round": round}))
            .await?
            .result()?;
    }
    hub.stop().await?;
    said(&hub, &["audit", "verify", "--json"], 0).await?;
    let file = hub.home().join("state.db-ledger");
    let bytes = std::fs::read(&file)?;
    // Inside the newest record: its item, `echo`, becomes another word.
    let word = br#""item":"echo""#;
    let at = bytes
        .windows(word.len())
        .rposition(|window| window == word)
        .unwrap()
        + word.len()
        - 3;
    let mut changed = bytes.clone();
    changed[at] ^= 1;
    std::fs::write(&file, changed)?;
    let (code, output, _) = hub.run(&["audit", "verify", "--json"]).await?;
    assert_ne!(code, 0, "{output}");
    Ok(())
}

#[tokio::test]
async fn agents_are_connected_and_disconnected_without_a_trace() -> anyhow::Result<()> {
    let hub = hub().await?;
    let existing = [
        (
            "claude",
            ".claude.json",
            r#"{ "numStartups": 3, "mcpServers": {"mine": {"command": "x"}} }"#,
        ),
        (
            "codex",
            ".codex/config.toml",
            "# mine\nmodel = \"m\"\n\n[mcp_servers.mine]\ncommand = \"x\"\n",
        ),
        (
            "gemini",
            ".gemini/settings.json",
            "{\n  // a comment\n  \"theme\": \"dark\"\n}\n",
        ),
        ("copilot", ".copilot/mcp-config.json", ""),
        ("vscode", ".config/Code/User/mcp.json", ""),
        ("jetbrains", ".junie/mcp/mcp.json", ""),
        ("opencode", ".config/opencode/opencode.json", ""),
    ];
    for (agent, file, content) in existing {
        let file = hub.folder().join(file);
        std::fs::create_dir_all(file.parent().unwrap())?;
        if !content.is_empty() {
            std::fs::write(&file, content)?;
        }
        let before = std::fs::read(&file).ok();
        let planned = said(&hub, &["connect", agent, "--dry-run", "--json"], 0).await?;
        assert!(
            planned["diff"].as_str().unwrap().contains("legation"),
            "{planned}"
        );
        assert_eq!(
            std::fs::read(&file).ok(),
            before,
            "{agent}: a dry run changed the file"
        );
        said(&hub, &["connect", agent, "--json"], 0).await?;
        let connected = std::fs::read_to_string(&file)?;
        assert!(
            connected.contains("legation")
                && (content.is_empty() || connected.contains("mine") || connected.contains("dark"))
        );
        said(&hub, &["connect", agent, "--undo", "--json"], 0).await?;
        assert_eq!(
            std::fs::read(&file).ok(),
            before,
            "{agent}: undo left something"
        );
    }
    Ok(())
}

#[tokio::test]
async fn each_command_explains_itself() -> anyhow::Result<()> {
    let hub = hub().await?;
    for arguments in [
        ["config", "list"],
        ["config", "path"],
        ["doctor", "--json"],
        ["status", "--json"],
        ["completions", "bash"],
    ] {
        let (code, output, complaint) = hub.run(&arguments).await?;
        assert_eq!(code, 0, "{arguments:?}: {output}{complaint}");
        assert!(!output.is_empty());
    }
    let explained = said(&hub, &["config", "explain", "listen", "--json"], 0).await?;
    assert!(explained["layer"].is_string(), "{explained}");
    let usage = hub.run(&["mcp", "call", "fixture-echo", "no json"]).await?;
    assert_eq!(usage.0, 2, "{usage:?}");
    let unknown = hub.run(&["mcp", "call", "fixture-nothing", "{}"]).await?;
    assert_eq!(unknown.0, 1, "{unknown:?}");
    Ok(())
}

#[tokio::test]
async fn without_a_hub_commands_say_so() -> anyhow::Result<()> {
    let mut hub = hub().await?;
    hub.stop().await?;
    let (code, _, complaint) = hub.run(&["status"]).await?;
    assert_eq!(code, 4, "{complaint}");
    assert!(complaint.contains("legation serve"), "{complaint}");
    Ok(())
}

#[tokio::test]
async fn a_broken_file_of_servers_stops_none_of_them() -> anyhow::Result<()> {
    let hub = hub().await?;
    let pid = |shown: &Value| shown["server"]["pid"].clone();
    let before = said(&hub, &["mcp", "show", "fixture", "--json"], 0).await?;
    assert!(pid(&before).is_u64(), "{before}");
    let file = hub.home().join("mcp.json");
    let whole = std::fs::read_to_string(&file)?;
    std::fs::write(&file, &whole[..whole.len() / 2])?;
    // A reload is over when the command is.
    said(&hub, &["mcp", "reload"], 0).await?;
    let listed = said(&hub, &["mcp", "list", "--json"], 0).await?;
    assert!(
        listed["problems"].to_string().contains("stay as they were"),
        "{listed}"
    );
    let arguments = ["mcp", "call", "fixture/echo", r#"{"a": 1}"#];
    said(&hub, &arguments, 0).await?;
    std::fs::write(&file, r#"{"mcpServers": {}}"#)?;
    said(&hub, &["mcp", "reload"], 0).await?;
    said(&hub, &arguments, 1).await?;
    Ok(())
}
