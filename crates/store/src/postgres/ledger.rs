//! The ledger's rows on a server.
//!
//! Each entity's row holds the end of its chain. A commit locks the ends of
//! the chains it adds to and compares them with what its rows continue, so two
//! hubs that believe themselves at the same end cannot fork a chain: the second
//! is refused and reads the ends anew.

use std::collections::BTreeMap;

use legation_core::EntityId;

use super::Postgres;
use super::session::{ServerSession, answer};
use crate::ledger_rows::{
    BuildLedger, Claim, Claimed, LedgerHead, LedgerMark, NewLedgerRow, claim_in,
};
use crate::sql::{Session as _, Value, collect, first};
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
        self.transaction(WHAT, Some(generation), |session| {
            append(session, rows, mark)
        })
        .map(|((), commit)| commit)
    }

    /// See [`Store::ledger_commit`](crate::Store::ledger_commit).
    pub(crate) fn ledger_commit(
        &self,
        claims: &[Claim<'_>],
        generation: Generation,
        build: &mut dyn BuildLedger,
    ) -> Result<(Claimed, Committed), StoreError> {
        self.transaction(WHAT, Some(generation), |session| {
            let claimed = claim_in(session, claims)?;
            let batch = build.build(&claimed.held);
            append(session, &batch.rows, batch.mark)?;
            Ok(claimed)
        })
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

/// Adds rows and moves the ends of their chains, in a transaction.
fn append(
    session: &mut ServerSession,
    rows: &[NewLedgerRow<'_>],
    mark: Option<LedgerMark<'_>>,
) -> Result<(), DatabaseError> {
    if !rows.is_empty() {
        let ends = follow(session, rows)?;
        insert(session, rows)?;
        move_ends(session, &ends)?;
    }
    if let Some(mark) = mark {
        session.execute(MARK, &[Value::Int(mark.position)])?;
    }
    Ok(())
}

/// Locks the chains the rows belong to and checks that each row continues its
/// chain; the new ends.
fn follow<'a>(
    session: &mut ServerSession,
    rows: &'a [NewLedgerRow<'_>],
) -> Result<BTreeMap<i64, End<'a>>, DatabaseError> {
    let mut numbers: Vec<i64> = rows.iter().map(|row| row.entity).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let statement = session.prepared(LOCK)?;
    let locked = answer(session.client.query(&statement, &[&numbers]))?;
    let mut before = BTreeMap::new();
    for row in &locked {
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

fn insert(session: &mut ServerSession, rows: &[NewLedgerRow<'_>]) -> Result<(), DatabaseError> {
    let statement = session.prepared(INSERT)?;
    let numbers = |number: fn(&NewLedgerRow<'_>) -> i64| rows.iter().map(number).collect();
    let positions: Vec<i64> = numbers(|row| row.position);
    let entities: Vec<i64> = numbers(|row| row.entity);
    let seqs: Vec<i64> = numbers(|row| row.seq);
    let times: Vec<i64> = numbers(|row| row.at_ms);
    let prevs: Vec<&[u8]> = rows.iter().map(|row| &row.prev[..]).collect();
    let hashes: Vec<&[u8]> = rows.iter().map(|row| &row.hash[..]).collect();
    let texts: Vec<&[u8]> = rows.iter().map(|row| row.bytes).collect();
    let added = answer(session.client.execute(
        &statement,
        &[
            &positions, &entities, &seqs, &times, &prevs, &hashes, &texts,
        ],
    ));
    match added {
        // The place was taken by another hub.
        Err(DatabaseError::Postgres { code, .. }) if code == "23505" => Err(DatabaseError::Moved),
        added => added.map(drop),
    }
}

fn move_ends(
    session: &mut ServerSession,
    ends: &BTreeMap<i64, End<'_>>,
) -> Result<(), DatabaseError> {
    let statement = session.prepared(MOVE)?;
    let numbers: Vec<i64> = ends.keys().copied().collect();
    let seqs: Vec<i64> = ends.values().map(|end| end.seq).collect();
    let positions: Vec<i64> = ends.values().map(|end| end.position).collect();
    let hashes: Vec<&[u8]> = ends.values().map(|end| end.hash).collect();
    answer(
        session
            .client
            .execute(&statement, &[&numbers, &seqs, &positions, &hashes]),
    )
    .map(drop)
}
