//! What models were asked and what that cost: one row for each day, provider,
//! model, job and set of entities, so that the table grows by days and not by
//! requests.

use crate::approvals::count;
use crate::sql::{Row, Value, collect};
use crate::{DatabaseError, Store, StoreError};

/// What was asked in one day, for one job, of one model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpendRow {
    /// The day, counted from 1 January 1970.
    pub day: i64,
    /// Who was asked.
    pub provider: String,
    /// Which model.
    pub model: String,
    /// For which job; empty for none.
    pub job: String,
    /// Whose data it was: ids with spaces between them, sorted; empty for nobody's.
    pub entities: String,
    /// How often.
    pub requests: i64,
    /// How often the provider did not say how many tokens there were.
    pub uncounted: i64,
    /// Tokens read.
    pub input: i64,
    /// Tokens written.
    pub output: i64,
    /// What it cost, in millionths of a US dollar.
    pub cost_micro: i64,
    /// What it would have cost elsewhere.
    pub saved_micro: i64,
}

const ADD: &str = "INSERT INTO spend (day, provider, model, job, entities,
        requests, uncounted, input, output, cost_micro, saved_micro)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
    ON CONFLICT (day, provider, model, job, entities) DO UPDATE SET
        requests = spend.requests + excluded.requests,
        uncounted = spend.uncounted + excluded.uncounted,
        input = spend.input + excluded.input,
        output = spend.output + excluded.output,
        cost_micro = spend.cost_micro + excluded.cost_micro,
        saved_micro = spend.saved_micro + excluded.saved_micro";
const LIST: &str = "SELECT day, provider, model, job, entities,
        requests, uncounted, input, output, cost_micro, saved_micro
    FROM spend WHERE day >= ?1 ORDER BY day, provider, model, job, entities";
const TRIM: &str = "DELETE FROM spend WHERE day < ?1";

impl Store {
    /// Adds rows to those of the same day, provider, model, job and entities:
    /// all or none. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn spend_add(&self, rows: &[SpendRow]) -> Result<(), StoreError> {
        self.write_durable("storing what models cost", |session| {
            for row in rows {
                session.execute(ADD, &values(row))?;
            }
            Ok(())
        })
    }

    /// The rows from a day on, by day.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn spend_list(&self, from_day: i64) -> Result<Vec<SpendRow>, StoreError> {
        self.read("listing what models cost", |session| {
            collect(session, LIST, &[from_day.into()], from_row)
        })
    }

    /// Removes the rows of earlier days, and says how many that were. On disk
    /// on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn spend_trim(&self, before_day: i64) -> Result<usize, StoreError> {
        self.write_durable("removing what models cost long ago", |session| {
            session.execute(TRIM, &[before_day.into()])
        })
        .map(count)
    }
}

fn values(row: &SpendRow) -> [Value<'_>; 11] {
    [
        Value::from(row.day),
        Value::from(&row.provider),
        Value::from(&row.model),
        Value::from(&row.job),
        Value::from(&row.entities),
        Value::from(row.requests),
        Value::from(row.uncounted),
        Value::from(row.input),
        Value::from(row.output),
        Value::from(row.cost_micro),
        Value::from(row.saved_micro),
    ]
}

fn from_row(mut row: Row) -> Result<SpendRow, DatabaseError> {
    Ok(SpendRow {
        day: row.int()?,
        provider: row.text()?,
        model: row.text()?,
        job: row.text()?,
        entities: row.text()?,
        requests: row.int()?,
        uncounted: row.int()?,
        input: row.int()?,
        output: row.int()?,
        cost_micro: row.int()?,
        saved_micro: row.int()?,
    })
}
