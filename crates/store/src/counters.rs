//! Counters by name: numbers that only their own noun gives a meaning.

use crate::sql::{Session, first};
use crate::{DatabaseError, Store, StoreError};

const GET: &str = "SELECT value FROM counters WHERE name = ?1";
const ADD: &str = "INSERT INTO counters (name, value) VALUES (?1, ?2)
    ON CONFLICT (name) DO UPDATE SET value = counters.value + excluded.value RETURNING value";

impl Store {
    /// A counter; 0 when it was never moved.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn counter_get(&self, name: &str) -> Result<i64, StoreError> {
        self.read("reading a counter", |session| {
            first(session, GET, &[name.into()], |mut row| row.int())
        })
        .map(Option::unwrap_or_default)
    }

    /// Moves a counter and answers with its new value: no two callers get the
    /// same one. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn counter_add(&self, name: &str, delta: i64) -> Result<i64, StoreError> {
        self.write_durable("moving a counter", |session| advance(session, name, delta))
    }
}

/// Moves a counter in a transaction.
pub(crate) fn advance(
    session: &mut dyn Session,
    name: &str,
    delta: i64,
) -> Result<i64, DatabaseError> {
    first(session, ADD, &[name.into(), delta.into()], |mut row| {
        row.int()
    })
    .map(Option::unwrap_or_default)
}
