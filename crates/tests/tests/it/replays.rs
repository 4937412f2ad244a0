//! Rows of approvals that somebody who owns the database put back as they were,
//! and what is on record beside calls.

use std::time::Duration;

use legation_tests::fixture::Era;
use legation_tests::harness::governance::lay_over;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{PeerEra, friendly};
use legation_tests::harness::process::{command, until};
use legation_tests::harness::servers::stdio_entry;
use serde_json::{Value, json};

use crate::business::{Business, code};

const TOOL: &str = "harbor-mail-draft";

/// Keeps the rows of a table, or puts them back byte for byte.
const ROWS: &str = r"
import pickle, sqlite3, sys
act, path, kept = sys.argv[1:4]
base = sqlite3.connect(path)
if act == 'keep':
    pickle.dump(base.execute('select * from approvals').fetchall(), open(kept, 'wb'))
else:
    rows = pickle.load(open(kept, 'rb'))
    marks = ', '.join('?' * len(rows[0]))
    base.executemany('insert or replace into approvals values (' + marks + ')', rows)
    base.commit()
    print(len(rows))
";

async fn rows(hub: &Hub, act: &str) -> anyhow::Result<()> {
    let home = hub.home();
    let output = command("/usr/bin/python3", &hub.environment())
        .args(["-c", ROWS, act])
        .args([home.join("state.db"), home.join("kept")])
        .output()
        .await?;
    anyhow::ensure!(output.status.success(), "{output:?}");
    Ok(())
}

#[tokio::test]
async fn a_used_approval_that_is_put_back_is_refused_and_told_of() -> anyhow::Result<()> {
    let mut business = Business::start().await?;
    let peer = business.client("claude", PeerEra::Modern).await?;
    let call = json!({"a": 1});
    let asked = peer.call(TOOL, call.clone()).await?;
    assert_eq!(code(&asked), "APPROVAL_PENDING");
    let data = &asked.value["result"]["structuredContent"];
    let id = data["approval_id"].as_str().unwrap_or_default().to_owned();
    let (done, out, complaint) = business.hub.run(&["approve", &id]).await?;
    assert_eq!(done, 0, "{out}{complaint}");
    rows(&business.hub, "keep").await?;
    assert_eq!(code(&peer.call(TOOL, call.clone()).await?), "");
    business.hub.stop().await?;
    rows(&business.hub, "put back").await?;
    business.hub = business.hub.restart().await?;
    let peer = business.client("claude", PeerEra::Modern).await?;
    business.hub.wait_for_tool(&peer, TOOL).await?;
    assert_eq!(
        code(&peer.call(TOOL, call).await?),
        "APPROVAL_PENDING",
        "it is asked anew"
    );
    for arguments in [["status", "--json"], ["doctor", "--json"]] {
        let (_, out, complaint) = business.hub.run(&arguments).await?;
        assert!(
            out.contains("was used before") && out.contains(&id),
            "{arguments:?}: {out}{complaint}"
        );
    }
    let (found, out, complaint) = business
        .hub
        .run(&["audit", "query", "--json", "--since", "1h"])
        .await?;
    assert_eq!(found, 0, "{out}{complaint}");
    let records: Value = serde_json::from_str(&out)?;
    let said = records.to_string();
    for event in ["APPROVAL_REQUESTED", "APPROVAL_GRANTED", "APPROVAL_VOIDED"] {
        assert!(said.contains(event), "{event}: {said}");
    }
    Ok(())
}

#[tokio::test]
async fn what_happens_beside_calls_is_on_record() -> anyhow::Result<()> {
    let business = Business::start().await?;
    let hub = &business.hub;
    let rules = hub.home().join("governance/permissions.toml");
    lay_over(&rules, &json!("# another state of the rules\n"))?;
    // A server that changes what it offers.
    business
        .redefine("harbor-mail", "free", "Does something else")
        .await?;
    for arguments in [
        &["mcp", "reload"][..],
        &["approvals", "--reset-labels", "claude"],
        &[
            "audit", "shred", "--entity", "harbor", "--before", "2999-01", "--yes",
        ],
    ] {
        let (done, out, complaint) = hub.run(arguments).await?;
        anyhow::ensure!(done == 0, "{arguments:?}: {out}{complaint}");
    }
    for event in [
        "DEFINITION_SEEN",
        "DEFINITION_CHANGED",
        "GOVERNANCE_CHANGED",
        "LABELS_CLEARED",
    ] {
        until(event, Duration::from_secs(20), async || {
            let query = ["audit", "query", "--json", "--topic", event];
            let Ok((0, out, _)) = hub.run(&query).await else {
                return false;
            };
            let found: Value = serde_json::from_str(&out).unwrap_or_default();
            let record = &found["records"][0]["record"];
            record["event"] == event && record["governance_result"].is_string()
        })
        .await?;
    }
    Ok(())
}

/// A value that a server is given as a secret does not come back out of it.
#[tokio::test]
async fn what_a_server_is_given_as_a_secret_is_masked_in_its_results() -> anyhow::Result<()> {
    const SECRET: &str = "opensesame-and-more";
    let mut entry = stdio_entry(Era::Both, "shared")?;
    entry["env"] = json!({"API_TOKEN": SECRET, "FOLDER": "plain-and-more"});
    let servers = json!({"fixture": entry});
    let hub = Hub::start(HubOptions {
        servers,
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    hub.wait_for_tool(&peer, "fixture-echo").await?;
    let said = json!({"a": format!("it is {SECRET}"), "b": "plain-and-more"});
    let answer = peer.call("fixture-echo", said).await?;
    assert!(!answer.text.contains(SECRET), "{}", answer.text);
    assert!(
        answer.text.contains("[masked: own-secret]"),
        "{}",
        answer.text
    );
    assert!(answer.text.contains("plain-and-more"), "{}", answer.text);
    let log = std::fs::read_dir(hub.home())?;
    for file in log.filter_map(Result::ok) {
        let path = file.path();
        if path.extension().is_some_and(|kind| kind == "log") {
            let text = std::fs::read_to_string(&path)?;
            assert!(!text.contains(SECRET), "{}", path.display());
        }
    }
    Ok(())
}
