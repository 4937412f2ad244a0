//! The store in a file: one writer, its repair after a failure, and `fdatasync`.
//!
//! Writers share one connection behind a mutex and commit on the thread that
//! asks: a writer thread that callers wait for costs two cross-thread wake-ups
//! a call, and a checkpoint on the committing connection shows up in the tail
//! latency, so checkpoints have a thread and a connection of their own.
//!
//! The ledger's rows stand in a file beside the database ([`Volume`]). A row that uses something up is first one of the
//! table `ledger`, in the transaction in which that is used up, and then of the volume: whoever opens the store moves what
//! is left in the table. A database of before there was a volume has all its rows there, and is brought up to
//! date in the same way.

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

use self::checkpointer::{Checkpointer, Signal};
use self::connection::{check_version, checkpoint_truncate, open_writing, prepare_file, wal_path};
pub(crate) use self::session::FileSession;
use crate::store::{Committed, Generation, StoreOptions, SyncFile};
use crate::volume::{Room, Volume, volume_path};
use crate::{DatabaseError, OpenError, StoreError};

/// The checkpoint thread is told when the log has grown by this part of the
/// pages at which it starts over, as estimated from commits and rows.
const CHECKPOINT_PART: u64 = 8;

/// How long, and how often, the store waits for its own checkpoint thread when
/// it is opened anew: a second in all.
const CHECKPOINT_WAIT: Duration = Duration::from_millis(5);
const CHECKPOINT_WAITS: usize = 200;

/// Bytes of a page, see [`StoreOptions::max_pages`].
const PAGE: u64 = 4_096;
/// The volume grows by this part of the bytes at which the log starts over: 1 MiB at a time.
const ROOM_PART: u64 = 64;

/// An open database file, and the thread that looks after it.
pub(crate) struct Sqlite {
    /// The thread is joined before the writer closes, so that closing it is the last checkpoint.
    checkpointer: Checkpointer,
    pub(crate) files: Arc<Files>,
}

/// The database, its log and the volume.
pub(crate) struct Files {
    writer: Mutex<Writer>,
    disk: Mutex<Disk>,
    pub(crate) volume: Volume,
    /// Held by who tells the database what the volume holds, so that it hears of it in order.
    noting: Mutex<()>,
    signal: Arc<Signal>,
    /// Commits so far, to log or volume; read without the writer to know what a sync covers.
    commits: AtomicU64,
    /// The last of them that was to the log.
    logged: AtomicU64,
    /// How often the store was opened anew.
    generation: AtomicU64,
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
}

/// What is known to be on disk.
struct Disk {
    wal: File,
    rows: File,
    /// Commits to the log, and to the volume, up to these are on disk.
    log_synced: u64,
    rows_synced: u64,
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
        let fail = |source| OpenError::first_use(path.display().to_string(), source);
        let stored = ledger::stored_places(&connection)
            .map_err(StoreError::of("reading the places of the ledger"))
            .map_err(fail)?;
        let room = Room {
            ahead: (u64::from(options.log_pages) * PAGE / ROOM_PART).max(PAGE),
            limit: bytes(options.max_pages),
        };
        let volume = Volume::open(&volume_path(path), stored, room)?;
        let rows = volume
            .handle()
            .map_err(OpenError::file("opening", &volume_path(path)))?;
        let files = Arc::new(Files {
            writer: Mutex::new(Writer {
                connection: Some(connection),
                max_pages: options.max_pages,
                pages: 0,
            }),
            disk: Mutex::new(Disk {
                wal,
                rows,
                log_synced: 0,
                rows_synced: 0,
                failed: false,
            }),
            volume,
            noting: Mutex::new(()),
            signal: Arc::default(),
            commits: AtomicU64::new(0),
            logged: AtomicU64::new(0),
            generation: AtomicU64::new(0),
            path: path.to_owned(),
            sync: options.sync,
            checkpoint_pages: u64::from(options.log_pages) / CHECKPOINT_PART,
        });
        files.move_rows().map_err(fail)?;
        let checkpointer = Checkpointer::start(
            open_writing(path)?,
            Arc::clone(&files),
            i64::from(options.log_pages),
        )
        .map_err(OpenError::file("starting the checkpoint thread of", path))?;
        Ok(Self {
            checkpointer,
            files,
        })
    }
}

impl std::ops::Deref for Sqlite {
    type Target = Files;

    fn deref(&self) -> &Files {
        &self.files
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.checkpointer.stop();
        let closed = self.files.note().and_then(|()| self.files.close_volume());
        if let Err(error) = closed {
            tracing::warn!(
                path = %self.files.path.display(),
                error = %legation_core::error::chain(&error),
                "the ledger's file was not closed in order; the next start looks through its end"
            );
        }
    }
}

// === impl Files ===

impl Files {
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
        self.volume.set_limit(bytes(max_pages));
        match &writer.connection {
            Some(connection) => {
                limit(connection, max_pages).map_err(StoreError::of("limiting the database's size"))
            }
            None => Ok(()),
        }
    }

    /// Returns when everything up to `commit` is on disk. Blocks for one
    /// `fdatasync` (hundreds of microseconds to many milliseconds), or not at
    /// all when another caller's sync has covered the commit; for two where the log has something new too.
    ///
    /// This is what `PRAGMA synchronous = FULL` does at the end of a commit,
    /// done outside the writer's mutex so that others commit meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Sync`]: the commit may not survive a power failure. The
    /// store is opened anew before the next write.
    pub(crate) fn sync(&self, commit: Committed) -> Result<(), StoreError> {
        // What was written to the log before goes first: rows may speak of it.
        self.sync_log(Committed(self.logged.load(Ordering::Acquire).min(commit.0)))?;
        self.sync_one(
            commit,
            |disk| (&disk.rows, disk.rows_synced),
            |disk| &mut disk.rows_synced,
        )
    }

    /// Returns when every commit to the log up to `commit` is on disk.
    fn sync_log(&self, commit: Committed) -> Result<(), StoreError> {
        self.sync_one(
            commit,
            |disk| (&disk.wal, disk.log_synced),
            |disk| &mut disk.log_synced,
        )
    }

    fn sync_one(
        &self,
        commit: Committed,
        of: impl Fn(&Disk) -> (&File, u64),
        synced: impl Fn(&mut Disk) -> &mut u64,
    ) -> Result<(), StoreError> {
        let failure = {
            let mut disk = self.disk();
            if disk.failed {
                return Err(StoreError::Sync { source: None });
            }
            let (file, done) = of(&disk);
            if done >= commit.0 {
                return Ok(());
            }
            let covered = self.commits.load(Ordering::Acquire);
            match (self.sync)(file) {
                Ok(()) => {
                    *synced(&mut disk) = covered;
                    return Ok(());
                }
                Err(error) => {
                    disk.failed = true;
                    error
                }
            }
        };
        self.volume.set_failed();
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
        Ok(Generation(self.generation.load(Ordering::Acquire)))
    }

    /// Refuses what was made from what was read before the store was opened anew.
    fn check(&self, known: Generation) -> Result<(), StoreError> {
        if known.0 != self.generation.load(Ordering::Acquire) {
            return Err(StoreError::Reopened);
        }
        Ok(())
    }

    /// Runs `work` in one transaction that is committed to the page cache.
    /// `rows` is about how many rows it writes.
    pub(crate) fn write<T>(
        &self,
        what: &'static str,
        rows: usize,
        work: impl FnOnce(&Connection) -> Result<T, DatabaseError>,
    ) -> Result<(T, Committed), StoreError> {
        let mut writer = self.writer();
        self.repair(&mut writer)?;
        let Some(connection) = &writer.connection else {
            return Err(StoreError::Sync { source: None });
        };
        let value = match transaction(connection, work) {
            Ok(value) => value,
            Err(error) => {
                writer.connection = None;
                return Err(StoreError::of::<DatabaseError>(what)(error));
            }
        };
        let commit = self.logged(&mut writer, rows);
        Ok((value, commit))
    }

    /// Counts a commit to the log.
    fn logged(&self, writer: &mut Writer, rows: usize) -> Committed {
        let commit = self.count();
        self.logged.store(commit.0, Ordering::Release);
        // A commit writes the table's last page, and a new one for every few rows.
        writer.pages += 1 + rows as u64 / 8;
        if writer.pages >= self.checkpoint_pages {
            writer.pages = 0;
            self.signal.log_is_due();
        }
        commit
    }

    fn count(&self) -> Committed {
        Committed(self.commits.fetch_add(1, Ordering::AcqRel) + 1)
    }

    /// Like [`Files::write`], and on disk on return.
    pub(crate) fn write_durable<T>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        let (value, commit) = self.write(what, 1, work)?;
        self.sync_log(commit)?;
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
    /// and syncs that, and the volume is synced to where it was written for certain, so rows whose own sync failed
    /// are on disk or the repair fails.
    fn repair(&self, writer: &mut Writer) -> Result<(), StoreError> {
        if writer.connection.is_some() && !self.volume.is_failed() {
            return Ok(());
        }
        let reopen = |source| StoreError::Reopen {
            source: Box::new(source),
        };
        // Also that of before, if only the volume has failed.
        writer.connection = None;
        let connection = open_writing(&self.path).map_err(reopen)?;
        settle(&connection, &self.path, writer.max_pages).map_err(reopen)?;
        let wal = open_wal(&self.path).map_err(reopen)?;
        let beside = volume_path(&self.path);
        let repaired = self.volume.repair().and_then(|()| self.volume.handle());
        let rows =
            repaired.map_err(|source| reopen(OpenError::file("repairing", &beside)(source)))?;
        let covered = self.commits.load(Ordering::Acquire);
        *self.disk() = Disk {
            wal,
            rows,
            log_synced: covered,
            rows_synced: covered,
            failed: false,
        };
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.move_rows_of(&connection)
            .map_err(StoreError::of("moving rows of the ledger"))?;
        writer.connection = Some(connection);
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
        self.files.fmt(f)
    }
}

impl fmt::Debug for Files {
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
    transaction_with(connection, (), |connection, ()| work(connection))
}

/// The same, for work whose result borrows from what it is given.
fn transaction_with<T, G>(
    connection: &Connection,
    given: G,
    work: impl FnOnce(&Connection, G) -> Result<T, DatabaseError>,
) -> Result<T, DatabaseError> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let value = work(connection, given)?;
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

/// What so many pages are in bytes.
fn bytes(max_pages: Option<u32>) -> Option<u64> {
    max_pages.map(|pages| u64::from(pages) * PAGE)
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
