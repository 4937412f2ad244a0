//! What all servers' sign-ins share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use legation_core::{ServerName, SharedClock, TaskSet};
use legation_keystore::{SecretStore, SecretsError};
use tokio::runtime::Handle;
use tokio::sync::broadcast;

use crate::client::Registered;
use crate::error::OAuthError;
use crate::fetch::Fetch;
use crate::slot::Slot;
use crate::upstream::Upstream;
use crate::vault::{Binding, Name, Vault};

/// How long renewals under way get when the hub ends: what they bring is the only
/// copy.
const LAST: Duration = Duration::from_secs(10);
/// News that a slow listener may lag behind.
const NEWS_MAX: usize = 256;

/// The sign-ins of every server.
#[derive(Debug)]
pub struct OAuth {
    pub(crate) fetch: Arc<dyn Fetch>,
    pub(crate) vault: Vault,
    pub(crate) clock: SharedClock,
    /// Renewals; never ended early.
    pub(crate) work: TaskSet,
    /// Sign-ins that wait for a person.
    pub(crate) waits: TaskSet,
    pub(crate) runtime: Handle,
    pub(crate) news: broadcast::Sender<News>,
    slots: Mutex<HashMap<Name, Weak<Slot>>>,
    /// Slots are made one after the other, so that there is one of each.
    making: tokio::sync::Mutex<()>,
}

/// Something happened to a server's sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// Somebody has to sign in.
    Required {
        /// At which server.
        server: ServerName,
        /// The server's origin: what follows it may be a secret.
        url: String,
        /// The client that was registered beforehand, if there is one.
        client_id: Option<Box<str>>,
    },
    /// A sign-in ended.
    Completed {
        /// At which server.
        server: ServerName,
        /// Why it failed, if it did.
        failure: Option<String>,
    },
}

/// What sign-ins need of the hub.
pub struct OAuthParts {
    /// Sends requests.
    pub fetch: Arc<dyn Fetch>,
    /// Opens the keystore, at the first need.
    pub open: Box<dyn Fn() -> Result<Arc<SecretStore>, SecretsError> + Send + Sync>,
    /// Whether anything is kept at all: where nothing is, nobody need be asked to
    /// unlock it, and nothing is made.
    pub is_there: Box<dyn Fn() -> bool + Send + Sync>,
    /// The time.
    pub clock: SharedClock,
    /// Where renewals run; calls wait wherever they are polled.
    pub runtime: Handle,
}

// === impl OAuth ===

impl OAuth {
    /// Without any server; [`OAuth::upstream`] makes one.
    #[must_use]
    pub fn new(parts: OAuthParts) -> Arc<Self> {
        Arc::new(Self {
            fetch: parts.fetch,
            vault: Vault::new(parts.open, parts.is_there),
            clock: parts.clock,
            work: TaskSet::new(),
            waits: TaskSet::new(),
            runtime: parts.runtime,
            news: broadcast::Sender::new(NEWS_MAX),
            slots: Mutex::default(),
            making: tokio::sync::Mutex::default(),
        })
    }

    /// The sign-in of one server, which knows nothing before it is configured.
    #[must_use]
    pub fn upstream(self: &Arc<Self>, server: ServerName) -> Arc<Upstream> {
        Upstream::new(Arc::clone(self), server)
    }

    /// What happens from here on.
    #[must_use]
    pub fn news(&self) -> broadcast::Receiver<News> {
        self.news.subscribe()
    }

    /// Ends: renewals under way are waited for, people are not.
    pub async fn close(&self) {
        self.waits.shutdown().await;
        let joined = tokio::time::timeout(LAST, self.work.join()).await;
        if joined.is_err() {
            tracing::warn!(
                "a renewal of a sign-in did not end in time; it may have to be begun anew"
            );
        }
    }

    pub(crate) fn tell(&self, news: News) {
        // That nobody listens is fine.
        drop(self.news.send(news));
    }

    /// The one slot of a binding.
    pub(crate) async fn slot(&self, binding: &Binding) -> Result<Arc<Slot>, OAuthError> {
        let name = binding.name();
        let _turn = self.making.lock().await;
        let there = self.slots().get(&name).and_then(Weak::upgrade);
        if let Some(slot) = there {
            return Ok(slot);
        }
        let slot = Slot::recall(name.clone(), &self.vault, &*self.clock).await?;
        let slot = Arc::new(slot);
        let mut slots = self.slots();
        slots.retain(|_, slot| slot.strong_count() > 0);
        slots.insert(name, Arc::downgrade(&slot));
        Ok(slot)
    }

    /// The client that registered itself at an issuer.
    pub(crate) async fn registered(&self, issuer: &str) -> Result<Option<Registered>, OAuthError> {
        let found: Option<Registered> = self.vault.get(&client_name(issuer)).await?;
        Ok(found.filter(|found| !found.is_expired(self.clock.wall())))
    }

    pub(crate) async fn keep_registered(
        &self,
        issuer: &str,
        registered: &Registered,
    ) -> Result<(), OAuthError> {
        self.vault.put(&client_name(issuer), registered).await
    }

    /// Forgets a client that an issuer knows no more, unless another took its place.
    pub(crate) async fn forget_registered(
        &self,
        issuer: &str,
        client_id: &str,
    ) -> Result<(), OAuthError> {
        let _turn = self.making.lock().await;
        let name = client_name(issuer);
        let found: Option<Registered> = self.vault.get(&name).await?;
        if found.is_some_and(|found| found.client_id == client_id) {
            self.vault.forget(&name).await?;
        }
        Ok(())
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<Name, Weak<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn client_name(issuer: &str) -> Name {
    Name::of("client", &[issuer])
}

impl std::fmt::Debug for OAuthParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuthParts").finish_non_exhaustive()
    }
}
