//! The verifier: reads the file from its start and trusts no column.
//!
//! It goes on after a fault, so that everything that is wrong is found at once;
//! after a record that was changed it takes the next up where that says it
//! belongs, so that one change is one fault.

mod evidence;
mod rows;

use std::fmt;

use legation_core::EntityId;
use legation_store::Reader;

use crate::error::LedgerError;

pub use evidence::{Evidence, EvidenceError};
use rows::Verifier;

/// Rows read at a time; each chunk is a read of its own, so that a long
/// verification does not keep the write-ahead log from being emptied.
const CHUNK: usize = 1_024;

/// Most faults that are kept; the rest is counted.
const FAULTS_MAX: usize = 10_000;

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Records read.
    pub records: u64,
    /// Calls that were about to run.
    pub intents: u64,
    /// Outcomes.
    pub outcomes: u64,
    /// Intents with exactly one outcome.
    pub pairs: u64,
    /// Intents without outcome: calls that run now, or ran when the hub ended.
    pub open: u64,
    /// Refused calls.
    pub refused: u64,
    /// Notes.
    pub notes: u64,
    /// The chains and their ends.
    pub chains: Vec<ChainReport>,
    /// Checkpoints that were compared, those of the store included.
    pub checkpoints: u64,
    /// How many records the largest checkpoint with a trusted signature covers.
    pub covered: u64,
    /// The keys whose signatures were trusted, as verifier keys.
    pub keys: Vec<String>,
    /// What is wrong, in the order of the file; what only the checkpoints show
    /// comes last. The first ten thousand.
    pub faults: Vec<Fault>,
    /// How much is wrong.
    pub fault_count: u64,
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
    /// The row's place in the file; 0 where there is no row.
    pub position: i64,
    /// The chain it is in, or claims to be.
    pub entity: EntityId,
    /// The place in that chain that is wrong.
    pub seq: i64,
    /// What is wrong with it.
    pub kind: FaultKind,
    /// The checkpoint that shows it, where one does.
    pub checkpoint: Option<String>,
}

/// Ways in which a ledger is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    /// An outcome without a call of its own.
    Orphan,
    /// A checkpoint covers this record, but the chain ends before it.
    Cut,
    /// The chain was written anew from here, or from a later place that the
    /// same checkpoint covers.
    Rewritten,
    /// A checkpoint is no checkpoint.
    BadCheckpoint,
    /// A checkpoint has no signature by a trusted key, or the key was replaced
    /// without the old one's consent.
    KeyChanged,
}

/// Checks every chain of the store, and the checkpoints in it.
pub(crate) fn verify(reader: &Reader, evidence: &Evidence) -> Result<Report, LedgerError> {
    let stored = reader.checkpoint_list().map_err(LedgerError::read)?;
    let mut verifier = Verifier::new(evidence.compared(&stored));
    let mut after = i64::MIN;
    loop {
        let rows = reader
            .ledger_after(after, CHUNK)
            .map_err(LedgerError::read)?;
        let Some(last) = rows.last() else {
            return Ok(verifier.finish());
        };
        after = last.position;
        for row in &rows {
            verifier.check(row);
        }
    }
}

// === impl Report ===

impl Report {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.fault_count == 0
    }

    /// The first thing that is wrong.
    #[must_use]
    pub fn first(&self) -> Option<&Fault> {
        self.faults.first()
    }

    fn add(&mut self, fault: Fault) {
        self.fault_count += 1;
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(fault);
        }
    }
}

// === impl Fault ===

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entity = self.entity.as_str().escape_debug();
        let what = self.kind.as_str();
        match (&self.checkpoint, self.kind) {
            (Some(name), FaultKind::BadCheckpoint | FaultKind::KeyChanged) => {
                write!(f, "checkpoint {} {what}", name.escape_debug())
            }
            (Some(name), _) => write!(
                f,
                "record {} of entity {entity} {what} (checkpoint {})",
                self.seq,
                name.escape_debug()
            ),
            (None, _) => write!(f, "record {} of entity {entity} {what}", self.seq),
        }
    }
}

// === impl FaultKind ===

impl FaultKind {
    /// The word for it, for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Malformed => "malformed",
            Self::Misplaced => "misplaced",
            Self::Missing => "missing",
            Self::Repeated => "repeated",
            Self::Unlinked => "unlinked",
            Self::Orphan => "orphan",
            Self::Cut => "cut",
            Self::Rewritten => "rewritten",
            Self::BadCheckpoint => "bad_checkpoint",
            Self::KeyChanged => "key_changed",
        }
    }

    /// What is wrong, as the end of a sentence about the record or checkpoint.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "was changed: its bytes do not have its hash",
            Self::Malformed => "cannot be read",
            Self::Misplaced => "was moved: it says another entity, place or time than its row",
            Self::Missing => "is missing, or stands in the wrong place",
            Self::Repeated => "is there twice",
            Self::Unlinked => "was not written after the record before it",
            Self::Orphan => "is the outcome of no call",
            Self::Cut => "is gone: the chain was cut off, or an older file was put back",
            Self::Rewritten => {
                "is not the one that was there: the chain was written anew from there or a later place"
            }
            Self::BadCheckpoint => "cannot be read, or contradicts itself",
            Self::KeyChanged => "has a signing key that nobody vouches for: the key was changed",
        }
    }
}
