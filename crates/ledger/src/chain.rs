//! The ends of the chains, and the one place where records get their place in
//! them.
//!
//! After a failed commit or sync it is not known which rows survived. They are
//! kept as *doubtful*; before anything else is written the store is opened
//! anew and asked about each. An intent that survived although its caller was
//! told otherwise gets an outcome; an outcome that did not is written again.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use legation_core::EntityId;
use legation_store::{Committed, Generation, LedgerMark, NewLedgerRow, Store, StoreError};
use sha2::{Digest as _, Sha256};

use crate::line;
use crate::members::Spans;
use crate::queue::{Duty, Pending, Waiter};
use crate::record::{Detail, OutcomeRecord, Status};

pub(crate) type Hash = [u8; 32];

/// Rows after which the mark is moved: what a start after a crash has to look
/// through at most, besides calls that were still open.
const MARK_EVERY: i64 = 4_096;

/// JSON-RPC code in the outcome of a call that was refused because its intent,
/// though found in the file later, could not be confirmed: internal error.
const UNCONFIRMED: i64 = -32_603;

/// The ends of all chains of one store.
#[derive(Debug)]
pub(crate) struct Chain {
    heads: HashMap<EntityId, Head>,
    position: i64,
    generation: Generation,
    /// False after a failure: what stands above must be read again.
    sound: bool,
    /// Positions of intents without outcome.
    open: BTreeSet<i64>,
    marked: i64,
    doubtful: Vec<Doubtful>,
    /// Outcomes that must be written with the next commit. Bounded by the calls
    /// that were running when writing began to fail, for none starts meanwhile.
    carried: Vec<Pending>,
    last: Option<Committed>,
    /// The records of the batch being written, one after the other; kept for
    /// its memory.
    text: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Head {
    /// The entity's number in the store.
    number: i64,
    seq: i64,
    position: i64,
    hash: Hash,
    /// It has moved since the store was last told where it is.
    fresh: bool,
}

/// A row of the batch being written.
#[derive(Debug)]
struct Placed {
    number: i64,
    at_ms: i64,
    prev: Hash,
    /// The record, in `Chain::text`.
    text: Range<usize>,
}

/// More memory than this is not kept from one batch to the next.
const TEXT_KEPT: usize = 256 * 1024;

/// A record and the place it was given.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) pending: Pending,
    pub(crate) position: i64,
    pub(crate) seq: i64,
    pub(crate) hash: Hash,
}

/// A row that may or may not be in the file.
#[derive(Debug)]
struct Doubtful {
    seq: i64,
    hash: Hash,
    position: i64,
    what: DoubtfulRow,
}

#[derive(Debug)]
enum DoubtfulRow {
    /// An intent whose caller was told that it was not recorded.
    Intent {
        entity: EntityId,
        at_ms: i64,
        members: Vec<u8>,
        spans: Spans,
    },
    Outcome(Pending),
}

/// Writing failed: why, and who has to be told.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) source: Arc<StoreError>,
    pub(crate) waiters: Vec<Waiter>,
}

/// The hash of a record after `prev`.
pub(crate) fn hash(prev: &[u8], bytes: &[u8]) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update([0u8]);
    hasher.update(prev);
    hasher.update((bytes.len() as u64).to_be_bytes());
    hasher.update(bytes);
    hasher.finalize().into()
}

// === impl Chain ===

impl Chain {
    /// Reads the ends from the store. `Err` names a head that is no hash.
    pub(crate) fn read(store: &Store) -> Result<Self, ChainError> {
        let generation = store.generation()?;
        let mut chain = Self {
            heads: HashMap::new(),
            position: 0,
            generation,
            sound: false,
            open: BTreeSet::new(),
            marked: store.reader().ledger_mark()?,
            doubtful: Vec::new(),
            carried: Vec::new(),
            last: None,
            text: Vec::new(),
        };
        chain.read_ends(store)?;
        chain.sound = true;
        Ok(chain)
    }

    fn read_ends(&mut self, store: &Store) -> Result<(), ChainError> {
        self.heads.clear();
        for head in store.ledger_heads()? {
            let Ok(hash) = Hash::try_from(head.hash.as_slice()) else {
                return Err(ChainError::Damaged {
                    entity: head.entity,
                    seq: head.seq,
                });
            };
            self.heads.insert(
                head.entity,
                Head {
                    number: head.number,
                    seq: head.seq,
                    position: head.position,
                    hash,
                    fresh: head.fresh,
                },
            );
        }
        self.position = store.ledger_position()?;
        Ok(())
    }

    /// The last position written.
    pub(crate) fn position(&self) -> i64 {
        self.position
    }

    /// The last commit, for syncing.
    pub(crate) fn last(&self) -> Option<Committed> {
        self.last
    }

    /// Gives the batch, and whatever was carried over, their places and commits
    /// them to the page cache in one transaction.
    pub(crate) fn write(
        &mut self,
        store: &Store,
        batch: Vec<Pending>,
    ) -> Result<(Vec<Written>, Option<Committed>), Failed> {
        if let Err(source) = self.restore(store) {
            return Err(self.keep_outcomes(source, batch));
        }
        let mut all = std::mem::take(&mut self.carried);
        all.extend(batch);
        if all.is_empty() {
            return Ok((Vec::new(), None));
        }
        if let Err(source) = self.number(store, &all) {
            return Err(self.keep_outcomes(source, all));
        }
        let (placed, written) = self.place(all);
        let mark = self.mark(&written);
        match self.append(store, &placed, &written, mark) {
            Ok(commit) => {
                self.last = Some(commit);
                for one in &written {
                    match &one.pending.duty {
                        Duty::Intent { .. } => drop(self.open.insert(one.position)),
                        Duty::Outcome { closes } => drop(self.open.remove(closes)),
                        Duty::Plain { .. } => {}
                    }
                }
                Ok((written, Some(commit)))
            }
            Err(source) => {
                let waiters = self.doubt(written);
                Err(Failed {
                    source: Arc::new(source),
                    waiters,
                })
            }
        }
    }

    /// Notes that rows which were committed may be lost, and returns who waits.
    pub(crate) fn doubt(&mut self, written: Vec<Written>) -> Vec<Waiter> {
        self.sound = false;
        let mut waiters = Vec::new();
        for one in written {
            let Pending {
                entity,
                at_ms,
                members,
                duty,
            } = one.pending;
            let what = match duty {
                Duty::Intent { spans, waiter, .. } => {
                    waiters.push(Waiter::Intent(waiter));
                    DoubtfulRow::Intent {
                        entity,
                        at_ms,
                        members,
                        spans,
                    }
                }
                Duty::Plain { waiter, .. } => {
                    waiters.push(Waiter::Plain(waiter));
                    continue;
                }
                Duty::Outcome { closes } => DoubtfulRow::Outcome(Pending {
                    entity,
                    at_ms,
                    members,
                    duty: Duty::Outcome { closes },
                }),
            };
            self.doubtful.push(Doubtful {
                seq: one.seq,
                hash: one.hash,
                position: one.position,
                what,
            });
        }
        waiters
    }

    /// After a failure: opens the store anew, settles what was in doubt, and
    /// reads the ends again.
    fn restore(&mut self, store: &Store) -> Result<(), Arc<StoreError>> {
        if self.sound {
            return Ok(());
        }
        let generation = store.generation()?;
        let mut survived = Vec::with_capacity(self.doubtful.len());
        for row in &self.doubtful {
            let found = store.ledger_hash(row.position)?;
            survived.push(found.as_deref() == Some(&row.hash[..]));
        }
        match self.read_ends(store) {
            Ok(()) => {}
            Err(ChainError::Store(source)) => return Err(Arc::new(source)),
            Err(ChainError::Damaged { .. }) => return Err(Arc::new(StoreError::Reopened)),
        }
        for (row, survived) in std::mem::take(&mut self.doubtful).into_iter().zip(survived) {
            match row.what {
                DoubtfulRow::Intent {
                    entity,
                    at_ms,
                    members,
                    spans,
                } if survived => {
                    self.open.insert(row.position);
                    let outcome = OutcomeRecord {
                        status: Status::Refused,
                        code: Some(UNCONFIRMED),
                        result: None,
                        detail: Detail::default(),
                    };
                    self.carried.push(Pending {
                        members: outcome.members(&spans.of(&members, row.seq), None, None),
                        entity,
                        at_ms,
                        duty: Duty::Outcome {
                            closes: row.position,
                        },
                    });
                }
                DoubtfulRow::Intent { .. } => drop(self.open.remove(&row.position)),
                DoubtfulRow::Outcome(Pending {
                    duty: Duty::Outcome { closes },
                    ..
                }) if survived => drop(self.open.remove(&closes)),
                DoubtfulRow::Outcome(pending) => self.carried.push(pending),
            }
        }
        self.generation = generation;
        self.sound = true;
        Ok(())
    }

    /// Sees to it that every entity in the batch has a number. After an error
    /// the ends must be read again.
    fn number(&mut self, store: &Store, all: &[Pending]) -> Result<(), Arc<StoreError>> {
        for pending in all {
            if self.heads.contains_key(&pending.entity) {
                continue;
            }
            let number = store.ledger_entity(&pending.entity).inspect_err(|_| {
                self.sound = false;
            })?;
            self.heads
                .insert(pending.entity.clone(), Head::first(number));
        }
        Ok(())
    }

    fn place(&mut self, all: Vec<Pending>) -> (Vec<Placed>, Vec<Written>) {
        let mut placed = Vec::with_capacity(all.len());
        let mut written = Vec::with_capacity(all.len());
        self.text.clear();
        self.text.shrink_to(TEXT_KEPT);
        for pending in all {
            // Numbering has put them all there; whoever waited for one that is
            // not would be refused, as its waiter is dropped.
            let Some(head) = self.heads.get_mut(&pending.entity) else {
                continue;
            };
            let seq = head.seq + 1;
            let start = self.text.len();
            line::complete(
                &mut self.text,
                &pending.entity,
                seq,
                pending.at_ms,
                &pending.members,
            );
            let hash = hash(&head.hash, &self.text[start..]);
            self.position += 1;
            placed.push(Placed {
                number: head.number,
                at_ms: pending.at_ms,
                prev: head.hash,
                text: start..self.text.len(),
            });
            *head = Head {
                number: head.number,
                seq,
                position: self.position,
                hash,
                fresh: true,
            };
            written.push(Written {
                pending,
                position: self.position,
                seq,
                hash,
            });
        }
        (placed, written)
    }

    fn append(
        &mut self,
        store: &Store,
        placed: &[Placed],
        written: &[Written],
        mark: Option<i64>,
    ) -> Result<Committed, StoreError> {
        let rows: Vec<NewLedgerRow<'_>> = placed
            .iter()
            .zip(written)
            .map(|(row, one)| NewLedgerRow {
                position: one.position,
                entity: row.number,
                seq: one.seq,
                at_ms: row.at_ms,
                prev: &row.prev,
                hash: &one.hash,
                bytes: &self.text[row.text.clone()],
            })
            .collect();
        let Some(position) = mark else {
            return store.ledger_append(&rows, None, self.generation);
        };
        let ends: Vec<_> = self
            .heads
            .values()
            .filter(|head| head.fresh)
            .map(|head| (head.number, head.seq, head.position))
            .collect();
        let mark = LedgerMark {
            position,
            ends: &ends,
        };
        let commit = store.ledger_append(&rows, Some(mark), self.generation)?;
        self.marked = position;
        for head in self.heads.values_mut() {
            head.fresh = false;
        }
        Ok(commit)
    }

    /// Where the mark goes with this commit, if it is time to move it: just
    /// before the first call that is still open once the commit is done.
    fn mark(&self, written: &[Written]) -> Option<i64> {
        if self.position - self.marked < MARK_EVERY {
            return None;
        }
        let closed = |position: &i64| {
            written.iter().any(
                |one| matches!(&one.pending.duty, Duty::Outcome { closes } if closes == position),
            )
        };
        let old = self.open.iter().find(|position| !closed(position));
        let new = written
            .iter()
            .find(|one| matches!(one.pending.duty, Duty::Intent { .. }))
            .map(|one| one.position);
        let first = old.copied().or(new).unwrap_or(self.position + 1);
        (first - 1 - self.marked >= MARK_EVERY).then_some(first - 1)
    }

    fn keep_outcomes(&mut self, source: Arc<StoreError>, batch: Vec<Pending>) -> Failed {
        let mut waiters = Vec::new();
        for pending in batch {
            match pending.duty {
                Duty::Intent { waiter, .. } => waiters.push(Waiter::Intent(waiter)),
                Duty::Plain { waiter, .. } => waiters.push(Waiter::Plain(waiter)),
                Duty::Outcome { .. } => self.carried.push(pending),
            }
        }
        Failed { source, waiters }
    }
}

// === impl Head ===

impl Head {
    /// The end of a chain without records.
    fn first(number: i64) -> Self {
        Self {
            number,
            seq: 0,
            position: 0,
            hash: [0; 32],
            fresh: false,
        }
    }
}

/// The ends could not be read.
#[derive(Debug)]
pub(crate) enum ChainError {
    Store(StoreError),
    Damaged { entity: EntityId, seq: i64 },
}

impl From<StoreError> for ChainError {
    fn from(source: StoreError) -> Self {
        Self::Store(source)
    }
}
