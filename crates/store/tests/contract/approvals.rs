//! Approvals: compare-and-set, expiry, and two who race.

use legation_store::{ApprovalRow, ApprovalState};

use crate::bench::{Bench, cases};
use crate::grants::grant;

cases!(
    every_column_comes_back,
    an_approval_is_added_once,
    moves_are_those_of_the_table,
    a_decision_after_the_end_does_not_count,
    expiry_ends_what_is_undecided_or_unused,
    old_ones_are_removed_but_none_that_may_still_count,
    a_grant_comes_with_its_approval_or_not_at_all,
    of_two_who_race_a_deny_wins,
);

const NOW: i64 = 5_000;

pub(crate) fn approval(id: &str) -> ApprovalRow {
    ApprovalRow {
        id: id.to_owned(),
        state: ApprovalState::Pending,
        client: "claude".to_owned(),
        seat: "seat-1".to_owned(),
        server: "mail".to_owned(),
        item: "send".to_owned(),
        verb: "call".to_owned(),
        entity: "olive".to_owned(),
        definition: Some([1; 32]),
        args_digest: [2; 32],
        policy_version: 3,
        created_ms: 1_000,
        expires_ms: 10_000,
        decided_ms: None,
        decided_by: None,
        detail: vec![0, 255, 7],
    }
}

fn every_column_comes_back(bench: &Bench<'_>) {
    let store = bench.open();
    let full = ApprovalRow {
        state: ApprovalState::Denied,
        decided_ms: Some(1),
        decided_by: Some("Zoë".to_owned()),
        ..approval("full")
    };
    let bare = ApprovalRow {
        definition: None,
        detail: Vec::new(),
        created_ms: 1_001,
        ..approval("bare")
    };
    for row in [&bare, &full] {
        assert!(store.approval_put(row).expect("put"));
    }
    drop(store);
    let store = bench.open();
    assert_eq!(
        store.approval_get("full").expect("read"),
        Some(full.clone())
    );
    assert_eq!(
        store.approval_get("bare").expect("read"),
        Some(bare.clone())
    );
    assert_eq!(store.approval_get("none").expect("read"), None);
    assert_eq!(
        store.approval_list(None).expect("read"),
        [full, bare.clone()]
    );
    let pending = store.approval_list(Some(ApprovalState::Pending));
    assert_eq!(pending.expect("read"), [bare]);
}

fn an_approval_is_added_once(bench: &Bench<'_>) {
    let store = bench.open();
    assert!(store.approval_put(&approval("a")).expect("put"));
    let other = ApprovalRow {
        client: "codex".to_owned(),
        ..approval("a")
    };
    assert!(!store.approval_put(&other).expect("refused"));
    assert_eq!(store.approval_get("a").expect("read"), Some(approval("a")));
}

fn moves_are_those_of_the_table(bench: &Bench<'_>) {
    use ApprovalState::{Consumed, Denied, Expired, Granted, Pending, Voided};
    let store = bench.open();
    for from in ApprovalState::ALL.iter().copied() {
        for to in ApprovalState::ALL.iter().copied() {
            let id = format!("{from} {to}");
            let row = ApprovalRow {
                state: from,
                ..approval(&id)
            };
            assert!(store.approval_put(&row).expect("put"));
            let expected = match (from, to) {
                (Pending, Granted) => true,
                (Pending | Granted, Denied | Voided | Expired) => true,
                (Denied | Consumed | Expired | Voided, _)
                | (_, Pending | Consumed)
                | (Granted, Granted) => false,
            };
            let moved = store
                .approval_decide(&id, to, "person", NOW)
                .expect("tried");
            assert_eq!(moved, expected, "{id}");
            let found = store.approval_get(&id).expect("read").expect("there");
            assert_eq!(found.state, if expected { to } else { from }, "{id}");
            let by = expected.then(|| ("person".to_owned(), NOW));
            assert_eq!(found.decided_by.zip(found.decided_ms), by, "{id}");
        }
    }
    let none = store.approval_decide("none", Granted, "person", NOW);
    assert!(!none.expect("tried"));
}

fn a_decision_after_the_end_does_not_count(bench: &Bench<'_>) {
    let store = bench.open();
    store.approval_put(&approval("a")).expect("put");
    let late = |to| {
        store
            .approval_decide("a", to, "person", 10_000)
            .expect("tried")
    };
    assert!(!late(ApprovalState::Granted));
    assert!(late(ApprovalState::Denied), "a deny always counts");
}

fn expiry_ends_what_is_undecided_or_unused(bench: &Bench<'_>) {
    let store = bench.open();
    for (id, state, expires_ms) in [
        ("pending", ApprovalState::Pending, NOW),
        ("granted", ApprovalState::Granted, NOW),
        ("denied", ApprovalState::Denied, NOW),
        ("later", ApprovalState::Pending, NOW + 1),
    ] {
        let row = ApprovalRow {
            state,
            expires_ms,
            ..approval(id)
        };
        store.approval_put(&row).expect("put");
    }
    assert_eq!(store.approval_expire(NOW - 1).expect("expired"), 0);
    assert_eq!(store.approval_expire(NOW).expect("expired"), 2);
    let expired = store.approval_list(Some(ApprovalState::Expired));
    let ids: Vec<_> = expired
        .expect("read")
        .into_iter()
        .map(|row| row.id)
        .collect();
    assert_eq!(ids, ["granted", "pending"]);
}

fn old_ones_are_removed_but_none_that_may_still_count(bench: &Bench<'_>) {
    let store = bench.open();
    for state in ApprovalState::ALL.iter().copied() {
        for created_ms in [1, 2] {
            let row = ApprovalRow {
                state,
                created_ms,
                ..approval(&format!("{state} {created_ms}"))
            };
            store.approval_put(&row).expect("put");
        }
    }
    assert_eq!(store.approval_purge(2).expect("removed"), 4);
    assert_eq!(store.approval_list(None).expect("read").len(), 8);
}

fn a_grant_comes_with_its_approval_or_not_at_all(bench: &Bench<'_>) {
    let store = bench.open();
    store.approval_put(&approval("a")).expect("put");
    let before = store.grant_generation();
    let given = |id| store.approval_grant("a", "person", NOW, &grant(id, None));
    assert!(given("first").expect("given"));
    assert!(store.grant_generation() > before);
    assert!(!given("second").expect("refused"));
    let ids: Vec<_> = store
        .grant_list()
        .expect("read")
        .into_iter()
        .map(|row| row.id)
        .collect();
    assert_eq!(ids, ["first"]);
    let found = store.approval_get("a").expect("read").expect("there");
    assert_eq!(found.state, ApprovalState::Granted);
}

fn of_two_who_race_a_deny_wins(bench: &Bench<'_>) {
    let store = bench.open();
    for round in 0..10 {
        let id = format!("{round}");
        store.approval_put(&approval(&id)).expect("put");
        let decide = |to| {
            let (store, id) = (&store, &id);
            move || store.approval_decide(id, to, "person", NOW).expect("tried")
        };
        std::thread::scope(|scope| {
            scope.spawn(decide(ApprovalState::Granted));
            let denied = scope.spawn(decide(ApprovalState::Denied));
            assert!(denied.join().expect("ended"));
        });
        let found = store.approval_get(&id).expect("read").expect("there");
        assert_eq!(found.state, ApprovalState::Denied);
    }
}
