//! Claims: what a record needs is used up with it, or the record is not there.

use legation_core::EntityId;
use legation_store::{ApprovalState, Claim, GrantRow, ProposalState, StoreError};

use crate::approvals::approval;
use crate::bench::{Bench, PerClaim, Writer, cases};
use crate::grants::grant;
use crate::proposals::proposal;

cases!(
    a_claim_that_fails_loses_only_its_own_record,
    each_kind_needs_its_state_and_its_time,
    without_claims_it_is_an_append,
    claims_of_a_past_generation_use_up_nothing,
    of_thirty_two_who_want_one_use_one_gets_it,
    a_deny_and_a_use_that_race_do_not_both_count,
    the_last_use_changes_the_generation,
    rows_that_cannot_be_added_leave_the_claim,
);

const NOW: i64 = 5_000;

fn grant_claim(id: &str) -> Claim<'_> {
    Claim::Grant { id, now_ms: NOW }
}

fn a_claim_that_fails_loses_only_its_own_record(bench: &Bench<'_>) {
    let store = bench.open();
    store.grant_put(&grant("two", Some(2))).expect("put");
    let mut writer = Writer::new(&store);
    let claims = ["two", "none", "two", "two"].map(grant_claim);
    let generation = writer.generation();
    let (held, commit) = store
        .ledger_commit(&claims, generation, &mut PerClaim::new(&mut writer))
        .expect("committed");
    store.sync(commit).expect("synced");
    assert_eq!(held, [true, false, true, false]);
    let rows = store.reader().ledger_after(0, 10).expect("read");
    let texts: Vec<_> = rows.iter().map(|row| row.bytes.as_slice()).collect();
    assert_eq!(texts, [b"claim 0", b"claim 2"]);
    assert_eq!(store.grant_list().expect("read"), [grant("two", Some(0))]);
    drop(store);
    assert_eq!(bench.open().ledger_position().expect("read"), 2);
}

fn each_kind_needs_its_state_and_its_time(bench: &Bench<'_>) {
    let store = bench.open();
    for (id, uses, expires_ms) in [
        ("always", None, None),
        ("in time", Some(1), Some(NOW + 1)),
        ("over", Some(1), Some(NOW)),
        ("used up", Some(0), None),
    ] {
        let row = GrantRow {
            expires_ms,
            ..grant(id, uses)
        };
        store.grant_put(&row).expect("put");
    }
    for state in ApprovalState::ALL.iter().copied() {
        let mut row = approval(state.as_str());
        row.state = state;
        store.approval_put(&row).expect("put");
    }
    for state in ProposalState::ALL.iter().copied() {
        let mut row = proposal(state.as_str());
        row.state = state;
        store.proposal_put(&row).expect("put");
    }
    let mut claims: Vec<_> = ["always", "always", "in time", "over", "used up"]
        .map(grant_claim)
        .into();
    let mut expected = vec![true, true, true, false, false];
    for state in ApprovalState::ALL.iter().copied() {
        let id = state.as_str();
        claims.push(Claim::Approval { id, now_ms: NOW });
        expected.push(state == ApprovalState::Granted);
    }
    for state in ProposalState::ALL.iter().copied() {
        let id = state.as_str();
        claims.push(Claim::Proposal { id, now_ms: NOW });
        expected.push(state == ProposalState::Certified);
    }
    // The same again: they are used up, or their time is over.
    for now_ms in [NOW, 10_000] {
        claims.push(Claim::Approval {
            id: "granted",
            now_ms,
        });
        claims.push(Claim::Proposal {
            id: "certified",
            now_ms,
        });
        expected.extend([false, false]);
    }
    let mut writer = Writer::new(&store);
    let generation = writer.generation();
    let (held, _) = store
        .ledger_commit(&claims, generation, &mut PerClaim::new(&mut writer))
        .expect("committed");
    assert_eq!(held, expected, "{claims:#?}");
    let used = store.approval_get("granted").expect("read").expect("there");
    assert_eq!(used.state, ApprovalState::Consumed);
    let applied = store
        .proposal_get("certified")
        .expect("read")
        .expect("there");
    assert_eq!(applied.state, ProposalState::Applied);
}

fn without_claims_it_is_an_append(bench: &Bench<'_>) {
    let store = bench.open();
    let mut writer = Writer::new(&store);
    let generation = writer.generation();
    let (held, _) = store
        .ledger_commit(&[], generation, &mut PerClaim::new(&mut writer))
        .expect("committed");
    assert!(held.is_empty());
    assert_eq!(store.ledger_position().expect("read"), 0);
}

fn claims_of_a_past_generation_use_up_nothing(bench: &Bench<'_>) {
    let store = bench.open();
    store.grant_put(&grant("g", Some(1))).expect("put");
    let mut writer = Writer::new(&store);
    writer.add("a", b"first");
    let past = writer.generation();
    // The same row again is refused, and the ends must be read anew.
    let again = Writer::new(&store).make("a", b"second");
    writer.add("a", b"second");
    let twice = Writer::new(&store);
    assert!(twice.append(&[again], false).is_err());
    let mut after = Writer::new(&store);
    assert_ne!(after.generation(), past);
    let refused = store.ledger_commit(&[grant_claim("g")], past, &mut PerClaim::new(&mut after));
    assert!(matches!(refused, Err(StoreError::Reopened)), "{refused:?}");
    assert_eq!(store.grant_list().expect("read"), [grant("g", Some(1))]);
}

fn of_thirty_two_who_want_one_use_one_gets_it(bench: &Bench<'_>) {
    let store = bench.open();
    store.grant_put(&grant("g", Some(1))).expect("put");
    store.ledger_entity(&EntityId::new("a")).expect("numbered");
    let held: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..32)
            .map(|_| scope.spawn(|| usize::from(claim_until_told(&store, "g"))))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("ended"))
            .sum()
    });
    assert_eq!(held, 1);
    assert_eq!(store.grant_list().expect("read"), [grant("g", Some(0))]);
    assert_eq!(store.ledger_position().expect("read"), 1);
}

/// Claims, and reads the ends anew for as long as another was quicker.
fn claim_until_told(store: &legation_store::Store, id: &str) -> bool {
    for _ in 0..1_000 {
        let mut writer = Writer::new(store);
        let generation = writer.generation();
        let claims = [grant_claim(id)];
        match store.ledger_commit(&claims, generation, &mut PerClaim::new(&mut writer)) {
            Ok((held, _)) => return held[0],
            Err(StoreError::Reopened | StoreError::Failed { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("never told");
}

fn a_deny_and_a_use_that_race_do_not_both_count(bench: &Bench<'_>) {
    let store = bench.open();
    store.ledger_entity(&EntityId::new("a")).expect("numbered");
    for round in 0..10 {
        let id = format!("{round}");
        let mut row = approval(&id);
        row.state = ApprovalState::Granted;
        store.approval_put(&row).expect("put");
        let (denied, used) = std::thread::scope(|scope| {
            let deny = scope.spawn(|| {
                store
                    .approval_decide(&id, ApprovalState::Denied, "person", NOW)
                    .expect("tried")
            });
            let mut writer = Writer::new(&store);
            let generation = writer.generation();
            let claim = Claim::Approval {
                id: &id,
                now_ms: NOW,
            };
            let (held, _) = store
                .ledger_commit(&[claim], generation, &mut PerClaim::new(&mut writer))
                .expect("committed");
            (deny.join().expect("ended"), held[0])
        });
        assert_ne!(denied, used, "{round}");
        let found = store.approval_get(&id).expect("read").expect("there");
        let expected = match used {
            true => ApprovalState::Consumed,
            false => ApprovalState::Denied,
        };
        assert_eq!(found.state, expected);
    }
}

fn the_last_use_changes_the_generation(bench: &Bench<'_>) {
    let store = bench.open();
    store.grant_put(&grant("g", Some(2))).expect("put");
    let mut writer = Writer::new(&store);
    let before = store.grant_generation();
    let mut claim = || {
        let generation = writer.generation();
        store
            .ledger_commit(
                &[grant_claim("g")],
                generation,
                &mut PerClaim::new(&mut writer),
            )
            .expect("committed")
            .0
    };
    assert_eq!(claim(), [true]);
    assert_eq!(store.grant_generation(), before);
    assert_eq!(claim(), [true]);
    let after = store.grant_generation();
    assert!(after > before);
    assert_eq!(store.grant_generation_read().expect("read"), after);
}

fn rows_that_cannot_be_added_leave_the_claim(bench: &Bench<'_>) {
    let store = bench.open();
    store.grant_put(&grant("g", Some(1))).expect("put");
    let mut behind = Writer::new(&store);
    behind.number("a");
    Writer::new(&store).add("a", b"first");
    let generation = behind.generation();
    store
        .ledger_commit(
            &[grant_claim("g")],
            generation,
            &mut PerClaim::new(&mut behind),
        )
        .expect_err("the place is taken");
    assert_eq!(store.grant_list().expect("read"), [grant("g", Some(1))]);
    assert_eq!(store.ledger_position().expect("read"), 1);
}
