//! Reading the ledger, with a connection that cannot write.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use legation_core::EntityId;
use rusqlite::Connection;

use crate::postgres::ServerReader;
use crate::postgres::url::DatabaseUrl;
use crate::sql::Session;
use crate::sqlite::connection::{check_version, open_reading};
use crate::sqlite::ledger::{Names, stored_places};
use crate::sqlite::{FileSession, Files, migrate};
use crate::volume::{VolumeReader, volume_path};
use crate::{DatabaseError, OpenError, StoreError};

/// A read-only connection: the hub's own for `tail`, `follow` and `verify`, or
/// a command's when no hub runs.
pub struct Reader {
    source: Source,
}

enum Source {
    File {
        connection: Mutex<Connection>,
        volume: VolumeReader,
        /// What it reads, where that is written here.
        files: Option<Arc<Files>>,
    },
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
        let stored = stored_places(&connection)
            .map_err(StoreError::of("reading the places of the ledger"))
            .map_err(|source| OpenError::first_use(path.display().to_string(), source))?;
        let beside = volume_path(path);
        let volume =
            VolumeReader::open(&beside, stored).map_err(OpenError::file("opening", &beside))?;
        Ok(Self {
            source: Source::File {
                connection: Mutex::new(connection),
                volume,
                files: None,
            },
        })
    }

    /// Opens what is written here, for reading beside that.
    pub(crate) fn beside(path: &Path, files: &Arc<Files>) -> Result<Self, OpenError> {
        let volume = files
            .volume_reader()
            .map_err(|source| OpenError::first_use(path.display().to_string(), source))?;
        Ok(Self {
            source: Source::File {
                connection: Mutex::new(open_reading(path)?),
                volume,
                files: Some(Arc::clone(files)),
            },
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
            Source::File { connection, .. } => {
                // A reader's panic leaves nothing half done.
                let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                work(&mut FileSession(&connection)).map_err(StoreError::of(what))
            }
            Source::Server(reader) => reader.read(what, work),
        }
    }

    /// Reads rows of the ledger where they stand in a file; `None` where they are in a database.
    pub(crate) fn volume<T>(
        &self,
        what: &'static str,
        work: impl FnOnce(&VolumeReader, &dyn Fn(i64) -> EntityId) -> io::Result<T>,
    ) -> Option<Result<T, StoreError>> {
        let Source::File {
            connection, volume, ..
        } = &self.source
        else {
            return None;
        };
        let names = {
            let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            Names::read(&connection).map_err(StoreError::of(what))
        };
        Some(names.and_then(|names| {
            work(volume, &|number| names.of(number)).map_err(StoreError::of(what))
        }))
    }

    /// Has the database be told what the volume holds, where that is done here.
    pub(crate) fn note(&self) -> Result<(), StoreError> {
        match &self.source {
            Source::File {
                files: Some(files), ..
            } => files.note(),
            Source::File { .. } | Source::Server(_) => Ok(()),
        }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}
