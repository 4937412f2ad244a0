//! Reading the ledger, with a connection that cannot write.

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use crate::connection::{check_version, open_reading};
use crate::migrate;
use crate::{OpenError, StoreError};

/// A read-only connection: the hub's own for `tail`, `follow` and `verify`, or
/// a command's when no hub runs.
pub struct Reader {
    connection: Mutex<Connection>,
}

// === impl Reader ===

impl Reader {
    /// Opens an existing database for reading.
    ///
    /// # Errors
    /// See [`OpenError`]; a database with older or newer schema is refused.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        check_version()?;
        let connection = open_reading(path)?;
        migrate::check(&connection, path, migrate::STEPS)?;
        Ok(Self {
            connection: Mutex::new(connection),
        })
    }

    pub(crate) fn read<T>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        work(&self.connection()).map_err(StoreError::sqlite(what))
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A reader's panic leaves nothing half done.
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}
