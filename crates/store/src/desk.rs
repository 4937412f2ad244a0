//! Rows of the operations desk: deals, what waits to be sorted, filings, deadlines, and what was
//! read from calendars and mailboxes.
//!
//! All of them are one kind of row, found by kind and id, or by a key that nothing else of its
//! kind has. Whose data a row is stands beside its body, which its owner seals; nothing here knows
//! what a body says. What happened to a row is a log that only grows while the row is there.

use legation_core::EntityId;

use crate::approvals::count;
use crate::counters::advance;
use crate::sql::{Row, Session, Value, collect, first};
use crate::{DatabaseError, Store, StoreError};

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeskRow {
    /// What kind of thing it is; ids and keys are apart by kind.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Whose data it is.
    pub entity: EntityId,
    /// The account it came through; empty for none.
    pub account: String,
    /// How it stands, as its owner writes it.
    pub state: String,
    /// What nothing else of its kind may have: the source's own name for it, or what a repeated
    /// request is known by.
    pub key: Option<String>,
    /// When what it is about begins or came, in milliseconds since 1970.
    pub at_ms: i64,
    /// When that ends; not before `at_ms`.
    pub until_ms: i64,
    /// When the row was last stored, in milliseconds since 1970.
    pub changed_ms: i64,
    /// Counts its changes; 1 for a new row. What is stored is the number after the change.
    pub version: i64,
    /// The rest, sealed by its owner.
    pub body: Vec<u8>,
}

/// Something that happened to a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeskEvent {
    /// The row's kind.
    pub kind: String,
    /// The row's id.
    pub id: String,
    /// Whose data it is.
    pub entity: EntityId,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// What, sealed by its owner.
    pub body: Vec<u8>,
}

/// Which rows of a kind are wanted.
#[derive(Debug, Clone, Copy)]
pub struct DeskWhich<'a> {
    /// The kind.
    pub kind: &'a str,
    /// Whose.
    pub entity: &'a EntityId,
    /// That stand so; however they stand when `None`.
    pub state: Option<&'a str>,
    /// Through this account; through any when `None`.
    pub account: Option<&'a str>,
    /// That end after this moment.
    pub from_ms: i64,
    /// That begin before this moment.
    pub to_ms: i64,
    /// At most so many.
    pub limit: usize,
}

/// What became of a row that was to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeskAdded {
    /// It is there.
    New,
    /// Its id or key is another's, which is this.
    Taken(Box<DeskRow>),
}

const COUNTER: &str = "desk_log";

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT kind, id, entity, account, state, unique_key, at_ms, until_ms, changed_ms,
                version, body FROM desk WHERE ",
            $rest
        )
    };
}

const ADD: &str = "INSERT INTO desk (kind, id, entity, account, state, unique_key, at_ms, until_ms,
        changed_ms, version, body)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT DO NOTHING";
const PUT: &str = "INSERT INTO desk (kind, id, entity, account, state, unique_key, at_ms, until_ms,
        changed_ms, version, body)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
    ON CONFLICT (kind, id) DO UPDATE SET entity = excluded.entity, account = excluded.account,
        state = excluded.state, unique_key = excluded.unique_key, at_ms = excluded.at_ms,
        until_ms = excluded.until_ms, changed_ms = excluded.changed_ms,
        version = desk.version + 1, body = excluded.body";
const SET: &str = "UPDATE desk SET entity = ?3, account = ?4, state = ?5, unique_key = ?6,
        at_ms = ?7, until_ms = ?8, changed_ms = ?9, version = ?10, body = ?11
    WHERE kind = ?1 AND id = ?2 AND version + 1 = ?10";
const GET: &str = select!("kind = ?1 AND id = ?2");
const BY_KEY: &str = select!("kind = ?1 AND unique_key = ?2");
const OLDEST: &str = select!(
    "kind = ?1 AND entity = ?2 AND (?3 = '' OR state = ?3) AND (?4 = '*' OR account = ?4)
        AND until_ms > ?5 AND at_ms < ?6 ORDER BY at_ms, id LIMIT ?7"
);
const NEWEST: &str = select!(
    "kind = ?1 AND entity = ?2 AND (?3 = '' OR state = ?3) AND (?4 = '*' OR account = ?4)
        AND until_ms > ?5 AND at_ms < ?6 ORDER BY at_ms DESC, id DESC LIMIT ?7"
);
const COUNTS: &str = "SELECT entity, state, COUNT(*) FROM desk WHERE kind = ?1
    GROUP BY entity, state ORDER BY entity, state";
const OWNERS: &str = "SELECT id, entity, changed_ms FROM desk WHERE changed_ms >= ?1 AND kind = ?2";
const REMOVE: &str = "DELETE FROM desk WHERE kind = ?1 AND id = ?2";
const TRIM: &str = "DELETE FROM desk WHERE kind = ?1 AND until_ms < ?2";
const FORGET: &str = "DELETE FROM desk WHERE kind = ?1 AND id IN (
        SELECT id FROM desk WHERE kind = ?1 AND state = ?2 AND changed_ms < ?3
        ORDER BY changed_ms, id LIMIT ?4)
    RETURNING id";
const LOG_ADD: &str = "INSERT INTO desk_log (seq, kind, id, entity, at_ms, body)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const LOG_LIST: &str = "SELECT kind, id, entity, at_ms, body FROM desk_log
    WHERE kind = ?1 AND id = ?2 AND entity = ?3 ORDER BY seq DESC LIMIT ?4";

impl Store {
    /// Adds a row, and what happened with it, unless its id or key is taken. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn desk_add(
        &self,
        row: &DeskRow,
        event: Option<&DeskEvent>,
    ) -> Result<DeskAdded, StoreError> {
        self.write_durable("storing a row of the desk", |session| {
            if session.execute(ADD, &values(row))? == 1 {
                event.map_or(Ok(()), |event| log_in(session, event))?;
                return Ok(DeskAdded::New);
            }
            let by_key = match &row.key {
                None => None,
                Some(key) => first(
                    session,
                    BY_KEY,
                    &[Value::from(&row.kind), key.into()],
                    from_row,
                )?,
            };
            let id = [Value::from(&row.kind), Value::from(&row.id)];
            let found = match by_key {
                Some(found) => Some(found),
                None => first(session, GET, &id, from_row)?,
            };
            // Gone between two statements it would be somebody's who removed it: nobody may
            // take it for added.
            Ok(DeskAdded::Taken(Box::new(
                found.unwrap_or_else(|| row.clone()),
            )))
        })
    }

    /// Puts a row in place of the one before it: `row.version` is one more than that one's.
    /// `false` when somebody else changed it meanwhile or it is gone. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn desk_set(&self, row: &DeskRow, event: Option<&DeskEvent>) -> Result<bool, StoreError> {
        self.write_durable("changing a row of the desk", |session| {
            if session.execute(SET, &values(row))? != 1 {
                return Ok(false);
            }
            event.map_or(Ok(()), |event| log_in(session, event))?;
            Ok(true)
        })
    }

    /// Puts rows in place of those of the same kind and id: all or none. Whoever reads them from
    /// elsewhere can read them again, so they are on disk with the next commit that is.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn desk_put(&self, rows: &[DeskRow]) -> Result<(), StoreError> {
        self.write_soon("storing rows of the desk", rows.len(), |session| {
            for row in rows {
                session.execute(PUT, &values(row))?;
            }
            Ok(())
        })
    }

    /// A row.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn desk_get(&self, kind: &str, id: &str) -> Result<Option<DeskRow>, StoreError> {
        self.read("reading a row of the desk", |session| {
            first(session, GET, &[kind.into(), id.into()], from_row)
        })
    }

    /// The row that has this key.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn desk_by_key(&self, kind: &str, key: &str) -> Result<Option<DeskRow>, StoreError> {
        self.read("reading a row of the desk", |session| {
            first(session, BY_KEY, &[kind.into(), key.into()], from_row)
        })
    }

    /// Rows by when they begin, the earliest first.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn desk_oldest(&self, which: &DeskWhich<'_>) -> Result<Vec<DeskRow>, StoreError> {
        self.desk_rows(OLDEST, which)
    }

    /// Rows by when they begin, the latest first.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn desk_newest(&self, which: &DeskWhich<'_>) -> Result<Vec<DeskRow>, StoreError> {
        self.desk_rows(NEWEST, which)
    }

    fn desk_rows(
        &self,
        sql: &'static str,
        which: &DeskWhich<'_>,
    ) -> Result<Vec<DeskRow>, StoreError> {
        let values = [
            Value::from(which.kind),
            Value::from(which.entity.as_str()),
            Value::from(which.state.unwrap_or_default()),
            Value::from(which.account.unwrap_or("*")),
            Value::from(which.from_ms),
            Value::from(which.to_ms),
            Value::from(i64::try_from(which.limit).unwrap_or(i64::MAX)),
        ];
        self.read("listing rows of the desk", |session| {
            collect(session, sql, &values, from_row)
        })
    }

    /// How many rows of a kind there are, by whose they are and how they stand.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn desk_counts(&self, kind: &str) -> Result<Vec<(EntityId, String, u64)>, StoreError> {
        self.read("counting rows of the desk", |session| {
            collect(session, COUNTS, &[kind.into()], |mut row| {
                let entity = EntityId::new(row.text()?);
                Ok((entity, row.text()?, row.int()?.unsigned_abs()))
            })
        })
    }

    /// Whose the rows of a kind are that changed since a moment: id, entity, and when they
    /// changed.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn desk_owners(
        &self,
        kind: &str,
        since_ms: i64,
    ) -> Result<Vec<(String, EntityId, i64)>, StoreError> {
        self.read("reading whose rows of the desk are", |session| {
            collect(
                session,
                OWNERS,
                &[since_ms.into(), kind.into()],
                |mut row| Ok((row.text()?, EntityId::new(row.text()?), row.int()?)),
            )
        })
    }

    /// Removes a row; `false` when there was none. On disk with the next commit that is.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn desk_remove(&self, kind: &str, id: &str) -> Result<bool, StoreError> {
        self.write_soon("removing a row of the desk", 1, |session| {
            session.execute(REMOVE, &[kind.into(), id.into()])
        })
        .map(|removed| removed == 1)
    }

    /// Removes the rows of a kind that ended before a moment, and says how many that were. On
    /// disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn desk_trim(&self, kind: &str, before_ms: i64) -> Result<usize, StoreError> {
        self.write_durable("removing old rows of the desk", |session| {
            session.execute(TRIM, &[kind.into(), before_ms.into()])
        })
        .map(count)
    }

    /// Removes rows of a kind that stand so and were last stored before a moment, the oldest first
    /// and at most `limit`; which. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn desk_forget(
        &self,
        (kind, state): (&str, &str),
        before_ms: i64,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let values = [kind.into(), state.into(), before_ms.into(), limit.into()];
        self.write_durable("forgetting rows of the desk", |session| {
            collect(session, FORGET, &values, |mut row| row.text())
        })
    }

    /// What happened to a row while it was this entity's, the latest last; the `limit` latest.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn desk_log(
        &self,
        (kind, id): (&str, &str),
        entity: &EntityId,
        limit: usize,
    ) -> Result<Vec<DeskEvent>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let values = [
            kind.into(),
            id.into(),
            Value::from(entity.as_str()),
            limit.into(),
        ];
        let mut found = self.read("reading what happened to a row of the desk", |session| {
            collect(session, LOG_LIST, &values, |mut row| {
                Ok(DeskEvent {
                    kind: row.text()?,
                    id: row.text()?,
                    entity: EntityId::new(row.text()?),
                    at_ms: row.int()?,
                    body: row.blob()?,
                })
            })
        })?;
        found.reverse();
        Ok(found)
    }
}

fn log_in(session: &mut dyn Session, event: &DeskEvent) -> Result<(), DatabaseError> {
    let seq = advance(session, COUNTER, 1)?;
    let values = [
        Value::from(seq),
        Value::from(&event.kind),
        Value::from(&event.id),
        Value::from(event.entity.as_str()),
        Value::from(event.at_ms),
        Value::from(&event.body),
    ];
    session.execute(LOG_ADD, &values).map(drop)
}

fn values(row: &DeskRow) -> [Value<'_>; 11] {
    [
        Value::from(&row.kind),
        Value::from(&row.id),
        Value::from(row.entity.as_str()),
        Value::from(&row.account),
        Value::from(&row.state),
        Value::from(row.key.as_deref()),
        Value::from(row.at_ms),
        Value::from(row.until_ms),
        Value::from(row.changed_ms),
        Value::from(row.version),
        Value::from(&row.body),
    ]
}

fn from_row(mut row: Row) -> Result<DeskRow, DatabaseError> {
    Ok(DeskRow {
        kind: row.text()?,
        id: row.text()?,
        entity: EntityId::new(row.text()?),
        account: row.text()?,
        state: row.text()?,
        key: row.text_or_null()?,
        at_ms: row.int()?,
        until_ms: row.int()?,
        changed_ms: row.int()?,
        version: row.int()?,
        body: row.blob()?,
    })
}
