//! The ledger beside a database in a file: its rows in the volume, and what the database is told of them.
//!
//! The end of each chain is noted beside the entity whenever the mark moves; a start reads the
//! few rows after it. What is noted is on disk in the volume first, so that the database never speaks of rows that a power
//! failure took.

use std::collections::HashMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use legation_core::EntityId;
use rusqlite::{Connection, Row};

use super::{FileSession, Files, transaction_with};
use crate::ledger_rows::{
    BuildLedger, Claim, Claimed, LedgerHead, LedgerMark, LedgerRow, NewLedgerRow, claim_in,
};
use crate::volume::{Notes, Place, VolumeReader};
use crate::{Committed, DatabaseError, Generation, StoreError};

const WHAT: &str = "appending to the ledger";
const NOTING: &str = "noting the ends of the ledger";
const INSERT: &str = "INSERT INTO ledger (position, entity, seq, at_ms, prev, hash, bytes)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const MARK: &str = "INSERT INTO ledger_mark (only, position) VALUES (1, ?1)
    ON CONFLICT (only) DO UPDATE SET position = excluded.position";
const END: &str = "UPDATE ledger_entities SET last_seq = ?2, last_position = ?3 WHERE number = ?1";
const PLACE: &str = "INSERT OR REPLACE INTO ledger_places (position, ends_at) VALUES (?1, ?2)";
const PLACES: &str = "SELECT position, ends_at FROM ledger_places ORDER BY position";
const READ_MARK: &str = "SELECT ifnull((SELECT position FROM ledger_mark), 0)";
/// Places behind the last row, of a file that somebody made shorter.
const GONE: &str = "DELETE FROM ledger_places WHERE position > ?1";
const MOVED: &str = "DELETE FROM ledger WHERE position <= ?1";
const TO_MOVE: &str = "SELECT position, entity, seq, at_ms, prev, hash, bytes FROM ledger
    WHERE position > ?1 ORDER BY position LIMIT 1024";
const NAMES: &str = "SELECT number, name FROM ledger_entities";

/// Rows read at a time.
const CHUNK: usize = 1_024;

/// The names of the entities, by their numbers.
pub(crate) struct Names(HashMap<i64, EntityId>);

/// A row of the table, as owned.
struct Kept {
    position: i64,
    entity: i64,
    seq: i64,
    at_ms: i64,
    prev: [u8; 32],
    hash: [u8; 32],
    bytes: Vec<u8>,
}

/// The places that the database knows.
pub(crate) fn stored_places(connection: &Connection) -> Result<Vec<Place>, DatabaseError> {
    let mut statement = connection.prepare(PLACES)?;
    let places = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))?;
    places
        .map(|place| {
            let (position, end) = place?;
            let end = u64::try_from(end).map_err(|_| DatabaseError::Column { column: 2 })?;
            Ok(Place { position, end })
        })
        .collect()
}

impl Files {
    /// See [`Store::ledger_entity`](crate::Store::ledger_entity). On disk on return, because rows of the volume give
    /// the number alone.
    pub(crate) fn ledger_entity(&self, entity: &EntityId) -> Result<i64, StoreError> {
        self.write_durable("numbering an entity of the ledger", |connection| {
            let mut statement = connection.prepare_cached(
                "INSERT INTO ledger_entities (name) VALUES (?1)
                 ON CONFLICT (name) DO UPDATE SET name = name RETURNING number",
            )?;
            Ok(statement.query_row([entity.as_str()], |row| row.get(0))?)
        })
    }

    /// See [`Store::ledger_append`](crate::Store::ledger_append).
    pub(crate) fn ledger_append(
        &self,
        rows: &[NewLedgerRow<'_>],
        mark: Option<LedgerMark<'_>>,
        generation: Generation,
    ) -> Result<Committed, StoreError> {
        self.check(generation)?;
        if self.volume.is_failed() {
            return Err(StoreError::Sync { source: None });
        }
        let is_marked = mark.is_some();
        let commit = self
            .volume
            .append(rows, mark, || Ok(self.count()))
            .map_err(StoreError::of(WHAT))?;
        if is_marked {
            self.signal.note_is_due();
        }
        Ok(commit)
    }

    /// See [`Store::ledger_commit`](crate::Store::ledger_commit). On disk on return, in this order: the rows before; the
    /// claims, with the rows in the table; then the rows in the volume, which the disk may take whenever it likes. So a
    /// power failure leaves claims and rows together, and neither behind a gap. Nobody else adds rows meanwhile: whoever
    /// makes them knows where the chains end.
    pub(crate) fn ledger_commit(
        &self,
        claims: &[Claim<'_>],
        generation: Generation,
        build: &mut dyn BuildLedger,
    ) -> Result<(Claimed, Committed), StoreError> {
        self.sync(Committed(self.commits.load(Ordering::Acquire)))?;
        let mut writer = self.writer();
        self.repair(&mut writer)?;
        self.check(generation)?;
        let Some(connection) = &writer.connection else {
            return Err(StoreError::Sync { source: None });
        };
        let next = self.volume.last().position + 1;
        let done = transaction_with(connection, build, |connection, build| {
            let claimed = claim_in(&mut FileSession(connection), claims)?;
            let batch = build.build(&claimed.held);
            for (row, position) in batch.rows.iter().zip(next..) {
                if row.position != position {
                    return Err(DatabaseError::Moved);
                }
                insert(connection, row)?;
            }
            // What is used up has to be undone where the rows find no room.
            self.volume.reserve(&batch.rows)?;
            Ok((claimed, batch))
        });
        let (claimed, batch) = match done {
            Ok(done) => done,
            Err(error) => {
                writer.connection = None;
                return Err(StoreError::of::<DatabaseError>(WHAT)(error));
            }
        };
        // A claim changes a row or two, as a record of the ledger adds one.
        let logged = self.logged(&mut writer, claims.len() * 2);
        drop(writer);
        self.sync_log(logged)?;
        // The table has the rows until the volume has them on disk.
        self.disk().rows_synced = logged.0;
        if !batch.rows.is_empty() {
            let is_marked = batch.mark.is_some();
            let added = self.volume.append(&batch.rows, batch.mark, || {
                // What syncs the volume later covers these rows too.
                let _later: Committed = self.count();
                Ok(())
            });
            added.map_err(StoreError::of(WHAT))?;
            if is_marked {
                self.signal.note_is_due();
            }
        }
        Ok((claimed, logged))
    }

    /// See [`Store::ledger_heads`](crate::Store::ledger_heads).
    pub(crate) fn ledger_heads(&self) -> Result<Vec<LedgerHead>, StoreError> {
        self.note()?;
        let volume = self.volume_reader()?;
        self.read("reading the ledger's heads", |connection| {
            let names = Names::read(connection)?;
            let name = |number| names.of(number);
            let mut after: i64 = connection.query_row(READ_MARK, [], |row| row.get(0))?;
            let mut since: HashMap<EntityId, LedgerRow> = HashMap::new();
            loop {
                let rows = volume.after(after, CHUNK, &name)?;
                let Some(last) = rows.last() else { break };
                after = last.position;
                since.extend(rows.into_iter().map(|row| (row.entity.clone(), row)));
            }
            let mut noted = connection.prepare(
                "SELECT number, name, last_seq, last_position FROM ledger_entities ORDER BY number",
            )?;
            let heads = noted.query_map([], |row| {
                let entity = EntityId::new(row.get::<_, String>(1)?);
                Ok((row.get(0)?, entity, row.get(2)?, row.get(3)?))
            })?;
            heads
                .map(|head| {
                    let (number, entity, seq, position) = head?;
                    match since.remove(&entity) {
                        Some(row) => Ok(fresh(number, row)),
                        None => idle(&volume, (number, entity, seq, position), &name),
                    }
                })
                .collect()
        })
    }

    /// See [`Store::ledger_position`](crate::Store::ledger_position).
    pub(crate) fn ledger_position(&self) -> Result<i64, StoreError> {
        self.generation().map(|_| self.volume.last().position)
    }

    /// See [`Store::ledger_hash`](crate::Store::ledger_hash).
    pub(crate) fn ledger_hash(&self, position: i64) -> Result<Option<Vec<u8>>, StoreError> {
        self.generation()?;
        let rows = self
            .volume_reader()?
            .after(position - 1, 1, &|_| EntityId::personal());
        let rows = rows.map_err(StoreError::of("reading a ledger row"))?;
        let row = rows.into_iter().find(|row| row.position == position);
        Ok(row.filter(|row| row.is_sound).map(|row| row.hash))
    }

    /// Tells the database of marks and places that are new, once the rows are on disk.
    pub(crate) fn note(&self) -> Result<(), StoreError> {
        let _alone = self.noting.lock().unwrap_or_else(PoisonError::into_inner);
        let notes = self.volume.notes();
        if notes.is_empty() {
            return Ok(());
        }
        let last = self.volume.last();
        self.sync(Committed(self.commits.load(Ordering::Acquire)))?;
        self.volume.set_durable(last);
        let rows = notes.marks.len() + notes.places.len();
        let (_, commit) = self.write(NOTING, rows, |connection| note(connection, &notes, last))?;
        // Nobody waits for it, and rows that come after it do not depend on it.
        self.sync_log(commit)?;
        self.volume.noted(&notes);
        Ok(())
    }

    /// Notes where the volume ends, so that the next start knows that nothing behind it was lost.
    pub(super) fn close_volume(&self) -> Result<(), StoreError> {
        let last = self.volume.last();
        if last == Place::START {
            return Ok(());
        }
        self.volume
            .close()
            .map_err(StoreError::of("closing the ledger's file"))?;
        let notes = Notes {
            marks: Vec::new(),
            places: vec![last],
        };
        self.write(NOTING, 1, |connection| note(connection, &notes, last))
            .map(|_| ())
    }

    /// Moves rows from the table to the volume that are not there yet.
    pub(super) fn move_rows(&self) -> Result<(), StoreError> {
        let writer = self.writer();
        let Some(connection) = &writer.connection else {
            return Ok(());
        };
        self.move_rows_of(connection)
            .map_err(StoreError::of("moving rows of the ledger"))
    }

    pub(super) fn move_rows_of(&self, connection: &Connection) -> Result<(), DatabaseError> {
        let before = self.volume.last();
        loop {
            let last = self.volume.last().position;
            let mut statement = connection.prepare_cached(TO_MOVE)?;
            let kept = statement.query_map([last], Kept::from_row)?;
            let kept = kept.collect::<Result<Vec<_>, _>>()?;
            let Some(first) = kept.first() else { break };
            if first.position != last + 1 {
                tracing::error!(
                    row = last + 1,
                    "rows of the ledger are missing before row {}, which stays where it is; run `legation audit verify`",
                    first.position
                );
                return Ok(());
            }
            let follow = kept.iter().zip(last + 1..);
            let follow = follow.take_while(|(kept, position)| kept.position == *position);
            let rows: Vec<NewLedgerRow<'_>> = follow.map(|(kept, _)| kept.as_new()).collect();
            self.volume.append(&rows, None, || Ok(()))?;
        }
        let last = self.volume.last();
        if last != before {
            self.volume.force()?;
            let records = last.position - before.position;
            tracing::info!(records, "records of the ledger were moved to their file");
        }
        connection.prepare_cached(MOVED)?.execute([last.position])?;
        Ok(())
    }

    pub(crate) fn volume_reader(&self) -> Result<VolumeReader, StoreError> {
        let reader = self.volume.reader();
        reader.map_err(StoreError::of("opening the ledger's file"))
    }
}

/// Notes what is on disk; rows of the table up to `last` are in the volume.
fn note(connection: &Connection, notes: &Notes, last: Place) -> Result<(), DatabaseError> {
    for mark in &notes.marks {
        connection.prepare_cached(MARK)?.execute([mark.position])?;
        let mut update = connection.prepare_cached(END)?;
        for end in &mark.ends {
            update.execute(*end)?;
        }
    }
    connection.prepare_cached(GONE)?.execute([last.position])?;
    let mut insert = connection.prepare_cached(PLACE)?;
    for place in &notes.places {
        let end = i64::try_from(place.end).unwrap_or(i64::MAX);
        insert.execute((place.position, end))?;
    }
    connection.prepare_cached(MOVED)?.execute([last.position])?;
    Ok(())
}

fn insert(connection: &Connection, row: &NewLedgerRow<'_>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(INSERT)?;
    statement.raw_bind_parameter(1, row.position)?;
    statement.raw_bind_parameter(2, row.entity)?;
    statement.raw_bind_parameter(3, row.seq)?;
    statement.raw_bind_parameter(4, row.at_ms)?;
    statement.raw_bind_parameter(5, &row.prev[..])?;
    statement.raw_bind_parameter(6, &row.hash[..])?;
    statement.raw_bind_parameter(7, row.bytes)?;
    statement.raw_execute().map(drop)
}

/// The end of a chain that has a row after the mark.
fn fresh(number: i64, row: LedgerRow) -> LedgerHead {
    LedgerHead {
        entity: row.entity,
        number,
        seq: row.seq,
        position: row.position,
        hash: if row.is_sound { row.hash } else { Vec::new() },
        fresh: true,
    }
}

/// The end of one that has none.
fn idle(
    volume: &VolumeReader,
    (number, entity, seq, position): (i64, EntityId, i64, i64),
    names: &dyn Fn(i64) -> EntityId,
) -> Result<LedgerHead, DatabaseError> {
    let hash = if seq == 0 {
        vec![0; 32]
    } else {
        let rows = volume.after(position - 1, 1, names)?;
        let row = rows.into_iter().next();
        let is_it = |row: &LedgerRow| {
            row.is_sound && row.position == position && row.seq == seq && row.entity == entity
        };
        row.filter(is_it).map(|row| row.hash).unwrap_or_default()
    };
    Ok(LedgerHead {
        entity,
        number,
        seq,
        position,
        hash,
        fresh: false,
    })
}

// === impl Names ===

impl Names {
    pub(crate) fn read(connection: &Connection) -> Result<Self, DatabaseError> {
        let mut statement = connection.prepare_cached(NAMES)?;
        let names = statement.query_map([], |row| {
            Ok((row.get(0)?, EntityId::new(row.get::<_, String>(1)?)))
        })?;
        Ok(Self(names.collect::<Result<_, _>>()?))
    }

    /// The entity's name, or `#` and its number.
    pub(crate) fn of(&self, number: i64) -> EntityId {
        let known = self.0.get(&number).cloned();
        known.unwrap_or_else(|| EntityId::new(format!("#{number}")))
    }
}

// === impl Kept ===

impl Kept {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        // One that somebody made shorter or longer is none, which the verifier says.
        let hash = |index| -> rusqlite::Result<[u8; 32]> {
            let found: Vec<u8> = row.get(index)?;
            let mut hash = [0; 32];
            let length = found.len().min(hash.len());
            hash[..length].copy_from_slice(&found[..length]);
            Ok(hash)
        };
        Ok(Self {
            position: row.get(0)?,
            entity: row.get(1)?,
            seq: row.get(2)?,
            at_ms: row.get(3)?,
            prev: hash(4)?,
            hash: hash(5)?,
            bytes: row.get(6)?,
        })
    }

    fn as_new(&self) -> NewLedgerRow<'_> {
        NewLedgerRow {
            position: self.position,
            entity: self.entity,
            seq: self.seq,
            at_ms: self.at_ms,
            prev: &self.prev,
            hash: &self.hash,
            bytes: &self.bytes,
        }
    }
}
