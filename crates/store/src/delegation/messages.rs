//! Messages of a session, numbered in the order in which they came.

use legation_core::{SessionId, TaskId};

use crate::counters::advance;
use crate::sql::{Row, Session, Value, collect};
use crate::{DatabaseError, Store, StoreError};

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// Its number: greater than that of every message that was stored before
    /// it, whatever was removed since.
    pub seq: u64,
    /// What it is.
    pub message: MessageNew,
}

/// A message that has no number yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageNew {
    /// The session.
    pub session: SessionId,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// Who said it, as its owner writes it.
    pub source: String,
    /// What kind of entry it is.
    pub kind: String,
    /// When it was said, in milliseconds since 1970.
    pub created_ms: i64,
    /// Whose data it holds, as its owner writes it.
    pub labels: String,
    /// What was said, sealed by its owner.
    pub body: Vec<u8>,
}

const COUNTER: &str = "messages";
const ADD: &str = "INSERT INTO messages (seq, session, task, source, kind, created_ms, labels,
        body)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const SET: &str = "UPDATE messages SET labels = ?2, body = ?3 WHERE seq = ?1";
const AFTER: &str = "SELECT seq, session, task, source, kind, created_ms, labels, body
    FROM messages WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
const AFTER_ALL: &str = "SELECT seq, session, task, source, kind, created_ms, labels, body
    FROM messages WHERE seq > ?1 ORDER BY seq LIMIT ?2";
const LAST: &str = "SELECT seq, session, task, source, kind, created_ms, labels, body
    FROM messages WHERE session = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";
const LAST_ALL: &str = "SELECT seq, session, task, source, kind, created_ms, labels, body
    FROM messages WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2";

impl Store {
    /// Adds a message; its number. On disk on return if `durable`, else with the
    /// next commit that is.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn message_add(&self, message: &MessageNew, durable: bool) -> Result<u64, StoreError> {
        let work = |store: &mut dyn Session| add_in(store, message);
        if durable {
            self.write_durable("storing a message", work)
        } else {
            self.write_soon("storing a message", 1, work)
        }
    }

    /// Puts another body in place of a message's; `false` when there is no such
    /// message.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn message_set(&self, seq: u64, labels: &str, body: &[u8]) -> Result<bool, StoreError> {
        self.write_soon("updating a message", 1, |store| {
            store.execute(SET, &[number(seq).into(), labels.into(), body.into()])
        })
        .map(|changed| changed == 1)
    }

    /// The messages after a number, oldest first, of one session or of all; at
    /// most `limit`.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn message_after(
        &self,
        session: Option<&SessionId>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<MessageRow>, StoreError> {
        let (after, limit) = (Value::from(number(after)), Value::from(most(limit)));
        self.read("reading messages", |store| match session {
            Some(session) => {
                let values = [session.as_str().into(), after, limit];
                collect(store, AFTER, &values, from_row)
            }
            None => collect(store, AFTER_ALL, &[after, limit], from_row),
        })
    }

    /// The last messages before a number, oldest first, of one session or of
    /// all; at most `limit`.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn message_last(
        &self,
        session: Option<&SessionId>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<MessageRow>, StoreError> {
        let before = Value::from(before.map_or(i64::MAX, number));
        let limit = Value::from(most(limit));
        let mut found = self.read("reading messages", |store| match session {
            Some(session) => {
                let values = [session.as_str().into(), before, limit];
                collect(store, LAST, &values, from_row)
            }
            None => collect(store, LAST_ALL, &[before, limit], from_row),
        })?;
        found.reverse();
        Ok(found)
    }
}

/// Adds a message in a transaction; its number.
pub(super) fn add_in(store: &mut dyn Session, message: &MessageNew) -> Result<u64, DatabaseError> {
    let seq = advance(store, COUNTER, 1)?;
    store.execute(
        ADD,
        &[
            Value::from(seq),
            Value::from(message.session.as_str()),
            Value::from(message.task.as_ref().map(TaskId::as_str)),
            Value::from(&message.source),
            Value::from(&message.kind),
            Value::from(message.created_ms),
            Value::from(&message.labels),
            Value::from(&message.body),
        ],
    )?;
    Ok(seq.unsigned_abs())
}

fn number(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

pub(super) fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn from_row(mut row: Row) -> Result<MessageRow, DatabaseError> {
    Ok(MessageRow {
        seq: row.int()?.unsigned_abs(),
        message: MessageNew {
            session: SessionId::new(row.text()?),
            task: row.text_or_null()?.map(TaskId::new),
            source: row.text()?,
            kind: row.text()?,
            created_ms: row.int()?,
            labels: row.text()?,
            body: row.blob()?,
        },
    })
}
