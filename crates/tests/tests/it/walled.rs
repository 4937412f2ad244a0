//! Servers that run in a sandbox: what they must not reach they do not reach, nor
//! does what they start.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::process::until;
use serde_json::{Value, json};

/// A server with one tool, which runs a command and answers what it said.
const SERVER: &str = r#"
import json, subprocess, sys
for line in sys.stdin:
    message = json.loads(line)
    method, answer = message.get("method"), None
    if method == "initialize":
        answer = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
    elif method == "tools/list":
        answer = {"tools": [{"name": "run", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        command = message["params"]["arguments"]["command"]
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
        answer = {"content": [{"type": "text", "text": done.stdout + done.stderr}]}
    if "id" in message:
        said = {"jsonrpc": "2.0", "id": message["id"]}
        said.update({"result": answer} if answer is not None else {"error": {"code": -32601, "message": "no"}})
        print(json.dumps(said), flush=True)
"#;

struct Stand {
    hub: Hub,
    peer: Peer,
    folder: tempfile::TempDir,
}

impl Stand {
    /// A hub with these entries, each of which starts the server in the folder `work`.
    async fn new(settings: &str, entries: &[(&str, Value)]) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        for name in ["work", "given", "kept"] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        std::fs::write(folder.path().join("work/server.py"), SERVER)?;
        std::fs::write(folder.path().join("work/note"), "a note")?;
        std::fs::write(folder.path().join("kept/secret"), "a secret")?;
        let mut servers = json!({});
        for (name, sandbox) in entries {
            let mut entry =
                json!({"command": "python3", "args": ["server.py"], "cwd": path(&folder, "work")});
            if !sandbox.is_null() {
                entry["sandbox"] = filled(sandbox, folder.path());
            }
            servers[name] = entry;
        }
        let hub = Hub::start(HubOptions {
            servers,
            settings: settings.to_owned(),
            ..HubOptions::default()
        })
        .await?;
        let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
        Ok(Self { hub, peer, folder })
    }

    async fn says(&self, server: &str, command: &str) -> anyhow::Result<String> {
        let tool = format!("{server}-run");
        self.hub.wait_for_tool(&self.peer, &tool).await?;
        let answer = self.peer.call(&tool, json!({"command": command})).await?;
        Ok(answer.first_text().trim().to_owned())
    }

    async fn shown(&self, server: &str) -> anyhow::Result<Value> {
        let (code, said, complaint) = self.hub.run(&["mcp", "show", server, "--json"]).await?;
        anyhow::ensure!(code == 0, "{complaint}");
        Ok(serde_json::from_str::<Value>(&said)?["server"].clone())
    }
}

fn path(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

/// An entry's paths begin with the test's folder.
fn filled(sandbox: &Value, folder: &Path) -> Value {
    let text = sandbox
        .to_string()
        .replace("FOLDER", &folder.display().to_string());
    serde_json::from_str(&text).unwrap_or_default()
}

#[tokio::test]
async fn a_confined_server_reaches_what_it_was_given() -> anyhow::Result<()> {
    let given = json!({"write": ["FOLDER/given"], "processes": 500, "memory": 268_435_456});
    let stand = Stand::new(
        "",
        &[
            ("walled", given),
            ("online", json!({"network": "all"})),
            ("free", Value::Null),
        ],
    )
    .await?;
    let (given, kept) = (path(&stand.folder, "given"), path(&stand.folder, "kept"));
    let home = stand.hub.home().display().to_string();
    let port = stand.hub.base.rsplit_once(':').context("a port")?.1;
    let dial = format!(
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5); print(\"in\")' 2>&1 | tail -n 1"
    );
    for (what, command, expected) in [
        ("its folder is read", "cat note".to_owned(), "a note"),
        (
            "and not changed",
            "(echo x > note) 2>/dev/null; cat note".to_owned(),
            "a note",
        ),
        (
            "what was given is",
            format!("echo y > {given}/made; cat {given}/made"),
            "y",
        ),
        (
            "its home is empty",
            "echo $HOME; ls -A $HOME".to_owned(),
            "/tmp/home",
        ),
        (
            "what it starts is confined",
            format!("sh -c 'sh -c \"cat {kept}/secret || echo closed\" 2>/dev/null'"),
            "closed",
        ),
    ] {
        let said = stand.says("walled", &command).await?;
        assert_eq!(
            said.lines().last().unwrap_or_default(),
            expected,
            "{what}: {said}"
        );
    }
    let outside = format!("cat {kept}/secret");
    let tokens = format!("cat {home}/token");
    let environ = "cat /proc/1/environ /proc/*/environ 2>/dev/null | tr '\\0' '\\n'";
    for command in [&outside, &tokens, &dial] {
        let said = stand.says("walled", command).await?;
        assert!(
            !said.contains("a secret") && !said.ends_with("in"),
            "{command}: {said}"
        );
        assert!(
            said.contains("No such file") || said.contains("refused") || said.contains("Error"),
            "{said}"
        );
    }
    assert!(
        !stand
            .says("walled", environ)
            .await?
            .contains("LEGATION_HOME")
    );
    let eater = "python3 -c 'len(bytearray(600 * 1024 * 1024))' 2>&1 | tail -n 1";
    assert_eq!(stand.says("walled", eater).await?, "MemoryError");
    // The same commands beyond the walls, so that it is the walls that hold.
    assert_eq!(stand.says("online", &dial).await?, "in");
    assert!(!stand.says("online", &outside).await?.contains("a secret"));
    assert_eq!(stand.says("free", &outside).await?, "a secret");
    assert_eq!(stand.says("free", eater).await?, "");
    let walls = stand.shown("walled").await?["sandbox"].clone();
    assert_eq!(walls["network"], "none", "{walls}");
    assert_eq!(walls["write"], json!([given]), "{walls}");
    assert_eq!(walls["required"], true, "{walls}");
    assert_eq!(stand.shown("free").await?["sandbox"], Value::Null);
    let (_, text, _) = stand.hub.run(&["mcp", "show", "walled"]).await?;
    assert!(text.contains("sandbox     no network; "), "{text}");
    Ok(())
}

#[tokio::test]
async fn the_owner_wants_all_programs_confined_and_some_cannot_be() -> anyhow::Result<()> {
    let nowhere = json!({"read": ["FOLDER/not-there"]});
    let own = json!({"read": ["FOLDER"], "write": ["FOLDER/kept"]});
    let entries = [
        ("unsaid", Value::Null),
        ("off", json!(false)),
        ("nowhere", nowhere),
        ("own", own),
    ];
    let stand = Stand::new("server_sandbox = \"all\"\n", &entries).await?;
    let outside = format!("cat {}/secret", path(&stand.folder, "kept"));
    assert!(!stand.says("unsaid", &outside).await?.contains("a secret"));
    // The owner's own entry may say otherwise.
    assert_eq!(stand.says("off", &outside).await?, "a secret");
    assert_eq!(stand.says("own", &outside).await?, "a secret");
    let mut last = Value::Null;
    until("nowhere to fail", Duration::from_secs(30), async || {
        last = stand.shown("nowhere").await.unwrap_or_default();
        last["status"] == "failed"
    })
    .await?;
    let reason = last["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("not-there cannot be opened"), "{reason}");
    Ok(())
}
