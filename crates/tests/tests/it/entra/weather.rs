//! What goes wrong on the way: throttling, cut connections, revoked tokens, wrong clocks.

use futures_util::future::join_all;
use legation_entra::chat::{Chat, Chats, Outgoing};
use serde_json::{Value, json};

use super::stand::{Stand, ctx};

async fn connected(stand: &Stand) -> (Chats, Chat) {
    let agent = stand.agent();
    agent.bootstrap(&ctx()).await.unwrap();
    let chats = agent.chats();
    let chat = chats.connect(&ctx()).await.unwrap();
    (chats, chat)
}

/// Every message once.
async fn once(stand: &Stand, chat: &str, wanted: usize) {
    let texts = stand.texts(chat).await;
    for number in 0..wanted {
        let name = format!("message number {number}.");
        let count = texts.iter().filter(|text| text.contains(&name)).count();
        assert_eq!(count, 1, "{name} {texts:?}");
    }
}

async fn send_all(chats: &Chats, chat: &str, count: usize) {
    let ctx = ctx();
    let all = (0..count).map(|number| {
        let outgoing = Outgoing::markdown(&format!("message number {number}."));
        let ctx = &ctx;
        async move { chats.send(ctx, chat, &outgoing).await }
    });
    for sent in join_all(all).await {
        sent.unwrap();
    }
}

#[tokio::test]
async fn in_a_storm_of_429_nothing_is_lost_or_doubled_and_nobody_comes_early() {
    let stand = Stand::new().await;
    let (chats, chat) = connected(&stand).await;
    stand
        .fault(json!({ "fault": "throttle", "retry_after": 1, "left": 3, "matching": "/chats" }))
        .await;
    stand
        .fault(json!({ "fault": "throttle", "left": 1, "matching": "/chats" }))
        .await;
    send_all(&chats, &chat.id, 4).await;
    once(&stand, &chat.id, 4).await;
    stand.no_complaints().await;
}

#[tokio::test]
async fn a_message_is_sent_once_whatever_happens_to_its_answer() {
    let stand = Stand::new().await;
    let (chats, chat) = connected(&stand).await;
    for fault in [
        json!({ "fault": "cut-after", "left": 1, "matching": "POST /v1.0/chats" }),
        json!({ "fault": "cut", "left": 1, "matching": "POST /v1.0/chats" }),
        json!({ "fault": "status", "status": 503, "left": 1, "matching": "POST /v1.0/chats" }),
        json!({ "fault": "status", "status": 500, "left": 1, "matching": "POST /v1.0/chats" }),
    ] {
        stand.fault(fault).await;
    }
    send_all(&chats, &chat.id, 4).await;
    once(&stand, &chat.id, 4).await;
    stand.no_complaints().await;
}

#[tokio::test]
async fn a_revoked_token_costs_no_call() {
    let stand = Stand::new().await;
    let (chats, chat) = connected(&stand).await;
    for round in 0..2 {
        match round {
            0 => drop(stand.order("revoke", json!({})).await),
            _ => {
                stand
                    .fault(json!({ "fault": "challenge", "left": 1 }))
                    .await
            }
        }
        let ctx = ctx();
        let all = (0..20).map(|_| chats.messages(&ctx, &chat.id, None));
        for answer in join_all(all).await {
            answer.unwrap();
        }
    }
    send_all(&chats, &chat.id, 1).await;
    once(&stand, &chat.id, 1).await;
    stand.no_complaints().await;
}

#[tokio::test]
async fn reading_survives_what_passes() {
    let stand = Stand::new().await;
    let (chats, chat) = connected(&stand).await;
    for fault in [
        json!({ "fault": "status", "status": 502, "left": 1 }),
        json!({ "fault": "status", "status": 504, "left": 1 }),
        json!({ "fault": "cut", "left": 1 }),
        json!({ "fault": "cut-after", "left": 1 }),
        json!({ "fault": "expired", "left": 1 }),
    ] {
        stand.fault(fault).await;
        chats.messages(&ctx(), &chat.id, None).await.unwrap();
    }
    stand.no_complaints().await;
}

#[tokio::test]
async fn a_tenant_whose_clock_goes_otherwise_still_takes_assertions() {
    for seconds in [240, 3_600] {
        let stand = Stand::new().await;
        stand.order("skew", json!({ "seconds": seconds })).await;
        let mut settings = stand.agent_settings();
        settings.blueprint_secret = None;
        settings.certificate = Some(stand.env["BLUEPRINT_CERT_PEM"].clone().into());
        let account = stand.account(settings);
        let key = std::fs::read_to_string(&stand.env["BLUEPRINT_KEY_PEM"]).unwrap();
        let key = legation_core::Secret::new(key);
        account
            .keep_key(&stand.env["BLUEPRINT_ID"], &key)
            .await
            .unwrap();
        // The first answer, whatever it is, tells the time.
        account.discover(&ctx()).await.unwrap();
        account.bootstrap(&ctx()).await.unwrap();
        let me: Value = account.graph().get(&ctx(), "/me/presence").await.unwrap();
        assert!(me["availability"].is_string(), "{seconds}: {me}");
    }
}
