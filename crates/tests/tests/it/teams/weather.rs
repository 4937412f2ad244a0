//! What the services refuse: with its class and what to do, and without loss.

use std::time::Duration;

use futures_util::future::join_all;
use legation_core::{Clock as _, SystemClock};
use serde_json::{Value, json};

use super::stand::{ERAS, Stand, client, done, teams};

#[tokio::test]
async fn a_storm_of_429_costs_time_and_nothing_else() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    let hub = stand.hub().await?;
    let peer = client(&hub, ERAS[1]).await?;
    let connected = done(&peer, "connect", json!({})).await?;
    let chat = connected["chat_id"].as_str().unwrap();
    for fault in [
        json!({ "fault": "throttle", "retry_after": 2, "left": 2, "matching": "/chats" }),
        json!({ "fault": "throttle", "left": 1, "matching": "/chats" }),
    ] {
        stand.order("fault", fault).await;
    }
    let peer = &peer;
    let all = (0..5).map(|number| async move {
        let key = format!("storm-{number}");
        let text = format!("storm message {number}.");
        done(
            peer,
            "send",
            json!({ "text": text, "idempotency_key": key }),
        )
        .await
    });
    for sent in join_all(all).await {
        sent?;
    }
    for number in 0..5 {
        assert_eq!(
            stand.count(chat, &format!("storm message {number}.")).await,
            1
        );
    }
    stand.no_complaints().await;
    Ok(())
}

#[tokio::test]
async fn a_hub_started_anew_asks_no_earlier_than_the_one_before_was_told() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    let hub = stand.hub().await?;
    let peer = client(&hub, ERAS[1]).await?;
    let connected = done(&peer, "connect", json!({})).await?;
    let chat = connected["chat_id"].as_str().unwrap();
    let fault = json!({ "fault": "throttle", "retry_after": 6, "left": 1, "matching": "/chats" });
    stand.order("fault", fault).await;
    let told = SystemClock.now();
    let message = json!({ "text": "after the wait.", "idempotency_key": "wait" });
    let call = json!({ "name": "teams-send", "arguments": message });
    let _waits = peer.start("tools/call", call).await?;
    legation_tests::harness::process::until("the refusal", Duration::from_secs(20), async || {
        let faults = stand.order("faults", json!({})).await;
        faults[0]["told_ms"].as_i64().is_some_and(|at| at > 0)
    })
    .await?;
    // It is on disk a moment after it was heard.
    legation_tests::harness::process::until(
        "the wait on disk",
        Duration::from_secs(5),
        async || {
            let wal = std::fs::read(hub.home().join("state.db-wal")).unwrap_or_default();
            wal.windows(11).any(|bytes| bytes == b"work https:")
        },
    )
    .await?;
    let hub = hub.restart().await?;
    let peer = client(&hub, ERAS[1]).await?;
    done(&peer, "send", message).await?;
    assert!(told.elapsed() >= Duration::from_secs(6));
    assert_eq!(stand.count(chat, "after the wait.").await, 1);
    stand.no_complaints().await;
    Ok(())
}

#[tokio::test]
async fn each_refusal_has_its_class_and_a_hint() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    let hub = stand.hub().await?;
    let peer = client(&hub, ERAS[0]).await?;
    let connected = done(&peer, "connect", json!({})).await?;
    let chat = connected["chat_id"].as_str().unwrap().to_owned();
    let hello = json!({ "text": "hello." });
    let on = |what: &str, on: bool| json!({ "user": what, "on": on });
    let agent = stand.env["AGENT_USER_ID"].as_str();
    let is = |answer: &Value, class: &str| {
        assert_eq!(answer["error"], class, "{answer}");
        assert!(
            answer["hint"].as_str().is_some_and(|hint| !hint.is_empty()),
            "{answer}"
        );
    };

    stand.order("license", on(agent, false)).await;
    is(
        &teams(&peer, "send", hello.clone()).await?.1,
        "TeamsNotLicensed",
    );
    stand.order("license", on(agent, true)).await;

    let card = json!({ "type": "AdaptiveCard", "version": "1.4", "body": ["x".repeat(30_000)] });
    is(
        &teams(&peer, "send", json!({ "card": card })).await?.1,
        "MessageTooLong",
    );
    let long = json!({ "message_id": "1", "text": "word ".repeat(10_000) });
    is(&teams(&peer, "update", long).await?.1, "MessageTooLong");
    is(
        &teams(&peer, "update", json!({ "message_id": "1", "text": "x" }))
            .await?
            .1,
        "ChatNotFound",
    );
    is(
        &teams(&peer, "send", json!({ "text": " " })).await?.1,
        "TeamsError",
    );

    stand
        .order(
            "fault",
            json!({ "fault": "status", "status": 404, "left": 1, "matching": "/messages" }),
        )
        .await;
    is(
        &teams(&peer, "send", hello.clone()).await?.1,
        "ChatNotFound",
    );

    let fault =
        json!({ "fault": "throttle", "retry_after": 300, "left": 1, "matching": "/messages" });
    stand.order("fault", fault).await;
    let (_, limited) = teams(&peer, "send", hello.clone()).await?;
    is(&limited, "RateLimitError");
    assert!(
        limited["retry_after_s"]
            .as_u64()
            .is_some_and(|wait| wait > 290),
        "{limited}"
    );
    assert_eq!(
        stand.messages(&chat).await.len(),
        0,
        "nothing of it was sent"
    );

    let answer = peer
        .call("teams-send", json!({ "account": "home", "text": "x" }))
        .await?;
    assert!(
        answer.text.contains("work"),
        "the accounts there are: {}",
        answer.text
    );
    Ok(())
}
