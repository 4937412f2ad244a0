//! `legation audit` against a running hub and without one.

use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{PeerEra, everything, friendly};
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
    for round in 0..3 {
        peer.call("fixture-echo", json!({"round": round}))
            .await?
            .result()?;
    }
    peer.call("fixture-test_error_handling", json!({}))
        .await?
        .result()?;
    Ok(hub)
}

/// What `legation audit` prints, once it has ended with a code.
async fn audit(hub: &Hub, arguments: &[&str], code: i32) -> anyhow::Result<String> {
    let arguments: Vec<&str> = ["audit"].iter().chain(arguments).copied().collect();
    let (found, output, complaint) = hub.run(&arguments).await?;
    anyhow::ensure!(
        found == code,
        "{arguments:?} ended with {found}: {output}{complaint}"
    );
    Ok(output)
}

async fn json_of(hub: &Hub, arguments: &[&str]) -> anyhow::Result<Value> {
    let arguments: Vec<&str> = arguments.iter().chain(&["--json"]).copied().collect();
    Ok(serde_json::from_str(&audit(hub, &arguments, 0).await?)?)
}

#[tokio::test]
async fn records_are_found_shown_and_exported_with_a_hub_and_without() -> anyhow::Result<()> {
    let mut hub = hub().await?;
    let mut seen = Vec::new();
    for running in [true, false] {
        if !running {
            hub.stop().await?;
        }
        let found = json_of(&hub, &["query", "--tool", "fixture/echo", "--status", "ok"]).await?;
        let records = found["records"].as_array().unwrap();
        assert_eq!(records.len(), 3, "{found}");
        let call = records[0]["record"]["call"].as_str().unwrap().to_owned();
        let failed = json_of(&hub, &["query", "--status", "tool_error", "--since", "1h"]).await?;
        assert_eq!(failed["records"].as_array().unwrap().len(), 1, "{failed}");
        let none = json_of(&hub, &["query", "--client", "nobody"]).await?;
        assert_eq!(none["records"], json!([]));
        let shown = json_of(&hub, &["show", &call]).await?;
        let kinds: Vec<_> = shown["records"]
            .as_array()
            .unwrap()
            .iter()
            .map(|record| record["record"]["kind"].clone())
            .collect();
        assert_eq!(kinds, ["intent", "outcome"]);
        let place = format!(
            "{}:{}",
            records[0]["entity"].as_str().unwrap(),
            records[0]["seq"]
        );
        let same = json_of(&hub, &["show", &place]).await?;
        assert_eq!(same, shown);
        audit(&hub, &["show", "no-such-call"], 1).await?;
        audit(&hub, &["query", "--since", "yesterday"], 2).await?;
        for format in ["jsonl", "ocsf", "otel"] {
            let text = audit(&hub, &["export", "--format", format, "--tool", "echo"], 0).await?;
            assert_eq!(text.lines().count(), 6, "{text}");
            for line in text.lines() {
                serde_json::from_str::<Value>(line)?;
            }
        }
        seen.push(call);
    }
    assert_eq!(seen[0], seen[1]);
    let arguments = hub.home().join("arguments.json");
    std::fs::write(&arguments, r#"{"round":2}"#)?;
    let path = arguments.display().to_string();
    audit(&hub, &["show", &seen[0], "--compare", &path], 0).await?;
    std::fs::write(&arguments, r#"{"round":3}"#)?;
    audit(&hub, &["show", &seen[0], "--compare", &path], 1).await?;
    Ok(())
}

#[tokio::test]
async fn a_hub_signs_for_its_records_when_told_and_when_it_ends() -> anyhow::Result<()> {
    let mut hub = hub().await?;
    let made = json_of(&hub, &["checkpoint"]).await?;
    let note = made["note"].as_str().unwrap();
    assert!(note.starts_with("legation-ledger/"), "{note}");
    let exported = hub.home().join("exported");
    std::fs::create_dir(&exported)?;
    std::fs::write(exported.join("one.checkpoint"), note)?;
    let folder = exported.display().to_string();
    let key = made["public_key"].as_str().unwrap().to_owned();
    let pinned = ["verify", "--checkpoints", &folder, "--public-key", &key];
    let report = json_of(&hub, &pinned).await?;
    assert_eq!(report["intact"], true, "{report}");
    let new = json_of(&hub, &["rotate-key"]).await?;
    assert_ne!(new["public_key"], key.as_str());
    let nothing = json_of(
        &hub,
        &["shred", "--entity", "personal", "--before", "2099-01"],
    )
    .await?;
    assert_eq!(nothing, json!({"months": [], "destroyed": false}));
    audit(
        &hub,
        &["shred", "--entity", "personal", "--before", "then"],
        1,
    )
    .await?;
    hub.stop().await?;
    let report = json_of(&hub, &pinned).await?;
    assert_eq!(report["intact"], true, "{report}");
    assert_eq!(report["covered"], report["records"], "{report}");
    audit(&hub, &["verify", "--public-key", "no key"], 2).await?;
    // A checkpoint of another ledger.
    let forged = note.replacen("head ", "head 1", 1);
    std::fs::write(exported.join("two.checkpoint"), forged)?;
    audit(&hub, &pinned, 1).await?;
    audit(&hub, &["checkpoint"], 4).await?;
    Ok(())
}

#[tokio::test]
async fn keys_that_were_destroyed_are_on_record() -> anyhow::Result<()> {
    let hub = hub().await?;
    // A month of which the hub kept commitments long ago.
    let old = hub.home().join("keys/ledger.personal.2020-01.key");
    std::fs::write(&old, format!("{}\n", "7a".repeat(32)))?;
    std::fs::set_permissions(&old, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let shred = [
        "shred", "--entity", "personal", "--before", "2021-01", "--yes",
    ];
    let done = json_of(&hub, &shred).await?;
    assert_eq!(done, json!({"months": ["2020-01"], "destroyed": true}));
    assert!(!old.exists());
    let wanted = ["query", "--topic", "KEY_DESTROYED"];
    let found = json_of(&hub, &wanted).await?;
    let record = &found["records"][0]["record"];
    assert_eq!(record["event"], "KEY_DESTROYED", "{found}");
    assert_eq!(record["governance_result"], "allowed", "{found}");
    assert!(record.to_string().contains("2020-01"), "{found}");
    Ok(())
}
