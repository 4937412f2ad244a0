//! The servers that live in the hub, beside those of the configuration.

use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::servers::stdio_entry;
use serde_json::{Value, json};

const ERAS: [PeerEra; 2] = [PeerEra::Legacy, PeerEra::Modern];

async fn hub(name: &str) -> anyhow::Result<Hub> {
    let servers = json!({name: stdio_entry(Era::Both, "shared")?});
    Hub::start(HubOptions {
        servers,
        ..HubOptions::default()
    })
    .await
}

async fn structured(peer: &Peer, tool: &str, arguments: Value) -> anyhow::Result<Value> {
    let answer = peer.call(tool, arguments).await?;
    let answer: Value = serde_json::from_str(&answer.text)?;
    Ok(answer["result"]["structuredContent"].clone())
}

#[tokio::test]
async fn agents_find_and_see_what_there_is() -> anyhow::Result<()> {
    let hub = hub("fixture").await?;
    for era in ERAS {
        let peer = hub.http(era, everything(), friendly()).await?;
        hub.wait_for_tool(&peer, "fixture-echo").await?;
        let servers = structured(&peer, "hub-servers", json!({})).await?;
        assert_eq!(servers["servers"][0]["name"], "fixture", "{servers}");
        assert_eq!(servers["servers"][0]["status"], "connected", "{servers}");
        let wish = json!({"query": "echo", "detail": "whole"});
        let found = structured(&peer, "hub-find_tools", wish).await?;
        let best = &found["tools"][0];
        assert_eq!(best["name"], "fixture-echo", "{found}");
        assert_eq!(best["inputSchema"]["type"], "object", "{found}");
        let found = structured(&peer, "hub-find_tools", json!({"query": "echo"})).await?;
        let best = &found["tools"][0];
        assert_eq!(best["server"], "fixture", "{found}");
        assert_eq!(best["summary"], "Answers with its arguments", "{found}");
        assert_eq!(best["inputSchema"], Value::Null, "{found}");
        // What breaks the schema is refused with its place, before the tool runs.
        for (arguments, place) in [
            (json!({"query": 5}), "`query`"),
            (json!({"query": "echo", "limit": 51}), "`limit`"),
            (json!({"query": "echo", "more": 1}), "'more'"),
        ] {
            let answer = peer.call("hub-find_tools", arguments).await?;
            let error = &answer.value["error"];
            assert_eq!(error["code"], -32602, "{}", answer.text);
            let said = error["message"].as_str().unwrap_or_default();
            assert!(
                said.contains(place) && said.ends_with("nothing was done"),
                "{said}"
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn agents_read_their_own_records_and_no_others() -> anyhow::Result<()> {
    let hub = hub("fixture").await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    hub.wait_for_tool(&peer, "fixture-echo").await?;
    peer.call("fixture-echo", json!({"what": "recorded"}))
        .await?;
    let event = json!({"action": "wrote", "resource": "report", "outcome": "done"});
    let logged = structured(&peer, "audit-log", event).await?;
    assert_eq!(logged, json!({"recorded": true}));
    let wanted = json!({"server": "fixture", "item": "echo"});
    let own = structured(&peer, "audit-query", wanted.clone()).await?;
    let records = own["records"].as_array().unwrap();
    assert!(
        records.iter().any(|record| record["kind"] == "intent"),
        "{own}"
    );
    assert!(!own.to_string().contains("recorded"), "{own}");
    let other = hub
        .bridge(PeerEra::Legacy, everything(), friendly())
        .await?;
    hub.wait_for_tool(&other, "fixture-echo").await?;
    let others = structured(&other, "audit-query", wanted).await?;
    assert_eq!(others["records"], json!([]), "{others}");
    let whole = structured(&other, "audit-verify", json!({})).await?;
    assert_eq!(whole["whole"], true, "{whole}");
    Ok(())
}

#[tokio::test]
async fn no_configured_server_takes_a_native_ones_name() -> anyhow::Result<()> {
    let hub = hub("hub").await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    let tools = peer.list("tools/list", "tools").await?;
    let named = |name: &str| tools.iter().any(|tool| tool["name"] == name);
    assert!(named("hub-servers") && !named("hub-echo"), "{tools:?}");
    let (_, list, _) = hub.run(&["mcp", "list"]).await?;
    assert!(list.contains("the hub's own"), "{list}");
    Ok(())
}

#[tokio::test]
async fn a_native_server_has_another_name_and_stays_itself() -> anyhow::Result<()> {
    let rules = r#"
[[rule]]
id = "own.no-servers"
rule = 'deny hub/servers because "nobody counts here"'
"#;
    let shown = json!({"type": "memory", "server": "hub", "displayName": "Finder",
        "tools": ["find_tools", "servers"]});
    let mut hub = Hub::start(HubOptions {
        servers: json!({"finder": shown, "nobody": {"type": "memory", "server": "teams"},
            "wrong": {"type": "memory", "server": "files"}}),
        template: Some("personal"),
        governance: vec![("permissions.toml", rules.into())],
        arguments: vec!["--allow-all"],
        ..HubOptions::default()
    })
    .await?;
    for era in ERAS {
        let peer = hub.http(era, everything(), friendly()).await?;
        hub.wait_for_tool(&peer, "finder-find_tools").await?;
        let tools = peer.list("tools/list", "tools").await?;
        let named = |name: &str| tools.iter().any(|tool| tool["name"] == name);
        assert!(named("hub-find_tools"), "{tools:?}");
        // What rules say of the hub's own holds under every name of it.
        assert_eq!(named("finder-servers"), named("hub-servers"), "{tools:?}");
        assert!(!named("finder-call_tool") && !named("nobody-send_message"));
        let found = structured(&peer, "finder-find_tools", json!({"query": "records"})).await?;
        assert!(found["tools"][0]["name"].is_string(), "{found}");
        for tool in ["finder-servers", "hub-servers"] {
            let refused = peer.call(tool, json!({})).await?;
            assert!(refused.text.contains("own.no-servers"), "{}", refused.text);
        }
        let unknown = peer.call("finder-call_tool", json!({})).await?;
        assert!(unknown.value.get("error").is_some(), "{}", unknown.text);
        // It is recorded as what it is.
        let wanted = json!({"server": "hub", "item": "find_tools"});
        let own = structured(&peer, "audit-query", wanted).await?;
        assert!(!own["records"].as_array().unwrap().is_empty(), "{own}");
    }
    let (_, list, _) = hub.run(&["mcp", "list"]).await?;
    assert!(
        list.contains("\"files\" is none of the hub's own"),
        "{list}"
    );
    let (_, shown, _) = hub.run(&["mcp", "show", "nobody"]).await?;
    assert!(
        shown.contains("does not run its own server teams"),
        "{shown}"
    );
    let (code, _, said) = hub.run(&["mcp", "disable", "finder"]).await?;
    assert_eq!(code, 0, "{said}");
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    let off = peer
        .call("finder-find_tools", json!({"query": "a"}))
        .await?;
    assert!(off.value.get("error").is_some(), "{}", off.text);
    hub.stop().await?;
    Ok(())
}
