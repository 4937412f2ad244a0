//! What a record costs: `cost [CALLS]` records so many calls (two records each)
//! with 32 callers on one thread, verifies them, and prints nanoseconds.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use legation_core::{ClientId, EntityId, ServerName, SystemClock, Via};
use legation_ledger::{
    Detail, Durability, Intent, Ledger, LedgerKeys, OutcomeRecord, Status, Verb,
};
use legation_store::{Store, StoreOptions};

const CALLERS: u32 = 32;
const RESULT: &[u8] =
    br#"{"content":[{"type":"text","text":"127.0.0.1 localhost\n::1 localhost"}],"isError":false}"#;

fn main() {
    let calls: u32 = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(200_000);
    let dir = tempfile::tempdir().expect("a folder");
    let store =
        Store::open(&dir.path().join("state.db"), StoreOptions::default()).expect("a store");
    let clock = SystemClock::shared();
    let ledger = Ledger::open(
        Arc::new(store),
        LedgerKeys::from_bytes(&[7; 32]),
        clock.clone(),
    )
    .expect("a ledger");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let start = clock.now();
    runtime.block_on(async {
        let mut callers = tokio::task::JoinSet::new();
        for _ in 0..CALLERS {
            let ledger = ledger.clone();
            callers.spawn(async move { many(&ledger, calls / CALLERS).await });
        }
        callers.join_all().await;
        ledger.flush().await.expect("flushed");
    });
    let records = f64::from(calls / CALLERS * CALLERS * 2);
    say("record", clock.now() - start, records);
    let start = clock.now();
    let report = ledger
        .verify(&legation_ledger::Evidence::default())
        .expect("read");
    say("verify", clock.now() - start, report.records as f64);
    assert!(report.is_intact(), "{report:?}");
}

async fn many(ledger: &Ledger, calls: u32) {
    let entity = EntityId::personal();
    let client = ClientId::new("claude");
    let server = ServerName::parse("files").expect("a name");
    for _ in 0..calls {
        let intent = Intent {
            call: ledger.next_call(),
            entity: &entity,
            client: &client,
            via: Via::Http,
            server: Some(&server),
            verb: Verb::CallTool,
            item: "read_file",
            definition: Some(&[0xd0; 32]),
            rule: "personal.own-servers",
            detail: Detail::default(),
            args: Some(br#"{"path":"/etc/hosts"}"#),
        };
        let ticket = ledger
            .intent(&intent, Durability::PageCache)
            .await
            .expect("recorded");
        tokio::task::yield_now().await;
        let outcome = OutcomeRecord {
            status: Status::Ok,
            code: None,
            result: Some(RESULT),
            detail: Detail::default(),
        };
        ledger.outcome(ticket, &outcome);
    }
}

fn say(what: &str, took: Duration, records: f64) {
    let each = took.as_nanos() as f64 / records;
    let line = format!(
        "{what}: {records} records, {each:.0} ns each, {:.0} a second\n",
        1e9 / each
    );
    std::io::stdout()
        .write_all(line.as_bytes())
        .expect("written");
}
