//! The store in a file: one writer, its repair after a failure, and `fdatasync`.
//!
//! Writers share one connection behind a mutex and commit on the thread that
//! asks: a writer thread that callers wait for costs two cross-thread wake-ups
//! a call, and a checkpoint on the committing connection shows up in the tail
//! latency, so checkpoints have a thread and a connection of their own.

mod checkpointer;
pub(crate) mod connection;
pub(crate) mod ledger;
pub(crate) mod migrate;
mod session;

use std::fmt;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use self::checkpointer::Checkpointer;
use self::connection::{check_version, checkpoint_truncate, open_writing, prepare_file, wal_path};
pub(crate) use self::session::FileSession;
use crate::store::{Committed, Generation, StoreOptions, SyncFile};
use crate::{DatabaseError, OpenError, StoreError};

/// The checkpoint thread is told when the log has grown by this part of the
/// pages at which it starts over, as estimated from commits and rows.
const CHECKPOINT_PART: u64 = 8;

/// How long, and how often, the store waits for its own checkpoint thread when
/// it is opened anew: a second in all.
const CHECKPOINT_WAIT: Duration = Duration::from_millis(5);
const CHECKPOINT_WAITS: usize = 200;

/// An open database file.
pub(crate) struct Sqlite {
    /// Dropped first: the thread is joined before the writer closes, so that
    /// closing it is the last checkpoint.
    checkpointer: Checkpointer,
    writer: Arc<Mutex<Writer>>,
    disk: Mutex<Disk>,
    /// Commits so far; read without the writer to know what a sync covers.
    commits: AtomicU64,
    path: PathBuf,
    sync: SyncFile,
    /// Estimated pages after which the checkpoint thread is told.
    checkpoint_pages: u64,
}

/// The connection that writes.
pub(crate) struct Writer {
    /// `None` after a failure: what failed is not used again, the next write
    /// opens the store anew.
    connection: Option<Connection>,
    max_pages: Option<u32>,
    /// Estimated pages since the last nudge of the checkpoint thread.
    pages: u64,
    /// How often the store was opened anew.
    generation: u64,
}

/// What is known to be on disk.
struct Disk {
    wal: File,
    /// Commits up to this one are on disk.
    synced: u64,
    /// A sync has failed and the store has not been opened anew since. The
    /// kernel reports such an error once, and later syncs succeed without
    /// having written anything.
    failed: bool,
}

// === impl Sqlite ===

impl Sqlite {
    /// Opens or makes the database at `path` (mode 0600) and brings it to the
    /// present schema. The caller holds the data directory's lock.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub(crate) fn open(path: &Path, options: StoreOptions) -> Result<Self, OpenError> {
        check_version()?;
        prepare_file(path)?;
        let mut connection = open_writing(path)?;
        migrate::migrate(&mut connection, path)?;
        settle(&connection, path, options.max_pages)?;
        let wal = open_wal(path)?;
        let writer = Arc::new(Mutex::new(Writer {
            connection: Some(connection),
            max_pages: options.max_pages,
            pages: 0,
            generation: 0,
        }));
        let checkpointer = Checkpointer::start(
            open_writing(path)?,
            Arc::clone(&writer),
            path.to_owned(),
            i64::from(options.log_pages),
        )
        .map_err(OpenError::file("starting the checkpoint thread of", path))?;
        Ok(Self {
            checkpointer,
            writer,
            disk: Mutex::new(Disk {
                wal,
                synced: 0,
                failed: false,
            }),
            commits: AtomicU64::new(0),
            path: path.to_owned(),
            sync: options.sync,
            checkpoint_pages: u64::from(options.log_pages) / CHECKPOINT_PART,
        })
    }

    /// Where the database lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Changes the size limit of [`StoreOptions::max_pages`].
    ///
    /// # Errors
    /// When SQLite refuses.
    pub(crate) fn limit_pages(&self, max_pages: Option<u32>) -> Result<(), StoreError> {
        let mut writer = self.writer();
        writer.max_pages = max_pages;
        match &writer.connection {
            Some(connection) => {
                limit(connection, max_pages).map_err(StoreError::of("limiting the database's size"))
            }
            None => Ok(()),
        }
    }

    /// Returns when everything up to `commit` is on disk. Blocks for one
    /// `fdatasync` (hundreds of microseconds to many milliseconds), or not at
    /// all when another caller's sync has covered the commit.
    ///
    /// This is what `PRAGMA synchronous = FULL` does at the end of a commit,
    /// done outside the writer's mutex so that others commit meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Sync`]: the commit may not survive a power failure. The
    /// store is opened anew before the next write.
    pub(crate) fn sync(&self, commit: Committed) -> Result<(), StoreError> {
        let failure = {
            let mut disk = self.disk();
            if disk.failed {
                return Err(StoreError::Sync { source: None });
            }
            if disk.synced >= commit.0 {
                return Ok(());
            }
            let covered = self.commits.load(Ordering::Acquire);
            match (self.sync)(&disk.wal) {
                Ok(()) => {
                    disk.synced = covered;
                    return Ok(());
                }
                Err(error) => {
                    disk.failed = true;
                    error
                }
            }
        };
        self.writer().connection = None;
        Err(StoreError::Sync {
            source: Some(failure),
        })
    }

    /// The present generation; opens the store anew first if it has failed.
    ///
    /// # Errors
    /// [`StoreError::Reopen`].
    pub(crate) fn generation(&self) -> Result<Generation, StoreError> {
        let mut writer = self.writer();
        self.repair(&mut writer)?;
        Ok(Generation(writer.generation))
    }

    /// Runs `work` in one transaction that is committed to the page cache.
    /// `rows` is about how many rows it writes. With a generation it refuses to
    /// write into a store that was opened anew since.
    pub(crate) fn write<T>(
        &self,
        what: &'static str,
        rows: usize,
        generation: Option<Generation>,
        work: impl FnOnce(&Connection) -> Result<T, DatabaseError>,
    ) -> Result<(T, Committed), StoreError> {
        self.commit(what, rows, generation, |connection| {
            transaction(connection, work)
        })
    }

    /// Like [`Sqlite::write`], for work that is a single statement, which SQLite
    /// makes a transaction of its own.
    pub(crate) fn write_alone<T>(
        &self,
        what: &'static str,
        rows: usize,
        generation: Generation,
        work: impl FnOnce(&Connection) -> Result<T, DatabaseError>,
    ) -> Result<(T, Committed), StoreError> {
        self.commit(what, rows, Some(generation), work)
    }

    fn commit<T>(
        &self,
        what: &'static str,
        rows: usize,
        generation: Option<Generation>,
        work: impl FnOnce(&Connection) -> Result<T, DatabaseError>,
    ) -> Result<(T, Committed), StoreError> {
        let mut writer = self.writer();
        self.repair(&mut writer)?;
        if generation.is_some_and(|known| known.0 != writer.generation) {
            return Err(StoreError::Reopened);
        }
        let Some(connection) = &writer.connection else {
            return Err(StoreError::Sync { source: None });
        };
        let value = match work(connection) {
            Ok(value) => value,
            Err(error) => {
                writer.connection = None;
                return Err(StoreError::of::<DatabaseError>(what)(error));
            }
        };
        let commit = Committed(self.commits.fetch_add(1, Ordering::AcqRel) + 1);
        // A commit writes the table's last page, and a new one for every few rows.
        writer.pages += 1 + rows as u64 / 8;
        if writer.pages >= self.checkpoint_pages {
            writer.pages = 0;
            self.checkpointer.nudge();
        }
        Ok((value, commit))
    }

    /// Like [`Sqlite::write`], and on disk on return.
    pub(crate) fn write_durable<T>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        let (value, commit) = self.write(what, 1, None, work)?;
        self.sync(commit)?;
        Ok(value)
    }

    /// Runs `work` on the writing connection, outside a transaction.
    pub(crate) fn read<T>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        let mut writer = self.writer();
        self.repair(&mut writer)?;
        let Some(connection) = &writer.connection else {
            return Err(StoreError::Sync { source: None });
        };
        work(connection).map_err(StoreError::of(what))
    }

    /// Opens the store anew if an operation has failed since it was last
    /// opened. The full checkpoint copies the log's pages into the database
    /// and syncs that, so rows whose own sync failed are on disk for certain
    /// or the repair fails.
    fn repair(&self, writer: &mut Writer) -> Result<(), StoreError> {
        if writer.connection.is_some() {
            return Ok(());
        }
        let reopen = |source| StoreError::Reopen {
            source: Box::new(source),
        };
        let connection = open_writing(&self.path).map_err(reopen)?;
        settle(&connection, &self.path, writer.max_pages).map_err(reopen)?;
        let wal = open_wal(&self.path).map_err(reopen)?;
        *self.disk() = Disk {
            wal,
            synced: self.commits.load(Ordering::Acquire),
            failed: false,
        };
        writer.connection = Some(connection);
        writer.generation += 1;
        tracing::info!(path = %self.path.display(), "the store was opened anew after a failure");
        Ok(())
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(|poisoned| {
            // A panic may have left a transaction open: drop the connection.
            let mut writer = poisoned.into_inner();
            writer.connection = None;
            self.writer.clear_poison();
            writer
        })
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqlite")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("open", &self.connection.is_some())
            .field("pages", &self.pages)
            .finish_non_exhaustive()
    }
}

fn transaction<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, DatabaseError>,
) -> Result<T, DatabaseError> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let value = work(connection)?;
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(value)
}

fn settle(connection: &Connection, path: &Path, max_pages: Option<u32>) -> Result<(), OpenError> {
    let empty = || {
        checkpoint_truncate(connection)
            .map_err(OpenError::sqlite("emptying the write-ahead log of", path))
    };
    let mut done = empty()?;
    // SQLite waits for readers by itself, but not for another checkpoint.
    for _ in 0..CHECKPOINT_WAITS {
        if !done.beside_another() {
            break;
        }
        std::thread::sleep(CHECKPOINT_WAIT);
        done = empty()?;
    }
    if done.busy {
        return Err(OpenError::WalBusy {
            path: path.to_owned(),
        });
    }
    limit(connection, max_pages).map_err(OpenError::sqlite("limiting the size of", path))
}

fn limit(connection: &Connection, max_pages: Option<u32>) -> rusqlite::Result<()> {
    let pages = max_pages.unwrap_or(u32::MAX - 1);
    connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
}

/// The log, for syncing. SQLite takes no POSIX locks on this file, so opening
/// and closing it here releases none.
fn open_wal(path: &Path) -> Result<File, OpenError> {
    let wal = wal_path(path);
    OpenOptions::new()
        .write(true)
        .open(&wal)
        .map_err(OpenError::file("opening", &wal))
}
