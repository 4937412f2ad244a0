//! The little of SQL that both backends speak alike: statements whose
//! parameters are `?1`, `?2`, …, values and rows.
//!
//! The rows that people decide about (approvals, grants, pins, …) are few and
//! written rarely, so each noun states its SQL once and runs on either backend
//! through [`Session`]. The ledger, which is on the way of every call, has code
//! of its own in each backend.

use crate::DatabaseError;

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Null,
    Int(i64),
    Text(&'a str),
    Blob(&'a [u8]),
}

/// One column of a row that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Text(String),
    Blob(Vec<u8>),
}

/// A row that was read; its columns are taken one after the other.
#[derive(Debug)]
pub(crate) struct Row {
    cells: std::vec::IntoIter<Cell>,
    taken: usize,
}

/// An open connection, mostly inside a transaction.
pub(crate) trait Session {
    /// Runs a statement and says how many rows it changed.
    fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, DatabaseError>;

    /// Runs a statement that answers with rows.
    fn query(&mut self, sql: &'static str, values: &[Value<'_>])
    -> Result<Vec<Row>, DatabaseError>;

    /// The database's clock, in milliseconds since 1970.
    fn now_ms(&mut self) -> Result<i64, DatabaseError>;
}

/// Runs a statement and reads each row it answers with.
pub(crate) fn collect<T>(
    session: &mut dyn Session,
    sql: &'static str,
    values: &[Value<'_>],
    read: impl FnMut(Row) -> Result<T, DatabaseError>,
) -> Result<Vec<T>, DatabaseError> {
    session.query(sql, values)?.into_iter().map(read).collect()
}

/// The first row a statement answers with.
pub(crate) fn first<T>(
    session: &mut dyn Session,
    sql: &'static str,
    values: &[Value<'_>],
    read: impl FnMut(Row) -> Result<T, DatabaseError>,
) -> Result<Option<T>, DatabaseError> {
    session
        .query(sql, values)?
        .into_iter()
        .next()
        .map(read)
        .transpose()
}

// === impl Value ===

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Blob(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for Value<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::Blob(bytes)
    }
}

impl<'a> From<&'a [u8; 32]> for Value<'a> {
    fn from(bytes: &'a [u8; 32]) -> Self {
        Self::Blob(bytes)
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl<'a, T: Into<Self>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

// === impl Row ===

impl Row {
    pub(crate) fn new(cells: Vec<Cell>) -> Self {
        Self {
            cells: cells.into_iter(),
            taken: 0,
        }
    }

    fn next(&mut self) -> Cell {
        self.taken += 1;
        self.cells.next().unwrap_or(Cell::Null)
    }

    fn unfit<T>(&self) -> Result<T, DatabaseError> {
        Err(DatabaseError::Column { column: self.taken })
    }

    pub(crate) fn int(&mut self) -> Result<i64, DatabaseError> {
        match self.next() {
            Cell::Int(number) => Ok(number),
            Cell::Null | Cell::Text(_) | Cell::Blob(_) => self.unfit(),
        }
    }

    pub(crate) fn int_or_null(&mut self) -> Result<Option<i64>, DatabaseError> {
        match self.next() {
            Cell::Null => Ok(None),
            Cell::Int(number) => Ok(Some(number)),
            Cell::Text(_) | Cell::Blob(_) => self.unfit(),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, DatabaseError> {
        match self.next() {
            Cell::Text(text) => Ok(text),
            Cell::Null | Cell::Int(_) | Cell::Blob(_) => self.unfit(),
        }
    }

    pub(crate) fn text_or_null(&mut self) -> Result<Option<String>, DatabaseError> {
        match self.next() {
            Cell::Null => Ok(None),
            Cell::Text(text) => Ok(Some(text)),
            Cell::Int(_) | Cell::Blob(_) => self.unfit(),
        }
    }

    pub(crate) fn blob(&mut self) -> Result<Vec<u8>, DatabaseError> {
        match self.next() {
            Cell::Blob(bytes) => Ok(bytes),
            Cell::Null | Cell::Int(_) | Cell::Text(_) => self.unfit(),
        }
    }

    pub(crate) fn blob_or_null(&mut self) -> Result<Option<Vec<u8>>, DatabaseError> {
        match self.next() {
            Cell::Null => Ok(None),
            Cell::Blob(bytes) => Ok(Some(bytes)),
            Cell::Int(_) | Cell::Text(_) => self.unfit(),
        }
    }

    /// A blob of exactly 32 bytes.
    pub(crate) fn hash(&mut self) -> Result<[u8; 32], DatabaseError> {
        let bytes = self.blob()?;
        bytes.try_into().or_else(|_| self.unfit())
    }

    pub(crate) fn hash_or_null(&mut self) -> Result<Option<[u8; 32]>, DatabaseError> {
        let Some(bytes) = self.blob_or_null()? else {
            return Ok(None);
        };
        bytes.try_into().map(Some).or_else(|_| self.unfit())
    }

    /// A text that `parse` knows.
    pub(crate) fn parsed<T>(
        &mut self,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, DatabaseError> {
        let text = self.text()?;
        parse(&text).map_or_else(|| self.unfit(), Ok)
    }
}
