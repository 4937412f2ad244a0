//! Rows of which nobody knows whether they are in the file.
//!
//! After a failed commit or sync it is not known which rows survived. They are
//! kept as *doubtful*; before anything else is written the store is opened
//! anew and asked about each. An intent that survived although its caller was
//! told otherwise gets an outcome; an outcome that did not is written again.

use std::sync::Arc;

use legation_core::EntityId;
use legation_store::{Store, StoreError};

use super::{Chain, ChainError, Failed, Hash, Written};
use crate::members::Spans;
use crate::queue::{Duty, Pending, Waiter};
use crate::record::{Detail, OutcomeRecord, Status};

/// JSON-RPC code in the outcome of a call that was refused because its intent,
/// though found in the file later, could not be confirmed: internal error.
const UNCONFIRMED: i64 = -32_603;

/// A row that may or may not be in the file.
#[derive(Debug)]
pub(super) struct Doubtful {
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

impl Chain {
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
    pub(super) fn restore(&mut self, store: &Store) -> Result<(), Arc<StoreError>> {
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

    pub(super) fn keep_outcomes(&mut self, source: Arc<StoreError>, batch: Vec<Pending>) -> Failed {
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
