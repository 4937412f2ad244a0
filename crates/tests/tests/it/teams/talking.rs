//! Connecting, writing, reading, changing, presence: each with clients of both eras.

use legation_tests::harness::peer::Peer;
use serde_json::{Value, json};

use super::stand::{ERAS, Stand, client, done, refused, teams};

#[tokio::test]
async fn agent_and_human_talk() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    let hub = stand.hub().await?;
    let mut numbers = 0..;
    for era in ERAS {
        let number = numbers.next().unwrap_or(0);
        let peer = client(&hub, era).await?;
        let connected = done(&peer, "connect", json!({})).await?;
        assert_eq!(connected["human"]["id"], stand.env["HUMAN_ID"].as_str());
        assert_eq!(connected["me"], stand.env["AGENT_USER_ID"].as_str());
        let chat = connected["chat_id"].as_str().unwrap();
        let name = connected["human"]["name"].as_str().unwrap();

        let hello = format!("Hello @{name}, build {number} is **green** <script>x</script>.");
        let human = json!([{ "id": connected["human"]["id"], "name": name }]);
        let sent = done(&peer, "send", json!({ "text": hello, "mentions": human })).await?;
        let id = sent["message_ids"][0].as_str().unwrap();
        let messages = stand.messages(chat).await;
        let message = messages.iter().find(|one| one["id"] == id).unwrap();
        let html = message["body"]["content"].as_str().unwrap();
        assert!(
            html.contains("<strong>green</strong>") && !html.contains("script"),
            "{html}"
        );
        assert_eq!(message["mentions"].as_array().map(Vec::len), Some(1));

        let progress = json!({ "message_id": id, "text": format!("Build {number} is *red*.") });
        let updated = done(&peer, "update", progress).await?;
        assert_eq!(updated["message_id"], id);
        assert_eq!(
            stand
                .count(chat, &format!("Build {number} is <em>red</em>"))
                .await,
            1
        );

        let page = done(&peer, "poll", json!({})).await?;
        assert_eq!(
            page["messages"],
            json!([]),
            "one's own never come back: {page}"
        );
        let said = stand.say(chat, &format!("And build {number} now?")).await;
        let page = done(&peer, "poll", json!({})).await?;
        let [message] = page["messages"].as_array().unwrap().as_slice() else {
            panic!("{page}");
        };
        assert_eq!(message["id"], said.as_str());
        assert_eq!(
            message["untrusted_text"],
            format!("And build {number} now?")
        );
        assert_eq!(
            (&message["change"], &message["from"]["is_your_human"]),
            (&json!("new"), &json!(true))
        );
        assert_eq!(page["entity"], "personal");
        assert!(
            page["note"]
                .as_str()
                .unwrap()
                .contains("never an instruction")
        );

        changes(&stand, &peer, chat, &said).await?;
    }
    stand.no_complaints().await;
    Ok(())
}

/// The human edits what was said, and takes it back.
async fn changes(stand: &Stand, peer: &Peer, chat: &str, said: &str) -> anyhow::Result<()> {
    stand
        .order(
            "edit",
            json!({ "chat_id": chat, "message_id": said, "text": "Never mind." }),
        )
        .await;
    let page = done(peer, "poll", json!({})).await?;
    assert_eq!(page["messages"][0]["change"], "edited", "{page}");
    assert_eq!(page["messages"][0]["untrusted_text"], "Never mind.");
    stand
        .order(
            "edit",
            json!({ "chat_id": chat, "message_id": said, "text": "" }),
        )
        .await;
    let page = done(peer, "poll", json!({})).await?;
    assert_eq!(page["messages"][0]["change"], "deleted", "{page}");
    assert_eq!(page["messages"][0]["untrusted_text"], "");
    let page = done(peer, "poll", json!({})).await?;
    assert_eq!(page["messages"], json!([]), "{page}");
    Ok(())
}

#[tokio::test]
async fn a_cursor_is_repeated_by_who_got_no_answer_and_kept_by_the_hub() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    let hub = stand.hub().await?;
    let peer = client(&hub, ERAS[1]).await?;
    let connected = done(&peer, "connect", json!({})).await?;
    let chat = connected["chat_id"].as_str().unwrap().to_owned();
    let first = done(&peer, "poll", json!({})).await?;
    for number in 0..5 {
        stand.say(&chat, &format!("line {number}")).await;
    }
    let texts = |page: &Value| -> Vec<String> {
        let all = page["messages"].as_array().unwrap().iter();
        all.map(|one| one["untrusted_text"].as_str().unwrap().to_owned())
            .collect()
    };
    let page = done(&peer, "poll", json!({ "limit": 2 })).await?;
    assert_eq!(
        (texts(&page), &page["more"]),
        (vec!["line 0".to_owned(), "line 1".to_owned()], &json!(true))
    );
    // The answer was lost: what was called with then is called with again.
    let again = done(
        &peer,
        "poll",
        json!({ "cursor": first["cursor"], "limit": 2 }),
    )
    .await?;
    assert_eq!(texts(&again), texts(&page));
    let hub = hub.restart().await?;
    let peer = client(&hub, ERAS[0]).await?;
    let page = done(&peer, "poll", json!({ "cursor": again["cursor"] })).await?;
    assert_eq!(
        (texts(&page), &page["more"]),
        (
            vec![
                "line 2".to_owned(),
                "line 3".to_owned(),
                "line 4".to_owned()
            ],
            &json!(false)
        )
    );
    let (failed, answer) = teams(&peer, "poll", json!({ "cursor": "17" })).await?;
    assert!(
        failed && answer["message"].as_str().unwrap().contains("cursor"),
        "{answer}"
    );
    // Another client has read nothing yet.
    let other = hub
        .http_as(
            "other",
            ERAS[1],
            json!({}),
            legation_tests::harness::peer::friendly(),
        )
        .await?;
    let page = done(&other, "poll", json!({})).await?;
    assert_eq!(texts(&page).len(), 5, "{page}");
    stand.no_complaints().await;
    Ok(())
}

#[tokio::test]
async fn presence_is_shown_and_taken_back_when_the_hub_stops() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    let mut hub = stand.hub().await?;
    let peer = client(&hub, ERAS[1]).await?;
    let user = json!({ "user": stand.env["AGENT_USER_ID"] });
    let shown = async || stand.order("presence", user.clone()).await.to_string();
    for (status, word) in [
        ("busy", "InACall"),
        ("away", "Away"),
        ("offline", "Offline"),
        ("available", "Available"),
    ] {
        let set = done(&peer, "presence", json!({ "status": status })).await?;
        assert_eq!(set["follows"], false);
        let shown = shown().await;
        assert!(shown.contains(word), "{status}: {shown}");
    }
    for wrong in [
        json!({}),
        json!({ "status": "asleep" }),
        json!({ "status": "busy", "follow": true }),
    ] {
        refused(&peer, "presence", wrong).await?;
    }
    let set = done(&peer, "presence", json!({ "follow": true })).await?;
    assert_eq!(
        (&set["presence"], &set["follows"]),
        (&json!("Available"), &json!(true))
    );
    assert_eq!(hub.stop().await?, 0);
    let shown = shown().await;
    assert!(!shown.contains("Available"), "{shown}");
    stand.no_complaints().await;
    Ok(())
}
