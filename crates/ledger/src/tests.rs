//! The ledger, on real files.

mod checkpoints;
mod claims;
mod commit;
mod failure;
mod find;
mod flips;
mod identities;
mod keys;
mod latest;
mod oracle;
mod publish;
mod records;
mod shred;
mod tamper;
mod volume;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use legation_core::{ClientId, EntityId, ServerName, SystemClock, Via};
use legation_store::{Store, StoreOptions};

use crate::*;

/// A data directory.
struct Place {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("state.db");
    Place { _dir: dir, path }
}

fn keys() -> LedgerKeys {
    LedgerKeys::from_bytes(&[7; 32])
}

impl Place {
    fn open(&self) -> (Arc<Store>, Ledger) {
        self.open_with(File::sync_data)
    }

    fn open_with(&self, sync: fn(&File) -> io::Result<()>) -> (Arc<Store>, Ledger) {
        let options = StoreOptions {
            sync,
            ..StoreOptions::default()
        };
        let store = Arc::new(Store::open(&self.path, options).expect("a store"));
        let ledger =
            Ledger::open(Arc::clone(&store), keys(), SystemClock::shared()).expect("a ledger");
        (store, ledger)
    }

    /// As if the store were on another machine.
    fn open_away(&self) -> (Arc<Store>, Ledger) {
        let store = Arc::new(Store::open(&self.path, StoreOptions::default()).expect("a store"));
        let (shared, clock) = (Arc::clone(&store), SystemClock::shared());
        let away = crate::away::Away::new(true);
        let ledger = Ledger::open_with(shared, keys(), clock, away).expect("a ledger");
        (store, ledger)
    }

    fn verify(&self) -> Report {
        LedgerReader::open(&self.path)
            .expect("a reader")
            .records()
            .verify(&Evidence::default())
            .expect("read")
    }

    fn statuses(&self) -> Vec<(Kind, Option<Status>)> {
        let reader = LedgerReader::open(&self.path).expect("a reader");
        reader
            .records()
            .tail(10_000)
            .expect("read")
            .iter()
            .map(|entry| entry.record().expect("a record"))
            .map(|record| (record.kind, record.status))
            .collect()
    }
}

/// Everything an intent borrows.
struct Asked {
    entity: EntityId,
    client: ClientId,
    server: ServerName,
}

fn asked(entity: &str) -> Asked {
    Asked {
        entity: EntityId::new(entity),
        client: ClientId::new("claude"),
        server: ServerName::parse("files").expect("a name"),
    }
}

impl Asked {
    fn intent(&self, ledger: &Ledger) -> Intent<'_> {
        Intent {
            call: ledger.next_call(),
            entity: &self.entity,
            client: &self.client,
            via: Via::Socket,
            server: Some(&self.server),
            verb: Verb::CallTool,
            item: "read_file",
            definition: Some(&[0xd0; 32]),
            rule: "personal.own-servers",
            args: Some(br#"{"path":"/etc/hosts"}"#),
            detail: Detail::default(),
        }
    }
}

async fn one_call(ledger: &Ledger, asked: &Asked, durability: Durability) {
    let ticket = ledger
        .intent(&asked.intent(ledger), durability)
        .await
        .expect("recorded");
    ledger.outcome(ticket, &OutcomeRecord::bare(Status::Ok));
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
        .block_on(future)
}
