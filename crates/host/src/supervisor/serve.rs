//! An instance while it is connected.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::StreamExt as _;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use legation_gate::{HubEvent, ListKind};
use legation_wire::caps::ServerCapabilities;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::meta;

use super::{Connection, End, audience, publish};
use crate::ask;
use crate::common::Common;
use crate::definitions::{self, Bounds, FetchError, List};
use crate::flight::LooseAsk;
use crate::instance::{Instance, Key, Live, Phase};
use crate::level;
use crate::port::{self, AskKey, EventSource, ListenWish, PortEvent};
use crate::published::next_version;
use crate::roots;
use crate::server::Server;
use crate::tasks;

/// How long a question waits for the task it belongs to: the answer that
/// begins a task is read by another thread than the question that follows it.
const LATE: Duration = Duration::from_millis(100);

/// How often an instance that can be idle looks whether it is.
const IDLE_LOOKS: u32 = 10;

/// Work done beside the loop.
type Chore = BoxFuture<'static, Done>;

/// What such work came to.
enum Done {
    /// A client answered a question.
    Asked(AskKey, Result<Raw, ErrorObject>),
    /// A list was read again.
    Read(ListKind, Result<List, FetchError>, Vec<String>),
    /// A task's question came before the task was known; now it may be.
    Late(LooseAsk),
    /// Nothing that matters.
    Nothing,
}

struct Session<'a> {
    common: &'a Common,
    server: &'a Arc<Server>,
    instance: &'a Arc<Instance>,
    live: Arc<Live>,
    /// Tells this connection from those before it.
    connection: u64,
    chores: FuturesUnordered<Chore>,
    asked: HashMap<AskKey, AbortHandle>,
    stale: BTreeSet<ListKind>,
    subscribed: BTreeSet<Box<str>>,
    wish: ListenWish,
}

/// Serves a connection until it ends.
pub(super) async fn serve(
    common: &Common,
    server: &Arc<Server>,
    instance: &Arc<Instance>,
    connection: Connection,
) -> End {
    let Connection { ready, definitions } = connection;
    let before = server.known.load_full();
    let before = before.as_deref();
    let published = publish::publish(common, server, instance, definitions, before);
    let live = Arc::new(Live {
        port: ready.port,
        legacy_tasks: ServerCapabilities::from_raw(
            &ready.about.capabilities.to_raw(),
            ready.about.revision,
        )
        .legacy_tool_tasks(),
        about: ready.about,
        pid: ready.pid,
        published: ArcSwap::new(Arc::clone(&published)),
        level: Mutex::new(None),
        last_asked: Mutex::default(),
    });
    // Whether that is news is told below, for all servers together.
    let _recovered: bool = server.set_failure(None);
    instance.set(Phase::Connected(Arc::clone(&live)), &*common.clock);
    if instance.key == server.first_key() {
        common.tell_progress();
    }
    publish::tell(common, server, instance, before, &published);
    super::tell_status(common, server);
    let mut session = Session {
        common,
        server,
        instance,
        live,
        connection: next_version(),
        chores: FuturesUnordered::new(),
        asked: HashMap::new(),
        stale: BTreeSet::new(),
        subscribed: BTreeSet::new(),
        wish: ListenWish::default(),
    };
    session.live.port.listen(ListenWish::default());
    session.reconcile();
    session.run(ready.events).await
}

impl Session<'_> {
    async fn run(&mut self, mut events: Box<dyn EventSource>) -> End {
        let idle = self.idle_limit();
        let look = idle.map_or(Duration::from_secs(3_600), |limit| limit / IDLE_LOOKS);
        let mut looks = tokio::time::interval(look.max(Duration::from_millis(1)));
        let quiet = tokio::time::sleep(Duration::ZERO);
        tokio::pin!(quiet);
        loop {
            tokio::select! {
                biased;
                _ = self.instance.stop.cancelled() => return End::Done,
                event = events.next() => match event {
                    Some(PortEvent::Closed(reason)) => return End::Lost(reason),
                    None => return End::Lost("the connection ended".to_owned()),
                    Some(PortEvent::ListChanged(kind)) => {
                        if self.stale.is_empty() {
                            let now = tokio::time::Instant::now();
                            quiet.as_mut().reset(now + self.common.times.debounce);
                        }
                        self.mark(kind);
                    }
                    Some(event) => self.take(event),
                },
                Some(done) = self.chores.next(), if !self.chores.is_empty() => self.finish(done),
                () = &mut quiet, if !self.stale.is_empty() => self.read_again(),
                () = self.instance.nudge.notified() => self.reconcile(),
                _ = looks.tick() => {
                    let now = self.common.clock.now();
                    if idle.is_some_and(|limit| super::is_idle(self.common, self.server, self.instance, now, limit)) {
                        return End::Done;
                    }
                }
            }
        }
    }

    /// After how long without use it may end; what clients share stays.
    fn idle_limit(&self) -> Option<Duration> {
        match self.instance.key {
            Key::Seat(_) => Some(self.common.times.idle),
            Key::Probe => Some(self.common.times.probe_idle),
            Key::Folder(_) if self.server.spec.source.folder().is_none() => {
                Some(self.common.times.idle)
            }
            Key::Shared | Key::Folder(_) => None,
        }
    }

    fn mark(&mut self, kind: ListKind) {
        self.stale.insert(kind);
        // One notification stands for all of these lists.
        if kind == ListKind::Resources {
            self.stale.insert(ListKind::Templates);
            self.stale.insert(ListKind::Skills);
        }
    }

    fn read_again(&mut self) {
        for kind in std::mem::take(&mut self.stale) {
            let definitions = &self.live.published.load().definitions;
            if !definitions.declares(kind) {
                continue;
            }
            let live = Arc::clone(&self.live);
            let spec = Arc::clone(&self.server.spec);
            let bounds = Bounds {
                items_max: self.common.settings.limits.tools_per_server,
                modern: self.live.about.revision.is_modern(),
            };
            self.chores.push(Box::pin(async move {
                let mut warnings = Vec::new();
                let allow = |tool: &str| spec.offers(tool);
                let read = definitions::fetch(&*live.port, kind, &allow, bounds, &mut warnings);
                Done::Read(kind, read.await, warnings)
            }));
        }
    }

    fn take(&mut self, event: PortEvent) {
        match event {
            PortEvent::ResourceUpdated { uri, params } => {
                self.common.tell(HubEvent::ResourceUpdated {
                    server: self.server.spec.name.clone(),
                    uri,
                    params,
                    audience: audience(self.server, self.instance),
                });
            }
            PortEvent::Logged(params) => self.logged(params),
            PortEvent::Ask {
                key,
                method,
                params,
            } => self.asked(LooseAsk {
                connection: self.connection,
                key,
                method,
                params,
            }),
            PortEvent::AskWithdrawn(key) => {
                if let Some(handle) = self.asked.remove(&key) {
                    handle.abort();
                }
                self.instance.withdraw(&key);
            }
            PortEvent::Task(params) => tasks::moved(self.common, self.server, &params),
            PortEvent::ListChanged(kind) => self.mark(kind),
            PortEvent::Closed(_) => {}
        }
    }

    /// A log message that came with no call. While calls of one client alone
    /// are in flight it is taken for theirs; of a shared instance it may
    /// otherwise tell one client about another's call, so it stays in the
    /// server's own log.
    fn logged(&self, params: Raw) {
        match self.instance.calling_peer() {
            Some(peer) if level::passes(&params, peer.log_level().as_deref()) => peer.log(params),
            Some(_) => {}
            None if matches!(self.instance.key, Key::Seat(_)) => {
                self.common.tell(HubEvent::Logged {
                    server: self.server.spec.name.clone(),
                    params,
                    audience: audience(self.server, self.instance),
                });
            }
            None => self.server.log.note(params.as_text()),
        }
    }

    fn asked(&mut self, asked: LooseAsk) {
        match self.is_for_task(&asked) {
            Some(true) => {}
            None => self.route(asked),
            Some(false) => self.chores.push(Box::pin(async move {
                tokio::time::sleep(LATE).await;
                Done::Late(asked)
            })),
        }
    }

    /// Whether a question was handed to the task it names; `None` when it names
    /// none.
    fn is_for_task(&self, asked: &LooseAsk) -> Option<bool> {
        let params = asked.params.as_ref().and_then(Raw::to_object)?;
        let related = meta::get(&params, meta::RELATED_TASK)?.get("taskId")?;
        let LooseAsk {
            key,
            method,
            params,
            ..
        } = asked;
        let (name, tasks) = (&self.server.spec.name, &self.common.tasks);
        let handed = tasks.hand_to_task(name, &related.to_str()?, key, method, params.as_ref());
        Some(handed)
    }

    fn route(&mut self, asked: LooseAsk) {
        let port = &self.live.port;
        match &self.instance.key {
            Key::Folder(folder) if &*asked.method == "roots/list" => {
                port.answer(asked.key, Ok(roots::of_folder(folder)));
            }
            Key::Seat(_) => {
                let Err(asked) = self.instance.hand_to_call(asked) else {
                    return;
                };
                let Some(peer) = self.instance.peer() else {
                    port.answer(asked.key, Err(ask::unsupported()));
                    return;
                };
                let key = asked.key;
                let answer = ask::ask(&peer, asked.method, asked.params);
                let (handle, registration) = AbortHandle::new_pair();
                self.asked.insert(key.clone(), handle);
                let answer = Abortable::new(answer, registration);
                self.chores.push(Box::pin(async move {
                    match answer.await {
                        Ok(answer) => Done::Asked(key, answer),
                        Err(_) => Done::Nothing,
                    }
                }));
            }
            Key::Shared | Key::Probe | Key::Folder(_) => {
                let Err(asked) = self.instance.hand_to_call(asked) else {
                    return;
                };
                let method = &asked.method;
                self.server.log.note(&format!(
                    "{method} was refused: it came with no call, and not exactly one client has calls in flight"
                ));
                port.answer(asked.key, Err(ask::unsupported()));
            }
        }
    }

    fn finish(&mut self, done: Done) {
        match done {
            Done::Nothing => {}
            Done::Late(asked) => {
                if !self.is_for_task(&asked).unwrap_or(false) {
                    self.route(asked);
                }
            }
            Done::Asked(key, answer) => {
                self.asked.remove(&key);
                self.live.port.answer(key, answer);
            }
            Done::Read(kind, Ok(list), warnings) => {
                publish::warn(self.server, &warnings);
                let before = self.live.published.load_full();
                let mut definitions = before.definitions.clone();
                definitions.set(kind, list);
                let (common, server, instance) = (self.common, self.server, self.instance);
                let published =
                    publish::publish(common, server, instance, definitions, Some(&before));
                self.live.published.store(Arc::clone(&published));
                publish::tell(common, server, instance, Some(&before), &published);
            }
            Done::Read(_, Err(error), _) => {
                let reason = legation_core::error::chain(&error);
                publish::warn(self.server, &[format!("{reason}; the older list stays")]);
            }
        }
    }

    /// Brings the server's idea of what is watched in line with ours.
    fn reconcile(&mut self) {
        for asked in self.instance.take_stranded() {
            if asked.connection == self.connection {
                self.asked(asked);
            }
        }
        if self.instance.take_skills_changed() && self.stale.insert(ListKind::Skills) {
            self.read_again();
        }
        let legacy = !self.live.about.revision.is_modern();
        if self.instance.take_roots_changed() && legacy {
            self.live
                .port
                .notify("notifications/roots/list_changed", None);
        }
        let (name, key) = (&self.server.spec.name, &self.instance.key);
        let watched = self.common.watches.of(name, key);
        if !legacy {
            let wish = ListenWish {
                resources: watched,
                tasks: tasks::watched(self.common, self.server),
            };
            if wish != self.wish {
                self.wish = wish.clone();
                self.live.port.listen(wish);
            }
            return;
        }
        let watched: BTreeSet<Box<str>> = watched.into_iter().collect();
        let begun: Vec<_> = watched.difference(&self.subscribed).cloned().collect();
        let ended: Vec<_> = self.subscribed.difference(&watched).cloned().collect();
        self.subscribed = watched;
        for uri in begun {
            self.chore("resources/subscribe", &uri);
        }
        for uri in ended {
            self.chore("resources/unsubscribe", &uri);
        }
    }

    fn chore(&mut self, method: &'static str, uri: &str) {
        let live = Arc::clone(&self.live);
        let server = Arc::clone(self.server);
        let params = Object::new().with("uri", Raw::str(uri));
        self.chores.push(Box::pin(async move {
            if let Err(error) = port::request(&*live.port, method, params).await {
                server.log.note(&format!("{method}: {error}"));
            }
            Done::Nothing
        }));
    }
}
