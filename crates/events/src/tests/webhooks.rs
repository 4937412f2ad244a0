//! `events/subscribe`, and what receivers see of it.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use legation_core::{Caller, Via};
use serde_json::{Value, json};

use super::kit::{Kit, json as value, object, who};
use super::receiver::{Got, Manner, Receiver, until};
use crate::{EventsError, Numbers, Reason, What};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER: &str = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
const URL: &str = "https://hook.example.com/h/4?token=private";

/// A kit whose name leads to a receiver.
async fn stand() -> (Kit, Receiver) {
    let receiver = Receiver::start().await;
    let kit = Kit::new();
    *kit.names.0.lock().unwrap() = receiver.address;
    (kit, receiver)
}

fn params(secret: &str, url: &str, more: &Value) -> String {
    let mut params = json!({
        "name": "message.received",
        "delivery": {"mode": "webhook", "url": url, "secret": secret},
    });
    for (member, value) in more.as_object().expect("an object") {
        params[member] = value.clone();
    }
    params.to_string()
}

async fn subscribe(kit: &Kit, who: &Caller, params: &str) -> Result<Value, EventsError> {
    let granted = kit.events.subscribe(who, &object(params)).await;
    granted.map(|granted| value(&granted))
}

async fn subscribed(kit: &Kit, more: &Value) -> Value {
    let granted = subscribe(kit, &who("codex"), &params(SECRET, URL, more)).await;
    granted.expect("subscribed")
}

#[tokio::test]
async fn a_receiver_is_verified_and_gets_what_happens_signed() {
    let (kit, receiver) = stand().await;
    let granted = subscribed(&kit, &json!({"ttlMs": 60_000})).await;
    assert_eq!(granted["resultType"], "complete");
    assert_eq!(granted["truncated"], false);
    assert!(granted["cursor"].is_string() && granted["refreshBefore"].is_string());
    let id = granted["id"].as_str().expect("an id");
    assert!(id.starts_with("sub_") && granted.get("deliveryStatus").is_none());
    kit.messages.add("teams", None);
    let got = receiver.until("an event", |got| got.len() == 2).await;
    assert_eq!(got[0].kind(), "verification");
    assert!(got[0].id.starts_with("msg_verification_"), "{}", got[0].id);
    let event = &got[1].body;
    assert_eq!(event["data"], json!({"id": "m1", "summary": "words"}));
    assert_eq!(
        event["eventId"],
        got[1].id.as_str(),
        "webhook-id is the event's id"
    );
    assert!(event["cursor"].is_string());
    for got in &got {
        assert!(got.is_signed_with(SECRET) && !got.is_signed_with(OTHER));
        assert_eq!((&*got.subscription, &*got.host), (id, "hook.example.com"));
        let age = legation_core::SystemClock::shared().wall().0 / 1000
            - got.timestamp.parse::<i64>().expect("seconds");
        assert!((0..60).contains(&age));
    }
    let records = kit.rules.records.lock().unwrap();
    let recorded: Vec<What> = records.iter().map(|record| record.what).collect();
    assert_eq!(recorded, [What::Subscribed, What::Sent]);
    let texts: Vec<&str> = records.iter().map(|record| &*record.text).collect();
    assert!(
        texts
            .iter()
            .all(|text| !text.contains("private") && !text.contains("whsec"))
    );
}

#[tokio::test]
async fn a_refresh_is_the_same_subscription_with_another_secret() {
    let (kit, receiver) = stand().await;
    let first = subscribed(&kit, &json!({})).await;
    let again = params(OTHER, URL, &json!({"arguments": {}, "ttlMs": null}));
    let second = subscribe(&kit, &who("codex"), &again)
        .await
        .expect("refreshed");
    assert_eq!(first["id"], second["id"]);
    assert_eq!(
        second["refreshBefore"],
        Value::Null,
        "no end, because it was asked for"
    );
    assert_eq!(second["deliveryStatus"]["active"], true);
    assert_eq!(second["deliveryStatus"]["lastError"], Value::Null);
    kit.messages.add("teams", None);
    let got = receiver.until("an event", |got| got.len() == 2).await;
    let verified = got.iter().filter(|got| got.kind() == "verification");
    assert_eq!(verified.count(), 1, "a receiver is asked once");
    assert!(got[1].is_signed_with(OTHER) && got[1].is_signed_with(SECRET));
    let theirs = subscribe(&kit, &who("claude"), &again)
        .await
        .expect("subscribed");
    assert_ne!(theirs["id"], second["id"], "another client's is another");
    assert_eq!(kit.events.subscriptions().len(), 2);
    receiver
        .until("another challenge", |got| got.len() == 3)
        .await;
}

#[tokio::test]
async fn a_receiver_that_is_asked_again_may_know_the_new_secret_alone() {
    let (kit, receiver) = stand().await;
    subscribed(&kit, &json!({})).await;
    for row in kit.store.kept_list("events.verified").expect("rows") {
        let gone = kit.store.kept_remove(&row.kind, &row.name);
        assert!(gone.expect("removed"));
    }
    let again = params(OTHER, URL, &json!({}));
    subscribe(&kit, &who("codex"), &again)
        .await
        .expect("refreshed");
    let got = receiver.got();
    assert_eq!((got.len(), got[1].kind()), (2, "verification"));
    assert!(got[1].is_signed_with(OTHER) && got[1].is_signed_with(SECRET));
}

#[tokio::test]
async fn unsubscribing_ends_it_and_is_not_for_others() {
    let (kit, receiver) = stand().await;
    subscribed(&kit, &json!({})).await;
    let params = object(&format!(
        r#"{{"name":"message.received","delivery":{{"mode":"webhook","url":"{URL}"}}}}"#
    ));
    let other = kit.events.unsubscribe(&who("claude"), &params).await;
    let error = other.expect_err("not theirs").to_error(Numbers::Sep);
    assert_eq!(error.code, -32023);
    assert_eq!(
        error
            .data
            .expect("data")
            .get("kind")
            .expect("kind")
            .to_str()
            .as_deref(),
        Some("subscription")
    );
    let done = kit
        .events
        .unsubscribe(&who("codex"), &params)
        .await
        .expect("ended");
    assert_eq!(value(&done), json!({"resultType": "complete"}));
    assert!(
        kit.events
            .unsubscribe(&who("codex"), &params)
            .await
            .is_err()
    );
    assert!(kit.events.subscriptions().is_empty());
    let theirs = self::params(SECRET, URL, &json!({}));
    let theirs = subscribe(&kit, &who("claude"), &theirs)
        .await
        .expect("subscribed");
    kit.messages.add("teams", None);
    let came = |got: &[Got]| Receiver::events(got) == ["m1"];
    let got = receiver.until("another client's event", came).await;
    let events = got.iter().filter(|got| got.kind() == "event");
    let others: Vec<&str> = events.map(|got| &*got.subscription).collect();
    assert_eq!(
        others,
        [theirs["id"].as_str().expect("an id")],
        "nothing for who left"
    );
    let kit = kit.restart().await;
    assert_eq!(kit.events.subscriptions().len(), 1, "the other's");
}

#[tokio::test]
async fn bad_wishes_are_refused_before_anything_is_sent() {
    let (kit, receiver) = stand().await;
    let good = params(SECRET, URL, &json!({}));
    let edit = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replace(from, to)
    };
    for (params, code) in [
        (edit("https://hook", "http://hook"), -32602),
        (
            edit("https://hook.example.com", "https://u:p@hook.example.com"),
            -32602,
        ),
        (
            edit("https://hook.example.com", "https://127.0.0.1"),
            -32602,
        ),
        (edit("https://hook.example.com", "https://10.0.0.7"), -32602),
        (edit("https://hook.example.com", "https://[::1]"), -32602),
        (
            edit("https://hook.example.com", "https://[::ffff:127.0.0.1]"),
            -32602,
        ),
        (
            edit("https://hook.example.com", "https://169.254.169.254"),
            -32602,
        ),
        (
            edit("https://hook.example.com/h/4?token=private", "hook"),
            -32602,
        ),
        (edit(SECRET, "whsec_c2hvcnQ="), -32602),
        (edit(SECRET, "hunter2"), -32602),
        (edit(r#""webhook""#, r#""pigeon""#), -32026),
        (edit("message.received", "no.such"), -32023),
    ] {
        let error = subscribe(&kit, &who("codex"), &params)
            .await
            .expect_err(&params);
        assert_eq!(error.to_error(Numbers::Sep).code, code, "{params}");
    }
    let mut nobody = who("codex");
    nobody.principal.via = Via::NoAuth;
    let error = subscribe(&kit, &nobody, &good).await.expect_err("nobody");
    assert_eq!(error.to_error(Numbers::Sep).code, -32024);
    kit.rules.unrecorded.store(true, Ordering::SeqCst);
    let error = subscribe(&kit, &who("codex"), &good)
        .await
        .expect_err("no record");
    assert_eq!(error.to_error(Numbers::Sep).code, -32603);
    kit.rules.unrecorded.store(false, Ordering::SeqCst);
    assert!(kit.events.subscriptions().is_empty());
    assert!(
        receiver
            .got()
            .iter()
            .all(|got| got.kind() == "verification")
    );
}

#[tokio::test]
async fn a_receiver_that_does_not_prove_itself_is_refused_with_the_reason() {
    let (kit, receiver) = stand().await;
    let good = params(SECRET, URL, &json!({}));
    for (manner, reason) in [
        (Manner::WrongEcho, Reason::ChallengeFailed),
        (Manner::Status(403), Reason::Http4xx),
        (Manner::Status(500), Reason::Http5xx),
        (Manner::Redirect, Reason::Http4xx),
        (Manner::Hang, Reason::Timeout),
    ] {
        receiver.behave(manner);
        let error = subscribe(&kit, &who("codex"), &good).await;
        assert_eq!(error, Err(EventsError::Callback { reason }), "{manner:?}");
    }
    *kit.names.0.lock().unwrap() = SocketAddr::from(([127, 0, 0, 1], 1));
    let error = subscribe(&kit, &who("codex"), &good).await;
    let refused = Err(EventsError::Callback {
        reason: Reason::ConnectionRefused,
    });
    assert_eq!(error, refused);
    // Its certificate is of another name.
    let kit = Kit::with(|settings| settings.allow = vec!["other.example.com".into()]);
    *kit.names.0.lock().unwrap() = receiver.address;
    let other = good.replace("hook.example.com", "other.example.com");
    let error = subscribe(&kit, &who("codex"), &other).await;
    let reason = Reason::TlsError;
    assert_eq!(error, Err(EventsError::Callback { reason }));
    // And nobody vouches for it.
    let kit = Kit::with(|settings| settings.ca_pem = None);
    *kit.names.0.lock().unwrap() = receiver.address;
    let error = subscribe(&kit, &who("codex"), &good).await;
    assert_eq!(error, Err(EventsError::Callback { reason }));
    assert_eq!(
        error.expect_err("refused").to_error(Numbers::Sep).code,
        -32027
    );
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused_at_every_delivery() {
    // Not allowed: the name leads to this machine.
    let receiver = Receiver::start().await;
    let kit = Kit::with(|settings| settings.allow.clear());
    *kit.names.0.lock().unwrap() = receiver.address;
    let good = params(SECRET, URL, &json!({}));
    let error = subscribe(&kit, &who("codex"), &good).await;
    let reason = Reason::ConnectionRefused;
    assert_eq!(error, Err(EventsError::Callback { reason }));
    assert!(receiver.got().is_empty(), "nothing came to it");

    // A name that led outside when it was verified leads inside at the delivery.
    let (kit, receiver) = stand().await;
    subscribed(&kit, &json!({"ttlMs": null})).await;
    let kit = kit.restart_with(|settings| settings.allow.clear()).await;
    let lookups = kit.names.1.load(Ordering::SeqCst);
    kit.messages.add("teams", None);
    until("it to be given up", || kit.events.counts().given_up == 1).await;
    assert_eq!(kit.events.counts().given_up, 1);
    assert_eq!(
        kit.names.1.load(Ordering::SeqCst) - lookups,
        5,
        "each attempt looks the name up"
    );
    let got = receiver.got();
    assert!(
        got.iter().all(|got| got.kind() == "verification"),
        "{got:?}"
    );
}

#[tokio::test]
async fn what_fails_is_tried_again_stamped_anew_until_it_is_given_up() {
    let (kit, receiver) = stand().await;
    subscribed(&kit, &json!({})).await;
    receiver.behave(Manner::Status(503));
    kit.messages.add("teams", None);
    let got = receiver.until("attempts", |got| got.len() >= 3).await;
    assert!(
        got[1..]
            .iter()
            .all(|one| one.is_signed_with(SECRET) && one.id == got[1].id)
    );
    let listed = &kit.events.subscriptions()[0];
    assert_eq!(
        (listed.state, listed.last_error),
        ("failing", Some("http_5xx"))
    );
    receiver.behave(Manner::Good);
    receiver.until("success", |got| got.len() >= 4).await;
    // Given up at once: gone, or too large.
    for status in [410, 413] {
        let before = kit.events.counts().given_up;
        receiver.behave(Manner::Status(status));
        kit.messages.add("teams", None);
        until("it to be given up", || {
            kit.events.counts().given_up > before
        })
        .await;
        assert_eq!(kit.events.counts().given_up, before + 1);
    }
    receiver.behave(Manner::Good);
    kit.messages.add("teams", None);
    let got = receiver
        .until("a gap", |got| got.iter().any(|got| got.kind() == "gap"))
        .await;
    let gap = got.iter().find(|got| got.kind() == "gap").expect("a gap");
    assert!(gap.body["cursor"].is_string() && gap.is_signed_with(SECRET));
    let records = kit.rules.records.lock().unwrap();
    assert_eq!(
        records
            .iter()
            .filter(|record| record.what == What::GivenUp)
            .count(),
        2
    );
}

#[tokio::test]
async fn what_may_not_be_told_any_more_is_not_tried_again() {
    let (kit, receiver) = stand().await;
    let granted = subscribed(&kit, &json!({})).await;
    receiver.behave(Manner::Status(503));
    kit.messages.add("teams", Some("harbor"));
    receiver
        .until("an attempt", |got| !Receiver::events(got).is_empty())
        .await;
    kit.rules
        .refused
        .lock()
        .unwrap()
        .insert("harbor".to_owned());
    receiver.behave(Manner::Good);
    kit.messages.add("teams", None);
    // It stands behind both once the first is settled.
    let settled = async {
        loop {
            let cursor = subscribed(&kit, &json!({})).await["cursor"].clone();
            let params = json!({"name": "message.received", "cursor": cursor});
            let polled = kit.poll(&params.to_string()).await.expect("polled");
            if polled["events"] == json!([]) {
                return;
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), settled)
        .await
        .expect("settled");
    let counts = kit.events.counts();
    assert_eq!((counts.delivered, counts.given_up), (1, 0), "{granted}");
}

#[tokio::test]
async fn a_receiver_that_hangs_holds_nobody_up() {
    let (kit, receiver) = stand().await;
    subscribed(&kit, &json!({})).await;
    receiver.behave(Manner::Hang);
    for _ in 0..20 {
        kit.messages.add("teams", None);
    }
    let quick = Receiver::start().await;
    *kit.names.0.lock().unwrap() = quick.address;
    let theirs = params(SECRET, "https://hook.example.com/quick", &json!({}));
    subscribe(&kit, &who("claude"), &theirs)
        .await
        .expect("subscribed");
    kit.messages.add("teams", None);
    quick
        .until("the other's event", |got| {
            got.iter()
                .any(|got| got.kind() == "event" && got.body["data"]["id"] == "m21")
        })
        .await;
}

#[tokio::test]
async fn subscriptions_and_their_place_outlive_the_hub() {
    let (kit, receiver) = stand().await;
    let granted = subscribed(&kit, &json!({"ttlMs": null})).await;
    kit.messages.add("teams", None);
    receiver
        .until("the first", |got| Receiver::events(got).len() == 1)
        .await;
    kit.tasks.shutdown().await;
    for _ in 0..10 {
        kit.messages.add("teams", None);
    }
    let kit = kit.restart().await;
    assert_eq!(
        kit.events.subscriptions()[0].id,
        granted["id"].as_str().expect("an id")
    );
    let got = receiver
        .until("the rest", |got| Receiver::events(got).len() == 11)
        .await;
    assert!(got.iter().all(|got| got.is_signed_with(SECRET)));
    assert!(!got.iter().any(|got| got.kind() == "gap"));
    let text = std::fs::read(kit.folder.path().join("state.db")).expect("the store");
    for secret in ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "token=private"] {
        let found = text
            .windows(secret.len())
            .any(|part| part == secret.as_bytes());
        assert!(!found, "{secret} lies open in the store");
    }
}

#[tokio::test]
async fn it_lapses_without_a_refresh_and_its_cursor_is_where_to_go_on() {
    let (kit, receiver) = stand().await;
    let granted = subscribed(&kit, &json!({"ttlMs": 1})).await;
    until("its end", || kit.events.subscriptions().is_empty()).await;
    assert!(
        kit.events.subscriptions().is_empty(),
        "five seconds are the least"
    );
    kit.messages.add("teams", None);
    kit.messages.add("teams", None);
    subscribed(&kit, &json!({"cursor": granted["cursor"]})).await;
    receiver
        .until("what was missed", |got| {
            Receiver::events(got) == ["m1", "m2"]
        })
        .await;
}

#[tokio::test]
async fn who_may_no_longer_hear_is_told_that_it_is_over() {
    let (kit, receiver) = stand().await;
    subscribed(&kit, &json!({})).await;
    kit.rules.revoked.store(true, Ordering::SeqCst);
    kit.messages.add("teams", None);
    let ended = |got: &[Got]| got.iter().any(|got| got.kind() == "terminated");
    let got = receiver.until("the end", ended).await;
    let end = got
        .iter()
        .find(|got| got.kind() == "terminated")
        .expect("the end");
    assert_eq!(end.body["error"]["code"], -32024);
    assert!(Receiver::events(&got).is_empty());
    assert!(kit.events.subscriptions().is_empty());
    kit.rules.revoked.store(false, Ordering::SeqCst);
    let id = subscribed(&kit, &json!({})).await;
    let id = id["id"].as_str().expect("an id");
    kit.events.test(id).await.expect("it answers");
    kit.events.remove(id).await.expect("removed");
    assert_eq!(
        kit.events.remove(id).await,
        Err(EventsError::UnknownSubscription)
    );
    assert_eq!(
        kit.events.test(id).await,
        Err(EventsError::UnknownSubscription)
    );
}

#[tokio::test]
async fn a_client_has_so_many_subscriptions_and_no_more() {
    let (kit, _receiver) = stand().await;
    for nth in 0..64 {
        let url = format!("https://hook.example.com/{nth}");
        let wish = params(SECRET, &url, &json!({}));
        subscribe(&kit, &who("codex"), &wish).await.expect("room");
    }
    let wish = params(SECRET, URL, &json!({}));
    let error = subscribe(&kit, &who("codex"), &wish)
        .await
        .expect_err("full");
    let error = error.to_error(Numbers::Sep);
    assert_eq!(error.code, -32025);
    assert_eq!(
        error.data.expect("data").get("max").expect("max").to_i64(),
        Some(64)
    );
    subscribe(&kit, &who("claude"), &wish)
        .await
        .expect("another has room");
}
