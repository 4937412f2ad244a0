//! Reading records back, in the hub and without one.

use std::path::Path;

use legation_core::EntityId;
use legation_core::id::hex;
use legation_store::{DatabaseUrl, LedgerRow, OpenError, Reader};

use crate::error::LedgerError;
use crate::query::{self, Bounds, Filter, Page};
use crate::stored::Record;
use crate::tally::Tally;
use crate::verify::{self, Evidence, Report};

/// One record as it lies in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Place in the order of commits, over all entities.
    pub position: i64,
    /// Whose chain.
    pub entity: EntityId,
    /// Place in the chain.
    pub seq: i64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// The record's hash, in hexadecimal.
    pub hash: String,
    /// The record, one line of JSON. Free text in it has its control characters
    /// escaped.
    pub text: String,
}

/// A ledger opened for reading only, by whoever holds the data directory's lock
/// while no hub runs.
#[derive(Debug)]
pub struct LedgerReader {
    reader: Reader,
}

/// The records of a ledger, whoever holds it.
#[derive(Debug, Clone, Copy)]
pub struct Records<'a> {
    reader: &'a Reader,
}

// === impl Entry ===

impl Entry {
    pub(crate) fn from_row(row: LedgerRow) -> Self {
        Self {
            position: row.position,
            entity: row.entity,
            seq: row.seq,
            at_ms: row.at_ms,
            hash: hex(&row.hash),
            text: String::from_utf8_lossy(&row.bytes).into_owned(),
        }
    }

    /// The record in parts; `None` when it is damaged.
    #[must_use]
    pub fn record(&self) -> Option<Record> {
        serde_json::from_str(&self.text).ok()
    }
}

// === impl LedgerReader ===

impl LedgerReader {
    /// Opens the ledger in the database at `path`.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Reader::open(path).map(|reader| Self { reader })
    }

    /// Opens the ledger in a database on a server.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn connect(url: &DatabaseUrl) -> Result<Self, OpenError> {
        Reader::connect(url).map(|reader| Self { reader })
    }

    /// Its records.
    #[must_use]
    pub fn records(&self) -> Records<'_> {
        Records::of(&self.reader)
    }
}

// === impl Records ===

impl<'a> Records<'a> {
    pub(crate) fn of(reader: &'a Reader) -> Self {
        Self { reader }
    }

    /// The last `count` records, oldest first.
    ///
    /// # Errors
    /// [`LedgerError::Read`].
    pub fn tail(self, count: usize) -> Result<Vec<Entry>, LedgerError> {
        tail(self.reader, count)
    }

    /// The wanted records before a position, newest first.
    ///
    /// # Errors
    /// [`LedgerError::Read`].
    pub fn query(
        self,
        filter: &Filter,
        before: Option<i64>,
        bounds: Bounds,
    ) -> Result<Page, LedgerError> {
        query::backward(self.reader, filter, before, bounds)
    }

    /// The wanted records after a position, oldest first.
    ///
    /// # Errors
    /// [`LedgerError::Read`].
    pub fn scan(self, filter: &Filter, after: i64, bounds: Bounds) -> Result<Page, LedgerError> {
        query::forward(self.reader, filter, after, bounds)
    }

    /// Everything about one call, oldest first.
    ///
    /// # Errors
    /// [`LedgerError::Read`].
    pub fn find_call(self, call: &str) -> Result<Vec<Entry>, LedgerError> {
        query::call(self.reader, call)
    }

    /// A tally of the records since a moment, in milliseconds since 1970; nothing is
    /// counted yet.
    ///
    /// # Errors
    /// [`LedgerError::Read`].
    pub fn tally(self, from_ms: i64) -> Result<Tally, LedgerError> {
        Tally::since(self.reader, from_ms)
    }

    /// Counts up to `limit` records that are new to a tally; how many are left.
    ///
    /// # Errors
    /// [`LedgerError::Read`].
    pub fn count(self, tally: &mut Tally, limit: usize) -> Result<u64, LedgerError> {
        tally.go_on(self.reader, limit)
    }

    /// Checks every chain from its start, and against `evidence`.
    ///
    /// # Errors
    /// [`LedgerError::Read`].
    pub fn verify(self, evidence: &Evidence) -> Result<Report, LedgerError> {
        verify::verify(self.reader, evidence)
    }
}

pub(crate) fn tail(reader: &Reader, count: usize) -> Result<Vec<Entry>, LedgerError> {
    let rows = reader.ledger_last(count).map_err(LedgerError::read)?;
    Ok(rows.into_iter().map(Entry::from_row).collect())
}
