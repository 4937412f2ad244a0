//! A message with a key is sent once: repeated, called off, cut off, or by a
//! hub that was killed in the middle.

use serde_json::{Value, json};

use super::stand::{ERAS, Stand, client, done, teams};

#[tokio::test]
async fn a_key_is_one_message() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    let hub = stand.hub().await?;
    let peer = client(&hub, ERAS[1]).await?;
    let message = json!({ "text": "The build is done.", "idempotency_key": "build-7" });
    let first = done(&peer, "send", message.clone()).await?;
    assert_eq!(first["duplicate"], false);
    let chat = first["chat_id"].as_str().unwrap().to_owned();
    let second = done(&peer, "send", message.clone()).await?;
    assert_eq!(
        (&second["duplicate"], &second["message_ids"]),
        (&json!(true), &first["message_ids"])
    );
    let hub = hub.restart().await?;
    let peer = client(&hub, ERAS[0]).await?;
    let third = done(&peer, "send", message.clone()).await?;
    assert_eq!(
        (&third["duplicate"], &third["message_ids"]),
        (&json!(true), &first["message_ids"])
    );
    let (failed, answer) = teams(
        &peer,
        "send",
        json!({ "text": "Something else.", "idempotency_key": "build-7" }),
    )
    .await?;
    assert!(
        failed
            && answer["message"]
                .as_str()
                .unwrap()
                .contains("another message"),
        "{answer}"
    );
    assert_eq!(stand.messages(&chat).await.len(), 1);
    // Another client's key is its own.
    let other = hub.http_as(
        "other",
        ERAS[1],
        json!({}),
        legation_tests::harness::peer::friendly(),
    );
    let fourth = done(&other.await?, "send", message).await?;
    assert_eq!(fourth["duplicate"], false);
    assert_eq!(stand.messages(&chat).await.len(), 2);
    stand.no_complaints().await;
    Ok(())
}

#[tokio::test]
async fn a_hub_killed_in_the_middle_sends_the_rest_and_nothing_twice() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    let mut hub = stand.hub().await?;
    let peer = client(&hub, ERAS[1]).await?;
    let connected = done(&peer, "connect", json!({})).await?;
    let chat = connected["chat_id"].as_str().unwrap().to_owned();
    let text: String = (0..900)
        .map(|number| {
            format!(
                "Paragraph number {number}. with some words after it that fill the page well.\n\n"
            )
        })
        .collect();
    let message = json!({ "text": text, "idempotency_key": "report" });
    let call = json!({ "name": "teams-send", "arguments": message });
    let _waits = peer.start("tools/call", call).await?;
    legation_tests::harness::process::until(
        "the first part",
        std::time::Duration::from_secs(20),
        async || !stand.messages(&chat).await.is_empty(),
    )
    .await?;
    hub.kill().await?;
    let before = stand.messages(&chat).await.len();
    let hub = hub.restart().await?;
    let peer = client(&hub, ERAS[0]).await?;
    let sent = done(&peer, "send", message).await?;
    let ids = sent["message_ids"].as_array().unwrap().len();
    let messages = stand.messages(&chat).await;
    assert!(before >= 1 && ids > before, "{before} of {ids}");
    assert_eq!(messages.len(), ids);
    let all: String = messages.iter().map(Value::to_string).collect();
    for number in 0..900 {
        assert_eq!(
            all.matches(&format!("Paragraph number {number}.")).count(),
            1,
            "{number}"
        );
    }
    stand.no_complaints().await;
    Ok(())
}

#[tokio::test]
async fn a_lost_answer_is_no_second_message() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    let hub = stand.hub().await?;
    let peer = client(&hub, ERAS[1]).await?;
    let connected = done(&peer, "connect", json!({})).await?;
    let chat = connected["chat_id"].as_str().unwrap();
    for fault in ["cut-after", "cut", "status"] {
        let order =
            json!({ "fault": fault, "status": 503, "left": 1, "matching": "POST /v1.0/chats/" });
        stand.order("fault", order).await;
        let text = format!("through {fault}.");
        done(
            &peer,
            "send",
            json!({ "text": text, "idempotency_key": fault }),
        )
        .await?;
        assert_eq!(stand.count(chat, &text).await, 1, "{fault}");
    }
    stand.no_complaints().await;
    Ok(())
}
