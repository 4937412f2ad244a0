//! What the host remembers of servers between two starts: their definitions
//! and the protocol era they were found to speak.

use rusqlite::{OptionalExtension as _, Row};

use crate::{Store, StoreError};

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

impl Store {
    /// Remembers a value, in place of an older one; on disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn definition_put(&self, key: &str, blob: &[u8], now_ms: i64) -> Result<(), StoreError> {
        self.write_durable("remembering a definition", |connection| {
            connection
                .prepare_cached(
                    "INSERT INTO definitions (key, blob, updated_at_ms) VALUES (?1, ?2, ?3)
                     ON CONFLICT (key) DO UPDATE SET
                        blob = excluded.blob, updated_at_ms = excluded.updated_at_ms",
                )?
                .execute((key, blob, now_ms))
        })
        .map(drop)
    }

    /// Recalls one value.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn definition_get(&self, key: &str) -> Result<Option<Definition>, StoreError> {
        self.read("recalling a definition", |connection| {
            connection
                .prepare_cached("SELECT key, blob, updated_at_ms FROM definitions WHERE key = ?1")?
                .query_row([key], from_row)
                .optional()
        })
    }

    /// Recalls everything whose key starts with `prefix`, by key.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn definition_list(&self, prefix: &str) -> Result<Vec<Definition>, StoreError> {
        self.read("recalling definitions", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT key, blob, updated_at_ms FROM definitions
                 WHERE substr(key, 1, length(?1)) = ?1 ORDER BY key",
            )?;
            let found = statement.query_map([prefix], from_row)?;
            found.collect()
        })
    }

    /// Forgets one value; `false` when there was none.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn definition_remove(&self, key: &str) -> Result<bool, StoreError> {
        self.write_durable("forgetting a definition", |connection| {
            connection
                .prepare_cached("DELETE FROM definitions WHERE key = ?1")?
                .execute([key])
        })
        .map(|removed| removed != 0)
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Definition> {
    Ok(Definition {
        key: row.get(0)?,
        blob: row.get(1)?,
        updated_at_ms: row.get(2)?,
    })
}
