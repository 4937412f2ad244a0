//! Leases: who may do something that only one hub may do at a time.
//!
//! A lease carries a token that grows with every change of holder. Whoever
//! acts under one hands the token on to what it acts upon, which refuses a
//! smaller one than it has seen: a holder that slept past its time does no
//! harm. Time is the database's, so hubs need not agree about it.

use std::time::Duration;

use crate::sql::{Row, Value, collect, first};
use crate::{DatabaseError, Store, StoreError};

/// A lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// What it is about.
    pub name: String,
    /// Who has it.
    pub holder: String,
    /// Its fencing token.
    pub token: i64,
    /// From when on others may take it, in milliseconds since 1970 by the
    /// database's clock.
    pub until_ms: i64,
}

const GET: &str = "SELECT name, holder, token, until_ms FROM leases WHERE name = ?1";
const TAKE: &str = "INSERT INTO leases (name, holder, token, until_ms) VALUES (?1, ?2, 1, ?4)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = leases.token + 1,
        until_ms = excluded.until_ms
    WHERE leases.until_ms <= ?3
    RETURNING name, holder, token, until_ms";
const RENEW: &str = "UPDATE leases SET until_ms = ?4
    WHERE name = ?1 AND token = ?2 AND until_ms > ?3
    RETURNING name, holder, token, until_ms";
/// Names are ASCII, and nothing in them comes after the tilde.
const EXPIRED: &str = "SELECT name FROM leases
    WHERE name >= ?1 AND name <= ?2 AND until_ms <= ?3 ORDER BY until_ms, name LIMIT ?4";
const RELEASE: &str = "UPDATE leases SET until_ms = 0 WHERE name = ?1 AND token = ?2";

impl Store {
    /// Takes a lease that nobody has, or whose time is over; `None` while
    /// somebody has it, the caller included. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn lease_take(
        &self,
        name: &str,
        holder: &str,
        time: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        self.write_durable("taking a lease", |session| {
            let now = session.now_ms()?;
            let values = [
                name.into(),
                holder.into(),
                now.into(),
                after(now, time).into(),
            ];
            first(session, TAKE, &values, from_row)
        })
    }

    /// Keeps a lease for longer; `None` when it was lost meanwhile. On disk on
    /// return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn lease_renew(
        &self,
        name: &str,
        token: i64,
        time: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        self.write_durable("renewing a lease", |session| {
            let now = session.now_ms()?;
            let values = [
                name.into(),
                token.into(),
                now.into(),
                after(now, time).into(),
            ];
            first(session, RENEW, &values, from_row)
        })
    }

    /// Gives a lease back; `false` when it was lost before. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn lease_release(&self, name: &str, token: i64) -> Result<bool, StoreError> {
        self.write_durable("giving a lease back", |session| {
            session.execute(RELEASE, &[name.into(), token.into()])
        })
        .map(|changed| changed == 1)
    }

    /// The leases whose names begin so and that nobody has had for so long, those that were given
    /// back among them; at most `limit`.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn lease_expired(
        &self,
        begin: &str,
        since: Duration,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        let last = format!("{begin}~");
        self.read("looking for leases that are over", |session| {
            let since_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
            let before = session.now_ms()?.saturating_sub(since_ms);
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let values = [
                begin.into(),
                Value::from(&last),
                before.into(),
                limit.into(),
            ];
            collect(session, EXPIRED, &values, |mut row| row.text())
        })
    }

    /// Who had a lease last.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn lease_get(&self, name: &str) -> Result<Option<Lease>, StoreError> {
        self.read("reading a lease", |session| {
            first(session, GET, &[name.into()], from_row)
        })
    }
}

fn after(now_ms: i64, time: Duration) -> i64 {
    now_ms.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}

fn from_row(mut row: Row) -> Result<Lease, DatabaseError> {
    Ok(Lease {
        name: row.text()?,
        holder: row.text()?,
        token: row.int()?,
        until_ms: row.int()?,
    })
}
