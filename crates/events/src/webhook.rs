//! Webhooks: subscriptions that outlive their client's connection, and the hub
//! itself.

mod control;
mod deliver;
mod hook;
mod post;
mod receiver;
mod row;
mod sign;
mod subscribe;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use legation_core::{ClientId, TaskSet, Wall};
use legation_keystore::{Key, KeystoreError};
use legation_store::{KeptRow, Store, StoreError};
use tokio::sync::Semaphore;

use crate::events::{EventsParts, Inner};

pub use self::hook::Listed;
pub use legation_core::net::{Lookup, SystemLookup};

use self::hook::Hook;
use self::post::Poster;
use self::receiver::{Allowed, Receiver};

/// Most subscriptions of one client, and of all.
const PER_CLIENT_MAX: usize = 64;
const ALL_MAX: usize = 1024;
/// Most receivers that are challenged at once, so that those which hang keep
/// nobody's memory.
const CHALLENGES_MAX: usize = 16;
/// The kinds of what is kept.
const SUBSCRIPTION: &str = "events.subscription";
const VERIFIED: &str = "events.verified";
/// How long a receiver that answered a challenge is not asked again.
const VERIFIED_MS: i64 = 30 * 24 * 3600 * 1000;

/// The subscriptions there are.
#[derive(Debug)]
pub(crate) struct Webhooks {
    hooks: Mutex<HashMap<Box<str>, Arc<Hook>>>,
    key: Key,
    store: Arc<Store>,
    poster: Poster,
    challenges: Semaphore,
    tasks: TaskSet,
}

/// Why the subscriptions that were kept cannot be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum Unsettled {
    /// There is no key.
    #[error("the keys of event subscriptions cannot be had")]
    Key {
        /// Why.
        #[source]
        source: KeystoreError,
    },
    /// The store cannot be read.
    #[error("the event subscriptions cannot be read")]
    Store {
        /// Why.
        #[source]
        source: StoreError,
    },
}

// === impl Unsettled ===

impl Unsettled {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Key { source } => source.hint(),
            Self::Store { source } => source.hint(),
        }
    }
}

// === impl Webhooks ===

impl Webhooks {
    pub(crate) fn new(parts: &EventsParts, key: Key) -> Result<Self, Unsettled> {
        let settings = &parts.settings;
        let poster = Poster::new(
            settings.ca_pem.clone(),
            Allowed::new(&settings.allow),
            Arc::clone(&parts.lookup),
            settings.attempt,
        );
        Ok(Self {
            hooks: Mutex::default(),
            key,
            store: Arc::clone(&parts.store),
            poster,
            challenges: Semaphore::new(CHALLENGES_MAX),
            tasks: parts.tasks.clone(),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    pub(crate) fn listed(&self, now: Wall) -> Vec<Listed> {
        let hooks: Vec<Arc<Hook>> = self.lock().values().cloned().collect();
        let mut listed: Vec<Listed> = hooks.iter().map(|hook| hook.listed(now)).collect();
        listed.sort_by(|one, other| one.id.cmp(&other.id));
        listed
    }

    fn get(&self, id: &str) -> Option<Arc<Hook>> {
        self.lock().get(id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Hook>>> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a subscription as it stands; on disk on return.
    async fn save(&self, hook: &Arc<Hook>) -> Result<(), StoreError> {
        // One at a time, so that an older state never replaces a newer one.
        let _one = hook.saving.lock().await;
        let Some(row) = hook.to_row(&self.key) else {
            return Ok(());
        };
        let store = Arc::clone(&self.store);
        blocking(move || store.kept_put(&row)).await
    }

    /// Forgets a subscription; whether it was there.
    async fn forget(&self, hook: &Arc<Hook>) -> Result<bool, StoreError> {
        let _one = hook.saving.lock().await;
        let was = hook.end();
        let is_there = |here: &Arc<Hook>| Arc::ptr_eq(here, hook);
        if !self.lock().get(&hook.id).is_some_and(is_there) {
            // Another has its place by now, and its row.
            return Ok(was);
        }
        let (store, name) = (Arc::clone(&self.store), hook.id.to_string());
        blocking(move || store.kept_remove(SUBSCRIPTION, &name)).await?;
        self.lock().remove(&hook.id);
        Ok(was)
    }

    /// Under what name it is kept that a client's receiver answered.
    fn verified_name(&self, client: &ClientId, receiver: &Receiver) -> String {
        let parts = [
            b"verified",
            client.as_str().as_bytes(),
            receiver.as_str().as_bytes(),
        ];
        legation_core::id::hex(&self.key.mac(&parts))
    }

    async fn is_verified(&self, client: &ClientId, receiver: &Receiver, now: Wall) -> bool {
        let name = self.verified_name(client, receiver);
        let store = Arc::clone(&self.store);
        let row = blocking(move || store.kept_get(VERIFIED, &name)).await;
        // What cannot be read is asked again.
        matches!(row, Ok(Some(row)) if row.expires_ms > now.0)
    }

    async fn verified(
        &self,
        client: &ClientId,
        receiver: &Receiver,
        now: Wall,
    ) -> Result<(), StoreError> {
        let row = KeptRow {
            kind: VERIFIED.to_owned(),
            name: self.verified_name(client, receiver),
            value: String::new(),
            changed_ms: now.0,
            expires_ms: now.0.saturating_add(VERIFIED_MS),
        };
        let store = Arc::clone(&self.store);
        blocking(move || store.kept_put(&row)).await
    }
}

// === impl Inner ===

impl Inner {
    /// Goes on with what was kept. A row that does not open is of another key and
    /// stays: its owner may bring the key back.
    pub(crate) fn load_kept(self: &Arc<Self>) -> Result<(), Unsettled> {
        let webhooks = &self.webhooks;
        let rows = webhooks.store.kept_list(SUBSCRIPTION);
        for row in rows.map_err(|source| Unsettled::Store { source })? {
            match Hook::of_row(&row, &webhooks.key, webhooks.poster.allowed()) {
                Some(hook) => self.run_hook(Arc::new(hook)),
                None => {
                    tracing::warn!(
                        id = row.name,
                        "an event subscription cannot be read and is left alone"
                    );
                }
            }
        }
        Ok(())
    }

    fn run_hook(self: &Arc<Self>, hook: Arc<Hook>) {
        let webhooks = &self.webhooks;
        let before = webhooks.lock().insert(hook.id.clone(), Arc::clone(&hook));
        if let Some(before) = before {
            before.end();
        }
        let worker = deliver::run(Arc::clone(self), hook);
        webhooks.tasks.spawn("event subscription", worker);
    }
}

/// Calls the store where it may wait for the disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
