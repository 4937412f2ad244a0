//! The verifier: reads the file from its start and trusts no column.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use legation_core::id::hex;
use legation_core::{EntityId, Wall};
use legation_store::{LedgerRow, Reader};
use serde::Deserialize;

use crate::chain::{Hash, hash};
use crate::error::LedgerError;
use crate::stored::Kind;

/// Rows read at a time; each chunk is a read of its own, so that a long
/// verification does not keep the write-ahead log from being emptied.
const CHUNK: usize = 1_024;

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Records checked, up to the first fault.
    pub records: u64,
    /// Calls that were about to run.
    pub intents: u64,
    /// Outcomes.
    pub outcomes: u64,
    /// Intents with exactly one outcome.
    pub pairs: u64,
    /// Intents without outcome: calls that run now, or ran when the hub ended.
    pub open: u64,
    /// Outcomes without a call of their own.
    pub orphans: u64,
    /// Refused calls.
    pub refused: u64,
    /// Notes.
    pub notes: u64,
    /// The chains and their ends. Keep them elsewhere: a file cut off at its end
    /// still verifies, but ends earlier.
    pub chains: Vec<ChainReport>,
    /// The first thing that is wrong; nothing after it was checked.
    pub fault: Option<Fault>,
}

/// One entity's chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReport {
    /// Whose.
    pub entity: EntityId,
    /// Its last record's place, which is also their number.
    pub seq: i64,
    /// Its last record's hash, in hexadecimal.
    pub hash: String,
}

/// Something that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The row's place in the file.
    pub position: i64,
    /// The chain it is in, or claims to be.
    pub entity: EntityId,
    /// The place in that chain that is wrong.
    pub seq: i64,
    /// What is wrong with it.
    pub kind: FaultKind,
}

/// Ways in which a chain is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The bytes do not have the hash that stands beside them.
    Changed,
    /// The bytes are no record.
    Malformed,
    /// The record says another entity, place or time than its row: it was
    /// moved, renumbered or brought in from another chain.
    Misplaced,
    /// The record that belongs here is missing, or comes later.
    Missing,
    /// There was a record with this place already.
    Repeated,
    /// The row before it is not the one it was chained to.
    Unlinked,
}

/// The members of a record that a row is checked against.
#[derive(Debug, Deserialize)]
struct Stamp<'a> {
    v: u32,
    #[serde(borrow)]
    entity: Cow<'a, str>,
    seq: i64,
    #[serde(borrow)]
    at: Cow<'a, str>,
    kind: Kind,
    #[serde(borrow)]
    call: Option<Cow<'a, str>>,
    intent: Option<i64>,
}

#[derive(Debug, Default)]
struct Verifier {
    report: Counts,
    heads: BTreeMap<EntityId, (i64, Hash)>,
    /// Calls without outcome so far, by chain and place of the intent.
    open: HashMap<(EntityId, i64), String>,
}

#[derive(Debug, Default)]
struct Counts {
    records: u64,
    intents: u64,
    outcomes: u64,
    pairs: u64,
    orphans: u64,
    refused: u64,
    notes: u64,
}

pub(crate) fn verify(reader: &Reader) -> Result<Report, LedgerError> {
    let mut verifier = Verifier::default();
    let mut after = i64::MIN;
    loop {
        let rows = reader
            .ledger_after(after, CHUNK)
            .map_err(LedgerError::read)?;
        let Some(last) = rows.last() else {
            return Ok(verifier.finish(None));
        };
        after = last.position;
        for row in &rows {
            if let Err(fault) = verifier.check(row) {
                return Ok(verifier.finish(Some(fault)));
            }
        }
    }
}

// === impl Report ===

impl Report {
    /// Whether nothing is wrong with any chain.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.fault.is_none() && self.orphans == 0
    }
}

// === impl Fault ===

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "record {} of entity {} {}",
            self.seq,
            self.entity.as_str().escape_debug(),
            self.kind.as_str()
        )
    }
}

// === impl FaultKind ===

impl FaultKind {
    /// What is wrong, as the end of a sentence about the record.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "was changed: its bytes do not have its hash",
            Self::Malformed => "cannot be read",
            Self::Misplaced => "was moved: it says another entity, place or time than its row",
            Self::Missing => "is missing, or stands in the wrong place",
            Self::Repeated => "is there twice",
            Self::Unlinked => "was not written after the record before it",
        }
    }
}

// === impl Verifier ===

impl Verifier {
    fn check(&mut self, row: &LedgerRow) -> Result<(), Fault> {
        let fault = |seq, kind| Fault {
            position: row.position,
            entity: row.entity.clone(),
            seq,
            kind,
        };
        let computed = hash(&row.prev, &row.bytes);
        if row.hash != computed || row.prev.len() != computed.len() {
            return Err(fault(row.seq, FaultKind::Changed));
        }
        let stamp: Stamp<'_> =
            serde_json::from_slice(&row.bytes).map_err(|_| fault(row.seq, FaultKind::Malformed))?;
        if stamp.v != 1 {
            return Err(fault(row.seq, FaultKind::Malformed));
        }
        if stamp.entity != row.entity.as_str()
            || stamp.seq != row.seq
            || stamp.at != Wall(row.at_ms).to_string()
        {
            return Err(fault(row.seq, FaultKind::Misplaced));
        }
        let (seq, head) = self.heads.get(&row.entity).copied().unwrap_or((0, [0; 32]));
        if row.seq <= seq {
            return Err(fault(row.seq, FaultKind::Repeated));
        }
        if row.seq > seq + 1 {
            return Err(fault(seq + 1, FaultKind::Missing));
        }
        if row.prev != head {
            return Err(fault(row.seq, FaultKind::Unlinked));
        }
        self.heads.insert(row.entity.clone(), (row.seq, computed));
        self.count(&row.entity, &stamp);
        Ok(())
    }

    fn count(&mut self, entity: &EntityId, stamp: &Stamp<'_>) {
        self.report.records += 1;
        let call = stamp.call.as_deref().unwrap_or_default();
        match stamp.kind {
            Kind::Intent => {
                self.report.intents += 1;
                self.open
                    .insert((entity.clone(), stamp.seq), call.to_owned());
            }
            Kind::Outcome => {
                self.report.outcomes += 1;
                let intent = (entity.clone(), stamp.intent.unwrap_or_default());
                if self.open.remove(&intent).as_deref() == Some(call) {
                    self.report.pairs += 1;
                } else {
                    self.report.orphans += 1;
                }
            }
            Kind::Refused => self.report.refused += 1,
            Kind::Note => self.report.notes += 1,
        }
    }

    fn finish(self, fault: Option<Fault>) -> Report {
        Report {
            records: self.report.records,
            intents: self.report.intents,
            outcomes: self.report.outcomes,
            pairs: self.report.pairs,
            open: self.open.len() as u64,
            orphans: self.report.orphans,
            refused: self.report.refused,
            notes: self.report.notes,
            chains: self
                .heads
                .into_iter()
                .map(|(entity, (seq, head))| ChainReport {
                    entity,
                    seq,
                    hash: hex(&head),
                })
                .collect(),
            fault,
        }
    }
}
