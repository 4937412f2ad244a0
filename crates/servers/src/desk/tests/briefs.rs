//! Briefs: kept apart, each line resting on something, and honest about what is not there.

use std::collections::{BTreeMap, BTreeSet};

use legation_core::EntityId;
use legation_desk::{Event, SourceId, SourceKind};
use legation_gate::policy::governance::file;
use serde_json::{Value, json};

use super::super::Done;
use super::super::book::{Entry, Kind};
use super::super::stand::Stand;
use super::super::sync::{Mark, What};
use super::{NOW_SOON_MS, event, filled, item_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_brief_of_all_keeps_apart_and_says_what_is_missing() {
    let stand = Stand::new().await;
    filled(&stand).await;
    let brief = stand.good("morning_brief", json!({})).await;
    let sections = brief["sections"].as_array().unwrap();
    let names: Vec<&Value> = sections.iter().map(|section| &section["entity"]).collect();
    // The personal one is in it when it is asked for.
    assert_eq!(
        names,
        [
            &json!("harbor"),
            &json!("meadow"),
            &json!("quarry"),
            &Value::Null
        ]
    );
    for section in sections {
        let text = section.to_string();
        let own = section["entity"].as_str().unwrap_or_default();
        assert_eq!(text.contains("CANARYHARBOR"), own == "harbor");
        assert_eq!(text.contains("CANARYMEADOW"), own == "meadow");
        for line in section["parts"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|part| part["lines"].as_array().unwrap())
        {
            assert_eq!(line["entity"], section["entity"]);
            assert!(
                SourceId::parse(line["source"].as_str().unwrap()).is_some(),
                "{line}"
            );
        }
    }
    let personal = stand
        .good("morning_brief", json!({"include_personal": true}))
        .await;
    assert_eq!(personal["sections"].as_array().unwrap().len(), 5);
    // Models get all labels of a brief of all, of each section what is its own.
    {
        let asked = stand.view.asked.lock().unwrap();
        let brief = asked
            .iter()
            .find(|asked| asked.job == "desk.brief")
            .unwrap();
        assert_eq!(brief.labels.as_slice().len(), 4);
        assert!(!(brief.data.contains("CANARYHARBOR") && brief.data.contains("CANARYMEADOW")));
    }
    says_what_is_missing(&stand).await;
}

/// What a model may not add, and what is not there.
async fn says_what_is_missing(stand: &Stand) {
    // A model that adds a name, another entity or a number changes nothing.
    for said in [
        r#"{"lines":[{"n":0,"text":"Meet Eve about the CANARYHARBOR review"}]}"#,
        r#"{"lines":[{"n":0,"text":"CANARYMEADOW resident John Smith"}]}"#,
        r#"{"lines":[{"n":0,"text":"wire $900,000 to eve@example.com"}]}"#,
        "<script>",
    ] {
        stand.view.say(said);
        let made = stand
            .good("morning_brief", json!({"entity_context": "harbor"}))
            .await;
        assert_eq!(made["composed_by"], "template", "{said}");
        assert!(!made.to_string().contains("Eve") && !made.to_string().contains("eve@"));
    }
    // A file that is gone denies what it governs, and nothing else.
    stand
        .view
        .change(&|name, text| (name != file::BRIEF).then_some(text));
    assert!(stand.call("morning_brief", json!({})).await.1);
    assert!(!stand.call("deals_list", json!({})).await.1);
    stand
        .view
        .change(&|name, text| (name != file::PARA).then_some(text));
    assert!(!stand.call("morning_brief", json!({})).await.1);
    // A calendar that was never read says so.
    stand
        .desk
        .shared
        .book
        .remove(Kind::Mark, &What::Calendar.mark("harbor"))
        .await
        .unwrap();
    let made = stand
        .good("morning_brief", json!({"entity_context": "harbor"}))
        .await;
    let meetings = &made["sections"][0]["parts"][0];
    assert_eq!(
        (&meetings["part"], &meetings["lines"]),
        (&json!("meetings"), &json!([]))
    );
    assert!(
        meetings["missing"].as_str().unwrap().contains("never read"),
        "{meetings}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_events_make_a_brief() {
    let stand = Stand::new().await;
    filled(&stand).await;
    let shared = &stand.desk.shared;
    let now_ms = shared.now_ms();
    let events: Vec<Entry<Event>> = (0..10_000_i64)
        .map(|n| {
            event(
                "harbor",
                &format!("N{n}"),
                &format!("Meeting {n}"),
                now_ms + (n - 5000) * NOW_SOON_MS,
            )
        })
        .collect();
    shared.book.put(Kind::Event, &events).await.unwrap();
    let brief = stand
        .good("morning_brief", json!({"entity_context": "harbor"}))
        .await;
    let part = &brief["sections"][0]["parts"][0];
    assert_eq!(part["lines"].as_array().unwrap().len(), 10);
    assert!(
        (10..=16).contains(&part["left_out"].as_u64().unwrap()),
        "{part}"
    );
}

/// Sources of a brief, as somebody reads them again: by the tools that their ids name.
async fn resolves(stand: &Stand, source: &str) -> bool {
    let shared = &stand.desk.shared;
    let source = SourceId::parse(source).unwrap();
    let id = source.id().to_owned();
    let row = format!("{}-{id}", source.account());
    match source.kind() {
        SourceKind::Mail => is_there(shared.book.get::<Value>(Kind::Letter, &row).await),
        SourceKind::Event => is_there(shared.book.get::<Value>(Kind::Event, &row).await),
        SourceKind::Filing => is_there(shared.book.get::<Value>(Kind::Filing, &id).await),
        SourceKind::Deal => !stand.call("deal_detail", json!({"deal_id": id})).await.1,
        SourceKind::Triage => {
            let open = json!({"entity_context": "harbor", "limit": 200});
            let open = stand.good("triage_list", open).await;
            open.to_string().contains(&id)
        }
        SourceKind::Deadline => is_there(shared.book.get::<Value>(Kind::Deadline, &id).await),
        SourceKind::Audit => {
            let done = stand.view.done.lock().unwrap().clone();
            done.unwrap().iter().any(|one| one.id == id)
        }
        SourceKind::Inbox | SourceKind::Config => false,
    }
}

fn is_there<T>(got: Result<Option<T>, super::super::book::BookError>) -> bool {
    matches!(got, Ok(Some(_)))
}

/// Both briefs of harbor: their sources by part, each of which was read again, and what is said to
/// be missing.
async fn looked_at(
    stand: &Stand,
) -> (BTreeMap<String, BTreeSet<String>>, BTreeMap<String, String>) {
    let (mut sources, mut missing) = (BTreeMap::new(), BTreeMap::new());
    for tool in ["morning_brief", "eod_digest"] {
        let of = json!({"entity_context": "harbor"});
        let brief = stand.good(tool, of).await;
        for part in brief["sections"][0]["parts"].as_array().unwrap() {
            let name = part["part"].as_str().unwrap().to_owned();
            if let Some(why) = part["missing"].as_str() {
                missing.insert(name.clone(), why.to_owned());
            }
            for line in part["lines"].as_array().unwrap() {
                let source = line["source"].as_str().unwrap();
                assert!(resolves(stand, source).await, "{tool}: {line}");
                let of_part: &mut BTreeSet<String> = sources.entry(name.clone()).or_default();
                of_part.insert(source.to_owned());
            }
        }
    }
    (sources, missing)
}

/// Something of everything that briefs are made of.
async fn everything(stand: &Stand) {
    let [deal, _] = filled(stand).await;
    let shared = &stand.desk.shared;
    // Whenever it is, and should a day end meanwhile, it is of today and of tomorrow.
    let day_ms = 24 * NOW_SOON_MS;
    let mut long = event("harbor", "E1", "Review", shared.now_ms());
    long.body.end_ms += 3 * day_ms;
    long.until_ms += 3 * day_ms;
    shared.book.put(Kind::Event, &[long]).await.unwrap();
    let soon = legation_core::Wall(shared.now_ms() + 2 * day_ms).to_string();
    let text = json!({"text": format!("Due no later than {}.", &soon[..10]), "deal_id": deal});
    let found = stand.good("extraction_deadlines", text).await;
    assert_eq!(found["kept"], 1, "{found}");
    let sorted = json!({"entity_context": "harbor", "state": "classified"});
    let item = item_of(&stand.good("triage_list", sorted).await);
    let open = json!({"item_id": item, "state": "open"});
    stand.good("triage_classify", open).await;
    stand
        .good("filing_suggestion", json!({"item_id": item}))
        .await;
    *stand.view.done.lock().unwrap() = Ok(vec![Done {
        id: "call-1".to_owned(),
        at_ms: shared.now_ms(),
        client: "claude".to_owned(),
        server: Some("desk".to_owned()),
        item: "mail_list".to_owned(),
        status: "ok".to_owned(),
    }]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_away_is_said_to_be_missing_and_every_line_can_be_read_again() {
    let stand = Stand::new().await;
    everything(&stand).await;
    let (whole, missing) = looked_at(&stand).await;
    assert_eq!(missing, BTreeMap::new());
    let parts: Vec<&str> = whole.keys().map(String::as_str).collect();
    let all = [
        "deadlines",
        "deals",
        "done",
        "filing",
        "meetings",
        "triage",
        "unread_mail",
    ];
    assert_eq!(parts, all, "a part has no line");
    let book = &stand.desk.shared.book;
    for (taken, parts) in [
        ("calendar", &["meetings"] as &[&str]),
        ("mail", &["unread_mail"]),
        ("events", &["meetings"]),
        ("letters", &["unread_mail"]),
        ("triage", &["triage"]),
        ("deals", &["deadlines", "deals"]),
        ("deadlines", &["deadlines"]),
        ("filings", &["filing"]),
        ("audit", &["done"]),
    ] {
        let back = take(&stand, taken).await;
        let (sources, missing) = looked_at(&stand).await;
        let named: Vec<&str> = missing.keys().map(String::as_str).collect();
        assert_eq!(named, parts, "{taken}: {missing:?}");
        for (part, left) in &sources {
            assert!(left.is_subset(&whole[part]), "{taken}, {part}: {left:?}");
        }
        for part in whole.keys().filter(|part| !parts.contains(&part.as_str())) {
            assert_eq!(sources[part], whole[part], "{taken} took {part} along");
        }
        match back {
            Back::Rows(kind, rows) => book.put(kind, &rows).await.unwrap(),
            Back::Mark(mark) => book.put(Kind::Mark, &[*mark]).await.unwrap(),
            Back::Done(done) => *stand.view.done.lock().unwrap() = Ok(done),
        }
        assert_eq!(
            looked_at(&stand).await,
            (whole.clone(), BTreeMap::new()),
            "{taken}"
        );
    }
}

/// What puts back what was taken away.
enum Back {
    Rows(Kind, Vec<Entry<Value>>),
    Mark(Box<Entry<Mark>>),
    Done(Vec<Done>),
}

/// Takes a source away: what says how far an account was read, or rows, which cannot be read any
/// more.
async fn take(stand: &Stand, what: &str) -> Back {
    let book = &stand.desk.shared.book;
    let kind = match what {
        "calendar" | "mail" => {
            let what = match what {
                "calendar" => What::Calendar,
                _ => What::Inbox,
            };
            let mark = book.get::<Mark>(Kind::Mark, &what.mark("harbor")).await;
            let mark = mark.unwrap().unwrap();
            book.remove(Kind::Mark, &mark.id).await.unwrap();
            return Back::Mark(Box::new(mark));
        }
        "audit" => {
            let lost = Err("the ledger cannot be read".to_owned());
            let done = std::mem::replace(&mut *stand.view.done.lock().unwrap(), lost);
            return Back::Done(done.unwrap());
        }
        "events" => Kind::Event,
        "letters" => Kind::Letter,
        "triage" => Kind::Triage,
        "deals" => Kind::Deal,
        "deadlines" => Kind::Deadline,
        _ => Kind::Filing,
    };
    let wanted = super::super::book::Wanted::of(&EntityId::new("harbor"), 100);
    let rows: Vec<Entry<Value>> = book.list(kind, wanted).await.unwrap();
    assert!(!rows.is_empty(), "{what}");
    book.damage(kind, &rows).await;
    Back::Rows(kind, rows)
}
