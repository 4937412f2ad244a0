//! Sessions: conversations that people, agents and a model share.

use legation_core::SessionId;

use crate::sql::{Row, Session, Value, collect, first};
use crate::{DatabaseError, Store, StoreError};

/// One session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its name.
    pub id: SessionId,
    /// The hub whose it is.
    pub hub: String,
    /// The folder it is about.
    pub workspace: Option<String>,
    /// The client whose it is, where there is no folder that says so.
    pub client: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub created_ms: i64,
    /// When somebody last said something in it.
    pub active_ms: i64,
    /// When it last became the one of its folder that is gone on with.
    pub current_ms: i64,
    /// Whose data it holds, as its owner writes it.
    pub labels: String,
    /// What it began with, sealed by its owner.
    pub title: Vec<u8>,
}

/// What came of bringing a session up to date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionUpdate {
    /// It is stored.
    Done,
    /// Nothing was done: it is not as it was read any more, but like this.
    Stale(SessionRow),
    /// Nothing was done: it was removed.
    Gone,
}

const ADD: &str = "INSERT INTO sessions (id, hub, workspace, created_ms, active_ms, current_ms,
        labels, title, client)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
/// Of two who write at once the second finds that it has read what is no more. Times only grow.
const UPDATE: &str = "UPDATE sessions SET
        active_ms = CASE WHEN active_ms > ?2 THEN active_ms ELSE ?2 END,
        current_ms = CASE WHEN current_ms > ?3 THEN current_ms ELSE ?3 END,
        labels = ?4, title = ?5
    WHERE id = ?1 AND labels = ?6 AND title = ?7";
const GET: &str = "SELECT id, hub, workspace, created_ms, active_ms, current_ms, labels, title,
        client
    FROM sessions WHERE id = ?1";
const LIST: &str = "SELECT id, hub, workspace, created_ms, active_ms, current_ms, labels, title,
        client
    FROM sessions WHERE hub = ?1 ORDER BY active_ms DESC, id";
const COUNT: &str = "SELECT count(*) FROM messages WHERE session = ?1";
const OPEN: &str = "SELECT count(*) FROM delegated
    WHERE session = ?1 AND state NOT IN ('completed', 'failed', 'cancelled')";
const REMOVE: [&str; 6] = [
    "DELETE FROM steps WHERE task IN (SELECT id FROM delegated WHERE session = ?1)",
    "DELETE FROM partials WHERE task IN (SELECT id FROM delegated WHERE session = ?1)",
    "DELETE FROM reports WHERE task IN (SELECT id FROM delegated WHERE session = ?1)",
    "DELETE FROM delegated WHERE session = ?1",
    "DELETE FROM messages WHERE session = ?1",
    "DELETE FROM sessions WHERE id = ?1",
];

impl Store {
    /// Adds a session. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn session_add(&self, session: &SessionRow) -> Result<(), StoreError> {
        self.write_durable("storing a session", |store| {
            store.execute(ADD, &values(session)).map(drop)
        })
    }

    /// Brings a session up to date: when it was used, its labels and its title.
    /// Labels and title must still be those of `read`, of which the caller made
    /// what it stores: whose data a session holds is never written over by
    /// somebody who had not read all of it. On disk on return if `durable`, else
    /// with the next commit that is.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn session_update(
        &self,
        session: &SessionRow,
        read: &SessionRow,
        durable: bool,
    ) -> Result<SessionUpdate, StoreError> {
        let work = |store: &mut dyn Session| {
            let values = [
                Value::from(session.id.as_str()),
                Value::from(session.active_ms),
                Value::from(session.current_ms),
                Value::from(&session.labels),
                Value::from(&session.title),
                Value::from(&read.labels),
                Value::from(&read.title),
            ];
            if store.execute(UPDATE, &values)? > 0 {
                return Ok(SessionUpdate::Done);
            }
            let now = first(store, GET, &[session.id.as_str().into()], from_row)?;
            Ok(now.map_or(SessionUpdate::Gone, SessionUpdate::Stale))
        };
        if durable {
            self.write_durable("updating a session", work)
        } else {
            self.write_soon("updating a session", 1, work)
        }
    }

    /// The session with this id.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn session_get(&self, id: &SessionId) -> Result<Option<SessionRow>, StoreError> {
        self.read("reading a session", |store| {
            first(store, GET, &[id.as_str().into()], from_row)
        })
    }

    /// A hub's sessions, the most recently used first.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn session_list(&self, hub: &str) -> Result<Vec<SessionRow>, StoreError> {
        self.read("listing sessions", |store| {
            collect(store, LIST, &[hub.into()], from_row)
        })
    }

    /// How many messages a session has.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn session_messages(&self, id: &SessionId) -> Result<u64, StoreError> {
        self.read("counting messages", |store| {
            first(store, COUNT, &[id.as_str().into()], |mut row| row.int())
        })
        .map(|count| count.unwrap_or_default().unsigned_abs())
    }

    /// Removes a session with its messages, its tasks and what was reported of
    /// them; `false`, and nothing done, while one of its tasks is open. On disk
    /// on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn session_remove(&self, id: &SessionId) -> Result<bool, StoreError> {
        self.write_durable("removing a session", |store| {
            let open = first(store, OPEN, &[id.as_str().into()], |mut row| row.int())?;
            if open.unwrap_or_default() > 0 {
                return Ok(false);
            }
            for statement in REMOVE {
                store.execute(statement, &[id.as_str().into()])?;
            }
            Ok(true)
        })
    }
}

fn values(session: &SessionRow) -> [Value<'_>; 9] {
    [
        Value::from(session.id.as_str()),
        Value::from(&session.hub),
        Value::from(session.workspace.as_ref()),
        Value::from(session.created_ms),
        Value::from(session.active_ms),
        Value::from(session.current_ms),
        Value::from(&session.labels),
        Value::from(&session.title),
        Value::from(session.client.as_ref()),
    ]
}

fn from_row(mut row: Row) -> Result<SessionRow, DatabaseError> {
    Ok(SessionRow {
        id: SessionId::new(row.text()?),
        hub: row.text()?,
        workspace: row.text_or_null()?,
        created_ms: row.int()?,
        active_ms: row.int()?,
        current_ms: row.int()?,
        labels: row.text()?,
        title: row.blob()?,
        client: row.text_or_null()?,
    })
}
