//! Clients that look for tools instead of reading all of them.

use std::collections::BTreeSet;

use anyhow::Context;
use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::servers::stdio_entry;
use serde_json::{Value, json};

const ERAS: [PeerEra; 2] = [PeerEra::Legacy, PeerEra::Modern];

/// Codex may not have one tool and is asked about another.
const RULES: &str = r#"
[[rule]]
id = "test.hidden"
rule = 'deny kept/test_image_content client codex because "text is enough"'
"#;

const SETTINGS: &str = r#"
[discovery]
clients = ["co*"]
always = ["kept/ech?"]
[instructions]
included = ["other"]
[views.work]
servers = ["kept", "hub"]
[views.bare]
servers = ["kept"]
"#;

async fn start() -> anyhow::Result<Hub> {
    let entry = stdio_entry(Era::Both, "shared")?;
    Hub::start(HubOptions {
        servers: json!({"kept": entry, "other": entry}),
        template: Some("personal"),
        governance: vec![("permissions.toml", RULES.into())],
        clients: vec!["codex".to_owned(), "claude".to_owned()],
        settings: SETTINGS.to_owned(),
        ..HubOptions::default()
    })
    .await
}

async fn client(hub: &Hub, name: &str, era: PeerEra) -> anyhow::Result<Peer> {
    hub.http_as(name, era, everything(), friendly()).await
}

fn names(tools: &[Value]) -> BTreeSet<&str> {
    let tools = tools.iter();
    tools.filter_map(|tool| tool["name"].as_str()).collect()
}

async fn listed(peer: &Peer) -> anyhow::Result<Vec<Value>> {
    peer.list("tools/list", "tools").await
}

async fn find(peer: &Peer, wish: Value) -> anyhow::Result<Value> {
    let answer = peer.call("hub-find_tools", wish).await?;
    Ok(answer.result()?["structuredContent"].clone())
}

#[tokio::test]
async fn a_client_that_looks_for_tools_reads_few_and_calls_all() -> anyhow::Result<()> {
    let hub = start().await?;
    for era in ERAS {
        let claude = client(&hub, "claude", era).await?;
        for tool in ["kept-echo", "other-echo"] {
            hub.wait_for_tool(&claude, tool).await?;
        }
        let codex = client(&hub, "codex", era).await?;
        let few = listed(&codex).await?;
        let own = [
            "hub-approvals",
            "hub-call_tool",
            "hub-find_tools",
            "hub-servers",
            "kept-echo",
        ];
        assert_eq!(names(&few), own.into());
        // Nobody else's list is any shorter.
        let all = listed(&claude).await?;
        assert!(names(&all).is_superset(&own.into()));
        assert!(names(&all).contains("other-echo"), "{all:?}");
        // What is not listed is found and called, through `call_tool` and directly.
        let found = find(&codex, json!({"query": "repeat it", "server": "other"})).await?;
        assert_eq!(found["tools"][0]["name"], "other-echo", "{found}");
        let inner = json!({"name": "other-echo", "arguments": {"value": 7}});
        for (tool, arguments) in [
            ("hub-call_tool", inner.clone()),
            ("other-echo", inner["arguments"].clone()),
        ] {
            let answer = codex.call(tool, arguments).await?;
            assert!(answer.first_text().contains('7'), "{tool}: {}", answer.text);
        }
    }
    Ok(())
}

#[tokio::test]
async fn nobody_finds_or_calls_what_a_rule_keeps_from_them() -> anyhow::Result<()> {
    let hub = start().await?;
    let wish = || json!({"query": "image content", "limit": 50});
    let hidden = "kept-test_image_content";
    let sees = |found: &Value| {
        let tools = found["tools"].as_array().cloned().unwrap_or_default();
        names(&tools).contains(hidden)
    };
    for era in ERAS {
        let claude = client(&hub, "claude", era).await?;
        for tool in [hidden, "other-test_image_content"] {
            hub.wait_for_tool(&claude, tool).await?;
        }
        let codex = client(&hub, "codex", era).await?;
        // The one after the other: neither's index is shown to the other.
        for _ in 0..2 {
            assert!(sees(&find(&claude, wish()).await?));
            let found = find(&codex, wish()).await?;
            assert!(!sees(&found), "{found}");
            assert!(!found.to_string().contains(hidden), "{found}");
            let best = &found["tools"][0]["name"];
            assert_eq!(best, "other-test_image_content", "{found}");
        }
        let inner = json!({"name": hidden, "arguments": {}});
        let (through, directly) = (
            codex.call("hub-call_tool", inner).await?,
            codex.call(hidden, json!({})).await?,
        );
        let refused = |text: &str| text.contains("test.hidden");
        assert!(refused(&through.text), "{}", through.text);
        assert!(refused(&directly.text), "{}", directly.text);
    }
    Ok(())
}

#[tokio::test]
async fn instructions_that_are_not_included_are_found() -> anyhow::Result<()> {
    let hub = start().await?;
    for era in ERAS {
        let claude = client(&hub, "claude", era).await?;
        for tool in ["kept-echo", "other-echo"] {
            hub.wait_for_tool(&claude, tool).await?;
        }
        // Whoever connects now is told what there is now.
        let late = client(&hub, "claude", era).await?;
        let told = late.greeting["instructions"]
            .as_str()
            .context("none told")?;
        assert!(
            told.contains("[other]") && !told.contains("[kept]"),
            "{told}"
        );
        let found = find(&late, json!({"server": "kept"})).await?;
        let about = &found["servers"][0];
        assert_eq!(about["name"], "kept", "{found}");
        assert!(about["instructions"].is_string(), "{found}");
        let tools = about["tools"].as_array().context("no tools")?;
        assert!(tools.contains(&json!("kept-test_simple_text")), "{found}");
    }
    Ok(())
}

#[tokio::test]
async fn a_list_without_what_finds_the_rest_stays_whole() -> anyhow::Result<()> {
    let hub = start().await?;
    let claude = client(&hub, "claude", PeerEra::Modern).await?;
    hub.wait_for_tool(&claude, "kept-echo").await?;
    let token = legation_tests::harness::hub::client_token("codex");
    for (place, short) in [("/v/work", true), ("/v/bare", false), ("/s/kept", false)] {
        let url = format!("{}{place}", hub.url());
        let era = PeerEra::Modern;
        let codex = Peer::http(&url, Some(&token), era, everything(), friendly()).await?;
        let tools = listed(&codex).await?;
        let names = names(&tools);
        let echo = names.contains("kept-echo") || names.contains("echo");
        assert!(echo, "{place}: {names:?}");
        let other = |name: &&str| !name.starts_with("hub-") && !name.ends_with("echo");
        assert_eq!(!names.iter().any(other), short, "{place}: {names:?}");
    }
    Ok(())
}
