//! Every source of servers against a running hub, and secrets that reach them.

use std::path::Path;
use std::process::Stdio;

use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{PeerEra, everything, friendly};
use legation_tests::harness::process::{program, until};
use legation_tests::harness::servers::stdio_entry;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(120);

/// A command that must end well, given in a folder and told something, and what it printed as JSON.
async fn said(hub: &Hub, folder: &Path, arguments: &[&str], told: &str) -> anyhow::Result<Value> {
    let mut command = hub.command(arguments)?;
    command
        .arg("--json")
        .current_dir(folder)
        .stdin(Stdio::piped());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().unwrap();
    input.write_all(told.as_bytes()).await?;
    drop(input);
    let ended = child.wait_with_output().await?;
    let output = String::from_utf8_lossy(&ended.stdout);
    let complaint = String::from_utf8_lossy(&ended.stderr);
    anyhow::ensure!(ended.status.success(), "{arguments:?}: {output}{complaint}");
    Ok(serde_json::from_str(&output).unwrap_or_default())
}

/// A server of the list.
fn one<'a>(listed: &'a Value, name: &str) -> &'a Value {
    let servers = listed["servers"].as_array().unwrap();
    servers
        .iter()
        .find(|one| one["name"] == name)
        .unwrap_or(&Value::Null)
}

fn write(path: &Path, content: &Value) -> anyhow::Result<()> {
    std::fs::create_dir_all(path.parent().unwrap())?;
    std::fs::write(path, content.to_string())?;
    Ok(())
}

#[tokio::test]
async fn each_source_counts_in_its_order_and_servers_are_switched() -> anyhow::Result<()> {
    let outside = tempfile::tempdir()?;
    let machine = outside.path().join("machine.json");
    let entry = stdio_entry(Era::Legacy, "shared")?;
    write(
        &machine,
        &json!({"mcpServers": {"house": entry, "same": entry, "off": entry}}),
    )?;
    let hub = Hub::start(HubOptions {
        servers: json!({"same": entry, "own": entry}),
        arguments: vec!["--disable-mcp-server", "off", "--disable-builtin-mcps"],
        environment: [(
            "LEGATION_DEFAULT_MCP_CONFIG".to_owned(),
            machine.display().to_string(),
        )]
        .into(),
        ..HubOptions::default()
    })
    .await?;
    let folder = hub.folder().canonicalize()?;
    let plugin = hub.home().join("plugins/tools");
    std::fs::create_dir_all(&plugin)?;
    // What a plugin runs lies in its folder.
    std::fs::copy(program("fixture-server")?, plugin.join("server"))?;
    let mut of_plugin = entry.clone();
    of_plugin["command"] = json!("${CLAUDE_PLUGIN_ROOT}/server");
    write(
        &plugin.join(".claude-plugin/plugin.json"),
        &json!({"name": "tools", "mcpServers": {"same": of_plugin}}),
    )?;
    let list = async || said(&hub, &folder, &["mcp", "list"], "").await;
    // What the owner has not agreed to does not run, and hides nothing.
    until("the plugin is seen", PATIENCE, async || {
        let listed = list().await.unwrap_or_default();
        listed["problems"].to_string().contains("legation trust")
    })
    .await?;
    assert_eq!(one(&list().await?, "same")["source_kind"], "user");
    let place = plugin.display().to_string();
    said(&hub, &folder, &["trust", &place, "--yes"], "").await?;
    until("the plugin's server counts", PATIENCE, async || {
        let listed = list().await.unwrap_or_default();
        one(&listed, "same")["plugin"] == "tools" && one(&listed, "same")["status"] == "connected"
    })
    .await?;
    let listed = list().await?;
    let same = one(&listed, "same");
    assert_eq!(same["hides"].as_array().map(Vec::len), Some(2), "{same}");
    assert_eq!(one(&listed, "house")["source_kind"], "default");
    assert_eq!(one(&listed, "off")["status"], "disabled", "{listed}");

    // Of the hub's own servers only those are left that show what it is and did.
    let peer = hub.http(PeerEra::Legacy, everything(), friendly()).await?;
    hub.wait_for_tool(&peer, "house-echo").await?;
    let tools = peer.list("tools/list", "tools").await?;
    let starts = |prefix: &str| {
        let mut names = tools.iter().filter_map(|tool| tool["name"].as_str());
        names.any(|name| name.starts_with(prefix))
    };
    assert!(
        starts("hub-") && !starts("inbox-") && !starts("desk-"),
        "{tools:?}"
    );

    // What has no entry of the owner's is switched all the same, and stays so.
    said(&hub, &folder, &["mcp", "disable", "house"], "").await?;
    assert_eq!(one(&list().await?, "house")["status"], "disabled");
    said(&hub, &folder, &["mcp", "enable", "house"], "").await?;
    assert_ne!(one(&list().await?, "house")["status"], "disabled");
    // An update of the plugin asks again, and what it hid counts meanwhile.
    write(
        &plugin.join(".claude-plugin/plugin.json"),
        &json!({"name": "tools", "mcpServers": {"same": {"command": "sh"}}}),
    )?;
    until("the owner's own counts again", PATIENCE, async || {
        let listed = list().await.unwrap_or_default();
        one(&listed, "same")["source_kind"] == "user"
    })
    .await
}

#[tokio::test]
async fn a_secret_reaches_its_server_and_nothing_else() -> anyhow::Result<()> {
    let mut entry = stdio_entry(Era::Legacy, "shared")?;
    let arguments = entry["args"].as_array_mut().unwrap();
    arguments.extend([json!("--journal"), json!("${keyring:journal}")]);
    let hub = Hub::start(HubOptions {
        servers: json!({"kept": entry}),
        settings: "secrets.keep_in = \"file\"\n".to_owned(),
        ..HubOptions::default()
    })
    .await?;
    let folder = hub.folder().canonicalize()?;
    let show = async || said(&hub, &folder, &["mcp", "show", "kept"], "").await;
    until("it fails without its secret", PATIENCE, async || {
        let shown = show().await.unwrap_or_default();
        shown["server"]["reason"]
            .to_string()
            .contains("there is no secret journal")
    })
    .await?;
    let missing = said(&hub, &folder, &["secret", "list"], "").await?;
    assert_eq!(missing[0]["missing"], true, "{missing}");
    let journal = folder.join("journal-5f1c9b2e7d");
    let value = journal.display().to_string();
    let kept = said(
        &hub,
        &folder,
        &["secret", "set", "journal"],
        &format!("{value}\n"),
    )
    .await?;
    assert_eq!(kept["used_by"], json!(["kept"]));
    said(&hub, &folder, &["mcp", "reload", "kept"], "").await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    hub.wait_for_tool(&peer, "kept-echo").await?;
    peer.call("kept-echo", json!({"a": 1})).await?;
    assert!(journal.exists(), "the server was given its secret");
    // Who looks at the server, its entry or the record of secrets never sees it.
    for looks in [
        vec!["mcp", "show", "kept"],
        vec!["mcp", "get", "kept"],
        vec!["mcp", "list"],
        vec!["secret", "list"],
        vec!["doctor"],
    ] {
        let (_, output, complaint) = hub.run(&looks).await?;
        assert!(!output.contains("5f1c9b2e7d"), "{looks:?}: {output}");
        assert!(!complaint.contains("5f1c9b2e7d"), "{looks:?}: {complaint}");
    }
    let echoed = peer.call("kept-echo", json!({"text": value})).await?;
    assert!(!echoed.text.contains("5f1c9b2e7d"), "{}", echoed.text);
    said(&hub, &folder, &["secret", "rm", "journal"], "").await?;
    let (code, ..) = hub.run(&["secret", "rm", "journal"]).await?;
    assert_eq!(code, 1);
    Ok(())
}
