//! Statements that both backends know, on PostgreSQL.

use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Statement};

use super::driver::wait;
use crate::DatabaseError;
use crate::sql::{Cell, Row, Session, Value};

/// Without any sign of the server for so long, the connection counts as lost.
const SILENCE: Duration = Duration::from_secs(30);

const NOW: &str = "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)";

/// A connection and the statements prepared on it.
#[derive(Debug)]
pub(super) struct ServerSession {
    pub(super) client: Client,
    statements: HashMap<&'static str, Statement>,
}

// === impl ServerSession ===

impl ServerSession {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            statements: HashMap::new(),
        }
    }

    /// Runs statements without parameters.
    pub(super) fn batch(&mut self, sql: &str) -> Result<(), DatabaseError> {
        answer(self.client.batch_execute(sql))
    }

    /// The statement, prepared.
    pub(super) fn prepared(&mut self, sql: &'static str) -> Result<Statement, DatabaseError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = answer(self.client.prepare(&dollars(sql)))?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    /// One text that a statement answers with.
    pub(super) fn text(&mut self, sql: &str) -> Result<String, DatabaseError> {
        let row = answer(self.client.query_one(sql, &[]))?;
        Ok(row.try_get(0)?)
    }
}

impl Session for ServerSession {
    fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, DatabaseError> {
        let statement = self.prepared(sql)?;
        answer(self.client.execute(&statement, &parameters(values)))
    }

    fn query(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, DatabaseError> {
        let statement = self.prepared(sql)?;
        let rows = answer(self.client.query(&statement, &parameters(values)))?;
        rows.iter().map(row).collect()
    }

    fn now_ms(&mut self) -> Result<i64, DatabaseError> {
        let rows = self.query(NOW, &[])?;
        let mut row = rows
            .into_iter()
            .next()
            .ok_or(DatabaseError::Column { column: 1 })?;
        row.int()
    }
}

/// Waits for what the server says.
pub(super) fn answer<T>(
    future: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, DatabaseError> {
    Ok(answers(future)??)
}

/// Waits for what the server says to several statements that were sent at once.
pub(super) fn answers<T>(future: impl Future<Output = T>) -> Result<T, DatabaseError> {
    wait(future, SILENCE).ok_or_else(|| DatabaseError::lost("the server does not answer"))
}

/// Parameters are `?1` in SQLite and `$1` here; no statement of ours has a
/// question mark elsewhere.
fn dollars(sql: &str) -> String {
    sql.replace('?', "$")
}

fn parameters<'a>(values: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values
        .iter()
        .map(|value| value as &(dyn ToSql + Sync))
        .collect()
}

fn row(row: &tokio_postgres::Row) -> Result<Row, DatabaseError> {
    let cells = row.columns().iter().enumerate().map(|(index, column)| {
        let cell = match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(index)?.map(Cell::Int),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(index)?.map(Cell::Blob),
            Type::TEXT => row.try_get::<_, Option<String>>(index)?.map(Cell::Text),
            _ => return Err(DatabaseError::Column { column: index + 1 }),
        };
        Ok(cell.unwrap_or(Cell::Null))
    });
    Ok(Row::new(cells.collect::<Result<_, DatabaseError>>()?))
}

// === impl Value ===

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) => number.to_sql_checked(kind, out),
            Self::Text(text) => text.to_sql_checked(kind, out),
            Self::Blob(bytes) => bytes.to_sql_checked(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // Each variant is checked when it is written.
        true
    }

    to_sql_checked!();
}
