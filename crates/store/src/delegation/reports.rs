//! Reports of poor results.

use legation_core::TaskId;

use super::messages::most;
use crate::sql::{Row, Value, collect, first};
use crate::{DatabaseError, Store, StoreError};

/// One report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRow {
    /// Its name.
    pub id: String,
    /// The hub whose it is.
    pub hub: String,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// Who reported.
    pub client: String,
    /// When, in milliseconds since 1970.
    pub created_ms: i64,
    /// Whose data it holds, as its owner writes it.
    pub labels: String,
    /// What was reported, with the transcript, sealed by its owner.
    pub body: Vec<u8>,
}

const ADD: &str = "INSERT INTO reports (id, hub, task, client, created_ms, labels, body)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const GET: &str = "SELECT id, hub, task, client, created_ms, labels, body
    FROM reports WHERE id = ?1";
const LIST: &str = "SELECT id, hub, task, client, created_ms, labels, body
    FROM reports WHERE hub = ?1 ORDER BY created_ms DESC, id LIMIT ?2";

/// The oldest of a client's beyond so many.
const PRUNE_CLIENT: &str = "DELETE FROM reports WHERE hub = ?1 AND client = ?2 AND id NOT IN
    (SELECT id FROM reports WHERE hub = ?1 AND client = ?2 ORDER BY created_ms DESC, id LIMIT ?3)";
/// The oldest of all beyond so many.
const PRUNE: &str = "DELETE FROM reports WHERE hub = ?1 AND id NOT IN
    (SELECT id FROM reports WHERE hub = ?1 ORDER BY created_ms DESC, id LIMIT ?2)";
const EXPIRE: &str = "DELETE FROM reports WHERE hub = ?1 AND created_ms < ?2";

impl Store {
    /// Adds a report, and removes the oldest of its client beyond `of_client` and of its hub beyond
    /// `in_all`; how many those were. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn report_add(
        &self,
        report: &ReportRow,
        (of_client, in_all): (usize, usize),
    ) -> Result<u64, StoreError> {
        self.write_durable("storing a report", |store| {
            let values = [
                Value::from(&report.id),
                Value::from(&report.hub),
                Value::from(report.task.as_ref().map(TaskId::as_str)),
                Value::from(&report.client),
                Value::from(report.created_ms),
                Value::from(&report.labels),
                Value::from(&report.body),
            ];
            store.execute(ADD, &values)?;
            let hub = Value::from(&report.hub);
            let client = Value::from(&report.client);
            let of_client = [hub, client, most(of_client).into()];
            let gone = store.execute(PRUNE_CLIENT, &of_client)?;
            let hub = Value::from(&report.hub);
            let more = store.execute(PRUNE, &[hub, most(in_all).into()])?;
            Ok(gone + more)
        })
    }

    /// Removes a hub's reports from before a time, in milliseconds since 1970; how many. On disk
    /// on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn report_expire(&self, hub: &str, before_ms: i64) -> Result<u64, StoreError> {
        self.write_durable("removing old reports", |store| {
            store.execute(EXPIRE, &[hub.into(), before_ms.into()])
        })
    }

    /// The report with this id.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn report_get(&self, id: &str) -> Result<Option<ReportRow>, StoreError> {
        self.read("reading a report", |store| {
            first(store, GET, &[id.into()], from_row)
        })
    }

    /// A hub's reports, newest first; at most `limit`.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn report_list(&self, hub: &str, limit: usize) -> Result<Vec<ReportRow>, StoreError> {
        self.read("listing reports", |store| {
            collect(store, LIST, &[hub.into(), most(limit).into()], from_row)
        })
    }
}

fn from_row(mut row: Row) -> Result<ReportRow, DatabaseError> {
    Ok(ReportRow {
        id: row.text()?,
        hub: row.text()?,
        task: row.text_or_null()?.map(TaskId::new),
        client: row.text()?,
        created_ms: row.int()?,
        labels: row.text()?,
        body: row.blob()?,
    })
}
