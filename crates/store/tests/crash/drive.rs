//! The run that is traced: records, grants that are used up, approvals that
//! are denied, counters; closed and opened again between.
//!
//! What it was told is done it says aloud, one line a fact, in a file whose
//! writes stand in the trace between those of the store:
//! `ledger POSITION`, `counter VALUE`, `denied ID`, `granted ID`.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use legation_core::EntityId;
use legation_store::{
    ApprovalRow, ApprovalState, BuildLedger, Claim, Committed, GrantRow, LedgerBatch, LedgerMark,
    NewLedgerRow, Store, StoreOptions,
};

use crate::random::Random;

/// The database, and the file of facts.
pub(crate) const DATABASE: &str = "state.db";
pub(crate) const FACTS: &str = "facts";

/// Uses of every grant.
pub(crate) const USES: i64 = 3;

const ENTITIES: [&str; 3] = ["a", "b", "c"];

/// So few pages in the log that it starts over again and again.
const LOG_PAGES: u32 = 48;

/// How many rounds the store is open for at a time.
const SESSION: usize = 60;

struct Driver {
    store: Store,
    facts: File,
    random: Random,
    chains: Chains,
    grants: Vec<String>,
    approvals: usize,
}

/// The ends of the chains, and the rows of the commit at hand.
struct Chains {
    heads: Vec<Head>,
    position: i64,
    made: Vec<Made>,
    ends: Vec<(i64, i64, i64)>,
}

struct Head {
    number: i64,
    seq: i64,
    position: i64,
    hash: [u8; 32],
}

struct Made {
    number: i64,
    position: i64,
    seq: i64,
    prev: [u8; 32],
    hash: [u8; 32],
    bytes: Vec<u8>,
}

/// Rows that are added, with a claim only if it holds.
struct Rows<'a> {
    chains: &'a mut Chains,
    /// Which chain, and what.
    texts: Vec<(usize, Vec<u8>)>,
    mark: bool,
}

/// A hash that is good enough against accidents.
pub(crate) fn hash(prev: &[u8], bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    for (index, part) in out.chunks_mut(8).enumerate() {
        let mut mixed = Random::new(index as u64 + 1);
        for chunk in prev.chunks(8).chain(bytes.chunks(8)) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            mixed = Random::new(mixed.next() ^ u64::from_le_bytes(word) ^ chunk.len() as u64);
        }
        part.copy_from_slice(&mixed.next().to_le_bytes());
    }
    out
}

pub(crate) fn options() -> StoreOptions {
    StoreOptions {
        log_pages: LOG_PAGES,
        ..StoreOptions::default()
    }
}

pub(crate) fn drive(folder: &Path, seed: u64, rounds: usize) {
    let mut facts = File::create(folder.join(FACTS)).expect("made");
    let mut random = Random::new(seed);
    let mut left = rounds;
    let mut grants = Vec::new();
    let mut approvals = 0;
    while left > 0 {
        let store = Store::open(&folder.join(DATABASE), options()).expect("opened");
        let mut driver = Driver::new(store, facts, random, grants, approvals);
        let session = left.min(SESSION);
        for _ in 0..session {
            driver.round();
        }
        left -= session;
        Driver {
            facts,
            random,
            grants,
            approvals,
            ..
        } = driver;
    }
}

impl Driver {
    fn new(
        store: Store,
        facts: File,
        random: Random,
        grants: Vec<String>,
        approvals: usize,
    ) -> Self {
        for entity in ENTITIES {
            let entity = EntityId::new(entity);
            store.ledger_entity(&entity).expect("numbered");
        }
        Self {
            chains: Chains::read(&store),
            store,
            facts,
            random,
            grants,
            approvals,
        }
    }

    fn say(&mut self, fact: &str) {
        let line = format!("{fact}\n");
        self.facts.write_all(line.as_bytes()).expect("said");
    }

    fn round(&mut self) {
        match self.random.below(12) {
            0..=4 => self.append(),
            5..=8 => self.claim(),
            9 => self.grant(),
            10 => self.deny(),
            _ => {
                let value = self.store.counter_add("c", 1).expect("moved");
                self.say(&format!("counter {value}"));
            }
        }
    }

    /// Rows, for some of which somebody waits for the disk.
    fn append(&mut self) {
        let count = 1 + self.random.below(4);
        let texts = (0..count).map(|_| self.text("plain")).collect();
        let mut rows = Rows {
            mark: self.random.chance(20),
            chains: &mut self.chains,
            texts,
        };
        let generation = self.store.generation().expect("sound");
        let done = self.store.ledger_commit(&[], generation, &mut rows);
        let (_, commit) = done.expect("committed");
        self.settle(commit, 70);
    }

    /// A row that uses a grant, or is not there.
    fn claim(&mut self) {
        let Some(last) = self.grants.len().checked_sub(1) else {
            return self.grant();
        };
        // Mostly the newest ones, until they are used up and a little longer.
        let id = self.grants[last - self.random.below(last.min(3) + 1)].clone();
        let texts = vec![self.text(&format!("use {id}"))];
        let mut rows = Rows {
            mark: false,
            chains: &mut self.chains,
            texts,
        };
        let generation = self.store.generation().expect("sound");
        let claim = Claim::Grant { id: &id, now_ms: 1 };
        let done = self.store.ledger_commit(&[claim], generation, &mut rows);
        let (held, commit) = done.expect("committed");
        if held[0] {
            self.settle(commit, 80);
        }
    }

    fn settle(&mut self, commit: Committed, percent: usize) {
        if self.random.chance(percent) {
            self.store.sync(commit).expect("synced");
            self.say(&format!("ledger {}", self.chains.position));
        }
    }

    fn grant(&mut self) {
        let id = format!("g{}", self.grants.len());
        let row = grant_row(&id, self.random.below(1_500));
        self.store.grant_put(&row).expect("put");
        self.say(&format!("granted {id}"));
        self.grants.push(id);
    }

    fn deny(&mut self) {
        self.approvals += 1;
        let id = format!("a{}", self.approvals);
        self.store.approval_put(&approval_row(&id)).expect("put");
        let denied = self
            .store
            .approval_decide(&id, ApprovalState::Denied, "person", 1);
        assert!(denied.expect("decided"));
        self.say(&format!("denied {id}"));
    }

    fn text(&mut self, what: &str) -> (usize, Vec<u8>) {
        let more = self.random.below(2_500);
        let mut text = format!("{what} ").into_bytes();
        text.extend((0..more).map(|_| self.random.next().to_le_bytes()[0]));
        (self.random.below(ENTITIES.len()), text)
    }
}

impl Chains {
    pub(crate) fn read(store: &Store) -> Self {
        let heads = store.ledger_heads().expect("read");
        Self {
            position: store.ledger_position().expect("read"),
            heads: heads
                .into_iter()
                .map(|head| Head {
                    number: head.number,
                    seq: head.seq,
                    position: head.position,
                    hash: head.hash.try_into().expect("a hash"),
                })
                .collect(),
            made: Vec::new(),
            ends: Vec::new(),
        }
    }

    fn make(&mut self, texts: Vec<(usize, Vec<u8>)>) {
        self.made.clear();
        for (index, bytes) in texts {
            let head = &mut self.heads[index];
            self.position += 1;
            let made = Made {
                number: head.number,
                position: self.position,
                seq: head.seq + 1,
                prev: head.hash,
                hash: hash(&head.hash, &bytes),
                bytes,
            };
            (head.seq, head.position, head.hash) = (made.seq, made.position, made.hash);
            self.made.push(made);
        }
        self.ends = self
            .heads
            .iter()
            .map(|head| (head.number, head.seq, head.position))
            .collect();
    }
}

impl BuildLedger for Rows<'_> {
    fn build(&mut self, held: &[bool]) -> LedgerBatch<'_> {
        if held.contains(&false) {
            return LedgerBatch::default();
        }
        self.chains.make(std::mem::take(&mut self.texts));
        let rows = self.chains.made.iter().map(|row| NewLedgerRow {
            position: row.position,
            entity: row.number,
            seq: row.seq,
            at_ms: 1,
            prev: &row.prev,
            hash: &row.hash,
            bytes: &row.bytes,
        });
        let mark = self.mark.then(|| LedgerMark {
            position: self.chains.position,
            ends: &self.chains.ends,
        });
        LedgerBatch {
            rows: rows.collect(),
            mark,
        }
    }
}

/// One more row and one more grant, to see that the store still works.
pub(crate) fn go_on(store: &Store) {
    let entity = EntityId::new(ENTITIES[0]);
    store.ledger_entity(&entity).expect("numbered");
    let mut chains = Chains::read(store);
    let before = chains.position;
    let mut rows = Rows {
        chains: &mut chains,
        texts: vec![(0, b"after".to_vec())],
        mark: false,
    };
    let generation = store.generation().expect("sound");
    let done = store.ledger_commit(&[], generation, &mut rows);
    let (_, commit) = done.expect("committed");
    store.sync(commit).expect("synced");
    store.grant_put(&grant_row("after", 10)).expect("put");
    assert_eq!(store.ledger_position().expect("read"), before + 1);
}

fn grant_row(id: &str, size: usize) -> GrantRow {
    GrantRow {
        id: id.to_owned(),
        client: "claude".to_owned(),
        server: "mail".to_owned(),
        item: "x".repeat(size),
        verb: "call".to_owned(),
        entity: "a".to_owned(),
        definition: None,
        args_digest: None,
        rung: "execute".to_owned(),
        policy_version: None,
        scope: "until".to_owned(),
        seat: None,
        workspace: None,
        created_ms: 1,
        expires_ms: None,
        uses_left: Some(USES),
        approval: None,
        approver: "person".to_owned(),
        mac: [1; 32],
    }
}

fn approval_row(id: &str) -> ApprovalRow {
    ApprovalRow {
        id: id.to_owned(),
        state: ApprovalState::Pending,
        client: "claude".to_owned(),
        seat: "seat".to_owned(),
        server: "mail".to_owned(),
        item: "send".to_owned(),
        verb: "call".to_owned(),
        entity: "a".to_owned(),
        definition: None,
        args_digest: [2; 32],
        policy_version: 1,
        created_ms: 1,
        expires_ms: 1_000,
        decided_ms: None,
        decided_by: None,
        detail: vec![3; 700],
    }
}
