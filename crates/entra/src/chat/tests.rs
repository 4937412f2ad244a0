mod window;

use std::sync::{Arc, Mutex};

use legation_core::Wall;
use serde_json::{Value, json};

use super::*;
use crate::error::Class;
use crate::test_kit::{Answer, Asked, Stand, ctx};

fn wire(id: &str, etag: &str, at: &str, from: &str, html: &str) -> Value {
    json!({
        "id": id, "etag": etag, "messageType": "message",
        "createdDateTime": at, "lastModifiedDateTime": at, "deletedDateTime": null,
        "from": { "application": null, "device": null, "user": {
            "id": from, "displayName": "Alex Sample", "userIdentityType": "aadUser" } },
        "body": { "contentType": "html", "content": html },
        "attachments": [], "mentions": [], "newMember": { "unknown": true },
    })
}

fn message(id: &str, etag: &str, at: &str) -> Message {
    let wire = serde_json::from_value(wire(id, etag, at, "u", "x")).unwrap();
    Message::from_wire(wire).unwrap()
}

/// An authority for the agent's user and a chat that keeps what is posted.
/// `faults` says what happens to a post by its number: kept or not, answered
/// or not.
async fn stand(fault: impl Fn(usize) -> (bool, bool) + Send + Sync + 'static) -> (Stand, Chats) {
    let kept: Arc<Mutex<Vec<Value>>> = Arc::default();
    let posts = Mutex::new(0usize);
    let stand = Stand::new(move |asked: &Asked| {
        if asked.target.contains("/oauth2/") {
            let payload = crate::base::base64url(br#"{"oid":"me"}"#);
            let token = format!("e30.{payload}.x");
            let body = json!({ "token_type": "Bearer", "expires_in": 3600, "access_token": token });
            return Answer::json(200, &body);
        }
        let mut kept = kept.lock().unwrap();
        if asked.method == "GET" {
            return Answer::json(200, &json!({ "value": *kept }));
        }
        let number = {
            let mut posts = posts.lock().unwrap();
            *posts += 1;
            *posts
        };
        let (keeps, answers) = fault(number);
        let posted: Value = serde_json::from_str(&asked.body).unwrap();
        let html = posted["body"]["content"].as_str().unwrap_or_default();
        let now = crate::test_kit::clock().wall().to_string();
        // Teams keeps the text; a marker that it does not know it may drop.
        let html = html.split("<span title").next().unwrap_or_default();
        let made = wire(&format!("m{number}"), "e", &now, "me", html);
        if keeps {
            kept.push(made.clone());
        }
        match answers {
            true => Answer::json(201, &made),
            false => Answer::json(503, &json!({})),
        }
    })
    .await;
    let account = stand.account(agent);
    let chats = account.chats();
    (stand, chats)
}

/// Settings of the agent's own user.
fn agent(settings: &mut crate::AccountSettings) {
    settings.blueprint_id = Some("b".into());
    settings.blueprint_secret = Some(legation_core::Secret::new("s"));
    settings.agent_id = Some("a".into());
    settings.agent_user = Some("me".into());
}

fn posts(stand: &Stand) -> usize {
    let asked = stand.asked();
    let posted = asked.iter().filter(|one| one.method == "POST");
    posted
        .filter(|one| one.target.contains("/messages"))
        .count()
}

#[tokio::test]
async fn a_message_whose_answer_was_lost_is_found_and_not_sent_twice() {
    let (stand, chats) = stand(|_| (true, false)).await;
    let sent = chats
        .send(&ctx(), "19:c", &Outgoing::markdown("**done**"))
        .await
        .unwrap();
    assert!(sent[0].was_found);
    assert_eq!(posts(&stand), 1);
}

#[tokio::test]
async fn a_message_that_was_lost_is_sent_again() {
    let (stand, chats) = stand(|number| (number > 1, number > 1)).await;
    let sent = chats
        .send(&ctx(), "19:c", &Outgoing::markdown("done"))
        .await
        .unwrap();
    assert_eq!((sent[0].id.as_str(), sent[0].was_found), ("m2", false));
    assert_eq!(posts(&stand), 2);
}

#[tokio::test]
async fn the_same_text_twice_is_two_messages() {
    let (stand, chats) = stand(|_| (true, true)).await;
    for _ in 0..2 {
        let sent = chats
            .send(&ctx(), "19:c", &Outgoing::markdown("ok"))
            .await
            .unwrap();
        assert!(!sent[0].was_found);
    }
    assert_eq!(posts(&stand), 2);
}

#[tokio::test]
async fn what_an_earlier_attempt_sent_is_not_sent_again() {
    let (stand, chats) = stand(|_| (true, true)).await;
    let long = "A paragraph of some length, and another.\n\n".repeat(1_500);
    let mut outgoing = Outgoing::markdown(&long);
    outgoing.key = Some("k".to_owned());
    let began = chats.services_time();
    let sent = chats.send(&ctx(), "19:c", &outgoing).await.unwrap();
    let count = posts(&stand);
    assert!(count == sent.len() && count >= 3, "{count}");
    // The process that comes after knows the first part and finds the others, whose markers are
    // gone, by their words.
    let chats = stand.account(agent).chats();
    outgoing.earlier = Some(Earlier {
        began,
        ids: vec![sent[0].id.clone()],
        others: Vec::new(),
    });
    let again = chats.send(&ctx(), "19:c", &outgoing).await.unwrap();
    let ids = |sent: &[Sent]| sent.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&again), ids(&sent));
    assert!(again.iter().all(|one| one.was_found));
    assert_eq!(posts(&stand), count);
}

#[tokio::test]
async fn the_same_words_under_another_key_are_not_what_an_earlier_attempt_sent() {
    let (stand, chats) = stand(|_| (true, true)).await;
    let mut outgoing = Outgoing::markdown("ok");
    outgoing.key = Some("one".to_owned());
    let began = chats.services_time();
    let first = chats.send(&ctx(), "19:c", &outgoing).await.unwrap();
    // The process that comes after has another message with these words, of which it knows that
    // it was begun and nothing else.
    let chats = stand.account(agent).chats();
    outgoing.key = Some("two".to_owned());
    outgoing.earlier = Some(Earlier {
        began,
        ids: Vec::new(),
        others: vec![first[0].id.clone()],
    });
    let second = chats.send(&ctx(), "19:c", &outgoing).await.unwrap();
    assert!(!second[0].was_found);
    assert_ne!(first[0].id, second[0].id);
    assert_eq!(posts(&stand), 2);
}

#[tokio::test]
async fn words_that_were_said_before_are_not_taken_for_a_lost_message() {
    let (_stand, chats) = stand(|number| (number != 2, number != 2)).await;
    let ok = Outgoing::markdown("ok");
    let first = chats.send(&ctx(), "19:c", &ok).await.unwrap();
    let second = chats.send(&ctx(), "19:c", &ok).await.unwrap();
    assert_ne!(first[0].id, second[0].id);
    assert_eq!(second[0].id, "m3", "the second was lost and sent again");
}

#[tokio::test]
async fn a_refusal_says_nothing_of_the_attempt_before_it() {
    let posts = Mutex::new(0);
    let stand = Stand::new(move |asked| {
        if asked.target.contains("/oauth2/") {
            let payload = crate::base::base64url(br#"{"oid":"me"}"#);
            let token = format!("e30.{payload}.x");
            let body = json!({ "token_type": "Bearer", "expires_in": 3600, "access_token": token });
            return Answer::json(200, &body);
        }
        if asked.method == "GET" {
            return Answer::json(200, &json!({ "value": [] }));
        }
        let mut posts = posts.lock().unwrap();
        *posts += 1;
        match *posts {
            1 => Answer::json(503, &json!({})),
            _ => Answer::json(404, &json!({ "error": { "code": "NotFound" } })),
        }
    })
    .await;
    let chats = stand.account(agent).chats();
    let message = Outgoing::markdown("done");
    let error = chats.send(&ctx(), "19:c", &message).await.unwrap_err();
    assert!(matches!(error, ChatError::Uncertain { .. }), "{error}");
    let error = chats.send(&ctx(), "19:c", &message).await.unwrap_err();
    assert!(matches!(error, ChatError::Graph { .. }), "{error}");
}

#[tokio::test]
async fn a_refusal_is_final() {
    let licence = "Failed to get license information for the user.";
    let stand = Stand::new(move |asked| {
        if asked.target.contains("/oauth2/") {
            let body = json!({ "token_type": "Bearer", "expires_in": 3600, "access_token": "t" });
            return Answer::json(200, &body);
        }
        match asked.target.as_str() {
            "/v1.0/me?$select=id" => Answer::json(200, &json!({ "id": "me" })),
            "/v1.0/chats" => Answer::json(
                403,
                &json!({ "error": { "code": "Forbidden", "message": licence } }),
            ),
            _ => Answer::json(404, &json!({ "error": { "code": "NotFound" } })),
        }
    })
    .await;
    let account = stand.account(agent);
    let chats = account.chats();
    let error = chats.connect(&ctx()).await.unwrap_err();
    assert_eq!(error.class(), Class::TeamsNotLicensed, "{error}");
    let error = chats
        .send(&ctx(), "19:gone", &Outgoing::markdown("x"))
        .await
        .unwrap_err();
    assert_eq!(error.class(), Class::ChatNotFound, "{error}");
    let error = chats.connect_with(&ctx(), "me").await.unwrap_err();
    assert!(matches!(error, ChatError::Alone { .. }), "{error}");
}

#[test]
fn a_long_message_is_parted_and_each_part_fits() {
    let text = "A paragraph with ünïcode & <angles>.\n\n".repeat(2_000);
    let outgoing = Outgoing {
        body: Body::Markdown(text),
        mentions: vec![Mention {
            user_id: "u1".to_owned(),
            name: "Alex Sample".to_owned(),
        }],
        key: None,
        earlier: None,
    };
    let parts = outgoing.compose("key").unwrap();
    assert!(parts.len() >= 3, "{}", parts.len());
    let mut markers = std::collections::HashSet::new();
    for (index, part) in parts.iter().enumerate() {
        assert!(
            part.json.to_string().len() < 28_000,
            "{}",
            part.json.to_string().len()
        );
        let content = part.json["body"]["content"].as_str().unwrap();
        assert!(content.len() <= MESSAGE_MAX && content.contains(&part.marker));
        let mentioned = part.json["mentions"].as_array().unwrap().len();
        assert_eq!(mentioned, usize::from(index == 0));
        assert!(markers.insert(part.marker.clone()));
    }
    assert_eq!(outgoing.compose("key").unwrap()[0].marker, parts[0].marker);
    assert_ne!(
        outgoing.compose("other").unwrap()[0].marker,
        parts[0].marker
    );
}

#[test]
fn what_cannot_be_sent_is_said_before() {
    let outgoing = |body| Outgoing {
        body,
        mentions: Vec::new(),
        key: None,
        earlier: None,
    };
    let empty = outgoing(Body::Html("<p> </p><script>x</script>".to_owned()));
    assert!(matches!(empty.compose("k"), Err(ChatError::Empty)));
    let card = |card: Value| {
        let text = "A question".to_owned();
        outgoing(Body::Card { card, text }).compose("k")
    };
    assert!(matches!(card(json!([])), Err(ChatError::Card { .. })));
    let large = json!({ "type": "AdaptiveCard", "body": ["x".repeat(30_000)] });
    let error = card(large).unwrap_err();
    assert_eq!(error.class(), Class::MessageTooLong);
    let parts = card(json!({ "type": "AdaptiveCard", "version": "1.5", "body": [] })).unwrap();
    let attachment = &parts[0].json["attachments"][0];
    assert_eq!(
        attachment["content"],
        r#"{"type":"AdaptiveCard","version":"1.5","body":[]}"#
    );
    let content = parts[0].json["body"]["content"].as_str().unwrap();
    assert!(content.contains(&format!("<attachment id=\"{}\">", parts[0].marker)));
}

#[test]
fn a_message_is_read_with_everything_that_came_after_this_program() {
    let mut json = wire(
        "1",
        "e1",
        "2026-11-21T01:55:06.789Z",
        "u1",
        "<attachment id=\"7\"></attachment><p>approve <at id=\"0\">Agent</at><script>x</script></p>",
    );
    json["attachments"] = json!([{ "id": "7", "contentType": "messageReference", "name": null }]);
    json["mentions"] =
        json!([{ "id": 0, "mentionText": "Agent", "mentioned": { "user": { "id": "a1" } } }]);
    let message = Message::from_wire(serde_json::from_value(json).unwrap()).unwrap();
    assert_eq!(message.text, "[quotation]\napprove @Agent");
    assert_eq!(message.mentions, ["a1"]);
    assert!(message.is_from("U1") && message.attachments[0].is_quotation());
    let strange = json!({ "id": "2", "messageType": "unknownFutureValue", "from": null,
        "createdDateTime": "2026-11-21T01:55:06Z", "body": { "contentType": "new", "content": null } });
    let message = Message::from_wire(serde_json::from_value(strange).unwrap()).unwrap();
    assert_eq!((message.kind, message.from), (Kind::Other, None));
    let timeless = serde_json::from_value(json!({ "id": "3" })).unwrap();
    assert!(Message::from_wire(timeless).is_none());
}

#[test]
fn what_was_seen_is_not_news_and_a_change_is() {
    let mut seen = Seen::default();
    let at = |s: u32| format!("2026-11-21T01:55:{s:02}.000Z");
    let wall = |s: u32| Wall::parse(&at(s)).unwrap();
    let shown = |news: &[News]| -> Vec<(String, Change)> {
        let one = |one: &News| (one.message.id.clone(), one.change);
        news.iter().map(one).collect()
    };
    let news = seen.take(vec![message("1", "a", &at(1)), message("2", "a", &at(2))]);
    assert_eq!(news.len(), 2);
    assert_eq!(seen.since(), Wall::parse("2026-11-21T01:54:52Z"));
    let mut edited = message("2", "b", &at(30));
    edited.edited = Some(wall(30));
    let news = seen.take(vec![
        message("1", "a", &at(1)),
        edited,
        message("0", "a", &at(0)),
    ]);
    let expected = [
        ("2".to_owned(), Change::Edited),
        ("0".to_owned(), Change::New),
    ];
    assert_eq!(shown(&news), expected);
    let recent: Vec<_> = seen.recent.keys().collect();
    assert_eq!(recent, ["2"], "the rest is past");
    // Long after, somebody reacts to the first, edits the second, takes back the third.
    let old = |id: &str, edited: Option<u32>, is_deleted: bool| {
        let mut old = message(id, "c", &at(50));
        old.created = wall(1);
        old.edited = edited.map(wall);
        old.is_deleted = is_deleted;
        old
    };
    let news = seen.take(vec![
        old("1", Some(2), false),
        old("2", Some(50), false),
        old("3", None, true),
    ]);
    let expected = [
        ("2".to_owned(), Change::Edited),
        ("3".to_owned(), Change::Deleted),
    ];
    assert_eq!(shown(&news), expected);
    let mut gone = message("9", "a", &at(51));
    gone.is_deleted = true;
    assert_eq!(seen.take(vec![gone]), []);
}

#[test]
fn presences_have_words() {
    for presence in [
        Presence::Available,
        Presence::Busy,
        Presence::Away,
        Presence::Offline,
    ] {
        assert_eq!(
            Presence::parse(&presence.as_str().to_lowercase()),
            Some(presence)
        );
    }
    assert_eq!(Presence::parse("asleep"), None);
}
