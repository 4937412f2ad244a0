//! Checkpoints: signed statements of how far a chain had come. What they say
//! is the ledger's business.

use crate::sql::{Row, Value, collect, first};
use crate::{DatabaseError, Reader, Store, StoreError};

/// One checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointRow {
    /// The log it is of.
    pub origin: String,
    /// How many records it covers; a log has one checkpoint for each size.
    pub size: i64,
    /// When it was made, in milliseconds since 1970.
    pub at_ms: i64,
    /// The root hash it states.
    pub root: [u8; 32],
    /// The whole signed note.
    pub note: Vec<u8>,
}

const PUT: &str = "INSERT INTO checkpoints (origin, size, at_ms, root, note)
    VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (origin, size) DO NOTHING";
const LIST: &str = "SELECT origin, size, at_ms, root, note FROM checkpoints
    WHERE origin = ?1 AND size > ?2 ORDER BY size";
const LIST_ALL: &str = "SELECT origin, size, at_ms, root, note FROM checkpoints
    WHERE size > ?1 ORDER BY origin, size";
const LAST: &str = "SELECT origin, size, at_ms, root, note FROM checkpoints
    WHERE origin = ?1 ORDER BY size DESC LIMIT 1";

const NEWEST: &str = "SELECT origin, size, at_ms, root, note FROM checkpoints
    ORDER BY at_ms DESC, size DESC LIMIT 1";

impl Store {
    /// Adds a checkpoint; `false`, and nothing done, when there is one of that
    /// log and size. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn checkpoint_put(&self, checkpoint: &CheckpointRow) -> Result<bool, StoreError> {
        self.write_durable("storing a checkpoint", |session| {
            session.execute(
                PUT,
                &[
                    Value::from(&checkpoint.origin),
                    Value::from(checkpoint.size),
                    Value::from(checkpoint.at_ms),
                    Value::from(&checkpoint.root),
                    Value::from(&checkpoint.note),
                ],
            )
        })
        .map(|added| added == 1)
    }

    /// The checkpoints of one log, or of all, that cover more than `after`
    /// records, by log and size.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn checkpoint_list(
        &self,
        origin: Option<&str>,
        after: i64,
    ) -> Result<Vec<CheckpointRow>, StoreError> {
        self.read("listing checkpoints", |session| match origin {
            Some(origin) => collect(session, LIST, &[origin.into(), after.into()], from_row),
            None => collect(session, LIST_ALL, &[after.into()], from_row),
        })
    }

    /// The checkpoint of a log that covers most.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn checkpoint_last(&self, origin: &str) -> Result<Option<CheckpointRow>, StoreError> {
        self.read("reading the last checkpoint", |session| {
            first(session, LAST, &[origin.into()], from_row)
        })
    }
}

impl Reader {
    /// The checkpoint that was made last, of whatever log.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn checkpoint_newest(&self) -> Result<Option<CheckpointRow>, StoreError> {
        self.read("reading the newest checkpoint", |session| {
            first(session, NEWEST, &[], from_row)
        })
    }

    /// Every checkpoint, by log and size.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn checkpoint_list(&self) -> Result<Vec<CheckpointRow>, StoreError> {
        self.read("listing checkpoints", |session| {
            collect(session, LIST_ALL, &[0i64.into()], from_row)
        })
    }
}

fn from_row(mut row: Row) -> Result<CheckpointRow, DatabaseError> {
    Ok(CheckpointRow {
        origin: row.text()?,
        size: row.int()?,
        at_ms: row.int()?,
        root: row.hash()?,
        note: row.blob()?,
    })
}
