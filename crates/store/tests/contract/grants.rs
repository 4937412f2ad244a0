//! Grants and the number that changes with them.

use legation_store::GrantRow;

use crate::bench::{Bench, cases};

cases!(
    every_column_comes_back,
    a_grant_is_replaced_by_its_id,
    grants_are_removed_one_by_one_and_by_time,
    the_generation_changes_with_every_change,
    a_hand_that_takes_more_uses_than_there_are_is_stopped,
);

pub(crate) fn grant(id: &str, uses_left: Option<i64>) -> GrantRow {
    GrantRow {
        id: id.to_owned(),
        client: "claude".to_owned(),
        on_behalf_of: None,
        server: "mail".to_owned(),
        item: "send".to_owned(),
        verb: "call".to_owned(),
        entity: "olive".to_owned(),
        definition: None,
        args_digest: None,
        rung: "execute".to_owned(),
        policy_version: None,
        scope: "once".to_owned(),
        seat: None,
        workspace: None,
        created_ms: 1_000,
        expires_ms: None,
        uses_left,
        approval: None,
        approver: "person".to_owned(),
        mac: [4; 32],
    }
}

fn every_column_comes_back(bench: &Bench<'_>) {
    let store = bench.open();
    let full = GrantRow {
        on_behalf_of: Some("chief".to_owned()),
        definition: Some([1; 32]),
        args_digest: Some([2; 32]),
        policy_version: Some(u64::from(u32::MAX)),
        seat: Some("seat-1".to_owned()),
        workspace: Some("/home/person/work".to_owned()),
        expires_ms: Some(2_000),
        approval: Some("a".to_owned()),
        ..grant("full", Some(3))
    };
    store.grant_put(&full).expect("put");
    store.grant_put(&grant("bare", None)).expect("put");
    drop(store);
    let store = bench.open();
    assert_eq!(store.grant_get("full").expect("read"), Some(full.clone()));
    assert_eq!(store.grant_get("none").expect("read"), None);
    assert_eq!(
        store.grant_list().expect("read"),
        [grant("bare", None), full]
    );
}

fn a_grant_is_replaced_by_its_id(bench: &Bench<'_>) {
    let store = bench.open();
    store.grant_put(&grant("g", Some(1))).expect("put");
    let other = GrantRow {
        server: "files".to_owned(),
        mac: [5; 32],
        expires_ms: Some(9),
        ..grant("g", None)
    };
    store.grant_put(&other).expect("put");
    assert_eq!(store.grant_list().expect("read"), [other]);
}

fn grants_are_removed_one_by_one_and_by_time(bench: &Bench<'_>) {
    let store = bench.open();
    let until = |id, expires_ms| GrantRow {
        expires_ms: Some(expires_ms),
        ..grant(id, None)
    };
    for row in [
        grant("always", None),
        grant("used up", Some(0)),
        grant("left", Some(1)),
        until("over", 10),
        until("later", 11),
    ] {
        store.grant_put(&row).expect("put");
    }
    assert_eq!(store.grant_expire(10).expect("expired"), 2);
    assert_eq!(store.grant_expire(10).expect("expired"), 0);
    assert!(store.grant_remove("left").expect("removed"));
    assert!(!store.grant_remove("left").expect("none"));
    let ids: Vec<_> = store
        .grant_list()
        .expect("read")
        .into_iter()
        .map(|row| row.id)
        .collect();
    assert_eq!(ids, ["always", "later"]);
}

fn the_generation_changes_with_every_change(bench: &Bench<'_>) {
    let store = bench.open();
    let mut last = store.grant_generation();
    let mut moved = |what: &str, expected: bool| {
        let now = store.grant_generation();
        assert_eq!(now > last, expected, "{what}: {last} {now}");
        assert_eq!(store.grant_generation_read().expect("read"), now, "{what}");
        last = now;
    };
    store.grant_put(&grant("g", None)).expect("put");
    moved("put", true);
    store.grant_put(&grant("g", Some(1))).expect("put");
    moved("replaced", true);
    store.grant_expire(1).expect("none");
    moved("nothing expired", false);
    store.grant_remove("none").expect("none");
    moved("nothing removed", false);
    store.grant_remove("g").expect("removed");
    moved("removed", true);
    drop(store);
    assert_eq!(bench.open().grant_generation(), last, "it is kept");
}

fn a_hand_that_takes_more_uses_than_there_are_is_stopped(bench: &Bench<'_>) {
    let store = bench.open();
    store.grant_put(&grant("g", Some(-1))).expect_err("refused");
    assert_eq!(store.grant_list().expect("read"), []);
    store.grant_put(&grant("g", Some(1))).expect("goes on");
}
