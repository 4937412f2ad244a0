//! What a channel client asks of its own tools, put to the human in Teams.

use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::process::until;
use serde_json::json;

use super::stand::Stand;
use crate::inbox::{ask, channel, send};
use crate::relay::{answer, request, waits};

#[tokio::test]
async fn the_human_answers_a_channel_clients_question_by_code() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    let options = stand.options();
    let hub = Hub::start(HubOptions {
        settings: options.settings.replace(
            "[accounts.work]\n",
            "[accounts.work]\napprovals = \"teams\"\n",
        ),
        ..options
    })
    .await?;
    let (mut claude, mut lines) = channel(&hub, "claude-code").await?;
    ask(&mut claude, &mut lines, 2, "ping", json!({})).await?;
    for (id, word, behavior) in [("abcde", "approve", "allow"), ("fghij", "deny", "deny")] {
        send(&mut claude, &request(id)).await?;
        let name = waits(&hub, 1).await?[0]["id"].as_str().unwrap().to_owned();
        let mut card = None;
        until("the card", std::time::Duration::from_secs(60), async || {
            let chats = stand.order("chats", json!({})).await;
            let chats = chats.as_array().unwrap();
            let messages = chats.iter().flat_map(|chat| {
                let all = chat["messages"].as_array().unwrap().iter();
                all.map(move |message| (chat["id"].as_str().unwrap(), message.to_string()))
            });
            let mut messages = messages.filter(|(_, text)| text.contains(&format!(" {name}")));
            card = messages.next().map(|(chat, text)| (chat.to_owned(), text));
            card.is_some()
        })
        .await?;
        let (chat, text) = card.unwrap();
        assert!(
            text.contains("Bash") && text.contains("u{202e}build"),
            "{text}"
        );
        let (_, code) = text.split_once("approve ").unwrap();
        stand.say(&chat, &format!("{word} {}", &code[..6])).await;
        let answered = answer(&mut lines).await?;
        assert_eq!(answered, json!({"request_id": id, "behavior": behavior}));
        waits(&hub, 0).await?;
    }
    Ok(())
}
