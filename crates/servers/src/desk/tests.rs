//! The desk of two companies: what every tool says, and what none of them says of the other.

mod briefs;

use std::sync::Arc;

use legation_api::desk::{Act, Stage};
use legation_core::{Cancel, EntityId};
use legation_desk::triage::Item;
use legation_desk::{Event, Letter, Person};
use legation_gate::Outcome;
use serde_json::{Value, json};

use super::book::{Entry, Kind};
use super::stand::{Stand, context, object};
use super::sync::{Mark, What};
use super::tools::TOOLS;
use super::{ALL, Desk, Shared, shapes, tools, triage};
use crate::Native as _;

const NOW_SOON_MS: i64 = 3_600_000;

fn letter(account: &str, id: &str, subject: &str, now_ms: i64) -> Entry<Letter> {
    let body = Letter {
        account: account.to_owned(),
        id: id.to_owned(),
        from: Person {
            name: "Ada Sample".to_owned(),
            address: "ada@example.com".to_owned(),
        },
        subject: subject.to_owned(),
        preview: format!("{subject} <script>alert(1)</script>"),
        received_ms: now_ms - 1000,
        ..Letter::default()
    };
    Entry {
        id: format!("{account}-{id}"),
        entity: EntityId::new(account),
        account: account.to_owned(),
        state: "unread".to_owned(),
        key: None,
        at_ms: body.received_ms,
        until_ms: body.received_ms,
        changed_ms: now_ms,
        version: 1,
        body,
    }
}

fn event(account: &str, id: &str, subject: &str, now_ms: i64) -> Entry<Event> {
    let body = Event {
        account: account.to_owned(),
        id: id.to_owned(),
        subject: subject.to_owned(),
        start_ms: now_ms,
        end_ms: now_ms + 60_000,
        ..Event::default()
    };
    Entry {
        id: format!("{account}-{id}"),
        entity: EntityId::new(account),
        account: account.to_owned(),
        state: String::new(),
        key: None,
        at_ms: body.start_ms,
        until_ms: body.end_ms,
        changed_ms: now_ms,
        version: 1,
        body,
    }
}

/// Both companies with a letter, a meeting and a deal that name them; the deals' ids.
async fn filled(stand: &Stand) -> [String; 2] {
    let shared = &stand.desk.shared;
    let now_ms = shared.now_ms();
    let mut ids = Vec::new();
    for (name, canary) in [("harbor", "CANARYHARBOR"), ("meadow", "CANARYMEADOW")] {
        let subject = format!("{canary} invoice");
        let letters = [letter(name, "L1", &subject, now_ms)];
        shared.book.put(Kind::Letter, &letters).await.unwrap();
        let events = [event(name, "E1", &format!("{canary} review"), now_ms)];
        shared.book.put(Kind::Event, &events).await.unwrap();
        for what in What::ALL {
            let entry = Entry {
                id: what.mark(name),
                entity: EntityId::new(name),
                account: name.to_owned(),
                state: String::new(),
                key: None,
                at_ms: now_ms,
                until_ms: now_ms,
                changed_ms: now_ms,
                version: 1,
                body: Mark::read_at(now_ms),
            };
            shared.book.put(Kind::Mark, &[entry]).await.unwrap();
        }
        let made = json!({"entity": name, "deal_name": format!("{canary} deal"), "idempotency_key": "k",
            "parties": [{"name": format!("{canary} party")}], "notes": [canary],
            "important_dates": [{"label": canary, "date": "2099-01-01"}]});
        let made = stand.good("deal_create", made).await;
        assert_eq!(made["created"], true);
        ids.push(made["deal_id"].as_str().unwrap().to_owned());
    }
    triage::take_up(shared, &context(), None).await.unwrap();
    [ids.remove(0), ids.remove(0)]
}

/// The desk of the same rows that a hub has which starts.
fn again(stand: &Stand) -> Desk {
    let shared = &stand.desk.shared;
    Desk {
        shared: Arc::new(Shared {
            accounts: Arc::clone(&shared.accounts),
            book: shared.book.again(),
            view: Arc::clone(&shared.view),
            clock: Arc::clone(&shared.clock),
            changed: tokio::sync::Notify::new(),
        }),
    }
}

fn item_of(list: &Value) -> String {
    list["items"][0]["item_id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_at_the_desk() {
    let stand = Stand::new().await;
    let [harbor, _meadow] = filled(&stand).await;
    keeps_its_shapes(&stand, &harbor).await;

    // Made twice with one key it is one; another deal under that key is refused.
    let again =
        json!({"entity": "harbor", "deal_name": "CANARYHARBOR deal", "idempotency_key": "k"});
    let again = stand.good("deal_create", again).await;
    assert_eq!(
        (&again["deduped"], &again["deal_id"]),
        (&json!(true), &json!(harbor))
    );
    let other = json!({"entity": "harbor", "deal_name": "Other", "idempotency_key": "k"});
    assert!(stand.call("deal_create", other).await.1);

    // Its stages move only as they may, and the timeline tells.
    let act = Act::Stage {
        stage: Stage::DdActive,
    };
    let (_, version) = stand.desk.deal_act(&harbor, act, "owner").await.unwrap();
    assert_eq!(version, 2);
    let back = Act::Stage {
        stage: Stage::DealIdentified,
    };
    assert!(stand.desk.deal_act(&harbor, back, "owner").await.is_err());
    let timeline = stand
        .good("deal_timeline", json!({"deal_id": harbor}))
        .await;
    let actions: Vec<&str> = timeline["timeline"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["created", "stage"]);

    // An item is sorted by rule, put to its deal, and its filing is suggested, made and undone.
    let items = stand
        .good(
            "triage_list",
            json!({"entity_context": "harbor", "state": "classified"}),
        )
        .await;
    let item = item_of(&items);
    assert_eq!(items["items"][0]["sorted_by"], "rule:money.words");
    assert_eq!(items["items"][0]["suggested_deal_id"], Value::Null);
    let linked = json!({"item_id": item, "deal_id": harbor});
    assert_eq!(
        stand.good("triage_classify", linked).await["state"],
        "linked"
    );
    let filing = stand
        .good("filing_suggestion", json!({"item_id": item}))
        .await;
    assert_eq!(
        filing["path"],
        "/Harbor Partners/Projects/CANARYHARBOR deal/Money"
    );
    let id = filing["suggestion_id"].as_str().unwrap();
    let plan = stand.desk.filing_move(id).await.unwrap();
    assert_eq!(
        (plan.profile_id.as_str(), plan.message_id.as_str()),
        ("harbor", "L1")
    );
    assert!(stand.desk.filing_undo(id).await.is_err());
    assert_eq!(
        stand.desk.filed(id, "L2", "inbox").await.unwrap().state,
        "filed"
    );
    let undo = stand.desk.filing_undo(id).await.unwrap();
    assert_eq!(
        (undo.message_id.as_str(), undo.destination_folder.as_str()),
        ("L2", "inbox")
    );
    assert_eq!(stand.desk.unfiled(id, "L3").await.unwrap().state, "undone");
    assert_eq!(stand.desk.filing_move(id).await.unwrap().message_id, "L3");

    keeps_deadlines(&stand, &harbor).await;
}

/// Deadlines are kept, and stand in the deal and nowhere twice.
async fn keeps_deadlines(stand: &Stand, harbor: &str) {
    let text = json!({"text": "Bids are due 2099-03-06 at 5 pm ET.", "deal_id": harbor, "source_ref": "mail/harbor/L1"});
    for _ in 0..2 {
        let found = stand.good("extraction_deadlines", text.clone()).await;
        assert_eq!(
            (&found["kept"], &found["candidates"][0]["confidence"]),
            (&json!(1), &json!("HIGH"))
        );
        assert_eq!(found["model_note"], "no model is cleared");
    }
    let deal = stand.good("deal_detail", json!({"deal_id": harbor})).await;
    assert_eq!(deal["deadlines"].as_array().unwrap().len(), 1);
    assert_eq!(deal["stage"], "dd_active");
}

/// Every answer of the hub's own tools is what its schema says.
async fn keeps_its_shapes(stand: &Stand, deal: &str) {
    for (tool, arguments) in [
        ("status", json!({})),
        ("doctor", json!({})),
        ("deals_list", json!({})),
        ("deal_detail", json!({"deal_id": deal})),
        ("deal_timeline", json!({"deal_id": deal})),
        ("morning_brief", json!({})),
        ("eod_digest", json!({"entity_context": "harbor"})),
        ("triage_list", json!({"state": "classified"})),
        (
            "extraction_deadlines",
            json!({"entity": "harbor", "text": "Due tomorrow.", "keep": false}),
        ),
    ] {
        // Every answer is checked against its tool's schema.
        stand.good(tool, arguments).await;
    }
    for tool in TOOLS {
        let input: Value = serde_json::from_str(tool.input).unwrap();
        jsonschema::validator_for(&input).unwrap();
        let output = shapes::output(tool.name).expect("every tool says what it answers");
        let output: Value = serde_json::from_str(output).unwrap();
        jsonschema::validator_for(&output).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_one_company_is_in_an_answer_about_the_other() {
    let stand = Stand::new().await;
    let [harbor, meadow] = filled(&stand).await;
    let shared = &stand.desk.shared;
    let whose = |deal: &str| shared.book.owner(Kind::Deal, deal).unwrap().to_string();
    assert_eq!(
        (whose(&harbor).as_str(), whose(&meadow).as_str()),
        ("harbor", "meadow")
    );
    let item = |list: Value| item_of(&list);
    let classified = |entity: &str| json!({"entity_context": entity, "state": "classified"});
    let of_meadow = item(stand.good("triage_list", classified("meadow")).await);
    let mut tried = 0;
    for entity in ["harbor", "HARBOR", " harbor ", "harbor-m365", "ｈarbor"] {
        for tool in ["deals_list", "triage_list", "morning_brief", "eod_digest"] {
            for limit in 1..=10 {
                for way in 0..5 {
                    let arguments = asked_about(tool, entity, limit, way);
                    let peer = crate::tests::others::silent();
                    let wish = legation_gate::TaskWish::Never;
                    let outcome = stand
                        .desk
                        .call(context(), tool, object(&arguments), wish, peer)
                        .await;
                    let Outcome::Complete(raw) = outcome else {
                        panic!("{outcome:?}")
                    };
                    assert!(
                        !raw.as_text().contains("CANARYMEADOW"),
                        "{tool} {arguments}"
                    );
                    // What says nothing at all could not say too much.
                    assert!(!raw.as_text().contains("isError"), "{tool} {arguments}");
                    tried += 1;
                }
            }
        }
    }
    assert_eq!(tried, 1000);
    another_ids_say_nothing(&stand, [&harbor, &meadow], &of_meadow).await;
    an_account_says_nothing_of_others(&stand, [&harbor, &meadow]).await;
}

/// A way to ask a tool about an entity.
fn asked_about(tool: &str, entity: &str, limit: usize, way: usize) -> Value {
    let mut arguments = json!({"entity_context": entity});
    let (name, values) = match tool {
        "deals_list" => ("status", ["active", "paused", "closed", "archived"]),
        "triage_list" => ("state", ["open", "classified", "linked", "done"]),
        _ => {
            arguments["include_personal"] = way.is_multiple_of(2).into();
            return arguments;
        }
    };
    arguments["limit"] = limit.into();
    if let Some(value) = values.get(way) {
        arguments[name] = (*value).into();
    }
    arguments
}

/// An account in a call that is about something else: it is decided about what it is about.
async fn an_account_says_nothing_of_others(stand: &Stand, [harbor, meadow]: [&str; 2]) {
    let whose = |tool: &str, mut arguments: Value| {
        arguments["profile_id"] = "harbor".into();
        (stand.desk.entity(tool, &object(&arguments)), arguments)
    };
    for tool in TOOLS {
        if tools::is_of_account(tool.name) {
            let (entity, _) = whose(tool.name, json!({"deal_id": meadow}));
            assert_eq!(
                entity.unwrap(),
                Some(EntityId::new("harbor")),
                "{}",
                tool.name
            );
        }
    }
    let item = json!({"entity_context": "meadow", "state": "classified"});
    let item = item_of(&stand.good("triage_list", item).await);
    for (tool, arguments, entity) in [
        ("deals_list", json!({}), Some(ALL)),
        ("triage_list", json!({"state": "classified"}), Some(ALL)),
        ("morning_brief", json!({}), Some(ALL)),
        ("eod_digest", json!({}), Some(ALL)),
        ("deal_detail", json!({"deal_id": meadow}), Some("meadow")),
        ("deal_timeline", json!({"deal_id": meadow}), Some("meadow")),
        ("triage_classify", json!({"item_id": item}), Some("meadow")),
        (
            "filing_suggestion",
            json!({"item_id": item}),
            Some("meadow"),
        ),
        (
            "extraction_deadlines",
            json!({"text": "Due tomorrow.", "deal_id": meadow}),
            Some("meadow"),
        ),
        (
            "deal_create",
            json!({"entity": "meadow", "deal_name": "New"}),
            None,
        ),
    ] {
        let (found, arguments) = whose(tool, arguments);
        assert_eq!(found.unwrap(), entity.map(EntityId::new), "{tool}");
        let (answer, failed) = stand.call(tool, arguments).await;
        assert!(
            failed && !answer.to_string().contains("CANARY"),
            "{tool}: {answer}"
        );
    }
    let deals = json!({"entity_context": "harbor"});
    let deals = stand.good("deals_list", deals).await;
    assert_eq!(deals["deals"][0]["deal_id"], harbor);
    assert_eq!(deals["deals"].as_array().unwrap().len(), 1, "{deals}");
}

/// Ids of another company, in whatever tool they stand.
async fn another_ids_say_nothing(stand: &Stand, [harbor, meadow]: [&str; 2], of_meadow: &str) {
    for (tool, arguments) in [
        (
            "triage_classify",
            json!({"item_id": of_meadow, "deal_id": harbor}),
        ),
        (
            "triage_classify",
            json!({"item_id": of_meadow, "entity": "harbor"}),
        ),
        (
            "extraction_deadlines",
            json!({"text": "Due tomorrow.", "entity": "meadow", "deal_id": harbor}),
        ),
        ("triage_classify", json!({"item_id": harbor})),
        ("filing_suggestion", json!({"item_id": meadow})),
        ("deal_detail", json!({"deal_id": of_meadow})),
    ] {
        let peer = crate::tests::others::silent();
        let wish = legation_gate::TaskWish::Never;
        let outcome = stand
            .desk
            .call(context(), tool, object(&arguments), wish, peer)
            .await;
        let text = format!("{outcome:?}");
        let Outcome::Complete(raw) = outcome else {
            panic!("{text}")
        };
        assert!(
            raw.as_text().contains("isError"),
            "{tool} {arguments}: {}",
            raw.as_text()
        );
        assert!(!raw.as_text().contains("CANARY"), "{tool} {arguments}");
    }
    // What a call is about is said before it is decided, by the row that it names.
    let entity = |tool: &str, arguments: Value| stand.desk.entity(tool, &object(&arguments));
    assert_eq!(
        entity("deal_detail", json!({"deal_id": harbor})).unwrap(),
        Some(EntityId::new("harbor"))
    );
    assert_eq!(
        entity("triage_classify", json!({"item_id": of_meadow})).unwrap(),
        Some(EntityId::new("meadow"))
    );
    assert_eq!(
        entity("morning_brief", json!({})).unwrap(),
        Some(EntityId::new(ALL))
    );
    assert_eq!(
        entity("morning_brief", json!({"entity_context": " ALL "})).unwrap(),
        Some(EntityId::new(ALL))
    );
    assert_eq!(
        entity("morning_brief", json!({"entity_context": "harbor"})).unwrap(),
        None
    );
    assert!(entity("deal_detail", json!({"deal_id": "deal-none"})).is_err());
    let member = |uri: String| stand.desk.member_entity(&uri);
    let uri = format!("legation://deals/{meadow}");
    assert_eq!(member(uri).await.unwrap(), Some(EntityId::new("meadow")));
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_known_again_after_a_start_and_sealed_on_disk() {
    let stand = Stand::new().await;
    let [harbor, _] = filled(&stand).await;
    let shared = &stand.desk.shared;
    let desk = again(&stand);
    assert!(desk.shared.book.owner(Kind::Deal, &harbor).is_none());
    desk.learn().await.unwrap();
    assert_eq!(
        desk.shared.book.owner(Kind::Deal, &harbor),
        Some(EntityId::new("harbor"))
    );
    let mut raw = Vec::new();
    for name in ["state.db", "state.db-wal", "state.db-ledger"] {
        raw.extend(std::fs::read(stand.folder().join(name)).unwrap_or_default());
    }
    assert!(raw.len() > 10_000);
    for text in ["CANARYHARBOR", "CANARYMEADOW", "Ada Sample"] {
        let found = raw
            .windows(text.len())
            .any(|window| window == text.as_bytes());
        assert!(!found, "{text} lies on the disk as it is");
    }
    let item: Vec<Entry<Item>> = super::triage::of_entity(
        shared,
        &EntityId::new("harbor"),
        legation_desk::triage::ItemState::Classified,
    )
    .await
    .unwrap();
    assert_eq!(item.len(), 1);
    let cancel = Cancel::new();
    cancel.cancel(legation_core::CancelReason::Shutdown);
    // Called off, it looks once and ends.
    desk.attend(None, super::Keeping::default(), &cancel).await;
}
