//! What parts of the hub keep for a while under a name: what was sent under a
//! key, how far somebody has read, until when a service wants no request.
//!
//! A row has no meaning here. It is found by its kind and name, and goes when
//! its time is over or its kind has become too many.

use crate::approvals::count;
use crate::sql::{Row, Value, collect, first};
use crate::{DatabaseError, Store, StoreError};

/// Something that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRow {
    /// Whose it is; names are apart by kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What its owner made of it.
    pub value: String,
    /// When it was last stored, in milliseconds since 1970.
    pub changed_ms: i64,
    /// From when on it may be removed, in milliseconds since 1970.
    pub expires_ms: i64,
}

const PUT: &str = "INSERT INTO kept (kind, name, value, changed_ms, expires_ms)
    VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value,
        changed_ms = excluded.changed_ms, expires_ms = excluded.expires_ms";
const ADD: &str = "INSERT INTO kept (kind, name, value, changed_ms, expires_ms)
    VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
const GET: &str = "SELECT kind, name, value, changed_ms, expires_ms
    FROM kept WHERE kind = ?1 AND name = ?2";
const LIST: &str = "SELECT kind, name, value, changed_ms, expires_ms
    FROM kept WHERE kind = ?1 ORDER BY changed_ms, name";
const REMOVE: &str = "DELETE FROM kept WHERE kind = ?1 AND name = ?2";
const EXPIRE: &str = "DELETE FROM kept WHERE expires_ms <= ?1";
const TRIM: &str = "DELETE FROM kept WHERE kind = ?1 AND name NOT IN (
    SELECT name FROM kept WHERE kind = ?1 ORDER BY changed_ms DESC, name DESC LIMIT ?2)";

impl Store {
    /// Keeps something, in place of what had its name. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn kept_put(&self, row: &KeptRow) -> Result<(), StoreError> {
        self.write_durable("storing what is kept", |session| {
            session.execute(PUT, &values(row)).map(drop)
        })
    }

    /// Keeps something unless its name is taken; what has the name, if so. Of
    /// several who do it at once one wins. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn kept_add(&self, row: &KeptRow) -> Result<Option<KeptRow>, StoreError> {
        self.write_durable("storing what is kept", |session| {
            if session.execute(ADD, &values(row))? == 1 {
                return Ok(None);
            }
            let key = [Value::from(&row.kind), Value::from(&row.name)];
            first(session, GET, &key, from_row)
        })
    }

    /// What has this name.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn kept_get(&self, kind: &str, name: &str) -> Result<Option<KeptRow>, StoreError> {
        self.read("reading what is kept", |session| {
            first(session, GET, &[kind.into(), name.into()], from_row)
        })
    }

    /// Everything of a kind, what was stored first before.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn kept_list(&self, kind: &str) -> Result<Vec<KeptRow>, StoreError> {
        self.read("listing what is kept", |session| {
            collect(session, LIST, &[kind.into()], from_row)
        })
    }

    /// Removes what has this name; `false` when nothing had it. On disk on
    /// return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn kept_remove(&self, kind: &str, name: &str) -> Result<bool, StoreError> {
        self.write_durable("removing what is kept", |session| {
            session.execute(REMOVE, &[kind.into(), name.into()])
        })
        .map(|removed| removed == 1)
    }

    /// Removes whatever has expired, of any kind, and says how many that were.
    /// On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn kept_expire(&self, now_ms: i64) -> Result<usize, StoreError> {
        self.write_durable("removing what is kept no longer", |session| {
            session.execute(EXPIRE, &[now_ms.into()])
        })
        .map(count)
    }

    /// Leaves of a kind what was stored last, at most `most`, and says how many
    /// were removed. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn kept_trim(&self, kind: &str, most: u32) -> Result<usize, StoreError> {
        self.write_durable("removing the oldest of what is kept", |session| {
            session.execute(TRIM, &[kind.into(), i64::from(most).into()])
        })
        .map(count)
    }
}

fn values(row: &KeptRow) -> [Value<'_>; 5] {
    [
        Value::from(&row.kind),
        Value::from(&row.name),
        Value::from(&row.value),
        Value::from(row.changed_ms),
        Value::from(row.expires_ms),
    ]
}

fn from_row(mut row: Row) -> Result<KeptRow, DatabaseError> {
    Ok(KeptRow {
        kind: row.text()?,
        name: row.text()?,
        value: row.text()?,
        changed_ms: row.int()?,
        expires_ms: row.int()?,
    })
}
