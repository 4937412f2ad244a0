//! The open store, whichever backend is behind it.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::RwLock;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::delegation::Fence;
use crate::grants::read_generation;
use crate::postgres::Postgres;
use crate::postgres::url::DatabaseUrl;
use crate::sql::Session;
use crate::sqlite::{FileSession, Sqlite};
use crate::{DatabaseError, OpenError, Reader, StoreError};

/// How a file is forced to disk.
pub type SyncFile = fn(&File) -> io::Result<()>;

/// What a store in a file may be told when it is opened.
#[derive(Clone)]
pub struct StoreOptions {
    /// The most pages of 4 KiB the database may have; `None` for no limit but
    /// the disk. Beyond it writes fail with [`StoreError::Full`].
    pub max_pages: Option<u32>,
    /// Pages of 4 KiB in the write-ahead log beyond which it starts over. Each
    /// time commits are held for two or three syncs, so it must be rare enough
    /// not to show in the slowest hundredth of calls even when a sync takes
    /// tens of milliseconds: 64 MiB unless a test says otherwise.
    pub log_pages: u32,
    /// Forces the log to disk; [`File::sync_data`] unless a test says otherwise.
    pub sync: SyncFile,
}

/// The hub's store. Blocking; shared between threads by reference.
pub struct Store {
    /// Dropped before the backend, whose writer must be the last to close the
    /// file: only one that writes may empty the log.
    reader: Reader,
    pub(crate) backend: Backend,
    /// The newest generation of the grants that is known here.
    grants: AtomicI64,
    /// What writes of delegated tasks depend on.
    pub(crate) fence: RwLock<Option<Fence>>,
}

/// Where the rows lie.
#[derive(Debug)]
pub(crate) enum Backend {
    Sqlite(Sqlite),
    Postgres(Box<Postgres>),
}

/// A commit, to be handed to [`Store::sync`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[must_use = "the commit is in the page cache only until it is synced"]
pub struct Committed(pub(crate) u64);

/// Tells what was read before the store was opened anew from what was read after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generation(pub(crate) u64);

// === impl StoreOptions ===

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            max_pages: None,
            log_pages: 16 * 1024,
            sync: File::sync_data,
        }
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions")
            .field("max_pages", &self.max_pages)
            .field("log_pages", &self.log_pages)
            .finish_non_exhaustive()
    }
}

// === impl Store ===

impl Store {
    /// Opens or makes the database at `path` (mode 0600) and brings it to the
    /// present schema. The caller holds the data directory's lock.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(path: &Path, options: StoreOptions) -> Result<Self, OpenError> {
        let file = Sqlite::open(path, options)?;
        let grants = file
            .read("reading the grants' generation", |connection| {
                read_generation(&mut FileSession(connection))
            })
            .map_err(|source| OpenError::first_use(path.display().to_string(), source))?;
        Ok(Self {
            reader: Reader::beside(path, &file.files)?,
            backend: Backend::Sqlite(file),
            grants: AtomicI64::new(grants),
            fence: RwLock::default(),
        })
    }

    /// Connects to a database on a PostgreSQL server and brings it to the
    /// present schema. The store has a thread of its own that talks to the
    /// server, but its methods still block whoever calls them: for two or
    /// three round trips and the server's disk, and at worst until a lost
    /// connection is given up (half a minute). See [`Store::is_remote`].
    ///
    /// A commit is on disk when it returns, and [`Store::sync`] has nothing
    /// left to do.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn connect(url: &DatabaseUrl) -> Result<Self, OpenError> {
        let (server, reader) = Postgres::connect(url)?;
        let grants = server
            .read("reading the grants' generation", read_generation)
            .map_err(|source| OpenError::first_use(url.place().to_owned(), source))?;
        Ok(Self {
            reader: Reader::of_server(reader),
            backend: Backend::Postgres(Box::new(server)),
            grants: AtomicI64::new(grants),
            fence: RwLock::default(),
        })
    }

    /// Whether every call may take as long as a network does. Then nothing of
    /// the store may be called on a thread that others wait for, such as one
    /// that drives a runtime: use its pool of blocking threads.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        match &self.backend {
            Backend::Sqlite(_) => false,
            Backend::Postgres(_) => true,
        }
    }

    /// A connection of its own for reading the ledger.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Where the database lies, when it is a file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match &self.backend {
            Backend::Sqlite(file) => Some(file.path()),
            Backend::Postgres(_) => None,
        }
    }

    /// Changes the size limit of [`StoreOptions::max_pages`]. A server's size is
    /// its owner's business and stays as it is.
    ///
    /// # Errors
    /// When the database refuses.
    pub fn limit_pages(&self, max_pages: Option<u32>) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(file) => file.limit_pages(max_pages),
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// Returns when everything up to `commit` is on disk. Blocks for one
    /// `fdatasync` (hundreds of microseconds to many milliseconds), or not at
    /// all when another caller's sync has covered the commit.
    ///
    /// # Errors
    /// [`StoreError::Sync`]: the commit may not survive a power failure. The
    /// store is opened anew before the next write.
    pub fn sync(&self, commit: Committed) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(file) => file.sync(commit),
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// The present generation; opens the store anew first if it has failed.
    ///
    /// # Errors
    /// [`StoreError::Reopen`].
    pub fn generation(&self) -> Result<Generation, StoreError> {
        match &self.backend {
            Backend::Sqlite(file) => file.generation(),
            Backend::Postgres(server) => server.generation(),
        }
    }

    /// The database's clock, in milliseconds since 1970: the one by which hubs
    /// that share a database agree.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn now_ms(&self) -> Result<i64, StoreError> {
        self.read("asking the database for the time", |session| {
            session.now_ms()
        })
    }

    /// Runs `work` in one transaction that is on disk on return.
    pub(crate) fn write_durable<T>(
        &self,
        what: &'static str,
        work: impl FnOnce(&mut dyn Session) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        match &self.backend {
            Backend::Sqlite(file) => {
                file.write_durable(what, |connection| work(&mut FileSession(connection)))
            }
            Backend::Postgres(server) => server.write(what, work),
        }
    }

    /// Runs `work` in one transaction that survives this process but, in a file,
    /// not a power failure: on disk with the next commit that is.
    pub(crate) fn write_soon<T>(
        &self,
        what: &'static str,
        rows: usize,
        work: impl FnOnce(&mut dyn Session) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        match &self.backend {
            Backend::Sqlite(file) => file
                .write(what, rows, |connection| work(&mut FileSession(connection)))
                .map(|(value, _)| value),
            Backend::Postgres(server) => server.write(what, work),
        }
    }

    /// Runs `work` outside a transaction.
    pub(crate) fn read<T>(
        &self,
        what: &'static str,
        work: impl FnOnce(&mut dyn Session) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        match &self.backend {
            Backend::Sqlite(file) => {
                file.read(what, |connection| work(&mut FileSession(connection)))
            }
            Backend::Postgres(server) => server.read(what, work),
        }
    }

    /// Notes a generation of the grants that a commit has made or a read seen.
    pub(crate) fn grants_are_at(&self, generation: i64) {
        self.grants.fetch_max(generation, Ordering::AcqRel);
    }

    pub(crate) fn known_grants(&self) -> u64 {
        u64::try_from(self.grants.load(Ordering::Acquire)).unwrap_or_default()
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("backend", &self.backend)
            .finish_non_exhaustive()
    }
}
