//! What people answered, across kills, restarts and races, and answers that
//! come back bent.

use std::time::Duration;

use legation_tests::harness::asked::{ASKED, AskedHub, pending};
use legation_tests::harness::governance::lay_over;
use legation_tests::harness::hub::HubOptions;
use legation_tests::harness::peer::{Answer, Peer, PeerEra, friendly};
use legation_tests::harness::process::{marked, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::approvals::{piped, waits as waits_under};
use crate::business::{Business, code};

const PATIENCE: Duration = Duration::from_secs(120);

async fn hub() -> anyhow::Result<AskedHub> {
    AskedHub::start(HubOptions {
        clients: vec!["claude".to_owned(), "codex".to_owned()],
        ..HubOptions::default()
    })
    .await
}

/// A client that cannot be asked.
async fn client(asked: &AskedHub, id: &str) -> anyhow::Result<Peer> {
    asked
        .hub
        .http_as(id, PeerEra::Modern, json!({}), friendly())
        .await
}

/// A client that can, and answers when the test says.
async fn able(asked: &AskedHub, id: &str) -> anyhow::Result<Peer> {
    let form = json!({"elicitation": {"form": {}}});
    asked
        .hub
        .http_as(id, PeerEra::Modern, form, friendly())
        .await
}

async fn call(peer: &Peer, arguments: &Value) -> anyhow::Result<Answer> {
    peer.call(ASKED, arguments.clone()).await
}

/// The id that a call waits under.
async fn waits(peer: &Peer, arguments: &Value) -> anyhow::Result<String> {
    let answer = call(peer, arguments).await?;
    pending(&answer).ok_or_else(|| anyhow::anyhow!("it does not wait: {}", answer.text))
}

/// A call whose state is none, of this run or at all.
async fn refused(peer: &Peer, call: Value) -> anyhow::Result<()> {
    let answer = peer.once("tools/call", call).await?;
    let refused = matches!(answer.code(), Some(-32602 | -31006));
    anyhow::ensure!(refused, "{}", answer.text);
    Ok(())
}

#[tokio::test]
async fn what_was_answered_outlives_the_hub() -> anyhow::Result<()> {
    let mut asked = hub().await?;
    let peer = client(&asked, "claude").await?;
    let [open, granted, denied] = ["open", "granted", "denied"].map(|text| json!({"text": text}));
    let open_id = waits(&peer, &open).await?;
    let granted_id = waits(&peer, &granted).await?;
    let denied_id = waits(&peer, &denied).await?;
    asked.tell(&["approve", &granted_id]).await?;
    asked.tell(&["deny", &denied_id]).await?;
    asked.hub.kill().await?;
    asked.hub = asked.hub.restart().await?;
    asked.ready().await?;
    let peer = client(&asked, "claude").await?;
    assert_eq!(waits(&peer, &open).await?, open_id);
    assert_eq!(code(&call(&peer, &granted).await?), "");
    assert_eq!(code(&call(&peer, &denied).await?), "APPROVAL_DENIED");
    asked.tell(&["approve", &open_id]).await?;
    assert_eq!(code(&call(&peer, &open).await?), "");
    for (arguments, times) in [(open, 1), (granted, 1), (denied, 0)] {
        assert_eq!(asked.executed(&arguments)?, times, "{arguments}");
    }
    Ok(())
}

#[tokio::test]
async fn a_certificate_outlives_the_hub_and_is_used_once() -> anyhow::Result<()> {
    let mut business = Business::start().await?;
    let tool = "harbor-mail-file";
    let arguments = json!({"to": "archive"});
    let peer = business.client("claude", PeerEra::Modern).await?;
    let id = waits_under(&peer.call(tool, arguments.clone()).await?);
    assert_eq!(
        piped(&business.hub, &["pin", "--stdin"], "482913\n").await?,
        0
    );
    for certified in [false, true] {
        if certified {
            let approve = ["approve", "--pin-stdin", &id];
            assert_eq!(piped(&business.hub, &approve, "482913\n").await?, 0);
        }
        business.hub.kill().await?;
        business.hub = business.hub.restart().await?;
        let peer = business.client("claude", PeerEra::Modern).await?;
        business.hub.wait_for_tool(&peer, tool).await?;
        let answer = peer.call(tool, arguments.clone()).await?;
        if certified {
            assert_eq!(code(&answer), "", "{}", answer.text);
            let again = peer.call(tool, arguments.clone()).await?;
            assert_ne!(waits_under(&again), id);
        } else {
            assert_eq!(waits_under(&answer), id, "it waits as it did");
        }
    }
    assert_eq!(business.calls("harbor-mail").await?, 1);
    Ok(())
}

#[tokio::test]
async fn an_approval_that_was_used_when_the_hub_was_killed_is_used() -> anyhow::Result<()> {
    let mut asked = hub().await?;
    let peer = client(&asked, "claude").await?;
    let arguments = json!({"text": "once"});
    let id = waits(&peer, &arguments).await?;
    asked.tell(&["approve", &id]).await?;
    // A server that stands still takes no call: whatever used the approval is
    // on its way until the hub is killed.
    for (pid, line) in marked(&asked.hub.mark) {
        if line.contains("fixture-server") && !line.contains("guard") {
            let pid = Pid::from_raw(i32::try_from(pid)?).unwrap();
            kill_process(pid, Signal::STOP)?;
        }
    }
    let mut calls = Vec::new();
    for _ in 0..1000 {
        let call = json!({"name": ASKED, "arguments": arguments});
        calls.push(peer.start("tools/call", call).await?);
    }
    until("an intent", PATIENCE, async || {
        asked.uses(&id).await.is_ok_and(|uses| uses.len() == 1)
    })
    .await?;
    asked.hub.kill().await?;
    asked.hub.none_left().await?;
    drop(calls);
    assert_eq!(asked.executed(&arguments)?, 0);
    asked.hub = asked.hub.restart().await?;
    asked.ready().await?;
    let peer = client(&asked, "claude").await?;
    let again = waits(&peer, &arguments).await?;
    assert_ne!(again, id);
    let (code, _, _) = asked.hub.run(&["approve", &id]).await?;
    assert_ne!(code, 0, "what was used can be answered again");
    let uses = asked.uses(&id).await?;
    assert_eq!(uses.len(), 1, "{uses:?}");
    let call = uses[0]["record"]["call"].as_str().unwrap();
    let shown = asked.tell(&["audit", "show", call, "--json"]).await?;
    assert!(shown.contains(r#""status":"unknown""#), "{shown}");
    assert_eq!(asked.executed(&arguments)?, 0);
    asked.tell(&["audit", "verify"]).await?;
    Ok(())
}

#[tokio::test]
async fn a_denial_wins_whatever_came_first() -> anyhow::Result<()> {
    let asked = hub().await?;
    let peer = client(&asked, "claude").await?;
    for round in 0..10 {
        let arguments = json!({"round": round});
        let id = waits(&peer, &arguments).await?;
        let (allow, deny) = (["approve", &id], ["deny", &id]);
        let (allowed, denied) = tokio::join!(asked.hub.run(&allow), asked.hub.run(&deny));
        let (denied, _, complaint) = denied?;
        assert_eq!(
            denied, 0,
            "approve ended with {:?}; {complaint}",
            allowed?.0
        );
        assert_eq!(code(&call(&peer, &arguments).await?), "APPROVAL_DENIED");
        assert_eq!(asked.executed(&arguments)?, 0, "{round}");
    }
    Ok(())
}

#[tokio::test]
async fn other_rules_void_what_was_approved_under_the_old_ones() -> anyhow::Result<()> {
    let asked = hub().await?;
    let peer = client(&asked, "claude").await?;
    let [approved, open] = ["approved", "open"].map(|text| json!({"text": text}));
    let id = waits(&peer, &approved).await?;
    asked.tell(&["approve", &id]).await?;
    let open = waits(&peer, &open).await?;
    let rules = asked.hub.home().join("governance/permissions.toml");
    lay_over(&rules, &"# Somebody thought again.".into())?;
    // Everything of the old rules is voided at once, and what is open is listed.
    until("the rules to be read", PATIENCE, async || {
        let all = asked.tell(&["approvals", "--json"]).await;
        all.is_ok_and(|all| !all.contains(&open))
    })
    .await?;
    assert_ne!(waits(&peer, &approved).await?, id);
    assert_eq!(asked.executed(&approved)?, 0);
    Ok(())
}

#[tokio::test]
async fn a_state_is_good_for_one_client_one_call_and_one_answer() -> anyhow::Result<()> {
    let mut asked = hub().await?;
    let peer = able(&asked, "claude").await?;
    let arguments = json!({"text": "sealed"});
    let first = peer
        .once("tools/call", json!({"name": ASKED, "arguments": arguments}))
        .await?;
    let result = first.result()?;
    assert_eq!(result["resultType"], "input_required", "{}", first.text);
    let state = result["requestState"].as_str().unwrap().to_owned();
    let key = result["inputRequests"].as_object().unwrap().keys().next();
    let key = key.unwrap().clone();
    let answer = |decision: &str| json!({key.as_str(): {"action": "accept", "content": {"decision": decision}}});
    let again = |arguments: &Value, state: &str, decision: &str| json!({"name": ASKED, "arguments": arguments, "requestState": state, "inputResponses": answer(decision)});

    // Bent anywhere, for other arguments, or from somebody else: it is no state.
    let mut bent = vec![format!("{state}A"), state[1..].to_owned(), String::new()];
    for at in [0, state.len() / 2, state.len() - 2] {
        let mut bytes = state.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        bent.push(String::from_utf8(bytes)?);
    }
    for bent in bent {
        refused(&peer, again(&arguments, &bent, "once")).await?;
    }
    let other = json!({"text": "other"});
    refused(&peer, again(&other, &state, "once")).await?;
    let stranger = able(&asked, "codex").await?;
    refused(&stranger, again(&arguments, &state, "once")).await?;
    assert_eq!(asked.executed(&arguments)? + asked.executed(&other)?, 0);

    // The same answer a hundred times at once is one answer.
    let calls = (0..100).map(|_| peer.once("tools/call", again(&arguments, &state, "once")));
    for answer in futures_util::future::join_all(calls).await {
        let answer = answer?;
        assert_eq!(code(&answer), "", "{}", answer.text);
    }
    assert_eq!(asked.executed(&arguments)?, 1);
    refused(&peer, again(&arguments, &state, "deny")).await?;
    asked.hub = asked.hub.restart().await?;
    asked.ready().await?;
    let peer = able(&asked, "claude").await?;
    refused(&peer, again(&arguments, &state, "once")).await?;
    assert_eq!(asked.executed(&arguments)?, 1);
    Ok(())
}
