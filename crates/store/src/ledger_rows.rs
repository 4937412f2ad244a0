//! Rows of the ledger. What the bytes say and how the hashes come about is the
//! ledger's business.
//!
//! The table has no index but its key: a second tree would be a second page to
//! write at every commit. What an index would be good for, the end of each
//! chain, is noted beside the entity whenever the mark moves; a start reads the
//! few rows after it.

use std::collections::HashMap;
use std::sync::LazyLock;

use legation_core::EntityId;
use rusqlite::{Connection, Row, Statement};

use crate::{Committed, Generation, Reader, Store, StoreError};

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

/// Most rows one statement adds.
const ROWS_MAX: usize = 32;

/// Statements that add one row, two rows, and so on. One statement for a whole
/// batch is its own transaction, which saves beginning and ending one.
static INSERTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    (1..=ROWS_MAX)
        .map(|rows| {
            let values = vec!["(?,?,?,?,?,?,?)"; rows].join(",");
            format!(
                "INSERT INTO ledger (position, entity, seq, at_ms, prev, hash, bytes) VALUES {values}"
            )
        })
        .collect()
});

const MARK: &str = "INSERT INTO ledger_mark (only, position) VALUES (1, ?1)
    ON CONFLICT (only) DO UPDATE SET position = excluded.position";
const END: &str = "UPDATE ledger_entities SET last_seq = ?2, last_position = ?3 WHERE number = ?1";
const READ_MARK: &str = "SELECT ifnull((SELECT position FROM ledger_mark), 0)";
const SINCE: &str = "SELECT entity, seq, position, hash FROM ledger
    WHERE position > ?1 ORDER BY position";
const AFTER: &str = "SELECT position, ifnull(name, '#' || entity), seq, at_ms, prev, hash, bytes
    FROM ledger LEFT JOIN ledger_entities ON number = entity
    WHERE position > ?1 ORDER BY position LIMIT ?2";
const LAST: &str = "SELECT * FROM (
        SELECT position, ifnull(name, '#' || entity), seq, at_ms, prev, hash, bytes
        FROM ledger LEFT JOIN ledger_entities ON number = entity
        ORDER BY position DESC LIMIT ?1)
    ORDER BY position";

impl Store {
    /// The number that stands for an entity in rows; gives it one if it has
    /// none, committed to the page cache.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn ledger_entity(&self, entity: &EntityId) -> Result<i64, StoreError> {
        let what = "numbering an entity of the ledger";
        let (number, _) = self.write(what, 1, None, |connection| {
            connection
                .prepare_cached(
                    "INSERT INTO ledger_entities (name) VALUES (?1)
                     ON CONFLICT (name) DO UPDATE SET name = name RETURNING number",
                )?
                .query_row([entity.as_str()], |row| row.get(0))
        })?;
        Ok(number)
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
        let what = "appending to the ledger";
        let count = rows.len();
        let (_, commit) = match mark {
            None if count <= ROWS_MAX => self.write_alone(what, count, generation, |connection| {
                insert(connection, rows)
            }),
            mark => self.write(what, count, Some(generation), |connection| {
                for chunk in rows.chunks(ROWS_MAX) {
                    insert(connection, chunk)?;
                }
                let Some(mark) = mark else { return Ok(()) };
                connection.prepare_cached(MARK)?.execute([mark.position])?;
                let mut update = connection.prepare_cached(END)?;
                for end in mark.ends {
                    update.execute(*end)?;
                }
                Ok(())
            }),
        }?;
        Ok(commit)
    }

    /// The heads of all chains, in the order of the entities' numbers.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn ledger_heads(&self) -> Result<Vec<LedgerHead>, StoreError> {
        self.read("reading the ledger's heads", |connection| {
            let mark: i64 = connection.query_row(READ_MARK, [], |row| row.get(0))?;
            let mut since = HashMap::new();
            let mut statement = connection.prepare(SINCE)?;
            let mut rows = statement.query([mark])?;
            while let Some(row) = rows.next()? {
                let end: (i64, i64, Vec<u8>) = (row.get(1)?, row.get(2)?, row.get(3)?);
                since.insert(row.get::<_, i64>(0)?, end);
            }
            let mut noted = connection.prepare(
                "SELECT number, name, last_seq, last_position,
                    (SELECT hash FROM ledger
                     WHERE position = last_position AND entity = number AND seq = last_seq)
                 FROM ledger_entities ORDER BY number",
            )?;
            let heads = noted.query_map([], |row| head(row, &mut since))?;
            heads.collect()
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

    /// The hash of the row at a position, if there is one.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn ledger_hash(&self, position: i64) -> Result<Option<Vec<u8>>, StoreError> {
        self.read("reading a ledger row", |connection| {
            let mut statement =
                connection.prepare("SELECT hash FROM ledger WHERE position = ?1")?;
            let mut rows = statement.query([position])?;
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
            connection.query_row(READ_MARK, [], |row| row.get(0))
        })
    }
}

/// Adds at most [`ROWS_MAX`] rows.
fn insert(connection: &Connection, rows: &[NewLedgerRow<'_>]) -> rusqlite::Result<()> {
    let Some(sql) = rows
        .len()
        .checked_sub(1)
        .and_then(|index| INSERTS.get(index))
    else {
        return Ok(());
    };
    let mut statement = connection.prepare_cached(sql)?;
    for (index, row) in rows.iter().enumerate() {
        bind(&mut statement, index * 7, row)?;
    }
    statement.raw_execute().map(drop)
}

fn bind(
    statement: &mut Statement<'_>,
    before: usize,
    row: &NewLedgerRow<'_>,
) -> rusqlite::Result<()> {
    statement.raw_bind_parameter(before + 1, row.position)?;
    statement.raw_bind_parameter(before + 2, row.entity)?;
    statement.raw_bind_parameter(before + 3, row.seq)?;
    statement.raw_bind_parameter(before + 4, row.at_ms)?;
    statement.raw_bind_parameter(before + 5, &row.prev[..])?;
    statement.raw_bind_parameter(before + 6, &row.hash[..])?;
    statement.raw_bind_parameter(before + 7, row.bytes)
}

fn head(
    row: &Row<'_>,
    since: &mut HashMap<i64, (i64, i64, Vec<u8>)>,
) -> rusqlite::Result<LedgerHead> {
    let number = row.get(0)?;
    let entity = EntityId::new(row.get::<_, String>(1)?);
    if let Some((seq, position, hash)) = since.remove(&number) {
        return Ok(LedgerHead {
            entity,
            number,
            seq,
            position,
            hash,
            fresh: true,
        });
    }
    let seq = row.get(2)?;
    let empty = if seq == 0 { 32 } else { 0 };
    Ok(LedgerHead {
        entity,
        number,
        seq,
        position: row.get(3)?,
        hash: row
            .get::<_, Option<Vec<u8>>>(4)?
            .unwrap_or_else(|| vec![0; empty]),
        fresh: false,
    })
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
