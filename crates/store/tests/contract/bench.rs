//! A database of its own for each case, and what cases share.

use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use legation_core::EntityId;
use legation_store::{
    BuildLedger, Committed, DatabaseUrl, Generation, LedgerBatch, LedgerMark, NewLedgerRow, Reader,
    Store, StoreError, StoreOptions,
};
use tempfile::TempDir;

use crate::server::Server;

/// Something every store must do.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Bench<'_>),
}

/// Lists functions as cases.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub(crate) const CASES: &[crate::bench::Case] = &[
            $(crate::bench::Case { name: stringify!($name), run: $name }),+
        ];
    };
}
pub(crate) use cases;

pub(crate) enum Kind<'a> {
    File {
        _folder: TempDir,
        path: PathBuf,
    },
    Server {
        server: &'a Server,
        database: String,
    },
}

/// A database.
pub(crate) struct Bench<'a> {
    pub(crate) kind: Kind<'a>,
}

impl Kind<'static> {
    pub(crate) fn file() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.db");
        Self::File {
            _folder: folder,
            path,
        }
    }
}

impl<'a> Kind<'a> {
    pub(crate) fn server(server: &'a Server) -> Self {
        Self::Server {
            server,
            database: server.database(),
        }
    }
}

impl<'a> Bench<'a> {
    pub(crate) fn new(kind: Kind<'a>) -> Self {
        Self { kind }
    }

    /// Opens the store, again and again where it is on a server.
    pub(crate) fn open(&self) -> Store {
        match &self.kind {
            Kind::File { path, .. } => Store::open(path, StoreOptions::default()).expect("opened"),
            Kind::Server { .. } => Store::connect(&self.url()).expect("connected"),
        }
    }

    pub(crate) fn reader(&self) -> Reader {
        match &self.kind {
            Kind::File { path, .. } => Reader::open(path).expect("opened"),
            Kind::Server { .. } => Reader::connect(&self.url()).expect("connected"),
        }
    }

    /// Changes the database behind the store's back.
    pub(crate) fn tamper(&self, sql: &str) {
        match &self.kind {
            Kind::File { path, .. } => {
                let connection = rusqlite::Connection::open(path).expect("opened");
                connection.execute_batch(sql).expect("changed");
            }
            Kind::Server { server, database } => drop(server.run(database, sql)),
        }
    }

    /// Takes the ledger's first row away behind the store's back.
    pub(crate) fn lose_first_row(&self) {
        match &self.kind {
            Kind::File { path, .. } => {
                let mut rows = path.clone().into_os_string();
                rows.push("-ledger");
                let file = std::fs::OpenOptions::new().write(true).open(rows);
                file.expect("opened")
                    .write_all_at(b"!", 100)
                    .expect("damaged");
            }
            Kind::Server { server, database } => {
                drop(server.run(database, "DELETE FROM ledger WHERE position = 1"));
            }
        }
    }

    pub(crate) fn url(&self) -> DatabaseUrl {
        match &self.kind {
            Kind::File { .. } => panic!("a file has no address"),
            Kind::Server { server, database } => {
                DatabaseUrl::parse(&server.url(database), |_| None).expect("an address")
            }
        }
    }
}

/// Appends to chains as the ledger does, from heads it has read.
pub(crate) struct Writer<'a> {
    pub(crate) store: &'a Store,
    generation: Generation,
    position: i64,
    heads: Vec<(String, i64, i64, [u8; 32])>,
}

/// The rows of a batch, as owned.
pub(crate) struct Made {
    number: i64,
    position: i64,
    seq: i64,
    prev: [u8; 32],
    pub(crate) hash: [u8; 32],
    bytes: Vec<u8>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        let heads = store.ledger_heads().expect("read");
        Self {
            store,
            generation: store.generation().expect("sound"),
            position: store.ledger_position().expect("read"),
            heads: heads
                .into_iter()
                .map(|head| {
                    let hash = head.hash.try_into().expect("a hash");
                    (head.entity.to_string(), head.number, head.seq, hash)
                })
                .collect(),
        }
    }

    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    pub(crate) fn position(&self) -> i64 {
        self.position
    }

    /// Sees to it that an entity has a number.
    pub(crate) fn number(&mut self, entity: &str) {
        if !self.heads.iter().any(|head| head.0 == entity) {
            let number = self.store.ledger_entity(&EntityId::new(entity));
            let number = number.expect("numbered");
            self.heads.push((entity.to_owned(), number, 0, [0; 32]));
        }
    }

    pub(crate) fn make(&mut self, entity: &str, bytes: &[u8]) -> Made {
        static SALT: AtomicUsize = AtomicUsize::new(1);
        self.number(entity);
        self.position += 1;
        let head = self.heads.iter_mut().find(|head| head.0 == entity);
        let (_, number, seq, last) = head.expect("there");
        let mut hash = [7; 32];
        let salt = SALT.fetch_add(1, Ordering::Relaxed);
        hash[..8].copy_from_slice(&salt.to_be_bytes());
        let made = Made {
            number: *number,
            position: self.position,
            seq: *seq + 1,
            prev: *last,
            hash,
            bytes: bytes.to_vec(),
        };
        (*seq, *last) = (made.seq, hash);
        made
    }

    pub(crate) fn append(&self, made: &[Made], mark: bool) -> Result<Committed, StoreError> {
        let rows: Vec<_> = made.iter().map(Made::row).collect();
        let ends: Vec<_> = made
            .iter()
            .map(|row| (row.number, row.seq, row.position))
            .collect();
        let mark = mark.then(|| LedgerMark {
            position: made.last().map_or(0, |row| row.position),
            ends: &ends,
        });
        self.store.ledger_append(&rows, mark, self.generation)
    }

    pub(crate) fn add(&mut self, entity: &str, bytes: &[u8]) {
        let made = [self.make(entity, bytes)];
        let commit = self.append(&made, false).expect("appended");
        self.store.sync(commit).expect("synced");
    }
}

impl Made {
    pub(crate) fn row(&self) -> NewLedgerRow<'_> {
        NewLedgerRow {
            position: self.position,
            entity: self.number,
            seq: self.seq,
            at_ms: 1_000 + self.position,
            prev: &self.prev,
            hash: &self.hash,
            bytes: &self.bytes,
        }
    }
}

/// Adds one row for each claim that holds.
pub(crate) struct PerClaim<'a, 'b> {
    pub(crate) writer: &'b mut Writer<'a>,
    made: Vec<Made>,
}

impl<'a, 'b> PerClaim<'a, 'b> {
    pub(crate) fn new(writer: &'b mut Writer<'a>) -> Self {
        writer.number("a");
        Self {
            writer,
            made: Vec::new(),
        }
    }
}

impl BuildLedger for PerClaim<'_, '_> {
    fn build(&mut self, held: &[bool]) -> LedgerBatch<'_> {
        let held = held.iter().enumerate().filter(|(_, held)| **held);
        self.made = held
            .map(|(index, _)| self.writer.make("a", format!("claim {index}").as_bytes()))
            .collect();
        LedgerBatch {
            rows: self.made.iter().map(Made::row).collect(),
            mark: None,
        }
    }
}
