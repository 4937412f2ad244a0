//! Tasks: which upstream's task a handle of the hub's stands for, and whose it is.

use legation_core::{ClientId, SeatId, ServerName, TaskHandle};

use crate::approvals::count;
use crate::sql::{Row, Value, collect, first};
use crate::{DatabaseError, Store, StoreError};

/// One task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The hub's name for it.
    pub handle: TaskHandle,
    /// The client that may see it.
    pub client: ClientId,
    /// The server that runs it.
    pub server: ServerName,
    /// The running client it was started from.
    pub seat: SeatId,
    /// The server's own name for it.
    pub upstream: String,
    /// When it was started, in milliseconds since 1970.
    pub created_ms: i64,
    /// How long it is kept, in milliseconds from its start; `None` for ever.
    pub ttl_ms: Option<i64>,
    /// What else the owner of the task needs, opaque here.
    pub state: Vec<u8>,
}

const PUT: &str = "INSERT INTO tasks
        (handle, client, server, seat, upstream, created_ms, ttl_ms, state)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT (handle) DO UPDATE SET client = excluded.client, server = excluded.server,
        seat = excluded.seat, upstream = excluded.upstream, created_ms = excluded.created_ms,
        ttl_ms = excluded.ttl_ms, state = excluded.state";
const GET: &str = "SELECT handle, client, server, seat, upstream, created_ms, ttl_ms, state
    FROM tasks WHERE handle = ?1";
const LIST: &str = "SELECT handle, client, server, seat, upstream, created_ms, ttl_ms, state
    FROM tasks ORDER BY created_ms, handle";
const LIST_CLIENT: &str = "SELECT handle, client, server, seat, upstream, created_ms, ttl_ms, state
    FROM tasks WHERE client = ?1 ORDER BY created_ms, handle";
const SET_STATE: &str = "UPDATE tasks SET state = ?2 WHERE handle = ?1";
const REMOVE: &str = "DELETE FROM tasks WHERE handle = ?1";
const EXPIRE: &str = "DELETE FROM tasks WHERE ?1 - created_ms >= ttl_ms";

impl Store {
    /// Adds a task or replaces the one with its handle; on disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn task_put(&self, task: &Task) -> Result<(), StoreError> {
        self.write_durable("storing a task", |session| {
            session.execute(
                PUT,
                &[
                    Value::from(task.handle.as_str()),
                    Value::from(task.client.as_str()),
                    Value::from(task.server.as_str()),
                    Value::from(task.seat.as_str()),
                    Value::from(&task.upstream),
                    Value::from(task.created_ms),
                    Value::from(task.ttl_ms),
                    Value::from(&task.state),
                ],
            )
        })
        .map(drop)
    }

    /// The task with this handle.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn task_get(&self, handle: &TaskHandle) -> Result<Option<Task>, StoreError> {
        self.read("reading a task", |session| {
            first(session, GET, &[handle.as_str().into()], from_row)
        })
    }

    /// The tasks of one client, or of all, oldest first.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn task_list(&self, client: Option<&ClientId>) -> Result<Vec<Task>, StoreError> {
        self.read("listing tasks", |session| match client {
            None => collect(session, LIST, &[], from_row),
            Some(client) => collect(session, LIST_CLIENT, &[client.as_str().into()], from_row),
        })
    }

    /// Replaces a task's state; `false` when there is no such task. On disk on
    /// return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn task_state_set(&self, handle: &TaskHandle, state: &[u8]) -> Result<bool, StoreError> {
        self.write_durable("updating a task", |session| {
            session.execute(SET_STATE, &[handle.as_str().into(), state.into()])
        })
        .map(|changed| changed != 0)
    }

    /// Removes a task; `false` when there is no such task.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn task_remove(&self, handle: &TaskHandle) -> Result<bool, StoreError> {
        self.write_durable("removing a task", |session| {
            session.execute(REMOVE, &[handle.as_str().into()])
        })
        .map(|removed| removed != 0)
    }

    /// Removes the tasks whose time is over and says how many.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn task_expire(&self, now_ms: i64) -> Result<usize, StoreError> {
        self.write_durable("removing expired tasks", |session| {
            session.execute(EXPIRE, &[now_ms.into()])
        })
        .map(count)
    }
}

fn from_row(mut row: Row) -> Result<Task, DatabaseError> {
    Ok(Task {
        handle: TaskHandle::new(row.text()?),
        client: ClientId::new(row.text()?),
        server: row.parsed(|name| ServerName::parse(name).ok())?,
        seat: SeatId::new(row.text()?),
        upstream: row.text()?,
        created_ms: row.int()?,
        ttl_ms: row.int_or_null()?,
        state: row.blob()?,
    })
}
