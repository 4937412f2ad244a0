//! How a connection to `state.db` is opened.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::OpenError;

/// SQLite 3.51.3, the first release without the race of the write-ahead log's
/// reset against a commit.
const OLDEST_SQLITE: i32 = 3_051_003;

/// How long a lock of another connection is waited for. Only checkpoints and
/// repairs ever meet one: commits are serialised before they reach SQLite.
const BUSY: Duration = Duration::from_secs(1);

/// Prepared statements kept: one for each size of a batch of ledger rows, and
/// the others.
const STATEMENTS: usize = 128;

/// Refuses an SQLite that may lose commits.
pub(crate) fn check_version() -> Result<(), OpenError> {
    if rusqlite::version_number() < OLDEST_SQLITE {
        return Err(OpenError::OldSqlite {
            found: rusqlite::version().to_owned(),
        });
    }
    Ok(())
}

/// Makes the file if there is none and closes it to other users. SQLite gives
/// the log and the shared-memory file beside it the same mode.
pub(crate) fn prepare_file(path: &Path) -> Result<(), OpenError> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => {
            return Err(OpenError::File {
                what: "opening",
                path: path.to_owned(),
                source: io::Error::other("not a plain file"),
            });
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(OpenError::file("looking at", path)(error)),
    }
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)
        .map_err(OpenError::file("making", path))?;
    file.set_permissions(fs::Permissions::from_mode(0o600))
        .map_err(OpenError::file("closing to other users", path))
}

/// A connection that writes, or moves the log into the database. `NORMAL`
/// commits to the page cache; durability is asked for through
/// [`Store::sync`](crate::Store::sync).
pub(crate) fn open_writing(path: &Path) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(OpenError::sqlite("opening", path))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    (|| {
        connection.busy_timeout(BUSY)?;
        let mode: String =
            connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
        if mode != "wal" {
            return Err(rusqlite::Error::InvalidParameterName(format!(
                "journal mode {mode}"
            )));
        }
        connection.execute_batch(
            "PRAGMA synchronous = NORMAL;
             PRAGMA trusted_schema = OFF;
             PRAGMA cell_size_check = ON;
             PRAGMA temp_store = MEMORY;",
        )?;
        connection.query_row("PRAGMA wal_autocheckpoint = 0", [], |row| {
            row.get::<_, i64>(0)
        })
    })()
    .map_err(OpenError::sqlite("setting up", path))?;
    Ok(connection)
}

/// A connection that cannot write.
pub(crate) fn open_reading(path: &Path) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(OpenError::sqlite("opening", path))?;
    connection
        .busy_timeout(BUSY)
        .and_then(|()| connection.execute_batch("PRAGMA trusted_schema = OFF"))
        .map_err(OpenError::sqlite("setting up", path))?;
    Ok(connection)
}

/// Where the write-ahead log lies.
pub(crate) fn wal_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// What a checkpoint did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// Another connection kept it from finishing.
    pub(crate) busy: bool,
    /// Pages in the log.
    pub(crate) log_pages: i64,
    /// How many of them are in the database too.
    pub(crate) moved_pages: i64,
}

impl Checkpoint {
    /// Nothing was done because another connection runs a checkpoint. SQLite
    /// then gives −1 for the numbers of pages, see
    /// <https://sqlite.org/pragma.html#pragma_wal_checkpoint>.
    pub(crate) fn beside_another(self) -> bool {
        self.busy && self.log_pages < 0
    }
}

/// Moves what it can without waiting for anyone.
pub(crate) fn checkpoint_passive(connection: &Connection) -> rusqlite::Result<Checkpoint> {
    checkpoint(connection, "PRAGMA wal_checkpoint(PASSIVE)")
}

/// Moves everything and empties the log. When it succeeds, all that was ever
/// committed is in the database file and synced, whatever became of the log.
pub(crate) fn checkpoint_truncate(connection: &Connection) -> rusqlite::Result<Checkpoint> {
    checkpoint(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
}

fn checkpoint(connection: &Connection, sql: &str) -> rusqlite::Result<Checkpoint> {
    connection.query_row(sql, [], |row| {
        Ok(Checkpoint {
            busy: row.get::<_, i64>(0)? != 0,
            log_pages: row.get(1)?,
            moved_pages: row.get(2)?,
        })
    })
}
