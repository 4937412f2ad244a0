//! Rules that change: recorded calls decided again, what the organisation
//! forbids, and for how long an answer holds.

use anyhow::Context as _;
use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Peer, PeerEra, friendly};
use legation_tests::harness::process::until;
use legation_tests::harness::servers::{HttpFixture, stdio_entry};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

use crate::business::{Business, code};

const PATIENCE: Duration = Duration::from_secs(120);

/// What `permissions replay` says, as a program reads it.
async fn replay(hub: &Hub, more: &[&str]) -> anyhow::Result<Value> {
    let arguments = [&["permissions", "replay", "--json"], more].concat();
    let (code, out, complaint) = hub.run(&arguments).await?;
    anyhow::ensure!(code == 0, "{out}{complaint}");
    Ok(serde_json::from_str(&out)?)
}

fn found<'v>(replayed: &'v Value, item: &str) -> &'v Value {
    let differences = replayed["differences"].as_array();
    let mut of_item = differences.into_iter().flatten();
    of_item
        .find(|one| one["item"] == item)
        .unwrap_or(&Value::Null)
}

#[tokio::test]
async fn recorded_calls_are_decided_again() -> anyhow::Result<()> {
    let mut business = Business::start().await?;
    let agent = business.client("claude", PeerEra::Modern).await?;
    let calls = [
        ("harbor-mail-free", json!({}), ""),
        ("harbor-mail-free", json!({"a": 1}), ""),
        ("broker-read", json!({"entity": "quarry"}), ""),
        ("broker-read", json!({"entity": "nobody"}), "UNKNOWN_ENTITY"),
        ("meadow-notes-read", json!({}), "CROSS_ENTITY_BLOCK"),
        ("harbor-mail-burn", json!({}), "LADDER_NEVER"),
        ("harbor-mail-asked", json!({}), "APPROVAL_PENDING"),
    ];
    for (tool, arguments, wanted) in &calls {
        let answer = agent.call(tool, arguments.clone()).await?;
        assert_eq!(code(&answer), *wanted, "{tool}: {}", answer.text);
    }
    let last = calls.len().to_string();
    let hub = &business.hub;
    let replayed = replay(hub, &["--last", &last]).await?;
    assert_eq!(replayed["calls"], 7, "{replayed}");
    // Nobody can tell whose data an entity is that does not exist.
    assert_eq!(
        (&replayed["same"], &replayed["depends"]),
        (&6.into(), &1.into()),
        "{replayed}"
    );

    let rules = std::fs::read_to_string(hub.home().join("governance/permissions.toml"))?;
    let folder = tempfile::tempdir()?;
    let tried = folder.path().join("tried.toml");
    let more = r#"
[[rule]]
id = "tried.free"
rule = 'deny harbor-mail/free because "it is tried"'
[[rule]]
id = "tried.read"
rule = 'deny broker/read where /entity = harbor'
"#;
    std::fs::write(
        &tried,
        rules.replace("ask harbor-mail/asked for always", "deny harbor-mail/asked") + more,
    )?;
    let path = tried.display().to_string();
    let arguments = ["--last", last.as_str(), "--rules", path.as_str()];
    let replayed = replay(hub, &arguments).await?;
    let free = found(&replayed, "free");
    assert_eq!(free["calls"], 2, "{replayed}");
    assert_eq!(free["before"]["answer"], "allowed");
    assert_eq!(
        free["after"],
        json!({"answer": "denied", "rule": "tried.free"})
    );
    let asked = found(&replayed, "asked");
    assert_eq!(asked["before"]["answer"], "asked", "{replayed}");
    assert_eq!(asked["after"]["rule"], "test.asked", "{replayed}");
    let depends = replayed["differences"].as_array().unwrap();
    let reads = depends
        .iter()
        .find(|one| one["item"] == "read" && one["before"]["answer"] == "allowed");
    assert_eq!(
        reads.unwrap()["after"],
        json!({
            "answer": "depends on arguments",
            "depends": [{"rule": "tried.read", "reads": ["/entity"]}],
        })
    );

    // The same from the store, while no hub runs.
    business.hub.stop().await?;
    let offline = replay(&business.hub, &arguments).await?;
    assert_eq!(offline, replayed);
    std::fs::write(
        &tried,
        "version = 2\n[[rule]]\nid = \"a\"\nrule = 'deny nobody/*'\n",
    )?;
    let wrong = ["permissions", "replay", "--rules", path.as_str()];
    assert_eq!(business.hub.run(&wrong).await?.0, 2);
    Ok(())
}

/// Two stdio servers and one over HTTP, all of the owner's own.
async fn three(organisation: &Path, folder: &Path) -> anyhow::Result<(Hub, HttpFixture)> {
    let http = HttpFixture::start(Era::Both, folder).await?;
    let kept = stdio_entry(Era::Both, "shared")?;
    let other = stdio_entry(Era::Legacy, "shared")?;
    let rules = r#"
[[rule]]
id = "own.no-images"
rule = 'deny kept/test_image_content because "text is enough"'
[[rule]]
id = "own.asked"
rule = 'ask kept/test_audio_content for always because "who listens?"'
"#;
    let variable = "LEGATION_ENTERPRISE_POLICY".to_owned();
    let hub = Hub::start(HubOptions {
        servers: json!({"kept": kept, "other": other, "web": http.entry("shared")}),
        template: Some("personal"),
        governance: vec![("permissions.toml", rules.into())],
        arguments: vec!["--allow-all"],
        environment: [(variable, organisation.display().to_string())].into(),
        ..HubOptions::default()
    })
    .await?;
    Ok((hub, http))
}

/// How each call goes: tool, reason code or nothing.
async fn calls(peer: &Peer, wanted: &[(&str, &str)]) -> anyhow::Result<()> {
    for (tool, wanted) in wanted {
        let answer = peer.call(tool, json!({})).await?;
        assert_eq!(code(&answer), *wanted, "{tool}: {}", answer.text);
    }
    Ok(())
}

const BLOCK: &str = "ENTERPRISE_POLICY_BLOCK";

/// What may not be called is not even started, and says why.
async fn all_are_filtered(hub: &Hub) -> anyhow::Result<()> {
    let (_, servers, _) = hub.run(&["mcp", "list", "--json"]).await?;
    let servers: serde_json::Value = serde_json::from_str(&servers)?;
    let servers = servers["servers"].as_array().context("no servers")?;
    for server in servers {
        assert_eq!(server["status"], "filtered", "{server}");
        assert_eq!(server["instances"], 0, "{server}");
        let reason = server["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("the organisation's policy"), "{server}");
    }
    Ok(())
}

#[tokio::test]
async fn what_the_organisation_forbids_nobody_allows() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("policy.toml");
    let say = |text: &str| std::fs::write(&file, format!("version = 1\n{text}"));
    say("bypass_modes = true")?;
    let (hub, http) = three(&file, folder.path()).await?;
    let peer = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    for tool in ["kept", "other", "web"] {
        let tool = format!("{tool}-test_simple_text");
        hub.wait_for_tool(&peer, &tool).await?;
    }
    // A mode that asks less asks less, and lifts no deny.
    let free = [
        ("kept-test_simple_text", ""),
        ("other-test_simple_text", ""),
        ("web-test_simple_text", ""),
        ("kept-test_audio_content", ""),
        ("kept-test_image_content", "PERMISSION_DENIED"),
    ];
    calls(&peer, &free).await?;

    // An allow-list by command and by address fails closed for what is not on it.
    let entry = stdio_entry(Era::Both, "shared")?;
    let mut words = vec![entry["command"].clone()];
    words.extend(entry["args"].as_array().cloned().unwrap_or_default());
    let kept = format!("[[allow]]\ncommand = {}\n", json!(words));
    let listed = |tool: &'static str, there: bool| {
        let peer = &peer;
        async move {
            until(&format!("{tool}: {there}"), PATIENCE, async || {
                let tools = peer.list("tools/list", "tools").await.unwrap_or_default();
                tools.iter().any(|one| one["name"] == tool) == there
            })
            .await
        }
    };
    say(&format!("disabled_tools = [\"kept/test_e*\"]\n{kept}"))?;
    listed("other-test_simple_text", false).await?;
    let closed = [
        ("kept-test_simple_text", ""),
        ("kept-test_error_handling", BLOCK),
        ("other-test_simple_text", BLOCK),
        ("web-test_simple_text", BLOCK),
        // No word about modes that ask less means that they are off.
        ("kept-test_audio_content", "APPROVAL_PENDING"),
        // To be on the list allows nothing by itself.
        ("kept-test_image_content", "PERMISSION_DENIED"),
    ];
    calls(&peer, &closed).await?;
    let (code, out, complaint) = hub.run(&["status"]).await?;
    assert!(
        code == 0 && out.contains("--allow-all is off"),
        "{out}{complaint}"
    );

    let url = format!("[[allow]]\nurl = \"http://127.0.0.1:{}/mcp\"\n", http.port);
    say(&format!("disabled_servers = [\"kept\"]\n{kept}{url}"))?;
    listed("web-test_simple_text", true).await?;
    let moved = [
        ("kept-test_simple_text", BLOCK),
        ("other-test_simple_text", BLOCK),
        ("web-test_simple_text", ""),
    ];
    calls(&peer, &moved).await?;

    say("third_party_servers = false")?;
    listed("web-test_simple_text", false).await?;
    let none = [
        ("kept-test_simple_text", BLOCK),
        ("web-test_simple_text", BLOCK),
    ];
    calls(&peer, &none).await?;
    all_are_filtered(&hub).await?;
    assert_eq!(
        crate::business::code(&peer.call("hub-servers", json!({})).await?),
        ""
    );

    // A file that cannot be read forbids everything, the hub's own servers too.
    say("third_party_servers = maybe")?;
    listed("hub-servers", false).await?;
    calls(
        &peer,
        &[("kept-test_simple_text", "GOVERNANCE_UNAVAILABLE")],
    )
    .await?;
    say("")?;
    listed("kept-test_simple_text", true).await?;
    calls(&peer, &[("kept-test_simple_text", "")]).await
}

/// Rules whose answers last in a folder, and for a time.
const LASTING: &str = r#"
[[rule]]
id = "asks.here"
rule = 'ask harbor-mail/asked for here because "each folder is asked"'
[[rule]]
id = "asks.soon"
rule = 'ask harbor-mail/free for 3s because "for a moment"'
"#;

async fn pending(peer: &Peer, tool: &str) -> anyhow::Result<String> {
    let answer = peer.call(tool, json!({})).await?;
    assert_eq!(code(&answer), "APPROVAL_PENDING", "{}", answer.text);
    let data = &answer.value["result"]["structuredContent"];
    Ok(data["approval_id"].as_str().unwrap_or_default().to_owned())
}

async fn approve(hub: &Hub, arguments: &[&str]) -> anyhow::Result<String> {
    let (code, out, complaint) = hub.run(arguments).await?;
    anyhow::ensure!(code == 0, "{arguments:?}: {out}{complaint}");
    Ok(out)
}

#[tokio::test]
async fn an_answer_for_a_folder_and_one_for_a_time_hold_there_and_then() -> anyhow::Result<()> {
    let business = Business::with(vec![("permissions.toml", LASTING.into())]).await?;
    let hub = &business.hub;
    let (asked, soon) = ("harbor-mail-asked", "harbor-mail-free");
    // The bridge says in which folder it was started.
    let here = business.bridge("claude", PeerEra::Legacy).await?;
    let id = pending(&here, asked).await?;
    let said = approve(hub, &["approve", "--here", &id]).await?;
    assert!(said.contains("here"), "{said}");
    let again = business.bridge("claude", PeerEra::Modern).await?;
    for (peer, times) in [(&here, 2), (&again, 2)] {
        for _ in 0..times {
            assert_eq!(code(&peer.call(asked, json!({})).await?), "");
        }
    }
    // A client over HTTP is in no folder and has no session: once is what it gets.
    let http = business.client("claude", PeerEra::Modern).await?;
    for flag in ["--here", "--session"] {
        let id = pending(&http, asked).await?;
        let said = approve(hub, &["approve", flag, &id]).await?;
        assert!(said.contains("once, because its client"), "{flag}: {said}");
        assert_eq!(code(&http.call(asked, json!({})).await?), "", "{flag}");
    }
    pending(&http, asked).await?;

    // For a time: an answer for always ends with it.
    let id = pending(&http, soon).await?;
    approve(hub, &["approve", "--always", &id]).await?;
    assert_eq!(code(&http.call(soon, json!({})).await?), "");
    until("the time to be over", PATIENCE, async || {
        let answer = http.call(soon, json!({})).await;
        answer.is_ok_and(|answer| code(&answer) == "APPROVAL_PENDING")
    })
    .await
}
