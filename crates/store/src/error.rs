//! What can go wrong with the store.

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;

/// What a database said when it refused.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// SQLite refused.
    #[error("SQLite refused")]
    Sqlite {
        /// Why.
        #[from]
        source: rusqlite::Error,
    },
    /// The file system refused, where rows of the ledger stand in a file.
    #[error("the file system refused")]
    File {
        /// Why.
        #[from]
        source: io::Error,
    },
    /// PostgreSQL refused.
    #[error("PostgreSQL refused: {message} ({code})")]
    Postgres {
        /// Its SQLSTATE.
        code: String,
        /// Its words, without the detail, which may repeat values.
        message: String,
    },
    /// There is no connection to the server, or none any more.
    #[error("there is no connection to the database: {why}")]
    Lost {
        /// What is known about it.
        why: String,
    },
    /// The end of a chain is not where the caller believed it to be.
    #[error("another hub has added to the ledger meanwhile")]
    Moved,
    /// What it works under was taken by another hub.
    #[error("another hub has taken over what this one worked on")]
    Fenced,
    /// A column does not hold what belongs there.
    #[error("column {column} of a row does not hold what belongs there")]
    Column {
        /// Which one, counted from 1.
        column: usize,
    },
}

/// The store was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// SQLite before 3.51.3 can lose a committed transaction when a checkpoint
    /// races a commit.
    #[error("SQLite {found} is linked but 3.51.3 or newer is needed; the store was not opened")]
    OldSqlite {
        /// The version that is linked.
        found: String,
    },
    /// A newer hub has been here.
    #[error(
        "{place} has schema step {found}, this program knows {known}; the store was not opened"
    )]
    NewerSchema {
        /// The database.
        place: String,
        /// Its last step.
        found: usize,
        /// The last step known here.
        known: usize,
    },
    /// No hub of this version has been here yet, and reading changes nothing.
    #[error("{place} has schema step {found} of {known}; it was not opened for reading")]
    OlderSchema {
        /// The database.
        place: String,
        /// Its last step.
        found: usize,
        /// The last step known here.
        known: usize,
    },
    /// The steps on record are not the steps this program would have taken.
    #[error(
        "{place} has schema step {step} named {found:?} where {expected:?} belongs; the store was not opened"
    )]
    ForeignSchema {
        /// The database.
        place: String,
        /// Which step, counted from 1.
        step: usize,
        /// The name on record.
        found: String,
        /// The name it should have.
        expected: &'static str,
    },
    /// The file could not be made, or is not a plain file.
    #[error("{what} {} failed; the store was not opened", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// On which path.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// SQLite refused.
    #[error("{what} {} failed; the store was not opened", path.display())]
    Sqlite {
        /// What was tried.
        what: &'static str,
        /// The database.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: rusqlite::Error,
    },
    /// The server refused, or could not be reached.
    #[error("{what} {place} failed; the store was not opened")]
    Postgres {
        /// What was tried.
        what: &'static str,
        /// The database.
        place: String,
        /// Why it failed.
        #[source]
        source: DatabaseError,
    },
    /// The server is too old.
    #[error("{place} is older than PostgreSQL 14; the store was not opened")]
    OldServer {
        /// The database.
        place: String,
    },
    /// The server could not be reached a moment ago and is not tried again yet.
    #[error("{place} could not be reached a moment ago; the store was not opened")]
    Away {
        /// The database.
        place: String,
    },
    /// The thread for the connections could not be started.
    #[error("the thread for {place} could not be started; the store was not opened")]
    Thread {
        /// The database.
        place: String,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// The database could be opened but not used.
    #[error("{place} cannot be read; the store was not opened")]
    FirstUse {
        /// The database.
        place: String,
        /// Why it failed.
        #[source]
        source: Box<StoreError>,
    },
    /// A checkpoint that should have emptied the write-ahead log did not.
    #[error(
        "the write-ahead log of {} is in use elsewhere; the store was not opened",
        path.display()
    )]
    WalBusy {
        /// The database.
        path: PathBuf,
    },
}

/// An operation on the open store failed; nothing of it was committed unless
/// the variant says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk, or the size the database may have, is used up.
    #[error("{what} failed because the disk or the database is full; nothing was stored")]
    Full {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        #[source]
        source: DatabaseError,
    },
    /// The file system failed, or the connection to the database was lost. Whether the rows survive shows when the store
    /// is next used, which opens it anew.
    #[error("{what} failed in the file system; what was to be stored is in doubt")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        #[source]
        source: DatabaseError,
    },
    /// The database refused.
    #[error("{what} failed; nothing was stored")]
    Failed {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        #[source]
        source: DatabaseError,
    },
    /// The rows are committed but `fdatasync` failed: they may not survive a
    /// power failure. The store is opened anew before it is next written.
    #[error("the write-ahead log could not be forced to disk; what was stored is in doubt")]
    Sync {
        /// Why it failed; absent when an earlier failure has not been repaired.
        #[source]
        source: Option<io::Error>,
    },
    /// The store was opened anew since the caller last read from it.
    #[error("the store was opened anew after a failure; nothing was stored")]
    Reopened,
    /// After an earlier failure the store could not be opened anew.
    #[error("the store failed earlier and could not be opened again; nothing was stored")]
    Reopen {
        /// Why it failed.
        #[source]
        source: Box<OpenError>,
    },
}

/// What an error means for the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// No room.
    Full,
    /// They may be there or not.
    Doubt,
    /// They are not there.
    Refused,
}

// === impl DatabaseError ===

impl DatabaseError {
    pub(crate) fn class(&self) -> Class {
        match self {
            Self::Sqlite { source } => match source.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => Class::Full,
                Some(ErrorCode::SystemIoFailure) => Class::Doubt,
                _ => Class::Refused,
            },
            Self::File { source } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Class::Full,
                io::ErrorKind::InvalidInput => Class::Refused,
                _ => Class::Doubt,
            },
            // 53100: disk full. See appendix A of the PostgreSQL manual.
            Self::Postgres { code, .. } if code == "53100" => Class::Full,
            Self::Lost { .. } => Class::Doubt,
            Self::Postgres { .. } | Self::Moved | Self::Fenced | Self::Column { .. } => {
                Class::Refused
            }
        }
    }

    pub(crate) fn lost(why: impl Into<String>) -> Self {
        Self::Lost { why: why.into() }
    }
}

impl From<tokio_postgres::Error> for DatabaseError {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(found) = error.as_db_error() else {
            return Self::lost(legation_core::error::chain(&error).to_string());
        };
        let code = found.code().code();
        // Class 08 and 57P01 to 57P03: the server ends the connection.
        if code.starts_with("08") || code.starts_with("57P") {
            return Self::lost(found.message());
        }
        Self::Postgres {
            code: code.to_owned(),
            message: found.message().to_owned(),
        }
    }
}

// === impl OpenError ===

impl OpenError {
    pub(crate) fn sqlite(
        what: &'static str,
        path: &std::path::Path,
    ) -> impl FnOnce(rusqlite::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Sqlite { what, path, source }
    }

    pub(crate) fn file(
        what: &'static str,
        path: &std::path::Path,
    ) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { what, path, source }
    }

    pub(crate) fn postgres(
        what: &'static str,
        place: &str,
    ) -> impl FnOnce(DatabaseError) -> Self + use<> {
        let place = place.to_owned();
        move |source| Self::Postgres {
            what,
            place,
            source,
        }
    }

    pub(crate) fn first_use(place: String, source: StoreError) -> Self {
        Self::FirstUse {
            place,
            source: Box::new(source),
        }
    }

    /// What the owner can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::FirstUse { source, .. } => source.hint(),
            Self::OlderSchema { .. } => "start the hub once, which brings the database up to date",
            Self::Postgres { .. } | Self::Away { .. } => {
                "check that the database server runs, that [store] url is right, and that the user may make tables there"
            }
            Self::OldServer { .. } => "use PostgreSQL 14 or newer",
            Self::Thread { .. } => "check how many threads this user may have",
            Self::OldSqlite { .. } => "build with the bundled SQLite",
            Self::NewerSchema { .. } => {
                "run the newer version of the program, or restore a backup made before the upgrade"
            }
            Self::ForeignSchema { .. } => {
                "move the file away if it is not the hub's, or restore a backup"
            }
            Self::File { .. } => "check the permissions of the data directory",
            Self::Sqlite { .. } => {
                "check that the disk has room and that the file is intact, or restore a backup"
            }
            Self::WalBusy { .. } => "close other programs that read the file",
        }
    }
}

// === impl StoreError ===

impl StoreError {
    pub(crate) fn of<E: Into<DatabaseError>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |source| {
            let source = source.into();
            match source.class() {
                Class::Full => Self::Full { what, source },
                Class::Doubt => Self::Io { what, source },
                Class::Refused => Self::Failed { what, source },
            }
        }
    }

    /// What the owner can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Full { .. } => "free disk space; the hub goes on by itself",
            Self::Io { .. } | Self::Sync { .. } | Self::Reopened => {
                "check the disk and the system log; the hub goes on by itself when writing works again"
            }
            Self::Failed { .. } => "check that the database is intact, or restore a backup",
            Self::Reopen { source } => source.hint(),
        }
    }
}
