//! The store on a PostgreSQL server, which several hubs may share.
//!
//! Writers share one connection behind a mutex, as in a file; what they commit
//! is on the server's disk when the call returns. Nothing is taken from memory
//! that another hub may have changed: the chains' ends are rows, locked and
//! compared by every commit that moves them.
//!
//! The database must be reached directly or through a pooler that pools whole
//! sessions: prepared statements and the settings of a session are used.

mod driver;
mod ledger;
mod link;
pub(crate) mod migrate;
mod session;
mod tls;
pub(crate) mod url;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use self::driver::Driver;
use self::link::{Link, Use};
use self::session::ServerSession;
use self::url::DatabaseUrl;
use crate::error::Class;
use crate::sql::Session;
use crate::store::{Committed, Generation};
use crate::{DatabaseError, OpenError, StoreError};

/// A database on a server.
pub(crate) struct Postgres {
    writer: Mutex<Writer>,
    url: DatabaseUrl,
}

/// The connection that writes.
#[derive(Debug)]
struct Writer {
    link: Link,
    /// How often a connection was lost, or the ends of the chains were not
    /// where the caller believed them to be.
    generation: u64,
}

/// A connection that cannot write.
pub(crate) struct ServerReader {
    link: Mutex<Link>,
}

/// Every commit is on disk when it returns, so there is one mark for all.
const ON_DISK: Committed = Committed(0);

// === impl Postgres ===

impl Postgres {
    pub(crate) fn connect(url: &DatabaseUrl) -> Result<(Self, ServerReader), OpenError> {
        let driver = driver(url)?;
        let link = Link::open(Arc::clone(&driver), url.clone(), Use::Write)?;
        let reader = ServerReader {
            link: Mutex::new(Link::open(driver, url.clone(), Use::Read)?),
        };
        let store = Self {
            writer: Mutex::new(Writer {
                link,
                generation: 0,
            }),
            url: url.clone(),
        };
        Ok((store, reader))
    }

    pub(crate) fn place(&self) -> &str {
        self.url.place()
    }

    pub(crate) fn generation(&self) -> Result<Generation, StoreError> {
        let mut writer = self.writer();
        writer.session()?;
        Ok(Generation(writer.generation))
    }

    /// Runs `work`, which begins a transaction and commits it. With a
    /// generation it refuses to after a connection was lost since.
    fn attempt<T>(
        &self,
        what: &'static str,
        generation: Option<Generation>,
        work: impl FnOnce(&mut ServerSession) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        let mut writer = self.writer();
        writer.session()?;
        if generation.is_some_and(|known| known.0 != writer.generation) {
            return Err(StoreError::Reopened);
        }
        let session = writer.session()?;
        let error = match work(session) {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        if error.class() == Class::Doubt || session.batch("ROLLBACK").is_err() {
            writer.link.drop_session();
        }
        // Whoever named a generation must read anew what it stands for.
        if generation.is_some() {
            writer.generation += 1;
        }
        match error {
            DatabaseError::Moved => Err(StoreError::Reopened),
            error => Err(StoreError::of(what)(error)),
        }
    }

    pub(crate) fn write<T>(
        &self,
        what: &'static str,
        work: impl FnOnce(&mut dyn Session) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        self.attempt(what, None, |session| {
            session.batch("BEGIN")?;
            let value = work(session)?;
            // A transaction that has failed would be rolled back in silence,
            // but then a statement of it has failed before.
            session.batch("COMMIT")?;
            Ok(value)
        })
    }

    pub(crate) fn read<T>(
        &self,
        what: &'static str,
        work: impl FnOnce(&mut dyn Session) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        let mut writer = self.writer();
        let done = work(writer.session()?);
        if let Err(error) = &done
            && error.class() == Class::Doubt
        {
            writer.link.drop_session();
        }
        done.map_err(StoreError::of(what))
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(|poisoned| {
            // A panic may have left a transaction open: drop the connection.
            let mut writer = poisoned.into_inner();
            writer.link.drop_session();
            self.writer.clear_poison();
            writer
        })
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Postgres").field(&self.place()).finish()
    }
}

// === impl Writer ===

impl Writer {
    fn session(&mut self) -> Result<&mut ServerSession, StoreError> {
        let (session, anew) = self.link.session().map_err(|source| StoreError::Reopen {
            source: Box::new(source),
        })?;
        if anew {
            self.generation += 1;
            tracing::info!("the connection to the database was made anew");
        }
        Ok(session)
    }
}

// === impl ServerReader ===

impl ServerReader {
    pub(crate) fn connect(url: &DatabaseUrl) -> Result<Self, OpenError> {
        let link = Link::open(driver(url)?, url.clone(), Use::Read)?;
        Ok(Self {
            link: Mutex::new(link),
        })
    }

    pub(crate) fn read<T>(
        &self,
        what: &'static str,
        work: impl FnOnce(&mut dyn Session) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        // A reader's panic leaves nothing half done.
        let mut link = self
            .link
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let (session, _) = link.session().map_err(|source| StoreError::Reopen {
            source: Box::new(source),
        })?;
        let done = work(session);
        if let Err(error) = &done
            && error.class() == Class::Doubt
        {
            link.drop_session();
        }
        done.map_err(StoreError::of(what))
    }
}

fn driver(url: &DatabaseUrl) -> Result<Arc<Driver>, OpenError> {
    Driver::start()
        .map(Arc::new)
        .map_err(|source| OpenError::Thread {
            place: url.place().to_owned(),
            source,
        })
}
