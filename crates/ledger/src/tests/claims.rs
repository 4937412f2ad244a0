//! Intents that use something up, in one transaction with it.

use legation_store::{ApprovalRow, ApprovalState, GrantRow};

use super::*;

fn approval(id: &str, entity: &str) -> ApprovalRow {
    ApprovalRow {
        id: id.to_owned(),
        state: ApprovalState::Granted,
        client: "claude".to_owned(),
        seat: "seat".to_owned(),
        server: "files".to_owned(),
        item: "write_file".to_owned(),
        verb: "call_tool".to_owned(),
        entity: entity.to_owned(),
        definition: None,
        args_digest: [0; 32],
        policy_version: 1,
        created_ms: 0,
        expires_ms: i64::MAX,
        decided_ms: Some(0),
        decided_by: Some("owner".to_owned()),
        detail: Vec::new(),
    }
}

fn grant(id: &str, uses: i64) -> GrantRow {
    GrantRow {
        id: id.to_owned(),
        client: "claude".to_owned(),
        on_behalf_of: None,
        server: "files".to_owned(),
        item: "write_file".to_owned(),
        verb: "call_tool".to_owned(),
        entity: "a".to_owned(),
        definition: None,
        args_digest: None,
        rung: "execute".to_owned(),
        policy_version: None,
        scope: "once".to_owned(),
        seat: None,
        workspace: None,
        created_ms: 0,
        expires_ms: None,
        uses_left: Some(uses),
        approval: None,
        approver: "owner".to_owned(),
        mac: [0; 32],
    }
}

/// How many of `calls` callers on each of three runtimes got a ticket.
fn race(ledger: &Ledger, calls: usize, claim: Claim<'static>) -> usize {
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let ledger = ledger.clone();
            std::thread::spawn(move || {
                block_on(async {
                    let mut racing = tokio::task::JoinSet::new();
                    for call in 0..calls {
                        let ledger = ledger.clone();
                        racing.spawn(async move {
                            let asked = asked(["a", "b"][call % 2]);
                            if call % 5 == 4 {
                                // Others' calls are not held up or lost by it.
                                one_call(&ledger, &asked, Durability::PageCache).await;
                                return 0;
                            }
                            let intent = asked.intent(&ledger);
                            match ledger.intent_claiming(&intent, claim).await {
                                Ok(ticket) => {
                                    ledger.outcome(ticket, &OutcomeRecord::bare(Status::Ok));
                                    1
                                }
                                Err(LedgerError::Claimed { .. }) => 0,
                                Err(error) => panic!("{error}"),
                            }
                        });
                    }
                    racing.join_all().await.into_iter().sum::<usize>()
                })
            })
        })
        .collect();
    let won = threads
        .into_iter()
        .map(|thread| thread.join().expect("no panic"));
    won.sum()
}

#[test]
fn a_thousand_callers_of_one_approval_get_one_ticket() {
    let place = place();
    let (store, ledger) = place.open();
    store.approval_put(&approval("A1", "a")).expect("stored");
    assert_eq!(race(&ledger, 400, Claim::Approval("A1")), 1);
    block_on(ledger.flush()).expect("flushed");
    let report = place.verify();
    assert!(report.is_intact(), "{report:?}");
    // Of those that lost nothing is recorded.
    assert_eq!((report.pairs, report.open), (1 + 3 * 80, 0));
    let state = store
        .approval_get("A1")
        .expect("read")
        .expect("there")
        .state;
    assert_eq!(state, ApprovalState::Consumed);
    let claims: Vec<_> = ledger
        .tail(10_000)
        .expect("read")
        .iter()
        .filter_map(|entry| entry.record()?.approval)
        .collect();
    assert_eq!(claims, ["A1"]);
    let error =
        block_on(ledger.intent_claiming(&asked("a").intent(&ledger), Claim::Approval("A1")));
    let error = error.expect_err("used up");
    assert_eq!(
        error.to_string(),
        "the approval A1 cannot be used any more; the call was not recorded"
    );
}

#[test]
fn a_grant_has_as_many_tickets_as_uses() {
    let place = place();
    let (store, ledger) = place.open();
    store.grant_put(&grant("G1", 7)).expect("stored");
    assert_eq!(race(&ledger, 50, Claim::Grant("G1")), 7);
    assert_eq!(race(&ledger, 5, Claim::Grant("G2")), 0);
    block_on(ledger.flush()).expect("flushed");
    assert!(place.verify().is_intact());
}

#[test]
fn what_could_not_be_recorded_uses_nothing_up() {
    let place = place();
    let (store, ledger) = place.open();
    store.grant_put(&grant("G1", 1)).expect("stored");
    store.approval_put(&approval("A1", "a")).expect("stored");
    store.limit_pages(Some(1)).expect("limited");
    let asked = asked("a");
    block_on(async {
        // Until what room the pages have is full.
        for filler in ["x".repeat(4_000), String::new()] {
            let note = Note::new(&asked.entity, "filler", &filler);
            while ledger.note(&note).await.is_ok() {}
        }
        for claim in [Claim::Grant("G1"), Claim::Approval("A1")] {
            let full = ledger.intent_claiming(&asked.intent(&ledger), claim).await;
            assert!(matches!(full, Err(LedgerError::Write { .. })), "{full:?}");
        }
        store.limit_pages(None).expect("lifted");
        for claim in [Claim::Grant("G1"), Claim::Approval("A1")] {
            let intent = asked.intent(&ledger);
            let ticket = ledger.intent_claiming(&intent, claim).await.expect("room");
            ledger.outcome(ticket, &OutcomeRecord::bare(Status::Ok));
        }
        ledger.flush().await.expect("flushed");
    });
    let report = place.verify();
    assert!(report.is_intact(), "{report:?}");
    assert_eq!((report.pairs, report.open), (2, 0));
}
