//! `events/list` and `events/poll`.

use std::sync::atomic::Ordering;

use legation_core::{SystemClock, Wall};
use serde_json::json;

use super::kit::{Kit, json as value, object, who};
use crate::{Kind, Noted, Numbers};

const ALL: &str = r#"{"name":"message.received"}"#;

fn from(cursor: &serde_json::Value, more: &str) -> String {
    format!(r#"{{"name":"message.received","cursor":{cursor}{more}}}"#)
}

#[tokio::test]
async fn the_list_has_every_kind_with_its_schemas() {
    let kit = Kit::new();
    let list = value(
        &kit.events
            .list(&who("codex"), &object("{}"))
            .expect("a list"),
    );
    assert_eq!(list["resultType"], "complete");
    let names: Vec<&str> = list["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|kind| {
            assert_eq!(kind["delivery"], json!(["poll", "push", "webhook"]));
            assert_eq!(kind["inputSchema"]["type"], "object");
            assert_eq!(kind["payloadSchema"]["type"], "object");
            assert!(kind["description"].is_string());
            kind["name"].as_str().expect("a name")
        })
        .collect();
    assert_eq!(
        names,
        [
            "message.received",
            "message.edited",
            "approval.requested",
            "approval.answered",
            "task.completed",
            "files/changed",
            "files/moved/away"
        ]
    );
    assert!(
        kit.events
            .list(&who("codex"), &object(r#"{"cursor":"x"}"#))
            .is_err()
    );
    kit.rules.withheld.store(true, Ordering::SeqCst);
    let list = value(
        &kit.events
            .list(&who("codex"), &object("{}"))
            .expect("a list"),
    );
    assert_eq!(list["events"], json!([]));
}

#[tokio::test]
async fn what_servers_tell_is_passed_on_under_their_own_names() {
    let kit = Kit::new();
    kit.rules
        .refused
        .lock()
        .unwrap()
        .insert("clinic".to_owned());
    let ask = |name: &str, cursor: &serde_json::Value| {
        format!(r#"{{"name":"{name}","cursor":{cursor}}}"#)
    };
    let start = kit
        .poll(&ask("files/changed", &json!(null)))
        .await
        .expect("polled");
    kit.messages.add("teams", None);
    kit.messages.add_of("files/changed", None);
    kit.messages.add_of("files/moved/away", None);
    kit.messages.add_of("files/changed", Some("shop"));
    kit.messages.add_of("files/changed", Some("clinic"));
    let polled = kit
        .poll(&ask("files/changed", &start["cursor"]))
        .await
        .expect("polled");
    let events = polled["events"].as_array().expect("events");
    assert_eq!(events.len(), 2, "{polled}");
    for event in events {
        assert_eq!(event["name"], "files/changed");
        assert_eq!(event["data"], json!({"path": "/a"}));
    }
    // Telling an entity's data labels the conversation, as reading it would.
    assert_eq!(
        *kit.rules.told.lock().unwrap(),
        [None, Some("shop".to_owned())]
    );
    // The same occurrence is a message of the inbox, and another event.
    let all = kit.poll(ALL).await.expect("polled");
    let all = kit
        .poll(&from(&all["cursor"], r#","maxAgeMs":3600000"#))
        .await;
    assert_eq!(all.expect("polled")["events"], json!([]));
    // Of a server that has said nothing yet it is not known what there is.
    assert!(kit.poll(&ask("away/anything", &json!(null))).await.is_ok());
    for unknown in ["files/other", "files/", "/changed", "changed"] {
        let error = kit
            .poll(&ask(unknown, &json!(null)))
            .await
            .expect_err(unknown);
        let error = error.to_error(Numbers::Sep);
        let other = kit
            .poll(&ask("no.such", &json!(null)))
            .await
            .expect_err("none");
        assert_eq!(error.code, other.to_error(Numbers::Sep).code, "{unknown}");
    }
    let arguments = r#"{"name":"files/changed","arguments":{"channel":"files"}}"#;
    assert!(kit.poll(arguments).await.is_err(), "it has no arguments");
    let others = ask("files/moved/away", &start["cursor"]);
    assert!(kit.poll(&others).await.is_err(), "another topic's cursor");
    kit.rules.withheld.store(true, Ordering::SeqCst);
    assert!(kit.poll(&ask("files/changed", &json!(null))).await.is_err());
}

#[tokio::test]
async fn a_poll_goes_on_where_the_last_ended() {
    let kit = Kit::new();
    kit.messages.add("teams", None);
    let first = kit.poll(ALL).await.expect("polled");
    assert_eq!(first["events"], json!([]), "without a cursor it begins now");
    assert_eq!(first["truncated"], false);
    assert_eq!(first["hasMore"], false);
    assert!(first["nextPollMs"].as_u64().expect("a time") >= 1000);
    for _ in 0..5 {
        kit.messages.add("teams", None);
    }
    let some = kit
        .poll(&from(&first["cursor"], r#","maxEvents":3"#))
        .await
        .expect("polled");
    assert_eq!(some["events"].as_array().expect("events").len(), 3);
    assert_eq!(some["hasMore"], true);
    let event = &some["events"][0];
    assert_eq!(event["name"], "message.received");
    assert_eq!(event["data"], json!({"id": "m2", "summary": "words"}));
    assert!(Wall::parse(event["timestamp"].as_str().expect("a time")).is_some());
    assert!(
        event.get("cursor").is_none(),
        "polled events have no cursor"
    );
    let rest = kit.poll(&from(&some["cursor"], "")).await.expect("polled");
    assert_eq!(rest["events"].as_array().expect("events").len(), 2);
    assert_eq!(rest["hasMore"], false);
    let again = kit.poll(&from(&some["cursor"], "")).await.expect("polled");
    assert_eq!(
        again["events"][0]["eventId"], rest["events"][0]["eventId"],
        "the same occurrence has the same id"
    );
}

#[tokio::test]
async fn cursors_are_bound_to_client_and_kind() {
    let kit = Kit::new();
    let first = kit.poll(ALL).await.expect("polled");
    let params = from(&first["cursor"], "");
    let other = kit.events.poll(&who("claude"), &object(&params)).await;
    let error = other.expect_err("another's cursor").to_error(Numbers::Sep);
    assert_eq!(error.code, -32602);
    let kind = params.replace("message.received", "message.edited");
    assert!(kit.poll(&kind).await.is_err(), "another kind's cursor");
    for bad in [r#""""#, "null"] {
        assert!(
            kit.poll(&from(&serde_json::from_str(bad).unwrap(), ""))
                .await
                .is_ok()
        );
    }
    for bad in [r#""AAAA""#, "7", r#""not base64!""#] {
        assert!(
            kit.poll(&from(&serde_json::from_str(bad).unwrap(), ""))
                .await
                .is_err(),
            "{bad}"
        );
    }
}

#[tokio::test]
async fn what_is_gone_or_too_old_makes_it_truncated() {
    let kit = Kit::new();
    let first = kit.poll(ALL).await.expect("polled");
    let now = SystemClock::shared().wall().0;
    kit.messages.add_at("teams", None, Wall(now - 600_000));
    kit.messages.add_at("teams", None, Wall(now - 300_000));
    kit.messages.add_at("teams", None, Wall(now - 1_000));
    let young = kit
        .poll(&from(&first["cursor"], r#","maxAgeMs":60000"#))
        .await
        .expect("polled");
    assert_eq!(young["truncated"], true);
    assert_eq!(young["events"].as_array().expect("events").len(), 1);
    let all = kit
        .poll(&from(&first["cursor"], r#","maxAgeMs":6000000"#))
        .await
        .expect("polled");
    assert_eq!(all["truncated"], false);
    assert_eq!(all["events"].as_array().expect("events").len(), 3);
    kit.messages.prune(2);
    let pruned = kit.poll(&from(&first["cursor"], "")).await.expect("polled");
    assert_eq!(pruned["truncated"], true);
    assert_eq!(pruned["events"][0]["data"]["id"], "m3");
    let on = kit
        .poll(&from(&pruned["cursor"], ""))
        .await
        .expect("polled");
    assert_eq!(on["truncated"], false, "it is said once");
}

#[tokio::test]
async fn a_journal_of_an_earlier_run_is_truncated() {
    let kit = Kit::new();
    let asked = |kit: &Kit| {
        kit.journal.note(Noted {
            kind: Kind::ApprovalRequested,
            of: "a1 pending".to_owned(),
            at: SystemClock::shared().wall(),
            entity: None,
            client: who("codex").principal.client,
            data: object(r#"{"id":"a1","state":"pending"}"#),
        });
    };
    let begin = kit
        .poll(r#"{"name":"approval.requested"}"#)
        .await
        .expect("polled");
    asked(&kit);
    let params = format!(
        r#"{{"name":"approval.requested","cursor":{}}}"#,
        begin["cursor"]
    );
    let own = kit.poll(&params).await.expect("polled");
    assert_eq!(own["events"][0]["data"]["state"], "pending");
    let claude = who("claude");
    let mine = kit
        .events
        .poll(&claude, &object(r#"{"name":"approval.requested"}"#))
        .await;
    let cursor = &value(&mine.expect("polled"))["cursor"];
    asked(&kit);
    let params_of_claude = format!(r#"{{"name":"approval.requested","cursor":{cursor}}}"#);
    let others = kit
        .events
        .poll(&claude, &object(&params_of_claude))
        .await
        .expect("polled");
    assert_eq!(
        value(&others)["events"],
        json!([]),
        "another client's approvals"
    );
    let kit = kit.restart().await;
    asked(&kit);
    let after = kit.poll(&params).await.expect("polled");
    assert_eq!(after["truncated"], true);
    assert_eq!(after["events"].as_array().expect("events").len(), 1);
}

#[tokio::test]
async fn an_entitys_messages_are_announced_and_told_only_to_who_asks() {
    let kit = Kit::new();
    let open = kit.poll(ALL).await.expect("polled");
    let named = kit
        .poll(r#"{"name":"message.received","arguments":{"entity":"acme"}}"#)
        .await
        .expect("polled");
    kit.messages.add("teams", Some("acme"));
    kit.messages.add("teams", Some("other"));
    kit.messages.add("email", None);
    kit.rules.told.lock().unwrap().clear();
    kit.rules.refused.lock().unwrap().insert("other".to_owned());
    let seen = kit.poll(&from(&open["cursor"], "")).await.expect("polled");
    let data: Vec<_> = seen["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|e| &e["data"])
        .collect();
    assert_eq!(
        data,
        [
            &json!({"id": "m1"}),
            &json!({"id": "m3", "summary": "words"})
        ]
    );
    assert_eq!(
        *kit.rules.told.lock().unwrap(),
        [None],
        "no entity's label was taken"
    );
    let with = from(&named["cursor"], r#","arguments":{"entity":"acme"}"#);
    let seen = kit.poll(&with).await.expect("polled");
    assert_eq!(seen["events"].as_array().expect("events").len(), 1);
    assert_eq!(
        seen["events"][0]["data"],
        json!({"id": "m1", "summary": "words"})
    );
    let mail = from(&open["cursor"], r#","arguments":{"channel":"email"}"#);
    let seen = kit.poll(&mail).await.expect("polled");
    assert_eq!(seen["events"][0]["data"]["id"], "m3");
    let refused = kit
        .poll(r#"{"name":"message.received","arguments":{"entity":"other"}}"#)
        .await
        .expect_err("no clearance");
    assert_eq!(refused.to_error(Numbers::Sep).code, -32024);
    assert_eq!(refused.to_error(Numbers::Draft).code, -32012);
}

#[tokio::test]
async fn wrong_parameters_are_refused_with_their_numbers() {
    let kit = Kit::new();
    for (params, sep, draft) in [
        (r#"{"name":"no.such"}"#, -32023, -32011),
        ("{}", -32602, -32602),
        (r#"{"name":7}"#, -32602, -32602),
        (
            r#"{"name":"message.received","arguments":[]}"#,
            -32602,
            -32602,
        ),
        (
            r#"{"name":"message.received","arguments":{"folder":"x"}}"#,
            -32602,
            -32602,
        ),
        (
            r#"{"name":"task.completed","arguments":{"channel":"x"}}"#,
            -32602,
            -32602,
        ),
        (
            r#"{"name":"message.received","maxEvents":0}"#,
            -32602,
            -32602,
        ),
        (
            r#"{"name":"message.received","maxEvents":"3"}"#,
            -32602,
            -32602,
        ),
        (
            r#"{"name":"message.received","maxAgeMs":-1}"#,
            -32602,
            -32602,
        ),
        (
            r#"{"name":"message.received","maxAgeMs":1.5}"#,
            -32602,
            -32602,
        ),
    ] {
        let error = kit.poll(params).await.expect_err(params);
        assert_eq!(error.to_error(Numbers::Sep).code, sep, "{params}");
        assert_eq!(error.to_error(Numbers::Draft).code, draft, "{params}");
    }
    let unknown = kit
        .poll(r#"{"name":"no.such"}"#)
        .await
        .expect_err("unknown");
    let data = unknown.to_error(Numbers::Sep).data.expect("data");
    assert_eq!(
        data.get("kind").expect("a kind").to_str().as_deref(),
        Some("event")
    );
    kit.rules.revoked.store(true, Ordering::SeqCst);
    let error = kit.poll(ALL).await.expect_err("revoked");
    assert_eq!(error.to_error(Numbers::Sep).code, -32024);
}

#[tokio::test]
async fn who_is_far_behind_is_told_to_ask_again_at_once() {
    let kit = Kit::new();
    let first = kit.poll(ALL).await.expect("polled");
    for _ in 0..2_500 {
        kit.messages.add("email", None);
    }
    kit.messages.add("teams", None);
    let mut cursor = first["cursor"].clone();
    let mut polls = 0;
    let found = loop {
        let more = r#","arguments":{"channel":"teams"}"#;
        let polled = kit.poll(&from(&cursor, more)).await.expect("polled");
        polls += 1;
        cursor = polled["cursor"].clone();
        if polled["hasMore"] == false {
            break polled["events"].clone();
        }
        assert_eq!(polled["events"], json!([]));
    };
    assert_eq!(found[0]["data"]["id"], "m2501");
    assert_eq!(polls, 3, "a thousand places are looked at in one request");
}
