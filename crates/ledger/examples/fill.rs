//! Fills the ledger of a data directory: `fill HOME CALLS` records so many calls (two records each),
//! spread over the last thirty days, under the keys that its hub has. The hub must not run.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use legation_core::clock::ManualClock;
use legation_core::{ClientId, EntityId, ServerName, SharedClock, SystemClock, Via, Wall};
use legation_keystore::Keystore;
use legation_ledger::{
    Detail, Durability, Intent, Ledger, LedgerKeys, OutcomeRecord, Status, Verb,
};
use legation_store::{Store, StoreOptions};

const CALLERS: u32 = 32;
const DAYS: u64 = 30;
const ENTITIES: [&str; 3] = ["harbor", "meadow", "personal"];
const CLIENTS: [&str; 4] = ["claude", "codex", "copilot", "owner"];
const TOOLS: [(&str, &str); 6] = [
    ("files", "read_file"),
    ("files", "write_file"),
    ("desk", "mail_list"),
    ("desk", "morning_brief"),
    ("books", "list_invoices"),
    ("teams", "send"),
];
const RESULT: &[u8] = br#"{"content":[{"type":"text","text":"done"}],"isError":false}"#;

fn main() {
    let mut words = std::env::args().skip(1);
    let home = words.next().expect("a data directory");
    let calls = words.next().and_then(|word| word.parse().ok());
    let calls: u32 = calls.expect("how many calls");
    let home = Path::new(&home);
    let store = Store::open(&home.join("state.db"), StoreOptions::default()).expect("its store");
    let keystore = Keystore::open(&home.join("keys")).expect("its keys");
    let span = Duration::from_secs(DAYS * 24 * 3600);
    let now = SystemClock::shared().wall();
    let span_ms = i64::try_from(span.as_millis()).expect("a month");
    let clock = Arc::new(ManualClock::at(Wall(now.0 - span_ms)));
    let ledger = Ledger::open(
        Arc::new(store),
        LedgerKeys::kept_in(Arc::new(keystore)),
        Arc::clone(&clock) as SharedClock,
    )
    .expect("its ledger");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let each = calls.div_ceil(CALLERS);
    let step = span / (each * CALLERS);
    runtime.block_on(async {
        let mut callers = tokio::task::JoinSet::new();
        for caller in 0..CALLERS {
            let (ledger, clock) = (ledger.clone(), Arc::clone(&clock));
            callers.spawn(async move {
                for n in 0..each {
                    clock.advance(step);
                    record(&ledger, (caller + n * CALLERS) as usize).await;
                }
            });
        }
        callers.join_all().await;
        ledger.flush().await.expect("flushed");
    });
}

async fn record(ledger: &Ledger, n: usize) {
    let (server, item) = TOOLS[n % TOOLS.len()];
    let intent = Intent {
        call: ledger.next_call(),
        entity: &EntityId::new(ENTITIES[n % ENTITIES.len()]),
        client: &ClientId::new(CLIENTS[n / 7 % CLIENTS.len()]),
        via: Via::Http,
        server: Some(&ServerName::parse(server).expect("a name")),
        verb: Verb::CallTool,
        item,
        definition: Some(&[0xd0; 32]),
        rule: "personal.own-servers",
        detail: Detail::default(),
        args: Some(br#"{"path":"/notes"}"#),
    };
    let ticket = ledger.intent(&intent, Durability::PageCache).await;
    tokio::task::yield_now().await;
    let outcome = OutcomeRecord {
        status: match n % 50 {
            0 => Status::ToolError,
            _ => Status::Ok,
        },
        code: None,
        result: Some(RESULT),
        detail: Detail::default(),
    };
    ledger.outcome(ticket.expect("recorded"), &outcome);
}
