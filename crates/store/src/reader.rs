//! Reading the ledger, with a connection that cannot write.

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use crate::postgres::ServerReader;
use crate::postgres::url::DatabaseUrl;
use crate::sql::Session;
use crate::sqlite::connection::{check_version, open_reading};
use crate::sqlite::{FileSession, migrate};
use crate::{DatabaseError, OpenError, StoreError};

/// A read-only connection: the hub's own for `tail`, `follow` and `verify`, or
/// a command's when no hub runs.
pub struct Reader {
    source: Source,
}

enum Source {
    File(Mutex<Connection>),
    Server(Box<ServerReader>),
}

// === impl Reader ===

impl Reader {
    /// Opens an existing database file for reading.
    ///
    /// # Errors
    /// See [`OpenError`]; a database with older or newer schema is refused.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        check_version()?;
        let connection = open_reading(path)?;
        migrate::check(&connection, path, migrate::STEPS)?;
        Ok(Self {
            source: Source::File(Mutex::new(connection)),
        })
    }

    /// Connects to a database on a server for reading.
    ///
    /// # Errors
    /// See [`OpenError`]; a database with older or newer schema is refused.
    pub fn connect(url: &DatabaseUrl) -> Result<Self, OpenError> {
        ServerReader::connect(url).map(Self::of_server)
    }

    pub(crate) fn of_server(reader: ServerReader) -> Self {
        Self {
            source: Source::Server(Box::new(reader)),
        }
    }

    pub(crate) fn read<T>(
        &self,
        what: &'static str,
        work: impl FnOnce(&mut dyn Session) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        match &self.source {
            Source::File(connection) => {
                // A reader's panic leaves nothing half done.
                let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                work(&mut FileSession(&connection)).map_err(StoreError::of(what))
            }
            Source::Server(reader) => reader.read(what, work),
        }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}
