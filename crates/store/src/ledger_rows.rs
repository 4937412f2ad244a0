//! Rows of the ledger. What the bytes say and how the hashes come about is the
//! ledger's business.

use legation_core::EntityId;
use rusqlite::{Connection, Row};

use crate::{Committed, Generation, Reader, Store, StoreError};

/// One row. Columns are as they lie in the file, so that a verifier sees what
/// was done to them: `prev` and `hash` have 32 bytes unless someone changed them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRow {
    /// Place in the order of commits, over all entities, from 1.
    pub position: i64,
    /// Whose chain it belongs to.
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
}

/// The last row of one entity's chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerHead {
    /// Whose chain.
    pub entity: EntityId,
    /// Its last row's place.
    pub seq: i64,
    /// Its last row's hash.
    pub hash: Vec<u8>,
}

const INSERT: &str = "INSERT INTO ledger (position, entity, seq, at_ms, prev, hash, bytes)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const MARK: &str = "INSERT INTO ledger_mark (only, position) VALUES (1, ?1)
    ON CONFLICT (only) DO UPDATE SET position = excluded.position";
const NEXT_ENTITY: &str = "SELECT min(entity) FROM ledger WHERE entity > ?1";
const HEAD: &str = "SELECT seq, hash FROM ledger WHERE entity = ?1 ORDER BY seq DESC LIMIT 1";
const AFTER: &str = "SELECT position, entity, seq, at_ms, prev, hash, bytes FROM ledger
    WHERE position > ?1 ORDER BY position LIMIT ?2";
const LAST: &str = "SELECT * FROM (
        SELECT position, entity, seq, at_ms, prev, hash, bytes FROM ledger
        ORDER BY position DESC LIMIT ?1)
    ORDER BY position";

impl Store {
    /// Adds rows in one transaction, committed to the page cache; with `mark`
    /// also notes that every call up to that position is closed. `generation`
    /// is the one in which the rows' places were read.
    ///
    /// # Errors
    /// See [`StoreError`]; [`StoreError::Reopened`] when the generation is past. Unless it is [`StoreError::Full`] the rows may turn
    /// out to be there: ask [`Store::ledger_hash`].
    pub fn ledger_append(
        &self,
        rows: &[LedgerRow],
        mark: Option<i64>,
        generation: Generation,
    ) -> Result<Committed, StoreError> {
        let what = "appending to the ledger";
        let ((), commit) = self.write(what, rows.len(), Some(generation), |connection| {
            let mut insert = connection.prepare_cached(INSERT)?;
            for row in rows {
                insert.execute((
                    row.position,
                    row.entity.as_str(),
                    row.seq,
                    row.at_ms,
                    &row.prev,
                    &row.hash,
                    &row.bytes,
                ))?;
            }
            if let Some(position) = mark {
                connection.prepare_cached(MARK)?.execute([position])?;
            }
            Ok(())
        })?;
        Ok(commit)
    }

    /// The heads of all chains.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn ledger_heads(&self) -> Result<Vec<LedgerHead>, StoreError> {
        self.read("reading the ledger's heads", |connection| {
            let mut heads = Vec::new();
            // One index probe per entity; grouping would walk the whole index.
            let mut last: Option<String> =
                connection.query_row("SELECT min(entity) FROM ledger", [], |row| row.get(0))?;
            while let Some(entity) = last {
                let (seq, hash) =
                    connection.query_row(HEAD, [&entity], |row| Ok((row.get(0)?, row.get(1)?)))?;
                last = connection.query_row(NEXT_ENTITY, [&entity], |row| row.get(0))?;
                heads.push(LedgerHead {
                    entity: EntityId::new(entity),
                    seq,
                    hash,
                });
            }
            Ok(heads)
        })
    }

    /// The last position, 0 when there is no row.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn ledger_position(&self) -> Result<i64, StoreError> {
        self.read("reading the ledger's end", |connection| {
            connection.query_row("SELECT ifnull(max(position), 0) FROM ledger", [], |row| {
                row.get(0)
            })
        })
    }

    /// The hash of one row, if the row is there.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn ledger_hash(&self, entity: &EntityId, seq: i64) -> Result<Option<Vec<u8>>, StoreError> {
        self.read("reading a ledger row", |connection| {
            let mut statement =
                connection.prepare("SELECT hash FROM ledger WHERE entity = ?1 AND seq = ?2")?;
            let mut rows = statement.query((entity.as_str(), seq))?;
            rows.next()?.map(|row| row.get(0)).transpose()
        })
    }
}

impl Reader {
    /// Up to `limit` rows after `position`, in order.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn ledger_after(&self, position: i64, limit: usize) -> Result<Vec<LedgerRow>, StoreError> {
        self.read("reading the ledger", |connection| {
            collect(connection, AFTER, &[&position, &cap(limit)])
        })
    }

    /// The last `limit` rows, in order.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn ledger_last(&self, limit: usize) -> Result<Vec<LedgerRow>, StoreError> {
        self.read("reading the ledger's end", |connection| {
            collect(connection, LAST, &[&cap(limit)])
        })
    }

    /// The position up to which every call is known to be closed.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn ledger_mark(&self) -> Result<i64, StoreError> {
        self.read("reading the ledger's mark", |connection| {
            connection.query_row(
                "SELECT ifnull((SELECT position FROM ledger_mark), 0)",
                [],
                |row| row.get(0),
            )
        })
    }
}

fn cap(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn collect(
    connection: &Connection,
    sql: &str,
    parameters: &[&dyn rusqlite::ToSql],
) -> rusqlite::Result<Vec<LedgerRow>> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(parameters, from_row)?;
    rows.collect()
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<LedgerRow> {
    Ok(LedgerRow {
        position: row.get(0)?,
        entity: EntityId::new(row.get::<_, String>(1)?),
        seq: row.get(2)?,
        at_ms: row.get(3)?,
        prev: row.get(4)?,
        hash: row.get(5)?,
        bytes: row.get(6)?,
    })
}
