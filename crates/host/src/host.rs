//! The host: every server of the configuration, running as it should.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use legation_config::{Environment, Instance as Mode, Problem, ServerSpec, Settings, View};
use legation_core::process::GuardPath;
use legation_core::{Caller, CancelReason, Home, ServerName, SharedClock};
use legation_gate::policy::KnownTool;
use legation_gate::{HubEvent, ListKind};
use legation_oauth::OAuth;
use legation_store::Store;
use tokio::sync::watch;

use crate::adapter::{Transports, Walls};
use crate::catalogue::Catalogue;
use crate::common::{Common, Times};
use crate::instance::{Instance, Key, Phase};
use crate::memory::Offer;
use crate::pins::{PinError, PinNews, PinReview};
#[cfg(test)]
use crate::port::Dialer;
use crate::roster::Roster;
use crate::server::Server;
use crate::status::{ServerStatus, State, Summary};

mod describe;
mod lent;
mod reconcile;
mod resolve;
mod set;

pub use lent::Lent;
pub use reconcile::NoServer;
use reconcile::Wanted;

/// Everything that offers something, behind [`legation_gate::ServerSet`].
#[derive(Debug)]
pub struct Host {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) common: Arc<Common>,
    pub(crate) roster: ArcSwap<Roster>,
    pub(crate) catalogue: Catalogue,
    /// One change of the configuration at a time.
    applying: tokio::sync::Mutex<()>,
    wanted: Mutex<Wanted>,
}

/// What a host is made of.
#[derive(Debug)]
pub struct HostParts {
    /// The data directory.
    pub home: Home,
    /// The settings in force.
    pub settings: Settings,
    /// What references in configurations mean.
    pub environment: Environment,
    /// Where definitions and tasks are remembered.
    pub store: Arc<Store>,
    /// The time.
    pub clock: SharedClock,
    /// What guards child processes.
    pub guard: GuardPath,
    /// The hub's version, for servers.
    pub version: &'static str,
    /// The hub's sign-ins at servers; without, servers that want one cannot be used.
    pub oauth: Option<Arc<OAuth>>,
    /// Where connections are kept up; calls run wherever they are polled.
    pub runtime: tokio::runtime::Handle,
}

// === impl Host ===

impl Host {
    /// A host without servers; [`Host::apply`] gives it some.
    #[must_use]
    pub fn new(parts: HostParts) -> Arc<Self> {
        let root = parts.home.root().to_path_buf();
        let transports = Transports {
            walls: Walls::new(parts.guard.clone(), root, parts.environment.clone()),
            sandbox: parts.settings.server_sandbox,
            sandbox_hosts: parts.settings.server_sandbox_network.clone(),
            environment: parts.environment,
            env_mode: parts.settings.env_value_mode,
            guard: parts.guard,
            home: parts.home,
            version: parts.version,
            max_message: parts.settings.limits.upstream_message_bytes,
        };
        let times = Times::default();
        let (store, clock, runtime) = (parts.store, parts.clock, parts.runtime);
        let dialer = Arc::new(transports);
        let settings = parts.settings;
        let mut common = Common::new(dialer, store, clock, settings, runtime, times);
        common.oauth = parts.oauth;
        let host = Self::of(common);
        crate::oauth::follow(&host.inner);
        host
    }

    /// A host with its own way to open connections.
    #[cfg(test)]
    pub(crate) fn with_dialer(
        dialer: Arc<dyn Dialer>,
        store: Arc<Store>,
        clock: SharedClock,
        settings: Settings,
        runtime: tokio::runtime::Handle,
        times: Times,
    ) -> Arc<Self> {
        Self::of(Common::new(dialer, store, clock, settings, runtime, times))
    }

    fn of(common: Common) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::new(Inner {
                common: Arc::new(common),
                roster: ArcSwap::default(),
                catalogue: Catalogue::default(),
                applying: tokio::sync::Mutex::default(),
                wanted: Mutex::default(),
            }),
        })
    }

    /// Makes the views those of the settings. Whoever looks at one hears that
    /// its lists changed.
    pub fn set_views(&self, views: BTreeMap<Box<str>, View>) {
        let common = &self.inner.common;
        if **common.views.load() == views {
            return;
        }
        common.views.store(Arc::new(views));
        self.inner.catalogue.clear();
        common.lists_changed();
        for server in self.inner.roster.load().all() {
            for kind in ListKind::ALL {
                common.tell(HubEvent::ListChanged {
                    server: server.spec.name.clone(),
                    kind,
                    audience: legation_gate::Audience::All,
                });
            }
        }
    }

    /// Whether the hub's own models may answer servers whose clients have none to offer. What
    /// connects from here on is told so.
    pub fn set_lends_models(&self, lends: bool) {
        let common = &self.inner.common;
        common.lends_models.store(lends, Ordering::Relaxed);
    }

    /// Tells what the hub's own servers offer, for entries that give them other names. The first
    /// word counts, and is to come before the first configuration.
    pub fn set_offers(&self, offers: impl IntoIterator<Item = (ServerName, Offer)>) {
        let offers = offers.into_iter();
        let offers = offers.map(|(name, offer)| (name, Arc::new(offer)));
        let _first: &_ = self.inner.common.offers.get_or_init(|| offers.collect());
    }

    /// Whether a view exists and includes a server.
    #[must_use]
    pub fn view_includes(&self, view: &str, server: &str) -> bool {
        let views = self.inner.common.views.load();
        views
            .get(view)
            .is_some_and(|view| crate::glob::any(&view.servers, server))
    }

    /// The definitions that wait for somebody to look at them, of one server or
    /// of all.
    ///
    /// # Errors
    /// See [`PinError`].
    pub fn pins_waiting(&self, server: Option<&str>) -> Result<Vec<PinReview>, PinError> {
        self.inner.common.pins.waiting(server)
    }

    /// Tells clients of something that happened beside the configured servers.
    pub fn announce(&self, event: HubEvent) {
        self.inner.common.tell(event);
    }

    /// What rules may speak of: the pinned tools, and the servers of `specs`.
    #[must_use]
    pub fn known_tools(&self, specs: &[ServerSpec]) -> Vec<KnownTool> {
        let lent = self.lent();
        match lent.is_empty() {
            true => self.inner.common.pins.tools(specs),
            false => self.inner.common.pins.tools(&[specs, &lent].concat()),
        }
    }

    /// Decides about one of them as it was looked at.
    ///
    /// # Errors
    /// See [`PinError`].
    pub fn pin_decide(&self, review: &PinReview, accept: bool, by: &str) -> Result<(), PinError> {
        let common = &self.inner.common;
        common.pins.decide(review, accept, by)?;
        for server in self.inner.roster.load().all() {
            if *server.spec.label() == *review.server {
                server.republish(common);
            }
        }
        Ok(())
    }

    /// The servers a caller sees, as they are now.
    #[must_use]
    pub fn status_for(&self, caller: &Caller) -> Vec<ServerStatus> {
        let roster = self.inner.roster.load();
        roster
            .visible(caller)
            .map(|server| ServerStatus::of(server))
            .collect()
    }

    /// What each server a caller sees says of itself, as far as it may be passed on.
    #[must_use]
    pub fn instructions(&self, caller: &Caller) -> Vec<(ServerName, String)> {
        self.inner.instructions(caller)
    }

    /// Every server as it is now, in the order of the catalogue.
    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        let roster = self.inner.roster.load();
        roster
            .all()
            .iter()
            .map(|server| ServerStatus::of(server))
            .collect()
    }

    /// Every server's configuration, in the order of the catalogue.
    #[must_use]
    pub fn specs(&self) -> Vec<Arc<ServerSpec>> {
        let roster = self.inner.roster.load();
        let specs = roster.all().iter().map(|server| Arc::clone(&server.spec));
        specs.collect()
    }

    /// Every server's configuration and how it is, in the order of the catalogue.
    #[must_use]
    pub fn states(&self) -> Vec<(Arc<ServerSpec>, State)> {
        let roster = self.inner.roster.load();
        let all = roster.all().iter();
        all.map(|server| (Arc::clone(&server.spec), State::of(server)))
            .collect()
    }

    /// How many servers are how far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let roster = self.inner.roster.load();
        let counted = roster.all().iter().filter(|server| server.counts());
        let states: Vec<State> = counted.map(|server| State::of(server)).collect();
        Summary::of(states.iter())
    }

    /// What was wrong with the configuration that was applied last.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        self.wanted().problems.clone()
    }

    /// The last lines of a server's log, oldest first.
    ///
    /// # Errors
    /// When the name stands for no server; see [`NoServer`].
    pub fn logs(
        &self,
        name: &str,
        folder: Option<&Path>,
        lines: usize,
    ) -> Result<Vec<String>, NoServer> {
        Ok(self.named(name, folder)?.log.tail(lines))
    }

    /// The server that a person in a folder means by a name, or by a name with
    /// a folder.
    ///
    /// # Errors
    /// When the name stands for no server; see [`NoServer`].
    pub fn status_named(
        &self,
        name: &str,
        folder: Option<&Path>,
    ) -> Result<ServerStatus, NoServer> {
        Ok(ServerStatus::of(&*self.named(name, folder)?))
    }

    pub(crate) fn named(&self, name: &str, folder: Option<&Path>) -> Result<Arc<Server>, NoServer> {
        let roster = self.inner.roster.load();
        let specs = roster.all().iter().map(|server| &*server.spec);
        let meant = reconcile::meant(specs, name, folder)?;
        let server = roster.all().iter().find(|server| *server.spec == *meant);
        server.cloned().ok_or_else(|| NoServer::Unknown {
            name: name.to_owned(),
        })
    }

    /// The folders clients work in, now and as they change: their workspace
    /// files may configure servers.
    #[must_use]
    pub fn folders(&self) -> watch::Receiver<BTreeSet<Arc<Path>>> {
        self.inner.common.seats.folders()
    }

    /// Waits until servers define something that was never seen, or differs from
    /// what was agreed to, and says what. One caller at a time hears of each.
    pub async fn noticed(&self) -> Vec<PinNews> {
        self.inner.common.pins.noticed().await
    }

    /// Tries servers that failed or wait for a sign-in again, now.
    pub fn retry(&self) {
        for server in self.inner.roster.load().all() {
            for instance in server.all_running() {
                if matches!(instance.phase(), Phase::Failed(_) | Phase::NeedsAuth) {
                    instance.retry();
                }
            }
        }
    }
}

// === impl Inner ===

impl Inner {
    /// Ends what runs for one seat alone. Whoever sits down there next gets
    /// instances of its own.
    pub(crate) fn end_seat(&self, caller: &Caller) {
        let key = Key::Seat(caller.seat.clone());
        for server in self.roster.load().all() {
            if let Some(instance) = server.running(&key) {
                server.forget(&instance);
                instance.stop.cancel(CancelReason::Disconnected);
            }
        }
    }

    /// Wakes an instance, if it runs.
    pub(crate) fn nudge(&self, server: &ServerName, key: &Key) {
        for server in self.roster.load().named(server.as_str()) {
            if let Some(instance) = server.running(key) {
                instance.nudge.notify_one();
            }
        }
    }

    /// The running instances of one seat's own.
    pub(crate) fn of_seat(&self, caller: &Caller) -> Vec<Arc<Instance>> {
        let key = Key::Seat(caller.seat.clone());
        let roster = self.roster.load();
        let own = roster
            .all()
            .iter()
            .filter(|server| server.spec.instance == Mode::Client);
        own.filter_map(|server| server.running(&key)).collect()
    }
}

#[cfg(test)]
mod tests;
