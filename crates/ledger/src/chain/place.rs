//! Giving records their places, and making rows of them.

use legation_store::{BuildLedger, LedgerBatch, LedgerMark, NewLedgerRow};

use super::{Chain, Head, MARK_EVERY, Written, hash};
use crate::line;
use crate::queue::{Duty, Pending, Waiter};

/// A batch on its way into the store, which says meanwhile whose claims held.
pub(super) struct Placing<'c> {
    chain: &'c mut Chain,
    /// Records without a place.
    all: Vec<Pending>,
    /// Which of them claim something.
    claimants: Vec<usize>,
    lost: Vec<Waiter>,
    placed: Placed,
    /// Where the fresh chains end, for the mark.
    ends: Vec<(i64, i64, i64)>,
}

/// Records that have their place.
#[derive(Debug, Default)]
pub(super) struct Placed {
    pub(super) written: Vec<Written>,
    /// Where the mark moves with them.
    pub(super) mark: Option<i64>,
}

/// More memory than this is not kept from one batch to the next.
const TEXT_KEPT: usize = 256 * 1024;

// === impl Placing ===

impl<'c> Placing<'c> {
    pub(super) fn new(chain: &'c mut Chain, all: Vec<Pending>, claimants: Vec<usize>) -> Self {
        Self {
            chain,
            all,
            claimants,
            lost: Vec::new(),
            placed: Placed::default(),
            ends: Vec::new(),
        }
    }

    /// The records with a place, those without, and whoever lost a claim.
    pub(super) fn into_parts(self) -> (Placed, Vec<Pending>, Vec<Waiter>) {
        (self.placed, self.all, self.lost)
    }

    /// Takes the records out whose claim did not hold.
    fn sort_out(&mut self, held: &[bool]) {
        // From the end, so that the places before stay what they are.
        for (index, held) in self.claimants.iter().zip(held).rev() {
            if !held {
                let waiter = Waiter::of(self.all.remove(*index).duty);
                self.lost.extend(waiter);
            }
        }
        self.lost.reverse();
    }
}

impl BuildLedger for Placing<'_> {
    fn build(&mut self, held: &[bool]) -> LedgerBatch<'_> {
        self.sort_out(held);
        self.placed.written = self.chain.place(std::mem::take(&mut self.all));
        self.placed.mark = self.chain.mark(&self.placed.written);
        let rows = self.placed.written.iter().map(|one| NewLedgerRow {
            position: one.position,
            entity: one.number,
            seq: one.seq,
            at_ms: one.pending.at_ms,
            prev: &one.prev,
            hash: &one.hash,
            bytes: &self.chain.text[one.text.clone()],
        });
        let rows = rows.collect();
        if self.placed.mark.is_some() {
            let fresh = self.chain.heads.values().filter(|head| head.fresh);
            self.ends = fresh
                .map(|head| (head.number, head.seq, head.position))
                .collect();
        }
        LedgerBatch {
            rows,
            mark: self.placed.mark.map(|position| LedgerMark {
                position,
                ends: &self.ends,
            }),
        }
    }
}

// === impl Chain ===

impl Chain {
    fn place(&mut self, all: Vec<Pending>) -> Vec<Written> {
        let mut written = Vec::with_capacity(all.len());
        self.text.clear();
        self.text.shrink_to(TEXT_KEPT);
        for pending in all {
            // Numbering has put them all there; whoever waited for one that is
            // not would be refused, as its waiter is dropped.
            let Some(head) = self.heads.get_mut(&pending.entity) else {
                continue;
            };
            let (seq, start) = (head.seq + 1, self.text.len());
            line::complete(
                &mut self.text,
                &pending.entity,
                seq,
                pending.at_ms,
                &pending.members,
            );
            let hash = hash(&head.hash, &self.text[start..]);
            self.position += 1;
            written.push(Written {
                position: self.position,
                seq,
                hash,
                number: head.number,
                prev: head.hash,
                text: start..self.text.len(),
                pending,
            });
            *head = Head {
                number: head.number,
                seq,
                position: self.position,
                hash,
                fresh: true,
            };
        }
        written
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
}
