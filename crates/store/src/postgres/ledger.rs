//! The ledger's rows on a server.
//!
//! Each entity's row holds the end of its chain. A commit locks the ends of
//! the chains it adds to and compares them with what its rows continue, so two
//! hubs that believe themselves at the same end cannot fork a chain: the second
//! is refused and reads the ends anew.

use std::collections::BTreeMap;

use legation_core::EntityId;

use tokio_postgres::types::ToSql;

use super::session::{ServerSession, answers};
use super::{ON_DISK, Postgres};
use crate::ledger_rows::{
    BuildLedger, Claim, Claimed, LedgerHead, LedgerMark, NewLedgerRow, claim_in,
};
use crate::sql::{collect, first};
use crate::{Committed, DatabaseError, Generation, StoreError};

const WHAT: &str = "appending to the ledger";
const NUMBER: &str = "INSERT INTO ledger_entities (name) VALUES (?1)
    ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING number";
const FIND: &str = "SELECT number FROM ledger_entities WHERE name = ?1";
const LOCK: &str = "SELECT number, last_seq, last_hash FROM ledger_entities
    WHERE number = ANY(CAST(?1 AS bigint[])) ORDER BY number FOR UPDATE";
const INSERT: &str = "INSERT INTO ledger (position, entity, seq, at_ms, prev, hash, bytes)
    SELECT * FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[]),
        CAST(?4 AS bigint[]), CAST(?5 AS bytea[]), CAST(?6 AS bytea[]), CAST(?7 AS bytea[]))";
const MOVE: &str = "UPDATE ledger_entities
    SET last_seq = moved.seq, last_position = moved.position, last_hash = moved.hash
    FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[]),
        CAST(?4 AS bytea[])) AS moved (number, seq, position, hash)
    WHERE ledger_entities.number = moved.number";
const MARK: &str = "INSERT INTO ledger_mark (single, position) VALUES (1, ?1)
    ON CONFLICT (single) DO UPDATE SET position = excluded.position";
const HEADS: &str = "SELECT number, name, last_seq, last_position, last_hash,
        (SELECT hash FROM ledger
         WHERE position = last_position AND entity = number AND seq = last_seq)
    FROM ledger_entities ORDER BY number";

impl Postgres {
    /// See [`Store::ledger_entity`](crate::Store::ledger_entity).
    pub(crate) fn ledger_entity(&self, entity: &EntityId) -> Result<i64, StoreError> {
        let what = "numbering an entity of the ledger";
        let name = [entity.as_str().into()];
        let known = self.read(what, |session| {
            first(session, FIND, &name, |mut row| row.int())
        })?;
        if let Some(number) = known {
            return Ok(number);
        }
        self.write(what, |session| {
            first(session, NUMBER, &name, |mut row| row.int())?
                .ok_or(DatabaseError::Column { column: 1 })
        })
    }

    /// See [`Store::ledger_append`](crate::Store::ledger_append).
    pub(crate) fn ledger_append(
        &self,
        rows: &[NewLedgerRow<'_>],
        mark: Option<LedgerMark<'_>>,
        generation: Generation,
    ) -> Result<Committed, StoreError> {
        self.attempt(WHAT, Some(generation), |session| {
            append(session, Begun::No, rows, mark)
        })?;
        Ok(ON_DISK)
    }

    /// See [`Store::ledger_commit`](crate::Store::ledger_commit).
    pub(crate) fn ledger_commit(
        &self,
        claims: &[Claim<'_>],
        generation: Generation,
        build: &mut dyn BuildLedger,
    ) -> Result<(Claimed, Committed), StoreError> {
        let claimed = self.attempt(WHAT, Some(generation), |session| {
            session.batch("BEGIN")?;
            let claimed = claim_in(session, claims)?;
            let batch = build.build(&claimed.held);
            append(session, Begun::Yes, &batch.rows, batch.mark)?;
            Ok(claimed)
        })?;
        Ok((claimed, ON_DISK))
    }

    /// See [`Store::ledger_heads`](crate::Store::ledger_heads).
    pub(crate) fn ledger_heads(&self) -> Result<Vec<LedgerHead>, StoreError> {
        self.read("reading the ledger's heads", |session| {
            collect(session, HEADS, &[], |mut row| {
                let (number, name) = (row.int()?, row.text()?);
                let (seq, position) = (row.int()?, row.int()?);
                let (noted, found) = (row.blob()?, row.blob_or_null()?);
                // Without its last row, or with another one, the chain has no
                // end that could be continued.
                let sound = seq == 0 || found.as_ref() == Some(&noted);
                Ok(LedgerHead {
                    entity: EntityId::new(name),
                    number,
                    seq,
                    position,
                    hash: if sound { noted } else { Vec::new() },
                    fresh: false,
                })
            })
        })
    }
}

/// The end of a chain.
#[derive(Debug, Clone, Copy)]
struct End<'a> {
    seq: i64,
    position: i64,
    hash: &'a [u8],
}

/// Whether a transaction has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    Yes,
    No,
}

/// Adds rows, moves the ends of their chains, and commits. What needs no answer
/// of what came before is sent along with it: two round trips in all.
fn append(
    session: &mut ServerSession,
    begun: Begun,
    rows: &[NewLedgerRow<'_>],
    mark: Option<LedgerMark<'_>>,
) -> Result<(), DatabaseError> {
    let locked = lock(session, begun, rows)?;
    let ends = follow(&locked, rows)?;
    let mark = mark.map(|mark| mark.position);
    let (insert, moves, marks) = (
        session.prepared(INSERT)?,
        session.prepared(MOVE)?,
        session.prepared(MARK)?,
    );
    let (added, moved) = (Added::of(rows), Moved::of(&ends));
    let client = &session.client;
    let sent = async {
        tokio::join!(
            biased;
            async {
                match rows.is_empty() {
                    true => Ok(0),
                    false => client.execute(&insert, &added.parameters()).await,
                }
            },
            async {
                match ends.is_empty() {
                    true => Ok(0),
                    false => client.execute(&moves, &moved.parameters()).await,
                }
            },
            async {
                match &mark {
                    None => Ok(0),
                    Some(position) => client.execute(&marks, &[position]).await,
                }
            },
            client.batch_execute("COMMIT"),
        )
    };
    let (added, moved, marked, committed) = answers(sent)?;
    // Once one has failed the others do too, and the commit becomes a rollback.
    match added.map_err(DatabaseError::from) {
        // The place was taken by another hub.
        Err(DatabaseError::Postgres { code, .. }) if code == "23505" => {
            return Err(DatabaseError::Moved);
        }
        added => added?,
    };
    moved?;
    marked?;
    Ok(committed?)
}

/// Locks the chains that the rows belong to and reads their ends.
fn lock(
    session: &mut ServerSession,
    begun: Begun,
    rows: &[NewLedgerRow<'_>],
) -> Result<Vec<tokio_postgres::Row>, DatabaseError> {
    let mut numbers: Vec<i64> = rows.iter().map(|row| row.entity).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let statement = session.prepared(LOCK)?;
    let client = &session.client;
    let parameters: [&(dyn ToSql + Sync); 1] = [&numbers];
    let (began, locked) = answers(async {
        // In this order they are sent.
        tokio::join!(
            biased;
            async {
                match begun {
                    Begun::Yes => Ok(()),
                    Begun::No => client.batch_execute("BEGIN").await,
                }
            },
            client.query(&statement, &parameters),
        )
    })?;
    began?;
    Ok(locked?)
}

/// Checks that each row continues its chain; the new ends.
fn follow<'a>(
    locked: &[tokio_postgres::Row],
    rows: &'a [NewLedgerRow<'_>],
) -> Result<BTreeMap<i64, End<'a>>, DatabaseError> {
    let mut before = BTreeMap::new();
    for row in locked {
        let (number, seq): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        before.insert(number, (seq, row.try_get::<_, Vec<u8>>(2)?));
    }
    let mut ends: BTreeMap<i64, End<'a>> = BTreeMap::new();
    for row in rows {
        let continues = match (ends.get(&row.entity), before.get(&row.entity)) {
            (Some(end), _) => row.seq == end.seq + 1 && row.prev == end.hash,
            (None, Some((seq, hash))) => row.seq == seq + 1 && row.prev[..] == hash[..],
            (None, None) => false,
        };
        if !continues {
            return Err(DatabaseError::Moved);
        }
        let end = End {
            seq: row.seq,
            position: row.position,
            hash: row.hash,
        };
        ends.insert(row.entity, end);
    }
    Ok(ends)
}

/// Rows by column, as one statement takes them.
struct Added<'a> {
    positions: Vec<i64>,
    entities: Vec<i64>,
    seqs: Vec<i64>,
    times: Vec<i64>,
    prevs: Vec<&'a [u8]>,
    hashes: Vec<&'a [u8]>,
    texts: Vec<&'a [u8]>,
}

/// Ends by column.
struct Moved<'a> {
    numbers: Vec<i64>,
    seqs: Vec<i64>,
    positions: Vec<i64>,
    hashes: Vec<&'a [u8]>,
}

// === impl Added ===

impl<'a> Added<'a> {
    fn of(rows: &'a [NewLedgerRow<'_>]) -> Self {
        Self {
            positions: rows.iter().map(|row| row.position).collect(),
            entities: rows.iter().map(|row| row.entity).collect(),
            seqs: rows.iter().map(|row| row.seq).collect(),
            times: rows.iter().map(|row| row.at_ms).collect(),
            prevs: rows.iter().map(|row| &row.prev[..]).collect(),
            hashes: rows.iter().map(|row| &row.hash[..]).collect(),
            texts: rows.iter().map(|row| row.bytes).collect(),
        }
    }

    fn parameters(&self) -> [&(dyn ToSql + Sync); 7] {
        [
            &self.positions,
            &self.entities,
            &self.seqs,
            &self.times,
            &self.prevs,
            &self.hashes,
            &self.texts,
        ]
    }
}

// === impl Moved ===

impl<'a> Moved<'a> {
    fn of(ends: &BTreeMap<i64, End<'a>>) -> Self {
        Self {
            numbers: ends.keys().copied().collect(),
            seqs: ends.values().map(|end| end.seq).collect(),
            positions: ends.values().map(|end| end.position).collect(),
            hashes: ends.values().map(|end| end.hash).collect(),
        }
    }

    fn parameters(&self) -> [&(dyn ToSql + Sync); 4] {
        [&self.numbers, &self.seqs, &self.positions, &self.hashes]
    }
}
