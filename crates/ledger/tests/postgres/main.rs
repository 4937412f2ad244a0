//! The ledger in a real PostgreSQL: commits cross a network and are made off
//! the runtime, and everything else is as in a file.

#[expect(dead_code, reason = "the store\'s own tests use the rest of it")]
#[path = "../../../store/tests/contract/server.rs"]
mod server;

use std::sync::Arc;

use legation_core::{ClientId, EntityId, ServerName, SystemClock, Via};
use legation_ledger::{
    Claim, Detail, Durability, Evidence, FaultKind, Intent, Ledger, LedgerError, LedgerKeys,
    OutcomeRecord, Status, Verb,
};
use legation_store::{ApprovalRow, ApprovalState, DatabaseUrl, Store};
use server::Server;

/// Calls on each of three runtimes.
const CALLS: usize = 60;

fn open(url: &DatabaseUrl) -> (Arc<Store>, Ledger) {
    let store = Arc::new(Store::connect(url).expect("a store"));
    assert!(store.is_remote());
    let keys = LedgerKeys::from_bytes(&[7; 32]);
    let ledger = Ledger::open(Arc::clone(&store), keys, SystemClock::shared()).expect("a ledger");
    (store, ledger)
}

fn approval() -> ApprovalRow {
    ApprovalRow {
        id: "A1".to_owned(),
        state: ApprovalState::Granted,
        client: "claude".to_owned(),
        seat: "seat".to_owned(),
        server: "files".to_owned(),
        item: "write_file".to_owned(),
        verb: "call_tool".to_owned(),
        entity: "a".to_owned(),
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

/// One call; with a claim, whether it held.
async fn call(ledger: &Ledger, number: usize) -> bool {
    let entity = EntityId::new(["a", "b"][number % 2]);
    let client = ClientId::new("claude");
    let server = ServerName::parse("files").expect("a name");
    let intent = Intent {
        call: ledger.next_call(),
        entity: &entity,
        client: &client,
        via: Via::Http,
        server: Some(&server),
        verb: Verb::CallTool,
        item: "write_file",
        definition: None,
        rule: "personal.own-servers",
        args: Some(b"{}"),
        detail: Detail::default(),
    };
    let claims = number.is_multiple_of(3);
    let ticket = if claims {
        ledger.intent_claiming(&intent, Claim::Approval("A1")).await
    } else {
        ledger.intent(&intent, Durability::Disk).await
    };
    match ticket {
        Ok(ticket) => {
            ledger.outcome(ticket, &OutcomeRecord::bare(Status::Ok));
            claims
        }
        Err(LedgerError::Claimed { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

fn on_a_runtime<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
        .block_on(future)
}

#[test]
fn a_ledger_on_a_server_is_as_good_as_one_in_a_file() {
    let server = Server::start();
    let database = server.database();
    let url = DatabaseUrl::parse(&server.url(&database), |_| None).expect("an address");
    let (store, ledger) = open(&url);
    store.approval_put(&approval()).expect("stored");
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let ledger = ledger.clone();
            std::thread::spawn(move || {
                on_a_runtime(async {
                    let mut calls = tokio::task::JoinSet::new();
                    for number in 0..CALLS {
                        let ledger = ledger.clone();
                        calls.spawn(async move { call(&ledger, number).await });
                    }
                    calls
                        .join_all()
                        .await
                        .into_iter()
                        .filter(|won| *won)
                        .count()
                })
            })
        })
        .collect();
    let won: usize = threads
        .into_iter()
        .map(|thread| thread.join().expect("no panic"))
        .sum();
    assert_eq!(won, 1);
    on_a_runtime(ledger.flush()).expect("flushed");
    assert!(ledger.checkpoint().expect("made").is_some());
    let report = ledger.verify(&Evidence::default()).expect("read");
    assert!(report.is_intact(), "{report:?}");
    let pairs = 3 * (CALLS - CALLS / 3) as u64 + 1;
    assert_eq!((report.pairs, report.open, report.notes), (pairs, 0, 1));
    assert_eq!(report.covered, report.records);
    drop((store, ledger));

    let (_store, ledger) = open(&url);
    assert_eq!(ledger.swept(), 0);
    assert!(
        ledger.checkpoint().expect("asked").is_none(),
        "nothing is new"
    );
    on_a_runtime(async {
        call(&ledger, 1).await;
        ledger.flush().await.expect("flushed");
    });
    let fault = |sql: &str| {
        server.run(&database, sql);
        let report = ledger.verify(&Evidence::default()).expect("read");
        report
            .first()
            .map(|fault| (fault.entity.to_string(), fault.kind))
    };
    let b = "entity = (SELECT number FROM ledger_entities WHERE name = 'b')";
    assert_eq!(fault("SELECT 1"), None);
    assert_eq!(
        fault(&format!(
            "UPDATE ledger SET at_ms = at_ms + 1 WHERE seq = 5 AND {b}"
        )),
        Some(("b".to_owned(), FaultKind::Misplaced))
    );
    assert_eq!(
        fault(&format!(
            "UPDATE ledger SET at_ms = at_ms - 1 WHERE seq = 5 AND {b};
             DELETE FROM ledger WHERE seq > 9 AND {b}"
        )),
        Some(("b".to_owned(), FaultKind::Cut))
    );
}
