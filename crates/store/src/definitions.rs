//! What the host remembers of servers between two starts: their definitions
//! and the protocol era they were found to speak.

use crate::sql::{Row, collect, first};
use crate::{DatabaseError, Store, StoreError};

/// One remembered value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// What it is remembered under.
    pub key: String,
    /// The value, opaque here.
    pub blob: Vec<u8>,
    /// When it was last put, in milliseconds since 1970.
    pub updated_at_ms: i64,
}

const PUT: &str = "INSERT INTO definitions (key, blob, updated_at_ms) VALUES (?1, ?2, ?3)
    ON CONFLICT (key) DO UPDATE SET blob = excluded.blob, updated_at_ms = excluded.updated_at_ms";
const GET: &str = "SELECT key, blob, updated_at_ms FROM definitions WHERE key = ?1";
const LIST: &str = "SELECT key, blob, updated_at_ms FROM definitions
    WHERE substr(key, 1, length(CAST(?1 AS TEXT))) = CAST(?1 AS TEXT) ORDER BY key";
const REMOVE: &str = "DELETE FROM definitions WHERE key = ?1";

impl Store {
    /// Remembers a value, in place of an older one. It can be learnt again: in a file it
    /// survives this process, and a power failure with the next commit that does.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn definition_put(&self, key: &str, blob: &[u8], now_ms: i64) -> Result<(), StoreError> {
        self.write_soon("remembering a definition", 1, |session| {
            session.execute(PUT, &[key.into(), blob.into(), now_ms.into()])
        })
        .map(drop)
    }

    /// Recalls one value.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn definition_get(&self, key: &str) -> Result<Option<Definition>, StoreError> {
        self.read("recalling a definition", |session| {
            first(session, GET, &[key.into()], from_row)
        })
    }

    /// Recalls everything whose key starts with `prefix`, by key.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn definition_list(&self, prefix: &str) -> Result<Vec<Definition>, StoreError> {
        self.read("recalling definitions", |session| {
            collect(session, LIST, &[prefix.into()], from_row)
        })
    }

    /// Forgets one value; `false` when there was none.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn definition_remove(&self, key: &str) -> Result<bool, StoreError> {
        self.write_durable("forgetting a definition", |session| {
            session.execute(REMOVE, &[key.into()])
        })
        .map(|removed| removed != 0)
    }
}

fn from_row(mut row: Row) -> Result<Definition, DatabaseError> {
    Ok(Definition {
        key: row.text()?,
        blob: row.blob()?,
        updated_at_ms: row.int()?,
    })
}
