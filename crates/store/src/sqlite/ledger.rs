//! The ledger's rows in a file.
//!
//! The table has no index but its key: a second tree would be a second page to
//! write at every commit. What an index would be good for, the end of each
//! chain, is noted beside the entity whenever the mark moves; a start reads the
//! few rows after it.

use std::collections::HashMap;
use std::sync::LazyLock;

use legation_core::EntityId;
use rusqlite::{Connection, Row, Statement};

use super::{FileSession, Sqlite};
use crate::ledger_rows::{
    BuildLedger, Claim, Claimed, LedgerHead, LedgerMark, NewLedgerRow, claim_in,
};
use crate::{Committed, Generation, StoreError};

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

const WHAT: &str = "appending to the ledger";
const MARK: &str = "INSERT INTO ledger_mark (only, position) VALUES (1, ?1)
    ON CONFLICT (only) DO UPDATE SET position = excluded.position";
const END: &str = "UPDATE ledger_entities SET last_seq = ?2, last_position = ?3 WHERE number = ?1";
const READ_MARK: &str = "SELECT ifnull((SELECT position FROM ledger_mark), 0)";
const SINCE: &str = "SELECT entity, seq, position, hash FROM ledger
    WHERE position > ?1 ORDER BY position";

impl Sqlite {
    /// See [`Store::ledger_entity`](crate::Store::ledger_entity).
    pub(crate) fn ledger_entity(&self, entity: &EntityId) -> Result<i64, StoreError> {
        let what = "numbering an entity of the ledger";
        let (number, _) = self.write(what, 1, None, |connection| {
            let mut statement = connection.prepare_cached(
                "INSERT INTO ledger_entities (name) VALUES (?1)
                 ON CONFLICT (name) DO UPDATE SET name = name RETURNING number",
            )?;
            Ok(statement.query_row([entity.as_str()], |row| row.get(0))?)
        })?;
        Ok(number)
    }

    /// See [`Store::ledger_append`](crate::Store::ledger_append).
    pub(crate) fn ledger_append(
        &self,
        rows: &[NewLedgerRow<'_>],
        mark: Option<LedgerMark<'_>>,
        generation: Generation,
    ) -> Result<Committed, StoreError> {
        let count = rows.len();
        let (_, commit) = match mark {
            None if count <= ROWS_MAX => self.write_alone(WHAT, count, generation, |connection| {
                Ok(insert(connection, rows)?)
            }),
            mark => self.write(WHAT, count, Some(generation), |connection| {
                Ok(insert_all(connection, rows, mark)?)
            }),
        }?;
        Ok(commit)
    }

    /// See [`Store::ledger_commit`](crate::Store::ledger_commit).
    pub(crate) fn ledger_commit(
        &self,
        claims: &[Claim<'_>],
        generation: Generation,
        build: &mut dyn BuildLedger,
    ) -> Result<(Claimed, Committed), StoreError> {
        // A claim changes a row or two, as a record of the ledger adds one.
        let rows = claims.len() * 2;
        self.write(WHAT, rows, Some(generation), |connection| {
            let claimed = claim_in(&mut FileSession(connection), claims)?;
            let batch = build.build(&claimed.held);
            insert_all(connection, &batch.rows, batch.mark)?;
            Ok(claimed)
        })
    }

    /// See [`Store::ledger_heads`](crate::Store::ledger_heads).
    pub(crate) fn ledger_heads(&self) -> Result<Vec<LedgerHead>, StoreError> {
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
            Ok(heads.collect::<Result<_, _>>()?)
        })
    }
}

/// Adds rows and moves the mark, in a transaction.
fn insert_all(
    connection: &Connection,
    rows: &[NewLedgerRow<'_>],
    mark: Option<LedgerMark<'_>>,
) -> rusqlite::Result<()> {
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
