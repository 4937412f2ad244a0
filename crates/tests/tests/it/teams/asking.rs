//! Questions: who may answer, when, how, and what becomes of the answer.

use serde_json::{Value, json};

use super::stand::{ERAS, Stand, client, done, refused, teams};

fn deploy() -> Value {
    json!({ "question": "Deploy to **test**?", "choices": ["Yes", "No"], "timeout_s": 0 })
}

#[tokio::test]
async fn the_human_answers_a_card_by_its_code() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    let hub = stand.hub().await?;
    for era in ERAS {
        let peer = client(&hub, era).await?;
        let connected = done(&peer, "connect", json!({})).await?;
        let chat = connected["chat_id"].as_str().unwrap();
        let pending = done(&peer, "ask", deploy()).await?;
        assert_eq!(pending["status"], "pending", "{pending}");
        let (id, code) = (&pending["id"], pending["code"].as_str().unwrap());
        let card = stand.messages(chat).await;
        let card = card
            .iter()
            .rfind(|one| one.to_string().contains(code))
            .unwrap();
        let content = card["attachments"][0]["content"].as_str().unwrap();
        let content: Value = serde_json::from_str(content)?;
        assert_eq!(content["type"], "AdaptiveCard");
        assert_eq!(
            content["body"][1]["facts"][0],
            json!({ "title": format!("{code} 1"), "value": "Yes" })
        );

        // The same question while it is open is the same question, by one card.
        let again = done(&peer, "ask", deploy()).await?;
        assert_eq!(&again["id"], id);
        assert_eq!(stand.count(chat, &format!("{code} 1")).await, 1);
        for (nonsense, number) in [("yes", 0), ("3", 1), ("0", 2), ("1 and", 3)] {
            let text = match number {
                3 => format!("{code} 1\n{code} 2"),
                0 => "yes".to_owned(),
                _ => format!("{code} {nonsense}"),
            };
            stand.say(chat, &text).await;
        }
        let still = done(&peer, "ask", json!({ "id": id, "timeout_s": 0 })).await?;
        assert_eq!(still["status"], "pending", "{still}");

        let waits = peer.start(
            "tools/call",
            json!({
                "name": "teams-ask", "arguments": { "id": id, "timeout_s": 30 },
            }),
        );
        let waits = waits.await?;
        let said = stand
            .say(chat, &format!("{}-2, but tell Sam", code.to_lowercase()))
            .await;
        stand.say(chat, &format!("{code} 1")).await;
        let answer = waits.answer.await?;
        let answer: Value = serde_json::from_str(&answer.text)?;
        let answered = &answer["result"]["structuredContent"];
        assert_eq!(answered["status"], "answered", "{answer}");
        assert_eq!(
            answered["answer"]["choice"], 2,
            "the first answer stands: {answer}"
        );
        assert_eq!(answered["answer"]["message_id"], said.as_str());
        assert!(
            answered["answer"]["untrusted_text"]
                .as_str()
                .unwrap()
                .ends_with("but tell Sam")
        );

        // Asked by its id it stays answered; asked by its words it is asked anew.
        let same = done(&peer, "ask", json!({ "id": id, "timeout_s": 0 })).await?;
        assert_eq!(same["answer"]["choice"], 2);
        let anew = done(&peer, "ask", deploy()).await?;
        assert!(anew["status"] == "pending" && anew["id"] != *id, "{anew}");
        let code = anew["code"].as_str().unwrap();
        stand.say(chat, &format!("{code} 1")).await;
        let page = done(&peer, "poll", json!({})).await?;
        assert_eq!(page["answers"][0]["id"], anew["id"], "{page}");
        assert_eq!(page["answers"][0]["answer"]["choice"], 1);
    }
    stand.no_complaints().await;
    Ok(())
}

#[tokio::test]
async fn a_question_asked_twice_at_once_is_one_card() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    let hub = stand.hub().await?;
    let peer = client(&hub, ERAS[1]).await?;
    let connected = done(&peer, "connect", json!({})).await?;
    let chat = connected["chat_id"].as_str().unwrap();
    let ask = || done(&peer, "ask", deploy());
    let (first, second) = tokio::try_join!(ask(), ask())?;
    assert_eq!(first["id"], second["id"]);
    assert_eq!(stand.messages(chat).await.len(), 1);
    // Who lost the page with the answer reads it again.
    let before = done(&peer, "poll", json!({})).await?;
    let code = first["code"].as_str().unwrap();
    stand.say(chat, &format!("{code} 2")).await;
    let page = done(&peer, "poll", json!({})).await?;
    assert_eq!(page["answers"][0]["answer"]["choice"], 2, "{page}");
    let again = json!({ "cursor": before["cursor"] });
    let again = done(&peer, "poll", again).await?;
    assert_eq!(again["answers"], page["answers"], "{again}");
    stand.no_complaints().await;
    Ok(())
}

#[tokio::test]
async fn nobody_else_answers_and_nobody_answers_before_or_after() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    let hub = stand.hub().await?;
    let peer = client(&hub, ERAS[1]).await?;
    let connected = done(&peer, "connect", json!({})).await?;
    let chat = connected["chat_id"].as_str().unwrap();
    let pending = done(&peer, "ask", deploy()).await?;
    let (id, code) = (&pending["id"], pending["code"].as_str().unwrap());
    let wait = json!({ "id": id, "timeout_s": 0 });

    // The agent itself, by way of another tool.
    done(
        &peer,
        "send",
        json!({ "text": format!("{code} 1"), "format": "text" }),
    )
    .await?;
    assert_eq!(done(&peer, "ask", wait.clone()).await?["status"], "pending");
    // Another client has no such question.
    let other = hub.http_as(
        "other",
        ERAS[1],
        json!({}),
        legation_tests::harness::peer::friendly(),
    );
    let other = other.await?;
    let (failed, answer) = teams(&other, "ask", wait.clone()).await?;
    assert!(failed, "{answer}");
    let page = done(&other, "poll", json!({})).await?;
    assert_eq!(page["answers"], Value::Null, "{page}");
    // A message from before the question that is edited into an answer.
    let before = stand.say(chat, "hello").await;
    let second = json!({ "question": "And now?", "timeout_s": 0, "expires_s": 60 });
    let words = done(&peer, "ask", second).await?;
    let text = format!("{} I was here before", words["code"].as_str().unwrap());
    stand
        .order(
            "edit",
            json!({ "chat_id": chat, "message_id": before, "text": text }),
        )
        .await;
    let wait_words = json!({ "id": words["id"], "timeout_s": 0 });
    assert_eq!(
        done(&peer, "ask", wait_words.clone()).await?["status"],
        "pending"
    );
    // A message that was taken back.
    let gone = stand.say(chat, &text).await;
    stand
        .order(
            "edit",
            json!({ "chat_id": chat, "message_id": gone, "text": "" }),
        )
        .await;
    assert_eq!(
        done(&peer, "ask", wait_words.clone()).await?["status"],
        "pending"
    );
    // By the services' clock its time is over: the answer comes late.
    stand.order("skew", json!({ "seconds": 3600 })).await;
    stand.say(chat, &text).await;
    let late = done(&peer, "ask", wait_words).await?;
    assert_eq!(late["status"], "expired", "{late}");
    stand.order("skew", json!({ "seconds": 0 })).await;
    Ok(())
}

#[tokio::test]
async fn an_open_question_outlives_the_hub() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    let hub = stand.hub().await?;
    let peer = client(&hub, ERAS[1]).await?;
    let connected = done(&peer, "connect", json!({})).await?;
    let chat = connected["chat_id"].as_str().unwrap();
    let link = json!({
        "question": "Which name?", "link": "https://example.com/pick", "timeout_s": 0,
    });
    let pending = done(&peer, "ask", link.clone()).await?;
    let code = pending["code"].as_str().unwrap();
    let hub = hub.restart().await?;
    let peer = client(&hub, ERAS[0]).await?;
    stand
        .say(chat, &format!("{code}: Blue Heron\nor Grey Heron"))
        .await;
    let answered = done(&peer, "ask", link).await?;
    assert_eq!(answered["status"], "answered", "{answered}");
    assert_eq!(
        (&answered["id"], &answered["answer"]["choice"]),
        (&pending["id"], &Value::Null)
    );
    let words = answered["answer"]["untrusted_text"].as_str().unwrap();
    assert!(
        words.contains("Blue Heron") && words.contains("Grey Heron"),
        "{words}"
    );
    let card = stand.messages(chat).await[0]["attachments"][0]["content"].to_string();
    assert!(card.contains("https://example.com/pick"), "{card}");
    for wrong in [
        json!({}),
        json!({ "question": "x", "choices": ["one"] }),
        json!({ "question": "x", "link": "http://example.com" }),
        json!({ "question": "x", "timeout_s": -1 }),
        json!({ "id": "unknown" }),
    ] {
        refused(&peer, "ask", wrong).await?;
    }
    stand.no_complaints().await;
    Ok(())
}
