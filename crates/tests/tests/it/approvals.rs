//! Calls that a person is asked about, by real clients of every kind.

use std::sync::Arc;
use std::time::Duration;

use legation_tests::harness::hub::Hub;
use legation_tests::harness::peer::{Answer, Answerer, Peer, PeerEra};
use legation_tests::harness::process::until;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::business::{Business, code};

const ERAS: [PeerEra; 2] = [PeerEra::Legacy, PeerEra::Modern];
/// A tool of the rung that asks.
const TOOL: &str = "harbor-mail-draft";
/// A tool that a rule asks about, which lets an answer last.
const ASKED: &str = "harbor-mail-asked";
/// The code of an error for a call that its server was not sent.
const NOT_SENT: i64 = -31001;

/// Answers every question so.
fn says(action: &'static str, decision: &'static str) -> Answerer {
    Arc::new(move |_, _| match action {
        "accept" => json!({"action": action, "content": {"decision": decision}}),
        _ => json!({"action": action}),
    })
}

fn form() -> Value {
    json!({"elicitation": {"form": {}}})
}

/// The id a refused call waits under.
pub(crate) fn waits(answer: &Answer) -> String {
    assert_ne!(code(answer), "", "{}", answer.text);
    let data = &answer.value["result"]["structuredContent"];
    assert_eq!(data["status"], "pending", "{}", answer.text);
    data["approval_id"].as_str().unwrap().to_owned()
}

async fn run(hub: &Hub, arguments: &[&str]) -> anyhow::Result<String> {
    let (code, out, complaint) = hub.run(arguments).await?;
    anyhow::ensure!(
        code == 0,
        "{arguments:?} ended with {code}: {out}{complaint}"
    );
    Ok(out)
}

/// Runs a command with something on its standard input.
pub(crate) async fn piped(hub: &Hub, arguments: &[&str], input: &str) -> anyhow::Result<i32> {
    let mut child = hub
        .command(arguments)?
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(input.as_bytes()).await?;
    }
    Ok(child.wait().await?.code().unwrap_or(-1))
}

async fn waiting(hub: &Hub) -> anyhow::Result<Value> {
    Ok(serde_json::from_str(
        &run(hub, &["approvals", "--json"]).await?,
    )?)
}

/// The call and what came of it.
async fn draft(peer: &Peer, arguments: Value) -> anyhow::Result<String> {
    Ok(code(&peer.call(TOOL, arguments).await?))
}

/// The same with the tool that a rule asks about.
async fn asked(peer: &Peer, arguments: Value) -> anyhow::Result<String> {
    Ok(code(&peer.call(ASKED, arguments).await?))
}

/// Whether it is refused for one of these reasons. A call that was decided
/// under one definition and met the next is answered as not sent, which only
/// says that the change is under way.
async fn refused_for(peer: &Peer, reasons: &[&str]) -> bool {
    let Ok(answer) = peer.call(ASKED, json!({})).await else {
        return false;
    };
    answer.value["error"]["code"] != NOT_SENT && reasons.contains(&&*code(&answer))
}

#[tokio::test]
async fn a_client_that_can_ask_is_answered_on_the_spot() -> anyhow::Result<()> {
    let business = Business::start().await?;
    let mut made = 0;
    for era in ERAS {
        for via in ["http", "stdio"] {
            let yes = says("accept", "once");
            let peer = match via {
                "http" => business.asked("claude", era, form(), yes).await?,
                _ => business.hub.bridge_as("claude", era, form(), yes).await?,
            };
            for round in 0..2 {
                assert_eq!(
                    draft(&peer, json!({"a": 1})).await?,
                    "",
                    "{era:?} {via} {round}"
                );
                made += 1;
            }
            if era == PeerEra::Legacy {
                // Once is once: the second call asks again.
                let asked = peer.heard_of("elicitation/create");
                assert_eq!(asked.len(), 2, "{asked:?}");
                let text = asked[0]["params"]["message"].as_str().unwrap();
                assert!(
                    text.contains("harbor-mail/draft") && text.contains("claude"),
                    "{text}"
                );
            }
            assert_eq!(
                business.calls("harbor-mail").await?,
                made + made_stats(made)
            );
        }
    }
    Ok(())
}

/// How many of the counted calls were the counting.
fn made_stats(made: i64) -> i64 {
    made / 2 - 1
}

#[tokio::test]
async fn a_client_that_cannot_ask_waits_and_calls_again() -> anyhow::Result<()> {
    let business = Business::start().await?;
    let hub = &business.hub;
    for (index, era) in ERAS.into_iter().enumerate() {
        for (turn, via) in ["http", "stdio"].into_iter().enumerate() {
            let peer = match via {
                "http" => business.client("claude", era).await?,
                _ => business.bridge("claude", era).await?,
            };
            let arguments = json!({"a": index * 2 + turn});
            let other = json!({"other": index * 2 + turn});
            let id = waits(&peer.call(TOOL, arguments.clone()).await?);
            assert_eq!(waits(&peer.call(TOOL, arguments.clone()).await?), id);
            // Listed for people, and for agents to read only.
            let seen = waiting(hub).await?;
            assert_eq!(seen["waiting"][0]["id"], id.as_str(), "{seen}");
            run(hub, &["approve", &id]).await?;
            assert_eq!(draft(&peer, other.clone()).await?, "APPROVAL_PENDING");
            assert_eq!(draft(&peer, arguments.clone()).await?, "");
            let again = waits(&peer.call(TOOL, arguments.clone()).await?);
            assert_ne!(again, id);
            run(hub, &["deny", &again]).await?;
            assert_eq!(draft(&peer, arguments).await?, "APPROVAL_DENIED");
            let left = waits(&peer.call(TOOL, other).await?);
            run(hub, &["deny", &left]).await?;
        }
    }
    assert_eq!(business.calls("harbor-mail").await?, 4);
    Ok(())
}

#[tokio::test]
async fn only_an_explicit_no_is_one() -> anyhow::Result<()> {
    let business = Business::start().await?;
    for era in ERAS {
        for (index, action) in ["decline", "cancel"].into_iter().enumerate() {
            let peer = business
                .asked("claude", era, form(), says(action, ""))
                .await?;
            let arguments = json!({"a": index, "era": format!("{era:?}")});
            let id = waits(&peer.call(TOOL, arguments.clone()).await?);
            run(&business.hub, &["approve", &id]).await?;
            assert_eq!(draft(&peer, arguments).await?, "", "{era:?} {action}");
        }
        for words in ["deny", "nonsense"] {
            let peer = business
                .asked("claude", era, form(), says("accept", words))
                .await?;
            let wanted = if words == "deny" {
                "APPROVAL_DENIED"
            } else {
                "APPROVAL_PENDING"
            };
            let arguments = json!({"words": words, "era": format!("{era:?}")});
            assert_eq!(draft(&peer, arguments).await?, wanted, "{era:?} {words}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn one_approval_is_used_once_by_a_thousand_calls() -> anyhow::Result<()> {
    let business = Business::start().await?;
    let peer = Arc::new(business.bridge("claude", PeerEra::Modern).await?);
    let id = waits(&peer.call(TOOL, json!({"a": 1})).await?);
    run(&business.hub, &["approve", &id]).await?;
    let before = business.calls("harbor-mail").await?;
    let calls = (0..1000).map(|_| peer.call(TOOL, json!({"a": 1})));
    let answers = futures_util::future::join_all(calls).await;
    let mut done = 0;
    for answer in answers {
        done += i64::from(code(&answer?).is_empty());
    }
    assert_eq!(done, 1);
    assert_eq!(
        business.calls("harbor-mail").await? - before,
        2,
        "the call, and one count"
    );
    Ok(())
}

#[tokio::test]
async fn a_grant_lasts_as_long_as_was_said() -> anyhow::Result<()> {
    let business = Business::start().await?;
    let hub = &business.hub;
    let first = business.bridge("claude", PeerEra::Legacy).await?;
    let id = waits(&first.call(ASKED, json!({"a": 1})).await?);
    run(hub, &["approve", "--session", &id]).await?;
    for a in 1..4 {
        assert_eq!(asked(&first, json!({"a": a})).await?, "");
    }
    let second = business.bridge("claude", PeerEra::Legacy).await?;
    let id = waits(&second.call(ASKED, json!({"a": 2})).await?);
    run(hub, &["approve", "--always", &id]).await?;
    let third = business.client("claude", PeerEra::Modern).await?;
    for (a, peer) in [&second, &third].into_iter().enumerate() {
        assert_eq!(asked(peer, json!({"a": a + 7})).await?, "");
    }
    // It is this tool's and this client's.
    assert_eq!(
        code(
            &third
                .call("harbor-mail-test_simple_text", json!({}))
                .await?
        ),
        "APPROVAL_PENDING"
    );
    let other = business.client("desk-agent", PeerEra::Modern).await?;
    assert_eq!(asked(&other, json!({})).await?, "APPROVAL_PENDING");
    let seen = waiting(hub).await?;
    let grants = seen["grants"].as_array().unwrap();
    let always = grants
        .iter()
        .find(|grant| grant["scope"] == "always")
        .unwrap();
    let grant = always["id"].as_str().unwrap();
    run(hub, &["approvals", "--revoke", grant]).await?;
    assert_eq!(asked(&third, json!({"a": 9})).await?, "APPROVAL_PENDING");
    Ok(())
}

#[tokio::test]
async fn another_definition_ends_an_always() -> anyhow::Result<()> {
    let business = Business::start().await?;
    let peer = business.client("claude", PeerEra::Modern).await?;
    let id = waits(&peer.call(ASKED, json!({})).await?);
    run(&business.hub, &["approve", "--always", &id]).await?;
    assert_eq!(asked(&peer, json!({})).await?, "");
    business
        .redefine("harbor-mail", "asked", "Does something else")
        .await?;
    until(
        "the change to be seen",
        Duration::from_secs(10),
        async || refused_for(&peer, &["DEFINITION_CHANGED", "UNKNOWN_TARGET"]).await,
    )
    .await?;
    run(&business.hub, &["mcp", "review", "--accept"]).await?;
    until("the tool to be back", Duration::from_secs(10), async || {
        refused_for(&peer, &["APPROVAL_PENDING"]).await
    })
    .await
}

#[tokio::test]
async fn no_tool_of_the_hub_approves() -> anyhow::Result<()> {
    let business = Business::start().await?;
    let peer = business.client("claude", PeerEra::Modern).await?;
    let id = waits(&peer.call(TOOL, json!({"a": 1})).await?);
    for arguments in [
        json!({"approve": id}),
        json!({"id": id, "answer": "once"}),
        json!({"approval_id": id, "decision": "always"}),
    ] {
        peer.call("hub-approvals", arguments.clone()).await?;
        for name in [
            "hub-approvals",
            "hub-approve",
            "hub-answer",
            "approvals.answer",
        ] {
            let call = json!({"name": name, "arguments": arguments});
            peer.once(
                "tools/call",
                json!({"name": "hub-call_tool", "arguments": call}),
            )
            .await?;
        }
    }
    assert_eq!(draft(&peer, json!({"a": 1})).await?, "APPROVAL_PENDING");
    let tools = peer.list("tools/list", "tools").await?;
    let names: Vec<_> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(names.contains(&"hub-approvals"), "{names:?}");
    let approves = |name: &&str| {
        name.contains("approve") || name.contains("certify") || name.contains("grant")
    };
    assert!(!names.iter().any(approves), "{names:?}");
    assert_eq!(business.calls("harbor-mail").await?, 0);
    Ok(())
}

#[tokio::test]
async fn a_row_that_somebody_edited_is_not_honoured() -> anyhow::Result<()> {
    let mut business = Business::start().await?;
    let peer = business.client("claude", PeerEra::Modern).await?;
    let id = waits(&peer.call(ASKED, json!({"a": 1})).await?);
    run(&business.hub, &["approve", "--always", &id]).await?;
    assert_eq!(asked(&peer, json!({"a": 2})).await?, "");
    business.hub.stop().await?;
    business.hub = business.hub.restart().await?;
    let peer = business.client("claude", PeerEra::Modern).await?;
    business.hub.wait_for_tool(&peer, ASKED).await?;
    assert_eq!(
        asked(&peer, json!({"a": 3})).await?,
        "",
        "it survives a restart"
    );
    business.hub.stop().await?;
    let edit = r"
import sqlite3, sys, glob
for path in glob.glob(sys.argv[1] + '/**/*.db', recursive=True) + glob.glob(sys.argv[1] + '/**/*.sqlite*', recursive=True):
    if path.endswith(('-wal', '-shm')): continue
    base = sqlite3.connect(path)
    for (name,) in base.execute('select name from sqlite_master where type=?', ('table',)).fetchall():
        if 'grant' not in name: continue
        columns = [row[1] for row in base.execute('pragma table_info(' + name + ')')]
        print(name, columns)
        if 'client' in columns:
            base.execute('update ' + name + ' set client=?', ('copilot',))
    base.commit()
";
    let home = business.hub.home().display().to_string();
    let output =
        legation_tests::harness::process::command("/usr/bin/python3", &business.hub.environment())
            .args(["-c", edit, &home])
            .output()
            .await?;
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && out.contains("client"),
        "{output:?}"
    );
    business.hub = business.hub.restart().await?;
    let hub = &business.hub;
    for client in ["claude", "copilot"] {
        let peer = business.client(client, PeerEra::Modern).await?;
        hub.wait_for_tool(&peer, ASKED).await?;
        assert_eq!(
            asked(&peer, json!({"a": 3})).await?,
            "APPROVAL_PENDING",
            "{client}"
        );
    }
    let seen = waiting(hub).await?;
    assert_eq!(seen["grants"], json!([]), "{seen}");
    assert!(!seen["reported"].as_array().unwrap().is_empty(), "{seen}");
    Ok(())
}

#[tokio::test]
async fn a_proposal_takes_a_pin_and_is_applied_once_as_it_stands() -> anyhow::Result<()> {
    let business = Business::start().await?;
    let hub = &business.hub;
    // A client that says yes to everything certifies nothing.
    let yes = says("accept", "once");
    let peer = business
        .asked("claude", PeerEra::Modern, form(), yes)
        .await?;
    let file = async |arguments: Value| peer.call("harbor-mail-file", arguments).await;
    let answer = file(json!({"to": "archive"})).await?;
    assert_eq!(code(&answer), "CERTIFICATION_REQUIRED");
    let id = waits(&answer);
    assert_ne!(piped(hub, &["approve", &id], "").await?, 0, "no PIN");
    assert_eq!(piped(hub, &["pin", "--stdin"], "482913\n").await?, 0);
    assert_ne!(
        piped(hub, &["approve", &id], "").await?,
        0,
        "nobody gave it"
    );
    assert_ne!(
        piped(hub, &["approve", "--pin-stdin", &id], "111222\n").await?,
        0,
        "a wrong PIN"
    );
    assert_eq!(
        code(&file(json!({"to": "archive"})).await?),
        "CERTIFICATION_REQUIRED"
    );
    assert_eq!(
        piped(hub, &["approve", "--pin-stdin", &id], "482913\n").await?,
        0
    );
    assert_eq!(
        code(&file(json!({"to": "elsewhere"})).await?),
        "CERTIFICATION_REQUIRED"
    );
    assert_eq!(code(&file(json!({"to": "archive"})).await?), "");
    assert_eq!(
        code(&file(json!({"to": "archive"})).await?),
        "CERTIFICATION_REQUIRED"
    );
    assert_eq!(business.calls("harbor-mail").await?, 1);
    Ok(())
}
