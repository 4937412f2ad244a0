//! One configured server with its instances.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;
use legation_config::{Instance as Mode, SandboxEntry, ServerSpec, Source, Transport};
use legation_core::id::hex;
use legation_core::{Caller, QuickMap, SeatId};
use legation_gate::policy::Origin;
use legation_gate::policy::governance::Fingerprint;
use legation_gate::{Audience, CallFailure, HubEvent, ListKind, Peer};
use legation_oauth::Upstream;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use crate::common::Common;
use crate::instance::{Instance, Key};
use crate::log::ServerLog;
use crate::memory::Offer;
use crate::oauth;
use crate::published::Published;
use crate::supervisor;

/// Most instances of one server: clients come and go, processes cost memory.
const INSTANCES_MAX: usize = 256;

/// A server of the configuration. A changed configuration makes a new one.
#[derive(Debug)]
pub(crate) struct Server {
    /// What all servers work with.
    pub(crate) common: Arc<Common>,
    /// Its configuration.
    pub(crate) spec: Arc<ServerSpec>,
    /// Where that comes from, in the words of rules.
    pub(crate) origin: Origin,
    /// What an organisation's allow-list knows it by.
    pub(crate) fingerprint: Fingerprint,
    /// Whether it is to run at all.
    pub(crate) enabled: bool,
    /// The only seat that sees it, where it was lent to one.
    pub(crate) seat: Option<SeatId>,
    /// The walls that it runs behind, where it is a program and has any.
    pub(crate) sandbox: Option<SandboxEntry>,
    /// Its last words.
    pub(crate) log: Arc<ServerLog>,
    /// The server of the hub's own that it stands for, where the hub has it.
    pub(crate) offer: Option<Arc<Offer>>,
    /// What it offers, as far as is known, to those without an instance of
    /// their own.
    pub(crate) known: ArcSwapOption<Published>,
    /// The hub's sign-in at it; `None` where the owner configured a credential, or
    /// wants no sign-in.
    pub(crate) auth: Option<Arc<Upstream>>,
    digest: String,
    folder: Option<Arc<Path>>,
    instances: Mutex<Instances>,
    /// Whether its instances may connect: not while the one before it ends.
    released: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Instances {
    ended: bool,
    running: QuickMap<Key, Arc<Instance>>,
    /// How often instances had to be started again.
    restarts: u32,
    /// Why the last attempt to connect failed, until one succeeds.
    failure: Option<String>,
}

// === impl Server ===

impl Server {
    /// A server that is not started yet, with what is remembered of it. It takes
    /// the place of `before`, if there is one.
    pub(crate) fn new(
        common: &Arc<Common>,
        spec: ServerSpec,
        (enabled, seat): (bool, Option<SeatId>),
        before: Option<&Self>,
    ) -> Self {
        // To rules an agent's server is whose file it stands in.
        let origin = match (&spec.source, spec.source.folder()) {
            _ if spec.transport.memory().is_some() => Origin::Builtin,
            (Source::Workspace { .. } | Source::Agent { .. }, Some(folder)) => {
                Origin::Workspace(folder.to_string_lossy().into_owned().into())
            }
            (Source::Plugin { folder, .. }, _) => {
                Origin::Workspace(folder.to_string_lossy().into_owned().into())
            }
            (Source::Additional { .. }, _) => Origin::Additional,
            (
                Source::Builtin
                | Source::Default { .. }
                | Source::User { .. }
                | Source::Workspace { .. }
                | Source::Agent { .. },
                _,
            ) => Origin::User,
        };
        let auth = oauth::upstream(common, &spec, before);
        let memory = spec.transport.memory();
        let offer = memory.and_then(|name| common.offers.get()?.get(name).cloned());
        let server = Self {
            common: Arc::clone(common),
            folder: spec.source.folder().map(Arc::from),
            digest: digest(&spec),
            sandbox: spec.sandbox(
                common.settings.server_sandbox,
                &common.settings.server_sandbox_network,
            ),
            fingerprint: fingerprint(&spec.transport),
            spec: Arc::new(spec),
            origin,
            enabled,
            seat,
            offer,
            log: before
                .map(|before| Arc::clone(&before.log))
                .unwrap_or_default(),
            known: ArcSwapOption::empty(),
            auth,
            instances: Mutex::new(Instances::default()),
            released: watch::Sender::new(false),
        };
        server.log.forget_warnings();
        // Entries hold these, so only under the same ones can they stay.
        let same_face = |before: &&Self| {
            let (old, new) = (&before.spec, &server.spec);
            old.flat_prefix() == new.flat_prefix()
                && old.trusted == new.trusted
                && before.origin == server.origin
                && old.entity == new.entity
                && before.fingerprint == server.fingerprint
        };
        let shown = before
            .filter(same_face)
            .and_then(|before| before.known.load_full());
        let remembered = common.recall_definitions(&server.memory_key(), &server.digest);
        // What the hub itself offers is known at once, and may be another by now.
        if let Some(definitions) = remembered.filter(|_| server.spec.transport.memory().is_none()) {
            let pinned = common.pins.judge(&server, &definitions);
            let mut names = common.names.write().unwrap_or_else(PoisonError::into_inner);
            let shown = shown.as_deref();
            let published = Published::new(&server, definitions, pinned, shown, &mut names);
            server.known.store(Some(Arc::new(published)));
        }
        server
    }

    fn instances(&self) -> MutexGuard<'_, Instances> {
        self.instances
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn memory_key(&self) -> String {
        format!("server/{}/{}", self.spec.name, self.spec.source)
    }

    /// Remembers what it offers, in this run and in the store.
    pub(crate) fn remember(&self, common: &Common, published: &Arc<Published>) {
        self.known.store(Some(Arc::clone(published)));
        common.lists_changed();
        common.keep_definitions(&self.memory_key(), &self.digest, &published.definitions);
        common.keep_names();
    }

    /// Makes what it offers anew, after somebody decided about it.
    pub(crate) fn republish(&self, common: &Common) {
        let again = |old: &Published| {
            let definitions = old.definitions.clone();
            let pinned = common.pins.judge(self, &definitions);
            let mut names = common.names.write().unwrap_or_else(PoisonError::into_inner);
            let new = Published::new(self, definitions, pinned, Some(old), &mut names);
            Arc::new(new)
        };
        if let Some(known) = self.known.load_full() {
            self.known.store(Some(again(&known)));
        }
        common.lists_changed();
        for live in self
            .all_running()
            .iter()
            .filter_map(|instance| instance.live())
        {
            let old = live.published.load_full();
            live.published.store(again(&old));
        }
        common.keep_names();
        for kind in ListKind::ALL {
            common.tell(HubEvent::ListChanged {
                server: self.spec.name.clone(),
                kind,
                audience: Audience::All,
            });
        }
    }

    /// Whether a caller sees it.
    pub(crate) fn is_visible(&self, caller: &Caller) -> bool {
        self.enabled && self.belongs_to(caller)
    }

    /// Whether a caller would see it if it were enabled: workspace servers
    /// belong to their folder, and what is lent to the seat it is lent to.
    pub(crate) fn belongs_to(&self, caller: &Caller) -> bool {
        if let Some(seat) = &self.seat {
            return *seat == caller.seat;
        }
        match (&self.folder, &caller.workspace) {
            (None, _) => true,
            (Some(folder), Some(workspace)) => workspace.starts_with(folder),
            (Some(_), None) => false,
        }
    }

    /// Whether it counts among the servers that should be connected. One that waits for a token
    /// that nobody needs to give does not.
    pub(crate) fn counts(&self) -> bool {
        self.spec.waits_for_token().is_none()
    }

    /// Whose instance a caller uses.
    pub(crate) fn key(&self, caller: &Caller) -> Key {
        match (self.spec.instance, &caller.workspace, &self.folder) {
            (Mode::Client, _, _) => Key::Seat(caller.seat.clone()),
            // A workspace server has one folder, however deep its clients work.
            (Mode::Workspace, _, Some(folder)) | (Mode::Workspace, Some(folder), None) => {
                Key::Folder(Arc::clone(folder))
            }
            (Mode::Shared, _, _) | (Mode::Workspace, None, None) => Key::Shared,
        }
    }

    /// What a caller sees of it; `None` while nothing is known.
    pub(crate) fn shown(&self, caller: &Caller) -> Option<Arc<Published>> {
        if self.spec.instance != Mode::Shared
            && let Some(instance) = self.running(&self.key(caller))
            && let Some(live) = instance.live()
        {
            return Some(live.published.load_full());
        }
        self.known.load_full()
    }

    /// The instance of a key, if it runs.
    pub(crate) fn running(&self, key: &Key) -> Option<Arc<Instance>> {
        self.instances().running.get(key).cloned()
    }

    /// Every running instance.
    pub(crate) fn all_running(&self) -> Vec<Arc<Instance>> {
        let mut all: Vec<_> = self.instances().running.values().cloned().collect();
        all.sort_by(|a, b| a.key.cmp(&b.key));
        all
    }

    /// Starts what runs without a caller.
    pub(crate) fn start(self: &Arc<Self>, common: &Arc<Common>) {
        if self.enabled {
            // It can only be refused when the server was stopped meanwhile.
            drop(self.obtain(common, self.first_key(), None));
            for key in common.watches.keys(&self.spec.name) {
                drop(self.obtain(common, key, None));
            }
        }
    }

    /// Lets its instances connect.
    pub(crate) fn release(&self) {
        self.released.send_replace(true);
    }

    /// Waits until its instances may connect.
    pub(crate) async fn released(&self) {
        let mut released = self.released.subscribe();
        // The sender lives as long as the server.
        drop(released.wait_for(|released| *released).await);
    }

    /// What runs without a caller: the shared instance, or one that learns what
    /// the others will offer.
    pub(crate) fn first_key(&self) -> Key {
        match (self.spec.instance, &self.folder) {
            (Mode::Shared, _) => Key::Shared,
            (Mode::Workspace, Some(folder)) => Key::Folder(Arc::clone(folder)),
            (Mode::Client, _) | (Mode::Workspace, None) => Key::Probe,
        }
    }

    /// The instance that serves a caller, started if need be.
    pub(crate) fn instance(
        self: &Arc<Self>,
        common: &Arc<Common>,
        caller: &Caller,
        peer: Option<&Arc<dyn Peer>>,
    ) -> Result<Arc<Instance>, CallFailure> {
        self.obtain(common, self.key(caller), peer)
    }

    fn obtain(
        self: &Arc<Self>,
        common: &Arc<Common>,
        key: Key,
        peer: Option<&Arc<dyn Peer>>,
    ) -> Result<Arc<Instance>, CallFailure> {
        let mut instances = self.instances();
        if let Some(reason) = &self.spec.filtered {
            return Err(CallFailure::NotConnected {
                server: self.spec.name.clone(),
                reason: reason.to_string(),
            });
        }
        if instances.ended || !self.enabled {
            let reason = match self.spec.waits_for_token() {
                Some(why) => why,
                None if self.enabled => "it was stopped",
                None => "it is disabled",
            };
            return Err(CallFailure::NotConnected {
                server: self.spec.name.clone(),
                reason: reason.to_owned(),
            });
        }
        if let Some(instance) = instances.running.get(&key) {
            return Ok(Arc::clone(instance));
        }
        if instances.running.len() >= INSTANCES_MAX {
            return Err(CallFailure::Busy {
                server: self.spec.name.clone(),
            });
        }
        let peer = match &key {
            // The seat's own peer outlives the call that happens to be first.
            Key::Seat(seat) => common.seats.peer(seat).or_else(|| peer.cloned()),
            Key::Shared | Key::Probe | Key::Folder(_) => None,
        };
        let instance = Arc::new(Instance::new(key.clone(), peer, Arc::clone(&common.clock)));
        instances.running.insert(key, Arc::clone(&instance));
        drop(instances);
        let run = supervisor::run(Arc::clone(common), Arc::clone(self), Arc::clone(&instance));
        common.background.spawn_on(&common.runtime, "server", run);
        let watched = Arc::clone(&instance);
        let watch = async move { watched.watch().await };
        common
            .background
            .spawn_on(&common.runtime, "timer of calls", watch);
        Ok(instance)
    }

    /// Takes an instance out that is ending, so that the next caller gets a new
    /// one.
    pub(crate) fn forget(&self, instance: &Arc<Instance>) {
        let mut instances = self.instances();
        let same = |held: &Arc<Instance>| Arc::ptr_eq(held, instance);
        if instances.running.get(&instance.key).is_some_and(same) {
            instances.running.remove(&instance.key);
        }
    }

    /// Counts a restart.
    pub(crate) fn restarted(&self) {
        self.instances().restarts += 1;
    }

    /// Notes why an attempt failed, or that one succeeded. Returns whether that
    /// is news.
    pub(crate) fn set_failure(&self, failure: Option<String>) -> bool {
        let mut instances = self.instances();
        let before = std::mem::replace(&mut instances.failure, failure);
        before.is_some() != instances.failure.is_some()
    }

    /// Why the last attempt failed, if it did.
    pub(crate) fn failure(&self) -> Option<String> {
        self.instances().failure.clone()
    }

    /// Whether somebody has to sign in before it can be used.
    pub(crate) fn waits_for_sign_in(&self) -> bool {
        self.auth.as_ref().is_some_and(|auth| auth.is_waiting())
    }

    /// How often instances had to be started again.
    pub(crate) fn restarts(&self) -> u32 {
        self.instances().restarts
    }

    /// Ends every instance and starts no more. Calls under way get a little
    /// time.
    pub(crate) async fn end(&self, common: &Common, drain: bool) {
        self.instances().ended = true;
        let limit = if drain {
            common.times.drain
        } else {
            std::time::Duration::ZERO
        };
        let running = self.all_running();
        let ends = running.iter().map(|instance| instance.end(limit));
        futures_util::future::join_all(ends).await;
    }
}

/// Of the command or the address as written: what a reference stands for may
/// change from one start to the next, and may be a secret.
pub(crate) fn fingerprint(transport: &Transport) -> Fingerprint {
    match transport {
        Transport::Stdio { command, args, .. } => {
            let words = std::iter::once(command).chain(args);
            let words: Vec<&str> = words.map(|word| word.as_str()).collect();
            Fingerprint::of_command(&words)
        }
        Transport::Http { url, .. } => Fingerprint::of_url(url.as_str()),
        Transport::Memory { server } => Fingerprint::of_command(&["memory", server.as_str()]),
    }
}

/// What of a configuration decides what a server offers. The values of its
/// environment do not enter: they are secrets, and a new token is no new server.
fn digest(spec: &ServerSpec) -> String {
    let mut hash = Sha256::new();
    for part in [
        spec.transport.as_str(),
        &spec.transport.shown(),
        spec.era.as_str(),
        spec.instance.as_str(),
        &spec.tools.join("\u{1f}"),
    ] {
        hash.update(part);
        hash.update([0]);
    }
    hex(&hash.finalize())
}
