//! Statements that both backends know, on SQLite.

use rusqlite::types::{Null, ValueRef};
use rusqlite::{CachedStatement, Connection};

use crate::DatabaseError;
use crate::sql::{Cell, Row, Session, Value};

/// A connection to the file.
pub(crate) struct FileSession<'a>(pub(crate) &'a Connection);

const NOW: &str = "SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER)";

impl Session for FileSession<'_> {
    fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, DatabaseError> {
        let mut statement = bound(self.0, sql, values)?;
        Ok(statement.raw_execute()? as u64)
    }

    fn query(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, DatabaseError> {
        let mut statement = bound(self.0, sql, values)?;
        let columns = statement.column_count();
        let mut rows = statement.raw_query();
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let cells = (0..columns).map(|index| cell(row.get_ref(index)?, index));
            found.push(Row::new(cells.collect::<Result<_, DatabaseError>>()?));
        }
        Ok(found)
    }

    fn now_ms(&mut self) -> Result<i64, DatabaseError> {
        let mut statement = self.0.prepare_cached(NOW)?;
        Ok(statement.query_row([], |row| row.get(0))?)
    }
}

fn bound<'a>(
    connection: &'a Connection,
    sql: &'static str,
    values: &[Value<'_>],
) -> Result<CachedStatement<'a>, DatabaseError> {
    let mut statement = connection.prepare_cached(sql)?;
    for (index, value) in values.iter().enumerate() {
        match value {
            Value::Null => statement.raw_bind_parameter(index + 1, Null)?,
            Value::Int(number) => statement.raw_bind_parameter(index + 1, number)?,
            Value::Text(text) => statement.raw_bind_parameter(index + 1, text)?,
            Value::Blob(bytes) => statement.raw_bind_parameter(index + 1, bytes)?,
        }
    }
    Ok(statement)
}

fn cell(value: ValueRef<'_>, index: usize) -> Result<Cell, DatabaseError> {
    let unfit = || DatabaseError::Column { column: index + 1 };
    Ok(match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Int(number),
        ValueRef::Text(text) => Cell::Text(String::from_utf8(text.to_vec()).map_err(|_| unfit())?),
        ValueRef::Blob(bytes) => Cell::Blob(bytes.to_vec()),
        ValueRef::Real(_) => return Err(unfit()),
    })
}
