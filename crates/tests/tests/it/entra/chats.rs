//! Chats, messages, cards, presence, mail.

use std::time::Duration;

use legation_entra::chat::{Body, Change, Earlier, Mention, Outgoing, Presence, Seen};
use legation_entra::graph::{BatchCall, DeltaFrom, DeltaPage};
use legation_entra::token::Role;
use serde_json::{Value, json};

use super::stand::{Stand, ctx};

#[tokio::test]
async fn agent_and_human_talk() {
    let stand = Stand::new().await;
    let agent = stand.agent();
    agent.bootstrap(&ctx()).await.unwrap();
    let chats = agent.chats();
    let chat = chats.connect(&ctx()).await.unwrap();
    assert_eq!(
        chats.connect(&ctx()).await.unwrap(),
        chat,
        "the same chat again"
    );

    let hello = Outgoing {
        body: Body::Markdown("Hello @Alex Sample, the **build** is `green`.".to_owned()),
        mentions: vec![Mention {
            user_id: stand.env["HUMAN_ID"].clone(),
            name: "Alex Sample".to_owned(),
        }],
        key: Some("hello-1".to_owned()),
        earlier: None,
    };
    let began = chats.services_time();
    let sent = chats.send(&ctx(), &chat.id, &hello).await.unwrap();
    let hello = Outgoing {
        earlier: Some(Earlier {
            began,
            ids: Vec::new(),
            others: Vec::new(),
        }),
        ..hello
    };
    let again = chats.send(&ctx(), &chat.id, &hello).await.unwrap();
    assert_eq!(again[0].id, sent[0].id, "the same key is the same message");
    assert!(again[0].was_found && !sent[0].was_found);

    let mut seen = Seen::default();
    let messages = chats
        .messages(&ctx(), &chat.id, seen.since())
        .await
        .unwrap();
    let news = seen.take(messages);
    assert_eq!(news.len(), 1);
    assert_eq!(
        news[0].message.text,
        "Hello @Alex Sample, the build is green."
    );
    assert!(news[0].message.is_from(&chat.me));

    stand
        .order(
            "say",
            json!({ "chat_id": chat.id, "text": "approve 7K2Q <script>x</script>" }),
        )
        .await;
    let messages = chats
        .messages(&ctx(), &chat.id, seen.since())
        .await
        .unwrap();
    let news = seen.take(messages);
    assert_eq!(news.len(), 1, "what was seen is no news");
    let said = &news[0].message;
    assert!(
        said.is_from(&stand.env["HUMAN_ID"]) && said.text.starts_with("approve 7K2Q"),
        "{said:?}"
    );
    assert!(!said.html.contains("<script"), "{}", said.html);

    let update = Outgoing::markdown("The build is *red*.");
    chats
        .update(&ctx(), &chat.id, &sent[0].id, &update)
        .await
        .unwrap();
    let messages = chats
        .messages(&ctx(), &chat.id, seen.since())
        .await
        .unwrap();
    let news = seen.take(messages);
    assert!(
        news[0].change == Change::Edited && news[0].message.text == "The build is red.",
        "{news:?}"
    );
    stand.no_complaints().await;
}

#[tokio::test]
async fn long_messages_and_cards_arrive_whole() {
    let stand = Stand::new().await;
    let agent = stand.agent();
    agent.bootstrap(&ctx()).await.unwrap();
    let chats = agent.chats();
    let chat = chats.connect(&ctx()).await.unwrap();
    let text = "A paragraph with ünïcode & <angles> in it.\n\n".repeat(1_200);
    let sent = chats
        .send(&ctx(), &chat.id, &Outgoing::markdown(&text))
        .await
        .unwrap();
    assert!(sent.len() >= 3, "{}", sent.len());
    let messages = chats.messages(&ctx(), &chat.id, None).await.unwrap();
    let whole: usize = messages
        .iter()
        .map(|one| one.text.matches("A paragraph").count())
        .sum();
    assert_eq!(whole, 1_200);
    let card = json!({
        "type": "AdaptiveCard", "version": "1.5",
        "body": [{ "type": "TextBlock", "text": "Deploy? Reply approve 7K2Q or deny 7K2Q." }],
    });
    let outgoing = Outgoing {
        body: Body::Card {
            card,
            text: "A question".to_owned(),
        },
        mentions: Vec::new(),
        key: None,
        earlier: None,
    };
    let sent = chats.send(&ctx(), &chat.id, &outgoing).await.unwrap();
    let messages = chats.messages(&ctx(), &chat.id, None).await.unwrap();
    let card = messages.iter().find(|one| one.id == sent[0].id).unwrap();
    assert_eq!(
        card.attachments[0].content_type,
        "application/vnd.microsoft.card.adaptive"
    );
    stand.no_complaints().await;
}

#[tokio::test]
async fn presence_is_shown_and_cleared() {
    let stand = Stand::new().await;
    let agent = stand.agent();
    agent.bootstrap(&ctx()).await.unwrap();
    let chats = agent.chats();
    let half_an_hour = Duration::from_secs(1800);
    for (presence, shown) in [
        (Presence::Available, "Available"),
        (Presence::Busy, "Busy"),
        (Presence::Away, "Away"),
        (Presence::Offline, "Offline"),
        (Presence::Available, "Available"),
    ] {
        chats
            .presence_set(&ctx(), presence, half_an_hour)
            .await
            .unwrap();
        let read: Value = agent.graph().get(&ctx(), "/me/presence").await.unwrap();
        assert_eq!(read["availability"], shown);
    }
    chats.presence_clear(&ctx()).await.unwrap();
    chats.presence_clear(&ctx()).await.unwrap();
    stand.no_complaints().await;
}

#[tokio::test]
async fn mail_is_read_by_delta_and_everything_anew_when_that_is_forgotten() {
    let stand = Stand::new().await;
    let account = stand.account(stand.settings());
    stand.sign_in(&account, Role::Human).await;
    account.bootstrap(&ctx()).await.unwrap();
    let graph = account.graph_with_scope(
        "https://graph.microsoft.com/Mail.ReadWrite https://graph.microsoft.com/User.Read offline_access",
    );
    for number in 0..5 {
        stand
            .order(
                "mail",
                json!({ "subject": format!("mail {number}"), "body": "x" }),
            )
            .await;
    }
    let start = "/me/mailFolders/inbox/messages/delta?$select=subject".to_owned();
    let mut from = DeltaFrom::Start(start.clone());
    let mut subjects = Vec::new();
    loop {
        let page: DeltaPage<Value> = graph
            .delta(&ctx(), &from, &["odata.maxpagesize=2"])
            .await
            .unwrap();
        subjects.extend(page.items.iter().map(|one| one["subject"].to_string()));
        from = DeltaFrom::Link {
            link: page.link,
            start: start.clone(),
        };
        if page.is_last {
            break;
        }
    }
    assert_eq!(subjects.len(), 5, "{subjects:?}");
    let page: DeltaPage<Value> = graph.delta(&ctx(), &from, &[]).await.unwrap();
    assert!(page.is_last && page.items.is_empty(), "{page:?}");
    stand.order("expire-delta", json!({})).await;
    let from = DeltaFrom::Link {
        link: page.link,
        start,
    };
    let page: DeltaPage<Value> = graph.delta(&ctx(), &from, &[]).await.unwrap();
    assert!(page.is_resync && !page.items.is_empty());
    let calls = [
        "/me",
        "/me/messages?$top=1&$select=subject",
        "/me/messages/gone",
    ]
    .map(BatchCall::get);
    let answers = graph.batch(&ctx(), &calls).await.unwrap();
    assert_eq!(
        answers[0].as_ref().unwrap().body["id"],
        stand.env["HUMAN_ID"].as_str()
    );
    assert_eq!(
        answers[1].as_ref().unwrap().body["value"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert!(answers[2].is_err());
    stand.no_complaints().await;
}
