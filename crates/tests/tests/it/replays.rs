//! Rows of approvals that somebody who owns the database put back as they were.

use legation_tests::harness::hub::Hub;
use legation_tests::harness::peer::PeerEra;
use legation_tests::harness::process::command;
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
