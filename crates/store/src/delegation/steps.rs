//! How far a task has come: what its model said, what it called, and what it
//! was saying.

use legation_core::TaskId;

use super::messages::{MessageNew, add_in};
use super::owners::hold;
use crate::sql::{Row, Session, Value, collect, first};
use crate::state::words;
use crate::{DatabaseError, Store, StoreError};

words! {
    /// Whether something that was begun has ended.
    pub enum StepState {
        /// It was about to begin.
        Intent = "intent",
        /// It is over.
        Done = "done",
    }
}

/// A turn of the model, or a call that it made in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRow {
    /// Whose.
    pub task: TaskId,
    /// Which turn, counted from 1.
    pub step: i64,
    /// 0 for the turn itself, then its calls in their order.
    pub place: i64,
    /// The call's id; empty for the turn.
    pub call_id: String,
    /// Whether it has ended.
    pub state: StepState,
    /// The tool that is called; empty for the turn.
    pub tool: String,
    /// Whether doing it twice would be more than doing it once.
    pub changes: bool,
    /// The message that shows it; 0 where none does.
    pub seq: u64,
    /// When it was stored, in milliseconds since 1970.
    pub at_ms: i64,
    /// Whose data it holds, as its owner writes it.
    pub labels: String,
    /// What was said, called or answered, sealed by its owner.
    pub body: Vec<u8>,
}

/// What a model has said of a turn that is not over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialRow {
    /// Whose.
    pub task: TaskId,
    /// Which turn.
    pub step: i64,
    /// When it was stored, in milliseconds since 1970.
    pub at_ms: i64,
    /// Whose data it holds, as its owner writes it.
    pub labels: String,
    /// What was said, sealed by its owner.
    pub body: Vec<u8>,
}

const PUT: &str = "INSERT INTO steps (task, step, place, call_id, state, tool, changes, seq, at_ms,
        labels, body)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
    ON CONFLICT (task, step, place) DO UPDATE SET call_id = excluded.call_id,
        state = excluded.state, tool = excluded.tool, changes = excluded.changes,
        seq = excluded.seq, at_ms = excluded.at_ms, labels = excluded.labels,
        body = excluded.body";
const END: &str = "UPDATE steps SET state = 'done', at_ms = ?4, labels = ?5, body = ?6
    WHERE task = ?1 AND step = ?2 AND place = ?3";
const SAID: &str = "UPDATE messages SET labels = ?4, body = ?5
    WHERE seq = (SELECT seq FROM steps WHERE task = ?1 AND step = ?2 AND place = ?3)";
const UNDO: &str = "DELETE FROM steps WHERE task = ?1 AND step = ?2 AND place = ?3
    AND state = 'intent'";
const LIST: &str =
    "SELECT task, step, place, call_id, state, tool, changes, seq, at_ms, labels, body
    FROM steps WHERE task = ?1 ORDER BY step, place";
const PARTIAL_PUT: &str = "INSERT INTO partials (task, step, at_ms, labels, body)
    VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (task) DO UPDATE SET step = excluded.step, at_ms = excluded.at_ms,
        labels = excluded.labels, body = excluded.body";
const PARTIAL_GET: &str = "SELECT task, step, at_ms, labels, body FROM partials WHERE task = ?1";
const PARTIAL_REMOVE: &str = "DELETE FROM partials WHERE task = ?1";

impl Store {
    /// Stores a turn or a call, and with it the message that shows it, if there
    /// is one; the message's number, else 0. On disk on return if `durable`, else
    /// with the next commit that is. A turn ends what was said of it so far.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn step_put(
        &self,
        step: &StepRow,
        message: Option<&MessageNew>,
        durable: bool,
    ) -> Result<u64, StoreError> {
        let fence = self.fence();
        let work = |store: &mut dyn Session| {
            hold(store, fence.as_ref())?;
            let seq = message.map_or(Ok(0), |message| add_in(store, message))?;
            let seq_value = Value::from(i64::try_from(seq).unwrap_or(i64::MAX));
            let [
                task,
                number,
                place,
                call,
                state,
                tool,
                changes,
                at,
                labels,
                body,
            ] = values(step);
            let all = [
                task, number, place, call, state, tool, changes, seq_value, at, labels, body,
            ];
            store.execute(PUT, &all)?;
            if step.place == 0 {
                store.execute(PARTIAL_REMOVE, &[step.task.as_str().into()])?;
            }
            Ok(seq)
        };
        if durable {
            self.write_durable("storing a step", work)
        } else {
            self.write_soon("storing a step", 2, work)
        }
    }

    /// Stores what a call came to: its body, and that of the message that shows
    /// it. `false` when there is no such call. On disk with the next commit that
    /// is.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn step_end(&self, step: &StepRow, said: &[u8]) -> Result<bool, StoreError> {
        let fence = self.fence();
        self.write_soon("storing the end of a step", 2, |store| {
            hold(store, fence.as_ref())?;
            let key = || {
                [
                    Value::from(step.task.as_str()),
                    Value::from(step.step),
                    Value::from(step.place),
                ]
            };
            let [task, number, place] = key();
            let labels = Value::from(&step.labels);
            let said = [task, number, place, labels, said.into()];
            store.execute(SAID, &said)?;
            let [task, number, place] = key();
            let at = Value::from(step.at_ms);
            let end = [task, number, place, at, labels, Value::from(&step.body)];
            store.execute(END, &end)
        })
        .map(|changed| changed == 1)
    }

    /// Takes back that a call was about to be made; `false` when it has ended or
    /// is not there. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn step_undo(&self, task: &TaskId, step: i64, place: i64) -> Result<bool, StoreError> {
        let fence = self.fence();
        self.write_durable("taking back a step", |store| {
            hold(store, fence.as_ref())?;
            store.execute(UNDO, &[task.as_str().into(), step.into(), place.into()])
        })
        .map(|removed| removed == 1)
    }

    /// The steps of a task in their order.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn step_list(&self, task: &TaskId) -> Result<Vec<StepRow>, StoreError> {
        self.read("reading steps", |store| {
            collect(store, LIST, &[task.as_str().into()], from_row)
        })
    }

    /// Keeps what a model has said so far, in place of what was kept.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn partial_put(&self, partial: &PartialRow) -> Result<(), StoreError> {
        let fence = self.fence();
        self.write_soon("storing an unfinished answer", 1, |store| {
            hold(store, fence.as_ref())?;
            let values = [
                Value::from(partial.task.as_str()),
                Value::from(partial.step),
                Value::from(partial.at_ms),
                Value::from(&partial.labels),
                Value::from(&partial.body),
            ];
            store.execute(PARTIAL_PUT, &values).map(drop)
        })
    }

    /// What a model has said of a turn that is not over.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn partial_get(&self, task: &TaskId) -> Result<Option<PartialRow>, StoreError> {
        self.read("reading an unfinished answer", |store| {
            first(store, PARTIAL_GET, &[task.as_str().into()], |mut row| {
                Ok(PartialRow {
                    task: TaskId::new(row.text()?),
                    step: row.int()?,
                    at_ms: row.int()?,
                    labels: row.text()?,
                    body: row.blob()?,
                })
            })
        })
    }
}

fn values(step: &StepRow) -> [Value<'_>; 10] {
    [
        Value::from(step.task.as_str()),
        Value::from(step.step),
        Value::from(step.place),
        Value::from(&step.call_id),
        Value::from(step.state.as_str()),
        Value::from(&step.tool),
        Value::from(i64::from(step.changes)),
        Value::from(step.at_ms),
        Value::from(&step.labels),
        Value::from(&step.body),
    ]
}

fn from_row(mut row: Row) -> Result<StepRow, DatabaseError> {
    Ok(StepRow {
        task: TaskId::new(row.text()?),
        step: row.int()?,
        place: row.int()?,
        call_id: row.text()?,
        state: row.parsed(StepState::parse)?,
        tool: row.text()?,
        changes: row.int()? != 0,
        seq: row.int()?.unsigned_abs(),
        at_ms: row.int()?,
        labels: row.text()?,
        body: row.blob()?,
    })
}
