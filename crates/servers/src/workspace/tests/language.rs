#![cfg(target_os = "linux")]

use std::time::Duration;

use serde_json::json;

use super::super::{BashSettings, LanguageServer, ShellMode};
use super::files::{Stand, off};

/// A language server that finds fault with every line that says so. It tells
/// nothing at first, as real ones do, and asks its client something.
const SERVER: &str = r#"
import json, sys
def read():
    length = 0
    while True:
        line = sys.stdin.buffer.readline().strip()
        if not line:
            return json.loads(sys.stdin.buffer.read(length))
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
def write(message):
    text = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
    sys.stdout.buffer.flush()
def publish(uri, found):
    write({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": found}})
while True:
    message = read()
    if message.get("method") == "initialize":
        write({"id": "own", "method": "workspace/configuration", "params": {"items": [{}]}})
        write({"id": message["id"], "result": {"capabilities": {}}})
    if message.get("method") == "textDocument/didOpen":
        opened = message["params"]["textDocument"]
        publish(opened["uri"], [])
        found = []
        for at, line in enumerate(opened["text"].splitlines()):
            if "wrong" in line:
                place = {"line": at, "character": line.index("wrong")}
                found.append({"range": {"start": place, "end": place}, "severity": 1, "code": 7, "message": line})
        publish(opened["uri"], found)
"#;

fn stand(servers: &[&str]) -> Stand {
    let settings = BashSettings {
        mode: ShellMode::Confined,
        path: Some("/usr/local/bin:/usr/bin:/bin".into()),
        timeout_max: Duration::from_secs(30),
        ..off()
    };
    let servers = servers
        .iter()
        .map(|line| LanguageServer::parse(line).unwrap());
    let stand = Stand::with(settings, servers.collect());
    stand.put("server.py", SERVER);
    stand
}

#[tokio::test]
async fn a_language_server_is_asked_behind_walls() {
    let stand = stand(&[
        "*.txt: python3 server.py",
        "*.odd: python3 -c pass",
        "*.none: no-such-server",
    ]);
    stand.put("a b.txt", "fine\n  wrong here\n");
    stand.put("good.txt", "fine\n");
    let path = |path: &str| json!({"path": path});
    let facts = stand
        .call("lsp_diagnostics", path("a b.txt"))
        .await
        .unwrap();
    assert_eq!(facts["text"], "a b.txt:2:3: error [7]:   wrong here\n");
    assert_eq!(
        (&facts["diagnostics"], &facts["errors"]),
        (&json!(1), &json!(1))
    );
    let facts = stand
        .call("lsp_diagnostics", path("good.txt"))
        .await
        .unwrap();
    assert_eq!(facts["text"], "nothing is wrong with good.txt");
    stand.put("x.odd", "");
    stand.put("x.none", "");
    for (name, error) in [
        (
            "server.py",
            "no language server is configured for server.py",
        ),
        ("x.odd", "`python3` ended"),
        ("x.none", "`no-such-server` ended"),
        ("../x.txt", "leads out of"),
    ] {
        let said = stand.call("lsp_diagnostics", path(name)).await.unwrap_err();
        assert!(said.contains(error), "{name}: {said}");
    }
}
