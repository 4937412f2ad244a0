use serde_json::{Value, json};

use super::super::stand::Stand;

fn subjects(answer: &Value) -> Vec<&str> {
    let all = answer["drafts"].as_array().unwrap().iter();
    all.map(|one| one["subject"].as_str().unwrap()).collect()
}

/// Letters of the tenant's first person in a folder.
async fn folder(stand: &Stand, name: &str) -> Vec<Value> {
    let wanted = json!({"profile_id": "harbor", "folder": name, "top": 50});
    let listed = stand.good("mail_list", wanted).await;
    listed["messages"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_letter_is_drafted_once_in_the_owners_style_and_never_sent() {
    let stand = Stand::new().await;
    let call = json!({
        "profile_id": "harbor",
        "to": ["morgan@counsel.example.net"],
        "subject": "Closing",
        "body_html": "<p>I will be there.<img src=x onerror=alert(1)>",
        "idempotency_key": "closing-1",
    });
    let made = stand.good("draft_email", call.clone()).await;
    assert_eq!(
        (&made["draft_created"], &made["sent"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(made["entity"], "harbor");
    let again = stand.good("draft_email", call.clone()).await;
    assert_eq!(again["draft_created"], false);
    assert_eq!(again["message_id"], made["message_id"]);
    let drafts = folder(&stand, "drafts").await;
    assert_eq!(drafts.len(), 1, "{drafts:?}");
    let id = &made["message_id"];
    let read = stand
        .good(
            "mail_read",
            json!({"profile_id": "harbor", "message_id": id}),
        )
        .await;
    let text = read["untrusted_text"].as_str().unwrap();
    assert!(
        text.contains("I will be there.") && text.contains("[Draft: to be read"),
        "{text}"
    );
    assert!(!text.contains("onerror"), "{text}");
    assert!(folder(&stand, "sentitems").await.is_empty());
    for (change, why) in [
        (json!({"body_html": "Let us circle back."}), "circle back"),
        (
            json!({"to": ["Morgan <morgan@counsel.example.net>"]}),
            "recipient 1",
        ),
        (json!({"body_html": "x".repeat(4001)}), "4000"),
        (json!({"profile_id": "nobody"}), "no account"),
        (json!({"reply_to_message_id": "AAkAnone"}), "no such letter"),
    ] {
        let mut call = call.clone();
        call["idempotency_key"] = json!(why);
        for (name, value) in change.as_object().unwrap() {
            call[name] = value.clone();
        }
        let (answer, failed) = stand.call("draft_email", call).await;
        assert!(
            failed && answer.to_string().contains(why),
            "{why}: {answer}"
        );
    }
    assert_eq!(folder(&stand, "drafts").await.len(), 1);
    stand
        .view
        .change(&|name, text| (name != "draft_style.json").then_some(text));
    let (answer, failed) = stand.call("draft_email", call).await;
    assert!(
        failed && answer.to_string().contains("draft_style.json"),
        "{answer}"
    );
    stand.no_complaints().await;
}

#[tokio::test]
async fn answers_go_only_to_whom_the_rules_let_the_caller_write_alone() {
    let stand = Stand::new().await;
    let done = stand
        .good(
            "draft_generate",
            json!({"profile_id": "harbor", "max_drafts": 10}),
        )
        .await;
    // Colleagues may be written to; of outsiders nobody without being asked, and of strangers
    // nobody at all.
    assert_eq!(
        subjects(&done),
        ["Re: Lighthouse Point: worth a look?"],
        "{done}"
    );
    assert_eq!(done["drafts"][0]["written_by"], "template");
    assert!(
        done["drafts"][0]["note"]
            .as_str()
            .unwrap()
            .contains("no model is cleared")
    );
    let skipped = done["skipped"].to_string();
    for why in ["mail.outside-asks", "mail.foreign-recipient"] {
        assert!(skipped.contains(why), "{why}: {skipped}");
    }
    let again = stand
        .good(
            "draft_generate",
            json!({"profile_id": "harbor", "max_drafts": 10}),
        )
        .await;
    assert_eq!(
        (&again["drafts_created"], &again["drafts"][0]["was_there"]),
        (&json!(0), &json!(true))
    );
    assert_eq!(folder(&stand, "drafts").await.len(), 1);
    assert!(folder(&stand, "sentitems").await.is_empty());
    let listed = folder(&stand, "inbox").await;
    let id = |subject: &str| {
        let found = listed.iter().find(|one| one["subject"] == subject);
        found.unwrap()["id"].as_str().unwrap().to_owned()
    };
    // Not one's own letters, no noise, nothing of another's mailbox.
    let draft = done["drafts"][0]["message_id"].clone();
    let ids = json!([
        draft,
        id("Automatic reply: Orchard Row"),
        id("You have won"),
        "AAkAelsewhere"
    ]);
    let none = stand
        .good(
            "draft_generate",
            json!({"profile_id": "harbor", "message_ids": ids}),
        )
        .await;
    assert_eq!(none["drafts"], json!([]), "{none}");
    assert_eq!(none["skipped"].as_array().unwrap().len(), 4, "{none}");
    let theirs = stand
        .good("mail_list", json!({"profile_id": "meadow"}))
        .await;
    let theirs = theirs["messages"][0]["id"].clone();
    let wrong = json!({"profile_id": "harbor", "message_ids": [theirs]});
    let wrong = stand.good("draft_generate", wrong).await;
    assert!(
        wrong["skipped"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("no such letter"),
        "{wrong}"
    );
    stand.no_complaints().await;
}

#[tokio::test]
async fn an_answer_is_drafted_only_where_both_may_write_it() {
    let stand = Stand::new().await;
    let wanted = json!({"profile_id": "harbor", "max_drafts": 10});
    let principal = |client: &str| {
        let client = legation_core::ClientId::new(client);
        let via = legation_core::Via::Admin;
        legation_core::Principal { client, via }
    };
    // The caller alone may write one of them, which nobody without a role may have written.
    for (delegator, expected) in [("stranger", 0), ("owner", 1)] {
        let context = super::super::stand::context().on_behalf_of(Some(principal(delegator)));
        let (done, failed) = stand
            .call_in(context, "draft_generate", wanted.clone())
            .await;
        assert!(!failed, "{done}");
        let drafts = done["drafts"].as_array().unwrap();
        assert_eq!(drafts.len(), expected, "{delegator}: {done}");
        let skipped = done["skipped"].to_string();
        let refused = ["role.none", "clearance.client"]
            .iter()
            .any(|rule| skipped.contains(rule));
        assert_eq!(refused, expected == 0, "{delegator}: {done}");
    }
    stand.no_complaints().await;
}

#[tokio::test]
async fn a_models_words_stand_only_where_the_letter_holds_them() {
    let stand = Stand::new().await;
    let listed = folder(&stand, "inbox").await;
    let found = listed
        .iter()
        .find(|one| one["subject"] == "Lighthouse Point: worth a look?");
    let id = found.unwrap()["id"].clone();
    for (says, note) in [
        (
            json!({"body": "I would offer 18.5 million."}).to_string(),
            "says something that the letter does not",
        ),
        (
            json!({"body": "Ask Avery Placeholder."}).to_string(),
            "says something that the letter does not",
        ),
        (json!({"body": "Synergy."}).to_string(), "avoids"),
        ("I would offer no more.".to_owned(), "breaks its contract"),
    ] {
        stand.view.say(&says);
        let call = json!({"profile_id": "harbor", "message_ids": [id]});
        let done = stand.good("draft_generate", call).await;
        let one = &done["drafts"][0];
        assert_eq!(one["written_by"], "template", "{done}");
        assert!(
            one["note"].as_str().unwrap().contains(note),
            "{note}: {done}"
        );
        assert_eq!(one["was_there"] == true, done["drafts_created"] == 0);
    }
    stand
        .view
        .say(&json!({"body": "I would offer 17.8 million, no more."}).to_string());
    let done = stand
        .good(
            "draft_generate",
            json!({"profile_id": "harbor", "message_ids": [id]}),
        )
        .await;
    assert_eq!(done["drafts"][0]["written_by"], "model", "{done}");
    let asked = stand.view.asked.lock().unwrap();
    let asked = asked.last().unwrap();
    assert_eq!(asked.job, "desk.draft");
    assert_eq!(
        asked.labels.as_slice(),
        [legation_core::EntityId::new("harbor")]
    );
    assert!(!format!("{asked:?}").contains("Lighthouse"));
}
