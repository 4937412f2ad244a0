//! Rows of the ledger. What the bytes say and how the hashes come about is the
//! ledger's business.
//!
//! Beside the rows lie the ends of the chains. A hub that adds rows gives their
//! places, which it knows from the heads it has read.

use legation_core::EntityId;

use crate::approvals::CONSUME;
use crate::grants::use_in;
use crate::proposals::APPLY;
use crate::sql::{Row, Session, collect, first};
use crate::store::Backend;
use crate::{Committed, DatabaseError, Generation, Reader, Store, StoreError};

/// One row. Columns are as they lie in the file, so that a verifier sees what
/// was done to them: `prev` and `hash` have 32 bytes unless someone changed them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRow {
    /// Place in the order of commits, over all entities, from 1.
    pub position: i64,
    /// Whose chain it belongs to; `#` and a number when that entity is not known.
    pub entity: EntityId,
    /// Place in that chain, from 1.
    pub seq: i64,
    /// When it was recorded, in milliseconds since 1970.
    pub at_ms: i64,
    /// Hash of the row before it in the chain; zeros for the first.
    pub prev: Vec<u8>,
    /// Hash of this row.
    pub hash: Vec<u8>,
    /// The record.
    pub bytes: Vec<u8>,
    /// It reads as it was written, as far as the file's own sums tell. What stands in a file where a row should and is
    /// none has no entity and no hashes.
    pub is_sound: bool,
}

/// One row to be added, see [`LedgerRow`].
#[derive(Debug, Clone, Copy)]
pub struct NewLedgerRow<'a> {
    /// Place in the order of commits.
    pub position: i64,
    /// The entity's number, from [`Store::ledger_entity`].
    pub entity: i64,
    /// Place in the chain.
    pub seq: i64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// Hash of the row before it in the chain.
    pub prev: &'a [u8; 32],
    /// Hash of this row.
    pub hash: &'a [u8; 32],
    /// The record.
    pub bytes: &'a [u8],
}

/// The last row of one entity's chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerHead {
    /// Whose chain.
    pub entity: EntityId,
    /// The entity's number.
    pub number: i64,
    /// Its last row's place in the chain; 0 when the chain is empty.
    pub seq: i64,
    /// Its last row's position.
    pub position: i64,
    /// Its last row's hash. 32 bytes (zeros when the chain is empty), unless the
    /// row was damaged or is gone.
    pub hash: Vec<u8>,
    /// The row came after the mark.
    pub fresh: bool,
}

/// Up to where every call is closed, and the chains' ends at that commit.
#[derive(Debug, Clone, Copy)]
pub struct LedgerMark<'a> {
    /// Every call up to this position is closed.
    pub position: i64,
    /// Entity's number, place in the chain and position of the last row of each
    /// chain that has a row after the mark before.
    pub ends: &'a [(i64, i64, i64)],
}

/// What a record needs to be there, and uses up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim<'a> {
    /// One use of a grant that has uses left, or needs none, at this time.
    Grant {
        /// Which grant.
        id: &'a str,
        /// Milliseconds since 1970.
        now_ms: i64,
    },
    /// A granted approval whose time has not passed.
    Approval {
        /// Which approval.
        id: &'a str,
        /// Milliseconds since 1970.
        now_ms: i64,
    },
    /// A certified proposal whose time has not passed.
    Proposal {
        /// Which proposal.
        id: &'a str,
        /// Milliseconds since 1970.
        now_ms: i64,
    },
}

/// Rows to be added in one transaction.
#[derive(Debug, Clone, Default)]
pub struct LedgerBatch<'a> {
    /// The rows, in the order of their positions.
    pub rows: Vec<NewLedgerRow<'a>>,
    /// Where the mark moves with them.
    pub mark: Option<LedgerMark<'a>>,
}

/// Makes the rows of a commit once it is known which claims held. A trait and
/// not a closure, because the rows borrow from what makes them.
pub trait BuildLedger {
    /// The rows; `held` has one answer for each claim, in their order.
    fn build(&mut self, held: &[bool]) -> LedgerBatch<'_>;
}

const POSITION: &str = "SELECT coalesce(max(position), 0) FROM ledger";
const HASH: &str = "SELECT hash FROM ledger WHERE position = ?1";
const READ_MARK: &str = "SELECT position FROM ledger_mark";
const AFTER: &str = "SELECT position, coalesce(name, '#' || entity), seq, at_ms, prev, hash, bytes
    FROM ledger LEFT JOIN ledger_entities ON number = entity
    WHERE position > ?1 ORDER BY position LIMIT ?2";
const LAST: &str = "SELECT position, name, seq, at_ms, prev, hash, bytes FROM (
        SELECT position, coalesce(name, '#' || entity) AS name, seq, at_ms, prev, hash, bytes
        FROM ledger LEFT JOIN ledger_entities ON number = entity
        ORDER BY position DESC LIMIT ?1) AS last
    ORDER BY position";

impl Store {
    /// The number that stands for an entity in rows; gives it one if it has
    /// none, committed to the page cache.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn ledger_entity(&self, entity: &EntityId) -> Result<i64, StoreError> {
        match &self.backend {
            Backend::Sqlite(file) => file.ledger_entity(entity),
            Backend::Postgres(server) => server.ledger_entity(entity),
        }
    }

    /// Adds rows in one transaction, committed to the page cache; with `mark`
    /// also notes that every call up to that position is closed. `generation`
    /// is the one in which the rows' places were read.
    ///
    /// # Errors
    /// See [`StoreError`]; [`StoreError::Reopened`] when the generation is past.
    /// Unless it is [`StoreError::Full`] the rows may turn out to be there: ask
    /// [`Store::ledger_hash`].
    pub fn ledger_append(
        &self,
        rows: &[NewLedgerRow<'_>],
        mark: Option<LedgerMark<'_>>,
        generation: Generation,
    ) -> Result<Committed, StoreError> {
        match &self.backend {
            Backend::Sqlite(file) => file.ledger_append(rows, mark, generation),
            Backend::Postgres(server) => server.ledger_append(rows, mark, generation),
        }
    }

    /// Like [`Store::ledger_append`] for rows that need something: in one
    /// transaction each claim is tried, `build` is told which held and makes
    /// the rows, and these are added. A claim that did not hold changes nothing
    /// and fails nothing; it is for `build` to leave its record out. Answers
    /// with what `build` was told.
    ///
    /// After an error claims and rows are there together or not at all; which
    /// of the two shows [`Store::ledger_hash`].
    ///
    /// # Errors
    /// As for [`Store::ledger_append`].
    pub fn ledger_commit(
        &self,
        claims: &[Claim<'_>],
        generation: Generation,
        build: &mut dyn BuildLedger,
    ) -> Result<(Vec<bool>, Committed), StoreError> {
        if claims.is_empty() {
            let batch = build.build(&[]);
            let commit = self.ledger_append(&batch.rows, batch.mark, generation)?;
            return Ok((Vec::new(), commit));
        }
        let (claimed, commit) = match &self.backend {
            Backend::Sqlite(file) => file.ledger_commit(claims, generation, build),
            Backend::Postgres(server) => server.ledger_commit(claims, generation, build),
        }?;
        if let Some(grants) = claimed.grants {
            self.grants_are_at(grants);
        }
        Ok((claimed.held, commit))
    }

    /// The heads of all chains, in the order of the entities' numbers.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn ledger_heads(&self) -> Result<Vec<LedgerHead>, StoreError> {
        match &self.backend {
            Backend::Sqlite(file) => file.ledger_heads(),
            Backend::Postgres(server) => server.ledger_heads(),
        }
    }

    /// The last position, 0 when there is no row.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn ledger_position(&self) -> Result<i64, StoreError> {
        match &self.backend {
            Backend::Sqlite(file) => file.ledger_position(),
            Backend::Postgres(_) => self
                .read("reading the ledger's end", |session| {
                    first(session, POSITION, &[], |mut row| row.int())
                })
                .map(Option::unwrap_or_default),
        }
    }

    /// The hash of the row at a position, if there is one.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn ledger_hash(&self, position: i64) -> Result<Option<Vec<u8>>, StoreError> {
        match &self.backend {
            Backend::Sqlite(file) => file.ledger_hash(position),
            Backend::Postgres(_) => self.read("reading a ledger row", |session| {
                first(session, HASH, &[position.into()], |mut row| row.blob())
            }),
        }
    }
}

impl Reader {
    /// Up to `limit` rows after `position`, in order.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn ledger_after(&self, position: i64, limit: usize) -> Result<Vec<LedgerRow>, StoreError> {
        let what = "reading the ledger";
        if let Some(rows) = self.volume(what, |volume, names| volume.after(position, limit, names))
        {
            return rows;
        }
        let values = [position.into(), cap(limit).into()];
        self.read(what, |session| collect(session, AFTER, &values, from_row))
    }

    /// The last `limit` rows, in order.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn ledger_last(&self, limit: usize) -> Result<Vec<LedgerRow>, StoreError> {
        let what = "reading the ledger's end";
        if let Some(rows) = self.volume(what, |volume, names| volume.last(limit, names)) {
            return rows;
        }
        self.read(what, |session| {
            collect(session, LAST, &[cap(limit).into()], from_row)
        })
    }

    /// The position up to which every call is known to be closed.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn ledger_mark(&self) -> Result<i64, StoreError> {
        self.note()?;
        self.read("reading the ledger's mark", |session| {
            first(session, READ_MARK, &[], |mut row| row.int())
        })
        .map(Option::unwrap_or_default)
    }
}

/// What became of the claims of a commit.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) held: Vec<bool>,
    /// The grants' generation after it, when it has changed.
    pub(crate) grants: Option<i64>,
}

/// Tries each claim in a transaction.
pub(crate) fn claim_in(
    session: &mut dyn Session,
    claims: &[Claim<'_>],
) -> Result<Claimed, DatabaseError> {
    let mut claimed = Claimed {
        held: Vec::with_capacity(claims.len()),
        grants: None,
    };
    for claim in claims {
        let held = match *claim {
            Claim::Grant { id, now_ms } => {
                let (held, generation) = use_in(session, id, now_ms)?;
                claimed.grants = generation.or(claimed.grants);
                held
            }
            Claim::Approval { id, now_ms } => {
                session.execute(CONSUME, &[id.into(), now_ms.into()])? == 1
            }
            Claim::Proposal { id, now_ms } => {
                session.execute(APPLY, &[id.into(), now_ms.into()])? == 1
            }
        };
        claimed.held.push(held);
    }
    Ok(claimed)
}

fn cap(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn from_row(mut row: Row) -> Result<LedgerRow, DatabaseError> {
    Ok(LedgerRow {
        position: row.int()?,
        entity: EntityId::new(row.text()?),
        seq: row.int()?,
        at_ms: row.int()?,
        prev: row.blob()?,
        hash: row.blob()?,
        bytes: row.blob()?,
        is_sound: true,
    })
}
