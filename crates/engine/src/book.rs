//! Everything of delegated tasks and conversations that outlives the hub.
//!
//! The store has ids, states and times; what was said is sealed here before it goes there. What is
//! open is held in memory too, so that looking at a task costs no reading, and everything that is
//! stored is told to whoever looks on. Every method returns when what it stored is where it belongs:
//! on disk where its documentation says so, else in the store, where a crash of the hub does not
//! take it.

mod conversation;
mod journal;
mod known;
mod open;
mod owners;
mod reports;
mod rows;
mod tasks;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use legation_core::id::hex;
use legation_core::{SessionId, SharedClock, TaskId};
use legation_keystore::Keystore;
use legation_store::{Store, StoreError};

pub(crate) use self::conversation::SessionState;
pub use self::known::Known;
pub(crate) use self::open::{OpenTask, title};
use self::owners::Office;
pub(crate) use self::reports::Report;
pub(crate) use self::tasks::{Verdict, Which, size};
use crate::BookError;
use crate::live::Live;
use crate::seal::Seals;

/// The key whose MAC is the hub's name among those that share a store.
const HUB_KEY: &str = "engine-hub";

/// See the module.
#[derive(Debug)]
pub(crate) struct Book {
    store: Arc<Store>,
    seals: Seals,
    clock: SharedClock,
    live: Live,
    /// Whose rows these are: a hub can open only its own.
    hub: String,
    /// As whom this hub works on tasks, among several that have its keys.
    office: RwLock<Option<Office>>,
    /// Every task that is not over. As many as the queue has room for.
    open: Mutex<HashMap<TaskId, OpenTask>>,
    /// Every session there is. As many as the owner has not deleted.
    sessions: Mutex<HashMap<SessionId, SessionState>>,
}

// === impl Book ===

impl Book {
    /// The book of a hub; its sessions are read, its tasks are not yet.
    ///
    /// # Errors
    /// See [`BookError`].
    pub(crate) async fn open(
        store: Arc<Store>,
        keystore: Arc<Keystore>,
        clock: SharedClock,
        live: Live,
    ) -> Result<Self, BookError> {
        let hub = hex(&keystore.key(HUB_KEY)?.mac(&[b"hub"])[..16]);
        let book = Self {
            store,
            seals: Seals::new(keystore),
            clock,
            live,
            hub,
            office: RwLock::default(),
            open: Mutex::default(),
            sessions: Mutex::default(),
        };
        book.read_sessions().await?;
        Ok(book)
    }

    pub(crate) fn live(&self) -> &Live {
        &self.live
    }

    /// Does something with the store: here where that takes microseconds, elsewhere where it may
    /// take as long as a disk or a network.
    async fn with_store<T: Send + 'static>(
        &self,
        is_slow: bool,
        work: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, BookError> {
        if !is_slow && !self.store.is_remote() {
            return Ok(work(&self.store)?);
        }
        let store = Arc::clone(&self.store);
        let done = tokio::task::spawn_blocking(move || work(&store)).await;
        Ok(done.map_err(|_| BookError::Stopping)??)
    }

    fn tasks_open(&self) -> MutexGuard<'_, HashMap<TaskId, OpenTask>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sessions_held(&self) -> MutexGuard<'_, HashMap<SessionId, SessionState>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
