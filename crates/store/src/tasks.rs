//! Tasks: which upstream's task a handle of the hub's stands for, and whose it is.

use legation_core::{ClientId, SeatId, ServerName, TaskHandle};
use rusqlite::types::Type;
use rusqlite::{OptionalExtension as _, Row};

use crate::{Store, StoreError};

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

const COLUMNS: &str = "handle, client, server, seat, upstream, created_ms, ttl_ms, state";

impl Store {
    /// Adds a task or replaces the one with its handle; on disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn task_put(&self, task: &Task) -> Result<(), StoreError> {
        self.write_durable("storing a task", |connection| {
            connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO tasks
                        (handle, client, server, seat, upstream, created_ms, ttl_ms, state)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                )?
                .execute((
                    task.handle.as_str(),
                    task.client.as_str(),
                    task.server.as_str(),
                    task.seat.as_str(),
                    &task.upstream,
                    task.created_ms,
                    task.ttl_ms,
                    &task.state,
                ))
        })
        .map(drop)
    }

    /// The task with this handle.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn task_get(&self, handle: &TaskHandle) -> Result<Option<Task>, StoreError> {
        self.read("reading a task", |connection| {
            connection
                .prepare_cached(&format!("SELECT {COLUMNS} FROM tasks WHERE handle = ?1"))?
                .query_row([handle.as_str()], from_row)
                .optional()
        })
    }

    /// The tasks of one client, or of all, oldest first.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn task_list(&self, client: Option<&ClientId>) -> Result<Vec<Task>, StoreError> {
        self.read("listing tasks", |connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM tasks WHERE ?1 IS NULL OR client = ?1
                 ORDER BY created_ms, handle"
            ))?;
            let found = statement.query_map([client.map(ClientId::as_str)], from_row)?;
            found.collect()
        })
    }

    /// Replaces a task's state; `false` when there is no such task. On disk on
    /// return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn task_state_set(&self, handle: &TaskHandle, state: &[u8]) -> Result<bool, StoreError> {
        self.write_durable("updating a task", |connection| {
            connection
                .prepare_cached("UPDATE tasks SET state = ?2 WHERE handle = ?1")?
                .execute((handle.as_str(), state))
        })
        .map(|changed| changed != 0)
    }

    /// Removes a task; `false` when there is no such task.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn task_remove(&self, handle: &TaskHandle) -> Result<bool, StoreError> {
        self.write_durable("removing a task", |connection| {
            connection
                .prepare_cached("DELETE FROM tasks WHERE handle = ?1")?
                .execute([handle.as_str()])
        })
        .map(|removed| removed != 0)
    }

    /// Removes the tasks whose time is over and says how many.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn task_expire(&self, now_ms: i64) -> Result<usize, StoreError> {
        self.write_durable("removing expired tasks", |connection| {
            connection
                .prepare_cached("DELETE FROM tasks WHERE ?1 - created_ms >= ttl_ms")?
                .execute([now_ms])
        })
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Task> {
    let server: String = row.get(2)?;
    Ok(Task {
        handle: TaskHandle::new(row.get::<_, String>(0)?),
        client: ClientId::new(row.get::<_, String>(1)?),
        server: ServerName::parse(&server).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(2, Type::Text, Box::new(error))
        })?,
        seat: SeatId::new(row.get::<_, String>(3)?),
        upstream: row.get(4)?,
        created_ms: row.get(5)?,
        ttl_ms: row.get(6)?,
        state: row.get(7)?,
    })
}
