//! Pinned definitions.

use legation_store::{PinRow, PinState};

use crate::bench::{Bench, cases};

cases!(
    every_column_comes_back_in_order,
    a_pin_is_replaced_and_forgotten,
    only_the_definition_that_was_seen_is_decided_about,
);

fn pin(server: &str, item: &str) -> PinRow {
    PinRow {
        server: server.to_owned(),
        kind: "tool".to_owned(),
        item: item.to_owned(),
        hash: [1; 32],
        definition: br#"{"name":"x"}"#.to_vec(),
        state: PinState::New,
        findings: Vec::new(),
        first_seen_ms: 1,
        changed_ms: None,
        decided_ms: None,
        decided_by: None,
    }
}

fn every_column_comes_back_in_order(bench: &Bench<'_>) {
    let store = bench.open();
    let full = PinRow {
        findings: b"[]".to_vec(),
        state: PinState::Quarantined,
        changed_ms: Some(2),
        decided_ms: Some(3),
        decided_by: Some("person".to_owned()),
        ..pin("a", "Z")
    };
    let rows = [pin("b", "x"), pin("a", "z"), full.clone()];
    store.pin_put_all(&rows).expect("put");
    drop(store);
    let store = bench.open();
    assert_eq!(
        store.pin_get("a", "tool", "Z").expect("read"),
        Some(full.clone())
    );
    assert_eq!(store.pin_get("a", "prompt", "Z").expect("read"), None);
    // By bytes, so that capitals come first whatever the database's language.
    let expected = [full, pin("a", "z"), pin("b", "x")];
    assert_eq!(store.pin_list(None).expect("read"), expected);
    assert_eq!(store.pin_list(Some("a")).expect("read"), expected[..2]);
}

fn a_pin_is_replaced_and_forgotten(bench: &Bench<'_>) {
    let store = bench.open();
    store.pin_put(&pin("a", "x")).expect("put");
    let changed = PinRow {
        hash: [2; 32],
        state: PinState::Changed,
        changed_ms: Some(9),
        ..pin("a", "x")
    };
    store.pin_put(&changed).expect("put");
    assert_eq!(store.pin_list(None).expect("read"), [changed]);
    assert!(store.pin_remove("a", "tool", "x").expect("removed"));
    assert!(!store.pin_remove("a", "tool", "x").expect("none"));
}

fn only_the_definition_that_was_seen_is_decided_about(bench: &Bench<'_>) {
    let store = bench.open();
    store.pin_put(&pin("a", "x")).expect("put");
    let decide = |hash| {
        let thing = ("a", "tool", "x");
        store.pin_decide(thing, &hash, PinState::Approved, "person", 5)
    };
    assert!(!decide([2; 32]).expect("refused"));
    assert!(decide([1; 32]).expect("decided"));
    let found = store
        .pin_get("a", "tool", "x")
        .expect("read")
        .expect("there");
    assert_eq!(found.state, PinState::Approved);
    assert_eq!(
        (found.decided_by.as_deref(), found.decided_ms),
        (Some("person"), Some(5))
    );
}
