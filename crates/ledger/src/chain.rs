//! The ends of the chains, and the one place where records get their place in
//! them.

mod doubt;
mod place;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use legation_core::{EntityId, QuickMap};
use legation_store::{Claim, Committed, Generation, Store, StoreError};
use sha2::{Digest as _, Sha256};

use crate::queue::{Claimed, Duty, Pending, Waiter};
use doubt::Doubtful;
use place::Placing;

pub(crate) type Hash = [u8; 32];

/// Rows after which the mark is moved: what a start after a crash has to look
/// through at most, besides calls that were still open.
const MARK_EVERY: i64 = 4_096;

/// The ends of all chains of one store.
#[derive(Debug)]
pub(crate) struct Chain {
    heads: QuickMap<EntityId, Head>,
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

/// A record and the place it was given.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) pending: Pending,
    pub(crate) position: i64,
    pub(crate) seq: i64,
    pub(crate) hash: Hash,
    /// The entity's number in the store.
    number: i64,
    prev: Hash,
    /// The record, in `Chain::text`.
    text: Range<usize>,
}

/// What became of a batch.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) written: Vec<Written>,
    /// Those whose claim did not hold; nothing was written for them.
    pub(crate) lost: Vec<(Waiter, Claimed)>,
    /// `None` for an empty batch.
    pub(crate) commit: Option<Committed>,
}

/// Where every chain ends.
#[derive(Debug, Clone)]
pub(crate) struct Ends {
    pub(crate) heads: Vec<(EntityId, i64, Hash)>,
    /// The commit that holds them; `None` when they were there at the start.
    pub(crate) commit: Option<Committed>,
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
            heads: QuickMap::default(),
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
    pub(crate) fn write(&mut self, store: &Store, batch: Vec<Pending>) -> Result<Done, Failed> {
        if let Err(source) = self.restore(store) {
            return Err(self.keep_outcomes(source, batch));
        }
        let mut all = std::mem::take(&mut self.carried);
        all.extend(batch);
        if all.is_empty() {
            return Ok(Done::default());
        }
        if let Err(source) = self.number(store, &all) {
            return Err(self.keep_outcomes(source, all));
        }
        let claimed = take_claims(&mut all);
        let claims: Vec<Claim<'_>> = claimed.iter().map(|(_, one)| one.to_store()).collect();
        let claimants = claimed.iter().map(|(index, _)| *index).collect();
        let generation = self.generation;
        let mut placing = Placing::new(self, all, claimants);
        let done = store.ledger_commit(&claims, generation, &mut placing);
        let (placed, unplaced, waiters) = placing.into_parts();
        match done {
            Ok((held, commit)) => {
                self.wrote(&placed.written, placed.mark, commit);
                let lost = claimed.into_iter().zip(held).filter(|(_, held)| !held);
                let lost = lost.map(|((_, claimed), _)| claimed);
                Ok(Done {
                    written: placed.written,
                    lost: waiters.into_iter().zip(lost).collect(),
                    commit: Some(commit),
                })
            }
            Err(source) => {
                self.sound = false;
                let mut failed = self.keep_outcomes(Arc::new(source), unplaced);
                failed.waiters.extend(waiters);
                failed.waiters.extend(self.doubt(placed.written));
                Err(failed)
            }
        }
    }

    fn wrote(&mut self, written: &[Written], mark: Option<i64>, commit: Committed) {
        self.last = Some(commit);
        for one in written {
            match &one.pending.duty {
                Duty::Intent { .. } => drop(self.open.insert(one.position)),
                Duty::Outcome { closes } => drop(self.open.remove(closes)),
                Duty::Plain { .. } => {}
            }
        }
        if let Some(mark) = mark {
            self.marked = mark;
            for head in self.heads.values_mut() {
                head.fresh = false;
            }
        }
    }

    /// How many records there are.
    pub(crate) fn total(&self) -> u64 {
        self.heads
            .values()
            .map(|head| head.seq.unsigned_abs())
            .sum()
    }

    /// Where every chain ends that has a record; `None` while that is not known
    /// after a failure.
    pub(crate) fn ends(&self) -> Option<Ends> {
        let heads = self.heads.iter().filter(|(_, head)| head.seq > 0);
        self.sound.then(|| Ends {
            heads: heads
                .map(|(entity, head)| (entity.clone(), head.seq, head.hash))
                .collect(),
            commit: self.last,
        })
    }

    /// The position of each entity's last record, 0 for one that has none; `None` while that is
    /// not known after a failure.
    pub(crate) fn ends_of(&self, entities: &[EntityId]) -> Option<Vec<i64>> {
        let end = |entity| self.heads.get(entity).map_or(0, |head| head.position);
        self.sound.then(|| entities.iter().map(end).collect())
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

/// Takes the claims out of a batch, each with its record's place in it.
fn take_claims(all: &mut [Pending]) -> Vec<(usize, Claimed)> {
    let claims = all.iter_mut().enumerate();
    claims
        .filter_map(|(index, pending)| match &mut pending.duty {
            Duty::Intent { claim, .. } => Some((index, *claim.take()?)),
            Duty::Plain { .. } | Duty::Outcome { .. } => None,
        })
        .collect()
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
