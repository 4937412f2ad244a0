//! Servers that run in a sandbox: what they must not reach they do not reach, nor
//! does what they start.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::process::until;
use legation_tests::harness::proxy::{Proxy, SECRET};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::runtime::Handle;

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
        Self::with_environment(settings, entries, &[]).await
    }

    /// The same, with variables of the hub's.
    async fn with_environment(
        settings: &str,
        entries: &[(&str, Value)],
        environment: &[(&str, String)],
    ) -> anyhow::Result<Self> {
        let own = |(name, value): &(&str, String)| ((*name).to_owned(), value.clone());
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
            environment: environment.iter().map(own).collect(),
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

/// A site on this machine that answers everything in the same way.
async fn site() -> anyhow::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    Handle::current().spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            Handle::current().spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await?);
                }
                let answer =
                    b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";
                stream.write_all(answer).await
            });
        }
    });
    Ok(port)
}

/// A command that asks for an address as programs do, and prints the answer.
fn fetch(url: &str) -> String {
    format!(
        "python3 -c 'import urllib.request, urllib.error\ntry: print(urllib.request.urlopen(\"{url}\", timeout=60).read().decode())\nexcept urllib.error.HTTPError as e: print(e.code, e.read().decode())'"
    )
}

/// The same in a tunnel of the proxy that it is told of.
fn fetch_in_tunnel(host: &str, port: u16) -> String {
    format!(
        "python3 -c 'import http.client, os\nc = http.client.HTTPConnection(os.environ[\"HTTPS_PROXY\"][7:], timeout=60)\nc.set_tunnel(\"{host}\", {port})\ntry:\n  c.request(\"GET\", \"/\")\n  print(c.getresponse().read().decode())\nexcept OSError as e: print(e)'"
    )
}

#[tokio::test]
async fn a_confined_server_reaches_the_hosts_that_are_named() -> anyhow::Result<()> {
    // A name that leads nowhere (RFC 6761, section 6.4) but through the owner's proxy.
    let host = "api.legation.invalid";
    let (port, proxy) = (site().await?, Proxy::start().await?);
    let hosts = json!([
        format!("127.0.0.1:{port}"),
        format!("*.legation.invalid:{port}")
    ]);
    let settings = format!("server_sandbox = \"all\"\nserver_sandbox_network = {hosts}\n");
    let stand = Stand::with_environment(
        &settings,
        &[
            ("named", json!({"network": hosts})),
            ("unsaid", Value::Null),
            ("none", json!(true)),
        ],
        &[
            ("HTTP_PROXY", proxy.url("user")),
            ("HTTPS_PROXY", proxy.url("user")),
        ],
    )
    .await?;
    let itself = format!("http://127.0.0.1:{port}/");
    let by_name = format!("http://{host}:{port}/");
    let rules = [
        ("named", "`sandbox.network` of its entry in mcp.json"),
        ("unsaid", "`server_sandbox_network` in legation.toml"),
    ];
    for (server, rule) in rules {
        for command in [
            fetch(&itself),
            fetch(&by_name),
            fetch_in_tunnel(host, port),
            fetch_in_tunnel("127.0.0.1", port),
        ] {
            let said = stand.says(server, &command).await?;
            assert_eq!(said, "hello", "{server}: {command}");
        }
        let refused = "other.example.com:8080";
        let said = stand
            .says(server, &fetch(&format!("http://{refused}/")))
            .await?;
        let expected = format!(
            "403 The sandbox of this program refuses {refused}, which is not named. Its owner can allow it in {rule}."
        );
        assert_eq!(said, expected);
        let said = stand.says(server, &fetch_in_tunnel(host, 444)).await?;
        assert!(said.contains("403"), "{said}");
        let environment = stand.says(server, "cat /proc/*/environ; env").await?;
        assert!(environment.contains("HTTPS_PROXY=http://127.0.0.1:"));
        assert!(!environment.contains(SECRET), "the owner's password");
        let shown = stand.shown(server).await?;
        assert_eq!(shown["sandbox"]["network"], "named", "{shown}");
        assert_eq!(shown["sandbox"]["hosts"], hosts, "{shown}");
        let warning = format!(
            "legation: the sandbox refuses {refused}, which is not named; to allow it, add \"{refused}\" to {rule}"
        );
        let mut last = Value::Null;
        until(
            "the refusal to be shown",
            Duration::from_secs(30),
            async || {
                last = stand.shown(server).await.unwrap_or_default();
                let warnings = last["warnings"].as_array();
                warnings.is_some_and(|all| all.contains(&warning.as_str().into()))
            },
        )
        .await
        .with_context(|| last.to_string())?;
    }
    // What the owner's own entry says counts, also where it says less.
    let said = stand
        .says("none", &format!("{} 2>&1 | tail -n 1", fetch(&itself)))
        .await?;
    assert!(said.contains("refused"), "{said}");
    let asked = proxy.asked();
    for verb in ["GET", "CONNECT"] {
        assert!(
            asked.contains(&format!("{verb} {host}:{port}")),
            "{asked:?}"
        );
    }
    let leads_there = |line: &String| line.contains(host) && line.ends_with(&port.to_string());
    assert!(asked.iter().all(leads_there), "{asked:?}");
    let (_, text, _) = stand.hub.run(&["mcp", "show", "named"]).await?;
    let line = format!("sandbox     reaches 127.0.0.1:{port}, *.legation.invalid:{port}\n");
    assert!(text.contains(&line), "{text}");
    Ok(())
}
