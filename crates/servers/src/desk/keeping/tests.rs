use std::sync::Arc;

use legation_core::clock::ManualClock;
use legation_core::{EntityId, SharedClock};
use legation_desk::filing::Suggestion;
use legation_desk::triage::Item;
use legation_desk::{Letter, SourceId, SourceKind};
use serde_json::json;

use super::super::book::Entry;
use super::super::stand::Stand;
use super::super::{Desk, triage};
use super::*;

const DAY: Duration = Duration::from_secs(24 * 3600);
const KEEPING: Keeping = Keeping {
    done: Some(Duration::from_secs(90 * 24 * 3600)),
    open: Some(Duration::from_secs(365 * 24 * 3600)),
};

fn row<T>(id: &str, state: &str, body: T) -> Entry<T> {
    Entry {
        id: id.to_owned(),
        entity: EntityId::new("harbor"),
        account: "harbor".to_owned(),
        state: state.to_owned(),
        key: None,
        at_ms: 0,
        until_ms: 0,
        changed_ms: 0,
        version: 1,
        body,
    }
}

/// An item and a suggestion for every way to stand.
async fn filled(stand: &Stand) {
    let book = &stand.desk.shared.book;
    for (kind, state, _) in STATES {
        let id = format!("{}-{state}", kind.word());
        let source = SourceId::in_account(SourceKind::Mail, "harbor", &id);
        if kind == Kind::Triage {
            let item = Item {
                source,
                ..Item::of_letter(&Letter::default())
            };
            book.put(kind, &[row(&id, state, item)]).await.unwrap();
        } else {
            let suggestion = Suggestion {
                source,
                item: "i".to_owned(),
                path: "/Deals".to_owned(),
                by: "owner".to_owned(),
                rationale: String::new(),
                was: None,
            };
            book.put(kind, &[row(&id, state, suggestion)])
                .await
                .unwrap();
        }
    }
}

/// The desk of the same rows, some days later.
fn later(stand: &Stand, days: u32) -> Desk {
    let shared = &stand.desk.shared;
    let clock = ManualClock::at(shared.clock.wall());
    clock.advance(DAY * days);
    let clock: SharedClock = Arc::new(clock);
    let mut book = shared.book.clone();
    book.clock = Arc::clone(&clock);
    Desk {
        shared: Arc::new(Shared {
            accounts: Arc::clone(&shared.accounts),
            book,
            view: Arc::clone(&shared.view),
            clock,
            changed: tokio::sync::Notify::new(),
        }),
    }
}

/// The rows that tools can still name, by whose they are known to be.
fn known(desk: &Desk) -> Vec<&'static str> {
    let left = STATES.iter().filter(|(kind, state, _)| {
        let id = format!("{}-{state}", kind.word());
        desk.shared.book.owner(*kind, &id).is_some()
    });
    left.map(|(_, state, _)| *state).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_touched_for_long_is_forgotten_and_what_waits_later() {
    let stand = Stand::new().await;
    filled(&stand).await;
    let cases: [(u32, Keeping, &[&str]); 4] = [
        (1000, Keeping::default(), &[]),
        (89, KEEPING, &[]),
        (
            91,
            KEEPING,
            &[
                "classified",
                "linked",
                "done",
                "dismissed",
                "filed",
                "undone",
                "rejected",
            ],
        ),
        (366, KEEPING, &["open", "proposed"]),
    ];
    let mut left: Vec<&str> = STATES.iter().map(|(_, state, _)| *state).collect();
    for (days, keeping, gone) in cases {
        let desk = later(&stand, days);
        keep_up(&desk.shared, keeping).await;
        left.retain(|state| !gone.contains(state));
        assert_eq!(known(&desk), left, "{days} days");
    }
    let (answer, failed) = stand
        .call(
            "triage_classify",
            json!({"item_id": "triage-done", "state": "open"}),
        )
        .await;
    assert!(failed, "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_that_was_dismissed_does_not_come_back() {
    let stand = Stand::new().await;
    let now_ms = stand.desk.shared.now_ms();
    let received_ms = now_ms - 1000;
    let letter = Letter {
        account: "harbor".to_owned(),
        id: "L1".to_owned(),
        subject: "Lunch".to_owned(),
        received_ms,
        ..Letter::default()
    };
    let mut entry = row("harbor-L1", "unread", letter);
    (entry.at_ms, entry.until_ms) = (received_ms, received_ms);
    stand
        .desk
        .shared
        .book
        .put(Kind::Letter, &[entry])
        .await
        .unwrap();
    let hasty = Keeping {
        done: Some(DAY),
        open: Some(DAY),
    };
    for days in [0, 2, 6, 9] {
        let desk = later(&stand, days);
        keep_up(&desk.shared, hasty).await;
        let context = super::super::stand::context();
        triage::take_up(&desk.shared, &context, None).await.unwrap();
        let listed = stand
            .good("triage_list", json!({"entity_context": "harbor"}))
            .await;
        let items = listed["items"].as_array().unwrap();
        assert_eq!(items.len(), usize::from(days == 0), "{days}: {listed}");
        if let Some(item) = items.first() {
            let dismissed = json!({"item_id": item["item_id"], "state": "dismissed"});
            stand.good("triage_classify", dismissed).await;
        }
    }
}
