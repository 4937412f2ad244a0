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
use legation_crash::Random;
use legation_store::{
    ApprovalRow, ApprovalState, BuildLedger, Claim, Committed, GrantRow, LedgerBatch, LedgerMark,
    NewLedgerRow, Store, StoreError, StoreOptions,
};

/// The database, and the file of facts.
pub(crate) const DATABASE: &str = "state.db";
pub(crate) const FACTS: &str = "facts";

/// Uses of every grant.
pub(crate) const USES: i64 = 3;

const ENTITIES: [&str; 3] = ["a", "b", "c"];

/// So few pages in the log that it starts over again and again.
const LOG_PAGES: u32 = 48;

/// How often something that fails is tried again before it counts as broken.
const PATIENCE: usize = 20;

/// How many rounds the store is open for at a time.
const SESSION: usize = 60;

/// What outlives the closing of the store.
struct Work {
    facts: File,
    random: Random,
    /// Grants that were acknowledged.
    grants: Vec<String>,
    /// Names given so far.
    made: usize,
    errors: usize,
}

struct Driver {
    store: Store,
    chains: Chains,
    work: Work,
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
            mixed = Random::new(mixed.draw() ^ u64::from_le_bytes(word) ^ chunk.len() as u64);
        }
        part.copy_from_slice(&mixed.draw().to_le_bytes());
    }
    out
}

pub(crate) fn options() -> StoreOptions {
    StoreOptions {
        log_pages: LOG_PAGES,
        ..StoreOptions::default()
    }
}

/// Drives; how often the store said that it could not do something.
pub(crate) fn drive(folder: &Path, seed: u64, rounds: usize) -> usize {
    let mut work = Work {
        facts: File::create(folder.join(FACTS)).expect("made"),
        random: Random::new(seed),
        grants: Vec::new(),
        made: 0,
        errors: 0,
    };
    let mut left = rounds;
    while left > 0 {
        let mut driver = work.open(&folder.join(DATABASE));
        let session = left.min(SESSION);
        for _ in 0..session {
            driver.round();
        }
        left -= session;
        work = driver.work;
    }
    work.errors
}

impl Work {
    fn open(mut self, path: &Path) -> Driver {
        for _ in 0..PATIENCE {
            let opened = Store::open(path, options())
                .ok()
                .and_then(|store| Some((Chains::read(&store).ok()?, store)));
            match opened {
                None => self.errors += 1,
                Some((chains, store)) => {
                    return Driver {
                        store,
                        chains,
                        work: self,
                    };
                }
            }
        }
        panic!("the store cannot be opened any more");
    }
}

impl Driver {
    fn round(&mut self) {
        let done = match self.work.random.below(12) {
            0..=4 => self.append(),
            5..=8 => self.claim(),
            9 => self.grant(),
            10 => self.deny(),
            _ => self.count(),
        };
        if done.is_err() {
            self.work.errors += 1;
            self.recover();
        }
    }

    /// Reads the ends anew, as whoever was told of a failure must.
    fn recover(&mut self) {
        for _ in 0..PATIENCE {
            match Chains::read(&self.store) {
                Ok(chains) => {
                    self.chains = chains;
                    return;
                }
                Err(_) => self.work.errors += 1,
            }
        }
        panic!("the store never works again");
    }

    fn say(&mut self, fact: &str) {
        let line = format!("{fact}\n");
        self.work.facts.write_all(line.as_bytes()).expect("said");
    }

    fn count(&mut self) -> Result<(), StoreError> {
        let value = self.store.counter_add("c", 1)?;
        self.say(&format!("counter {value}"));
        Ok(())
    }

    /// Rows, for some of which somebody waits for the disk.
    fn append(&mut self) -> Result<(), StoreError> {
        let count = 1 + self.work.random.below(4);
        let texts = (0..count).map(|_| self.text("plain")).collect();
        let mut rows = Rows {
            mark: self.work.random.chance(20),
            chains: &mut self.chains,
            texts,
        };
        let generation = self.store.generation()?;
        let (_, commit) = self.store.ledger_commit(&[], generation, &mut rows)?;
        self.settle(commit, 70)
    }

    /// A row that uses a grant, or is not there.
    fn claim(&mut self) -> Result<(), StoreError> {
        let Some(last) = self.work.grants.len().checked_sub(1) else {
            return self.grant();
        };
        // Mostly the newest ones, until they are used up and a little longer.
        let back = self.work.random.below(last.min(3) + 1);
        let id = self.work.grants[last - back].clone();
        let texts = vec![self.text(&format!("use {id}"))];
        let mut rows = Rows {
            mark: false,
            chains: &mut self.chains,
            texts,
        };
        let generation = self.store.generation()?;
        let claim = Claim::Grant { id: &id, now_ms: 1 };
        let (held, commit) = self.store.ledger_commit(&[claim], generation, &mut rows)?;
        match held[0] {
            true => self.settle(commit, 80),
            false => Ok(()),
        }
    }

    fn settle(&mut self, commit: Committed, percent: usize) -> Result<(), StoreError> {
        if self.work.random.chance(percent) {
            self.store.sync(commit)?;
            self.say(&format!("ledger {}", self.chains.position));
        }
        Ok(())
    }

    fn grant(&mut self) -> Result<(), StoreError> {
        self.work.made += 1;
        let id = format!("g{}", self.work.made);
        let row = grant_row(&id, self.work.random.below(1_500));
        self.store.grant_put(&row)?;
        self.say(&format!("granted {id}"));
        self.work.grants.push(id);
        Ok(())
    }

    fn deny(&mut self) -> Result<(), StoreError> {
        self.work.made += 1;
        let id = format!("a{}", self.work.made);
        self.store.approval_put(&approval_row(&id))?;
        let denied = self
            .store
            .approval_decide(&id, ApprovalState::Denied, "person", 1)?;
        assert!(denied, "a pending approval is denied");
        self.say(&format!("denied {id}"));
        Ok(())
    }

    fn text(&mut self, what: &str) -> (usize, Vec<u8>) {
        let random = &mut self.work.random;
        let more = random.below(2_500);
        let mut text = format!("{what} ").into_bytes();
        text.extend((0..more).map(|_| random.draw().to_le_bytes()[0]));
        (random.below(ENTITIES.len()), text)
    }
}

impl Chains {
    fn read(store: &Store) -> Result<Self, StoreError> {
        for entity in ENTITIES {
            store.ledger_entity(&EntityId::new(entity))?;
        }
        let heads = store.ledger_heads()?;
        Ok(Self {
            position: store.ledger_position()?,
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
        })
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
    let mut chains = Chains::read(store).expect("read");
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
        on_behalf_of: None,
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
