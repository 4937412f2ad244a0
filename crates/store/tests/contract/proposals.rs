//! Proposals: unchangeable but for their state.

use legation_store::{ProposalRow, ProposalState};

use crate::bench::{Bench, cases};

cases!(
    every_column_comes_back,
    neither_id_nor_idempotency_key_is_taken_twice,
    only_the_plan_that_was_shown_is_certified,
    moves_are_those_of_the_table,
    expiry_ends_what_was_not_applied,
);

const NOW: i64 = 5_000;

pub(crate) fn proposal(id: &str) -> ProposalRow {
    ProposalRow {
        id: id.to_owned(),
        state: ProposalState::Proposed,
        client: "claude".to_owned(),
        entity: "olive".to_owned(),
        digest: [6; 32],
        created_ms: 1_000,
        expires_ms: 10_000,
        certified_by: None,
        certified_ms: None,
        idempotency_key: format!("key of {id}"),
        plan: b"sealed".to_vec(),
    }
}

fn every_column_comes_back(bench: &Bench<'_>) {
    let store = bench.open();
    let full = ProposalRow {
        state: ProposalState::Certified,
        certified_by: Some("person".to_owned()),
        certified_ms: Some(2),
        ..proposal("full")
    };
    for row in [&proposal("bare"), &full] {
        assert!(store.proposal_put(row).expect("put"));
    }
    drop(store);
    let store = bench.open();
    assert_eq!(
        store.proposal_get("full").expect("read"),
        Some(full.clone())
    );
    assert_eq!(store.proposal_get("none").expect("read"), None);
    let by_key = store.proposal_by_key("key of bare").expect("read");
    assert_eq!(by_key, Some(proposal("bare")));
    let all = store.proposal_list(None).expect("read");
    assert_eq!(all, [proposal("bare"), full.clone()]);
    let certified = store.proposal_list(Some(ProposalState::Certified));
    assert_eq!(certified.expect("read"), [full]);
}

fn neither_id_nor_idempotency_key_is_taken_twice(bench: &Bench<'_>) {
    let store = bench.open();
    assert!(store.proposal_put(&proposal("a")).expect("put"));
    let same_id = ProposalRow {
        idempotency_key: "another".to_owned(),
        ..proposal("a")
    };
    let same_key = ProposalRow {
        idempotency_key: "key of a".to_owned(),
        ..proposal("b")
    };
    for row in [same_id, same_key] {
        assert!(!store.proposal_put(&row).expect("refused"));
    }
    assert_eq!(store.proposal_list(None).expect("read"), [proposal("a")]);
}

fn only_the_plan_that_was_shown_is_certified(bench: &Bench<'_>) {
    let store = bench.open();
    store.proposal_put(&proposal("a")).expect("put");
    let certify = |digest, now| store.proposal_certify("a", &digest, "person", now);
    assert!(!certify([0; 32], NOW).expect("refused"));
    assert!(!certify([6; 32], 10_000).expect("too late"));
    assert!(certify([6; 32], NOW).expect("certified"));
    assert!(!certify([6; 32], NOW).expect("once"));
    let found = store.proposal_get("a").expect("read").expect("there");
    let by = (found.certified_by.as_deref(), found.certified_ms);
    assert_eq!(by, (Some("person"), Some(NOW)));
}

fn moves_are_those_of_the_table(bench: &Bench<'_>) {
    use ProposalState::{Certified, Expired, Proposed, Rejected, Voided};
    let store = bench.open();
    for from in ProposalState::ALL.iter().copied() {
        for to in ProposalState::ALL.iter().copied() {
            let id = format!("{from} {to}");
            let row = ProposalRow {
                state: from,
                ..proposal(&id)
            };
            store.proposal_put(&row).expect("put");
            let expected =
                matches!(from, Proposed | Certified) && matches!(to, Rejected | Expired | Voided);
            assert_eq!(
                store.proposal_state(&id, to).expect("tried"),
                expected,
                "{id}"
            );
            let found = store.proposal_get(&id).expect("read").expect("there");
            assert_eq!(found.state, if expected { to } else { from }, "{id}");
        }
    }
}

fn expiry_ends_what_was_not_applied(bench: &Bench<'_>) {
    let store = bench.open();
    for state in ProposalState::ALL.iter().copied() {
        let row = ProposalRow {
            state,
            expires_ms: NOW,
            ..proposal(state.as_str())
        };
        store.proposal_put(&row).expect("put");
    }
    assert_eq!(store.proposal_expire(NOW - 1).expect("expired"), 0);
    assert_eq!(store.proposal_expire(NOW).expect("expired"), 2);
    assert_eq!(store.proposal_purge(1_000).expect("removed"), 0);
    assert_eq!(store.proposal_purge(1_001).expect("removed"), 6);
}
