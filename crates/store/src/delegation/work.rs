//! Delegated tasks.
//!
//! A task that is over stays over: every change of state looks at the state in
//! the same statement.

use legation_core::{SessionId, TaskId};

use super::messages::{MessageNew, add_in, most};
use super::owners::hold;
use crate::sql::{Row, Value, collect, first};
use crate::state::words;
use crate::{DatabaseError, Store, StoreError};

words! {
    /// Where a delegated task stands.
    pub enum DelegatedState {
        /// It waits for its turn.
        Queued = "queued",
        /// It is worked on.
        InProgress = "in_progress",
        /// It gave way to another.
        Preempted = "preempted",
        /// It waits for a person.
        InputRequired = "input_required",
        /// Done.
        Completed = "completed",
        /// Not done.
        Failed = "failed",
        /// Called off.
        Cancelled = "cancelled",
    }
}

/// One delegated task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegatedRow {
    /// Its name.
    pub id: TaskId,
    /// The hub whose it is.
    pub hub: String,
    /// The session it belongs to.
    pub session: SessionId,
    /// Who comes before whom, as its owner writes it.
    pub class: String,
    /// The client that delegated it.
    pub client: String,
    /// The running client it came from.
    pub seat: String,
    /// The folder it is done in.
    pub workspace: Option<String>,
    /// Where it stands.
    pub state: DelegatedState,
    /// What kind of work it is, as the delegator said.
    pub hint: Option<String>,
    /// Its place among those of its class: smaller ones come first.
    pub place: i64,
    /// When it was handed in, in milliseconds since 1970.
    pub created_ms: i64,
    /// When it last changed.
    pub changed_ms: i64,
    /// How long it was worked on.
    pub worked_ms: i64,
    /// How often it was begun or gone on with.
    pub attempts: i64,
    /// Whose data it holds, as its owner writes it.
    pub labels: String,
    /// What is to be done, sealed by its owner.
    pub spec: Vec<u8>,
    /// What has become of it, sealed by its owner.
    pub outcome: Option<Vec<u8>>,
    /// Which of several hubs that share the keys works on it.
    pub owner: Option<String>,
}

/// Which tasks are listed.
#[derive(Debug, Clone, Copy, Default)]
pub struct DelegatedWhich<'a> {
    /// Only those that are not over.
    pub open: bool,
    /// Only this session's.
    pub session: Option<&'a SessionId>,
    /// Only this client's.
    pub client: Option<&'a str>,
}

const ADD: &str = "INSERT INTO delegated (id, hub, session, class, client, seat, workspace, state,
        hint, place, created_ms, changed_ms, worked_ms, attempts, labels, spec, outcome,
        owner)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";
const GET: &str = "SELECT id, hub, session, class, client, seat, workspace, state, hint, place,
        created_ms, changed_ms, worked_ms, attempts, labels, spec, outcome, owner
    FROM delegated WHERE id = ?1";
const FIND: &str = "SELECT id, hub, session, class, client, seat, workspace, state, hint, place,
        created_ms, changed_ms, worked_ms, attempts, labels, spec, outcome, owner
    FROM delegated WHERE hub = ?1 AND id >= ?2 AND id <= ?3 ORDER BY id LIMIT 2";
const OPEN: &str = "SELECT id, hub, session, class, client, seat, workspace, state, hint, place,
        created_ms, changed_ms, worked_ms, attempts, labels, spec, outcome, owner
    FROM delegated
    WHERE hub = ?1 AND state IN ('queued', 'in_progress', 'preempted', 'input_required')
    ORDER BY place, created_ms, id";
const LIST: &str = "SELECT id, hub, session, class, client, seat, workspace, state, hint, place,
        created_ms, changed_ms, worked_ms, attempts, labels, spec, outcome, owner
    FROM delegated
    WHERE hub = ?1 AND (?2 = '' OR session = ?2) AND (?3 = '' OR client = ?3)
        AND (?4 = '' OR state IN ('queued', 'in_progress', 'preempted', 'input_required'))
    ORDER BY created_ms DESC, place DESC, id LIMIT ?5";
const UPDATE: &str = "UPDATE delegated SET state = ?2, changed_ms = ?3, worked_ms = ?4,
        attempts = ?5, labels = ?6, outcome = ?7, spec = ?8
    WHERE id = ?1 AND state NOT IN ('completed', 'failed', 'cancelled')";
const SPEC: &str = "UPDATE delegated SET spec = ?2, changed_ms = ?3
    WHERE id = ?1 AND state = 'queued'";
const PLACE: &str = "UPDATE delegated SET place = ?2 WHERE id = ?1";
const OLD: &str = "SELECT id FROM delegated
    WHERE hub = ?1 AND state IN ('completed', 'failed', 'cancelled') AND changed_ms < ?2
    ORDER BY changed_ms LIMIT ?3";
const FORGET: [&str; 3] = [
    "DELETE FROM steps WHERE task = ?1",
    "DELETE FROM partials WHERE task = ?1",
    "DELETE FROM delegated WHERE id = ?1",
];
const PARTIAL_REMOVE: &str = "DELETE FROM partials WHERE task = ?1";

// === impl DelegatedState ===

impl DelegatedState {
    /// Whether nothing follows.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl Store {
    /// Adds a task. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn delegated_add(&self, task: &DelegatedRow) -> Result<(), StoreError> {
        let fence = self.fence();
        self.write_durable("storing a delegated task", |store| {
            hold(store, fence.as_ref())?;
            store.execute(ADD, &values(task)).map(drop)
        })
    }

    /// The task with this id.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn delegated_get(&self, id: &TaskId) -> Result<Option<DelegatedRow>, StoreError> {
        self.read("reading a delegated task", |store| {
            first(store, GET, &[id.as_str().into()], from_row)
        })
    }

    /// The tasks of a hub whose ids begin so; two where there are more.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn delegated_find(&self, hub: &str, begin: &str) -> Result<Vec<DelegatedRow>, StoreError> {
        self.read("looking for a delegated task", |store| {
            // Ids are ASCII, and nothing in them comes after the tilde.
            let last = format!("{begin}~");
            let values = [hub.into(), begin.into(), Value::from(&last)];
            collect(store, FIND, &values, from_row)
        })
    }

    /// A hub's tasks that are not over, in the order of their places.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn delegated_open(&self, hub: &str) -> Result<Vec<DelegatedRow>, StoreError> {
        self.read("listing open tasks", |store| {
            collect(store, OPEN, &[hub.into()], from_row)
        })
    }

    /// A hub's tasks, newest first; at most `limit`.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn delegated_list(
        &self,
        hub: &str,
        which: DelegatedWhich<'_>,
        limit: usize,
    ) -> Result<Vec<DelegatedRow>, StoreError> {
        self.read("listing delegated tasks", |store| {
            let values = [
                hub.into(),
                which.session.map_or("", SessionId::as_str).into(),
                which.client.unwrap_or_default().into(),
                if which.open { "open" } else { "" }.into(),
                most(limit).into(),
            ];
            collect(store, LIST, &values, from_row)
        })
    }

    /// Stores where a task stands: state, times, attempts, labels, and its bodies;
    /// and with it a message, if there is one to say. `None`, and nothing done,
    /// when the task is over already or not there, else the message's number (0
    /// without one). What its model was saying is forgotten when it is over. On
    /// disk on return if `durable`, else with the next commit that is.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn delegated_update(
        &self,
        task: &DelegatedRow,
        message: Option<&MessageNew>,
        durable: bool,
    ) -> Result<Option<u64>, StoreError> {
        let fence = self.fence();
        let work = |store: &mut dyn crate::sql::Session| {
            hold(store, fence.as_ref())?;
            let values = [
                Value::from(task.id.as_str()),
                Value::from(task.state.as_str()),
                Value::from(task.changed_ms),
                Value::from(task.worked_ms),
                Value::from(task.attempts),
                Value::from(&task.labels),
                Value::from(task.outcome.as_ref()),
                Value::from(&task.spec),
            ];
            if store.execute(UPDATE, &values)? == 0 {
                return Ok(None);
            }
            if task.state.is_over() {
                store.execute(PARTIAL_REMOVE, &[task.id.as_str().into()])?;
            }
            message
                .map_or(Ok(0), |message| add_in(store, message))
                .map(Some)
        };
        if durable {
            self.write_durable("updating a delegated task", work)
        } else {
            self.write_soon("updating a delegated task", 2, work)
        }
    }

    /// Puts something else to be done in place of what a task was to do;
    /// `false`, and nothing done, when it is no longer in the queue. On disk on
    /// return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn delegated_edit(
        &self,
        id: &TaskId,
        spec: &[u8],
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let fence = self.fence();
        self.write_durable("changing a delegated task", |store| {
            hold(store, fence.as_ref())?;
            store.execute(SPEC, &[id.as_str().into(), spec.into(), now_ms.into()])
        })
        .map(|changed| changed == 1)
    }

    /// Gives tasks other places, all or none. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn delegated_place(&self, places: &[(TaskId, i64)]) -> Result<(), StoreError> {
        let fence = self.fence();
        self.write_durable("moving delegated tasks", |store| {
            hold(store, fence.as_ref())?;
            for (id, place) in places {
                store.execute(PLACE, &[id.as_str().into(), (*place).into()])?;
            }
            Ok(())
        })
    }

    /// Forgets tasks that were over before `before_ms`, at most `limit` of them,
    /// with their steps; what was said stays in their sessions. Says which. On
    /// disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn delegated_expire(
        &self,
        hub: &str,
        before_ms: i64,
        limit: usize,
    ) -> Result<Vec<TaskId>, StoreError> {
        self.write_durable("forgetting old tasks", |store| {
            let values = [hub.into(), before_ms.into(), most(limit).into()];
            let old = collect(store, OLD, &values, |mut row| row.text().map(TaskId::new))?;
            for id in &old {
                for statement in FORGET {
                    store.execute(statement, &[id.as_str().into()])?;
                }
            }
            Ok(old)
        })
    }
}

fn values(task: &DelegatedRow) -> [Value<'_>; 18] {
    [
        Value::from(task.id.as_str()),
        Value::from(&task.hub),
        Value::from(task.session.as_str()),
        Value::from(&task.class),
        Value::from(&task.client),
        Value::from(&task.seat),
        Value::from(task.workspace.as_ref()),
        Value::from(task.state.as_str()),
        Value::from(task.hint.as_ref()),
        Value::from(task.place),
        Value::from(task.created_ms),
        Value::from(task.changed_ms),
        Value::from(task.worked_ms),
        Value::from(task.attempts),
        Value::from(&task.labels),
        Value::from(&task.spec),
        Value::from(task.outcome.as_ref()),
        Value::from(task.owner.as_ref()),
    ]
}

fn from_row(mut row: Row) -> Result<DelegatedRow, DatabaseError> {
    Ok(DelegatedRow {
        id: TaskId::new(row.text()?),
        hub: row.text()?,
        session: SessionId::new(row.text()?),
        class: row.text()?,
        client: row.text()?,
        seat: row.text()?,
        workspace: row.text_or_null()?,
        state: row.parsed(DelegatedState::parse)?,
        hint: row.text_or_null()?,
        place: row.int()?,
        created_ms: row.int()?,
        changed_ms: row.int()?,
        worked_ms: row.int()?,
        attempts: row.int()?,
        labels: row.text()?,
        spec: row.blob()?,
        outcome: row.blob_or_null()?,
        owner: row.text_or_null()?,
    })
}
