//! What every part of the host holds.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use legation_config::{Settings, View};
use legation_core::{SharedClock, TaskSet};
use legation_gate::HubEvent;
use legation_oauth::OAuth;
use legation_store::Store;
use legation_wire::json::{Limits, Object, Raw};
use tokio::sync::{Semaphore, broadcast};

use crate::definitions::Definitions;
use crate::memory::Offers;
use crate::names::Names;
use crate::pins::Pins;
use crate::port::Dialer;
use crate::seats::Seats;
use crate::server::Server;
use crate::status::{State, Summary};
use crate::tasks::Tasks;
use crate::watches::Watches;

/// Events a slow listener may lag behind before it loses some; it then has to
/// list again, which is what it would have done anyway.
const EVENTS_WAITING: usize = 1_024;
/// The key of the register of names in the store.
const NAMES_KEY: &str = "names";
/// What a stored value may be: it was written by the hub itself.
const STORED: Limits = Limits {
    bytes: 512 << 20,
    depth: 1_024,
};

/// Shared by the host, its servers and their supervisors.
#[derive(Debug)]
pub(crate) struct Common {
    /// Opens connections.
    pub(crate) dialer: Arc<dyn Dialer>,
    /// The store.
    pub(crate) store: Arc<Store>,
    /// The time.
    pub(crate) clock: SharedClock,
    /// The settings.
    pub(crate) settings: Settings,
    /// `[views.NAME]` as they are now.
    pub(crate) views: ArcSwap<BTreeMap<Box<str>, View>>,
    /// Where background work runs.
    pub(crate) runtime: tokio::runtime::Handle,
    /// The background work.
    pub(crate) background: TaskSet,
    /// What happens.
    pub(crate) events: broadcast::Sender<HubEvent>,
    /// Who may load at once.
    pub(crate) loading: Arc<Semaphore>,
    /// Every flat name given.
    pub(crate) names: RwLock<Names>,
    /// Every definition that was agreed to, or was not.
    pub(crate) pins: Pins,
    /// Who is there.
    pub(crate) seats: Seats,
    /// Resources that are watched.
    pub(crate) watches: Watches,
    /// Tasks under way.
    pub(crate) tasks: Tasks,
    /// The servers of the configuration, to count.
    servers: Mutex<Vec<Weak<Server>>>,
    /// See [`Common::lists_changed`].
    lists_version: AtomicU64,
    /// Whether servers may be answered by a model of the hub's.
    pub(crate) lends_models: AtomicBool,
    /// What the hub's own servers offer; told once, before there is a configuration.
    pub(crate) offers: OnceLock<Offers>,
    /// The hub's sign-ins, where it has any.
    pub(crate) oauth: Option<Arc<OAuth>>,
    /// Times that tests shorten.
    pub(crate) times: Times,
}

/// How long things take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// A connection that takes longer counts as failed.
    pub(crate) connect: Duration,
    /// How long several `list_changed` in a row are gathered.
    pub(crate) debounce: Duration,
    /// First and longest wait before another attempt.
    pub(crate) backoff: (Duration, Duration),
    /// A connection that stood this long was stable.
    pub(crate) stable: Duration,
    /// A client's own instance ends after so long without use.
    pub(crate) idle: Duration,
    /// The same for an instance that was started to learn definitions.
    pub(crate) probe_idle: Duration,
    /// Calls under way get so long when their server is replaced.
    pub(crate) drain: Duration,
}

// === impl Times ===

impl Default for Times {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(60),
            debounce: Duration::from_millis(30),
            backoff: (Duration::from_secs(1), Duration::from_secs(60)),
            stable: Duration::from_secs(30),
            idle: Duration::from_secs(600),
            probe_idle: Duration::from_secs(5),
            drain: Duration::from_secs(5),
        }
    }
}

// === impl Common ===

impl Common {
    /// Reads what the store remembers of names.
    pub(crate) fn new(
        dialer: Arc<dyn Dialer>,
        store: Arc<Store>,
        clock: SharedClock,
        settings: Settings,
        runtime: tokio::runtime::Handle,
        times: Times,
    ) -> Self {
        let names = recall(&store, NAMES_KEY)
            .map(|raw| Names::from_raw(&raw))
            .unwrap_or_default();
        Self {
            seats: Seats::default(),
            watches: Watches::default(),
            tasks: Tasks::recall(&store),
            pins: Pins::recall(Arc::clone(&store), Arc::clone(&clock)),
            servers: Mutex::default(),
            lists_version: AtomicU64::new(0),
            lends_models: AtomicBool::new(false),
            offers: OnceLock::new(),
            dialer,
            store,
            clock,
            runtime,
            background: TaskSet::new(),
            events: broadcast::Sender::new(EVENTS_WAITING),
            loading: Arc::new(Semaphore::new(settings.load_parallelism)),
            names: RwLock::new(names),
            views: ArcSwap::from_pointee(settings.views.clone()),
            settings,
            oauth: None,
            times,
        }
    }

    /// Tells everybody; that nobody listens is fine.
    pub(crate) fn tell(&self, event: HubEvent) {
        drop(self.events.send(event));
    }

    /// Says that what has been read of lists so far may not hold any more. To be called after
    /// whatever lists are made of has been replaced: who reads in between reads again.
    pub(crate) fn lists_changed(&self) {
        self.lists_version.fetch_add(1, Ordering::SeqCst);
    }

    /// How often that was said.
    pub(crate) fn lists_version(&self) -> u64 {
        self.lists_version.load(Ordering::SeqCst)
    }

    /// Notes which servers there are.
    pub(crate) fn set_servers(&self, all: &[Arc<Server>]) {
        let all = all.iter().map(Arc::downgrade).collect();
        *self.servers.lock().unwrap_or_else(PoisonError::into_inner) = all;
    }

    /// Says how many servers are connected by now.
    pub(crate) fn tell_progress(&self) {
        let servers = {
            let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
            servers.clone()
        };
        let states: Vec<State> = servers
            .iter()
            .filter_map(Weak::upgrade)
            .filter(|server| server.counts())
            .map(|server| State::of(&server))
            .collect();
        let Summary {
            connected,
            enabled,
            failed,
            ..
        } = Summary::of(states.iter());
        tracing::info!(failed, "{connected} of {enabled} servers connected");
    }

    /// Stores the register of names if it grew.
    pub(crate) fn keep_names(&self) {
        let raw = {
            let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
            if !names.take_changed() {
                return;
            }
            names.to_raw()
        };
        self.keep(NAMES_KEY, &raw);
    }

    /// What is remembered of a server under this configuration.
    pub(crate) fn recall_definitions(&self, key: &str, digest: &str) -> Option<Definitions> {
        let raw = recall(&self.store, key)?;
        if raw.get("digest")?.to_str()? != digest {
            return None;
        }
        Definitions::from_raw(&raw.get("definitions")?)
    }

    /// Remembers a server's definitions.
    pub(crate) fn keep_definitions(&self, key: &str, digest: &str, definitions: &Definitions) {
        let value = Object::new()
            .with("digest", Raw::str(digest))
            .with("definitions", definitions.to_raw());
        self.keep(key, &value.to_raw());
    }

    fn keep(&self, key: &str, raw: &Raw) {
        let now = self.clock.wall().0;
        // What cannot be remembered is learnt again after the next start.
        if let Err(error) = self.store.definition_put(key, raw.as_bytes(), now) {
            let error = legation_core::error::chain(&error);
            tracing::warn!(key, error, "could not be remembered");
        }
    }
}

fn recall(store: &Store, key: &str) -> Option<Raw> {
    let found = match store.definition_get(key) {
        Ok(found) => found?,
        Err(error) => {
            let error = legation_core::error::chain(&error);
            tracing::warn!(key, error, "could not be recalled; it is learnt again");
            return None;
        }
    };
    Raw::parse(found.blob.into(), &STORED).ok()
}
