//! What the hub remembers of one client connection or handshake session:
//! sans-IO, one short lock.
//!
//! A stream (socket, or the pair of 2024-11-05) has one session from its first
//! byte, which a modern client on it uses for the ids in flight only. Over
//! Streamable HTTP a session begins with `initialize`.

mod asks;
mod channel;
mod feed;
mod flights;
mod permission;
mod streams;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use legation_core::{Caller, Cancel, CancelReason, ServerName};
use legation_gate::desk::PermissionGuard;
use legation_gate::{Arrival, Endpoint, Subscription};
use legation_wire::caps::ClientCapabilities;
use legation_wire::codes;
use legation_wire::json::{Kind, Object, Raw};
use legation_wire::message::{ErrorObject, Id, Response};
use legation_wire::revision::Revision;
use tokio::sync::oneshot;

use self::asks::Asks;
pub(crate) use self::asks::Question;
use self::flights::Flights;
pub(crate) use self::permission::REQUEST as PERMISSION_REQUEST;
use self::streams::Streams;
use crate::level::Level;
use crate::outbox::Outbox;
use crate::shared::Shared;
use crate::watch::WatchGuard;

/// Most resources one session subscribes to.
const SUBSCRIPTIONS_MAX: usize = 1000;
/// Most tasks of one session whose changes it is told.
const TASKS_MAX: usize = 256;

/// How far the handshake has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing was said, or only modern requests.
    Fresh,
    /// `initialize` was answered.
    Greeted,
    /// `notifications/initialized` came.
    Ready,
    /// Over.
    Closed,
}

/// What carries a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// Streamable HTTP: any number of connections.
    Http,
    /// The pair of 2024-11-05: one stream and requests beside it.
    Pair,
    /// The Unix socket.
    Socket,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Session {
    /// Names the session over HTTP.
    pub(crate) id: Box<str>,
    /// Whose it is; never another's.
    pub(crate) caller: Caller,
    /// Which catalogue it looks at.
    pub(crate) endpoint: Endpoint,
    /// What carries it.
    pub(crate) carrier: Carrier,
    /// What is said outside every call.
    pub(crate) general: Arc<Outbox>,
    /// Counts the readers of `general`: the latest has it.
    readers: AtomicU64,
    /// Whether the servers know its seat.
    seated: AtomicBool,
    /// Milliseconds of the front's life at the last request.
    used_ms: AtomicU64,
    /// Whether its bridge said that it registers a channel.
    wants_channel: bool,
    /// Whether its client is carried over from an earlier connection.
    again: bool,
    /// Whether it is told things one by one.
    is_fed: AtomicBool,
    /// Of which its calls are children, so that threads do not contend for the hub's own.
    cancel: OnceLock<Cancel>,
    /// What every call looks at, which is said once.
    greeting: OnceLock<Greeting>,
    /// Set under the lock.
    is_closed: AtomicBool,
    state: Mutex<State>,
}

/// The client's part of the handshake, with what was settled on.
#[derive(Debug)]
struct Greeting {
    revision: Revision,
    capabilities: Arc<ClientCapabilities>,
    info: Option<Raw>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    level: Option<Level>,
    flights: Flights,
    asks: Asks,
    streams: Streams,
    subscriptions: HashMap<Box<str>, Subscribed>,
    tasks: VecDeque<Box<str>>,
    /// What was written out into its conversation and has not arrived for certain.
    injected: Vec<Arc<dyn Arrival>>,
    /// What its client asked a person; each is withdrawn with its guard.
    permissions: VecDeque<PermissionGuard>,
    /// Its place among the watchers, which hold the session until it is closed.
    watch: Option<WatchGuard>,
}

/// A resource whose changes the client wants to hear of.
#[derive(Debug)]
struct Subscribed {
    server: Option<ServerName>,
    _guard: Subscription,
}

// === impl Session ===

impl Session {
    pub(crate) fn new(id: Box<str>, caller: Caller, endpoint: Endpoint, carrier: Carrier) -> Self {
        // Over HTTP a client may come back for what it has not read.
        let general = match carrier {
            Carrier::Http => Outbox::kept(),
            Carrier::Pair | Carrier::Socket => Outbox::plain(),
        };
        Self {
            id,
            caller,
            endpoint,
            carrier,
            general: Arc::new(general),
            readers: AtomicU64::new(0),
            seated: AtomicBool::new(false),
            used_ms: AtomicU64::new(0),
            wants_channel: false,
            again: false,
            is_fed: AtomicBool::new(false),
            cancel: OnceLock::new(),
            greeting: OnceLock::new(),
            is_closed: AtomicBool::new(false),
            state: Mutex::new(State {
                phase: Phase::Fresh,
                level: None,
                flights: Flights::default(),
                asks: Asks::default(),
                streams: Streams::default(),
                subscriptions: HashMap::new(),
                tasks: VecDeque::new(),
                injected: Vec::new(),
                permissions: VecDeque::new(),
                watch: None,
            }),
        }
    }

    /// What calls its calls off.
    pub(crate) fn calls_cancel(&self, shared: &Shared) -> &Cancel {
        self.cancel.get_or_init(|| shared.cancel.child())
    }

    /// Takes the client's part of the handshake and settles on a revision: the
    /// one asked for, or the newest with a handshake.
    ///
    /// # Errors
    /// The parameters are wrong, or the handshake was done before.
    pub(crate) fn greet(&self, params: &Object) -> Result<Revision, ErrorObject> {
        let version = params
            .get("protocolVersion")
            .and_then(Raw::to_str)
            .ok_or_else(|| invalid("initialize needs protocolVersion, a string"))?;
        let capabilities = params
            .get("capabilities")
            .cloned()
            .unwrap_or_else(Raw::empty_object);
        if capabilities.kind() != Kind::Object {
            return Err(invalid("capabilities must be an object"));
        }
        let revision = Revision::parse(&version)
            .filter(|revision| !revision.is_modern())
            .unwrap_or(Revision::LATEST_LEGACY);
        let mut state = self.lock();
        if state.phase != Phase::Fresh {
            return Err(ErrorObject::new(
                codes::INVALID_REQUEST,
                "this session was initialized before; open another one",
            ));
        }
        state.phase = Phase::Greeted;
        self.greeting.get_or_init(|| Greeting {
            revision,
            capabilities: Arc::new(ClientCapabilities::from_raw(&capabilities, revision)),
            info: params.get("clientInfo").cloned(),
        });
        Ok(revision)
    }

    /// The client is ready; whether it was not before.
    pub(crate) fn ready(&self) -> bool {
        let mut state = self.lock();
        let first = state.phase == Phase::Greeted;
        if first {
            state.phase = Phase::Ready;
        }
        first
    }

    /// Whether `initialize` was answered.
    pub(crate) fn is_greeted(&self) -> bool {
        self.greeting.get().is_some() && !self.is_closed()
    }

    /// Whether it is over.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Whether the client may be told things unasked.
    pub(crate) fn is_ready(&self) -> bool {
        self.lock().phase == Phase::Ready
    }

    /// What was settled on; the newest one before that.
    pub(crate) fn revision(&self) -> Revision {
        let greeting = self.greeting.get();
        greeting.map_or(Revision::LATEST_LEGACY, |greeting| greeting.revision)
    }

    pub(crate) fn capabilities(&self) -> Arc<ClientCapabilities> {
        let greeting = self.greeting.get();
        greeting.map_or_else(Arc::default, |greeting| Arc::clone(&greeting.capabilities))
    }

    pub(crate) fn info(&self) -> Option<Raw> {
        self.greeting.get()?.info.clone()
    }

    pub(crate) fn level(&self) -> Option<Level> {
        self.lock().level
    }

    pub(crate) fn set_level(&self, level: Level) {
        self.lock().level = Some(level);
    }

    /// Notes a request, which `cancel` calls off; `held` is one that is answered only
    /// when it is ended.
    ///
    /// # Errors
    /// The id is in use, or too much is under way.
    pub(crate) fn begin(&self, id: &Id, cancel: &Cancel, held: bool) -> Result<(), ErrorObject> {
        self.lock().flights.begin(id, cancel, held)
    }

    /// Forgets a request; whether it was to be answered still.
    pub(crate) fn end(&self, id: &Id) -> bool {
        self.lock().flights.end(id)
    }

    /// Calls a request off. One that is over, or never was, is nobody's
    /// business: clients cancel what was answered a moment ago.
    pub(crate) fn cancel(&self, id: &Id) {
        let cancel = self.lock().flights.cancel(id);
        if let Some(cancel) = cancel {
            cancel.cancel(CancelReason::ClientCancelled);
        }
    }

    /// Opens a question to the client under an id of the hub's.
    pub(crate) fn ask(&self) -> (Id, oneshot::Receiver<Result<Raw, ErrorObject>>) {
        self.lock().asks.open()
    }

    /// Gives a question up; whether the client still owed an answer.
    pub(crate) fn ask_withdrawn(&self, id: &Id) -> bool {
        self.lock().asks.withdraw(id)
    }

    /// Takes the client's answer. An answer to nothing that was asked in this
    /// session is dropped, whoever may wait for one of that id elsewhere.
    pub(crate) fn answered(&self, response: Response) {
        let waiting = response
            .id
            .as_ref()
            .and_then(|id| self.lock().asks.take(id));
        if let Some(waiting) = waiting {
            // Whoever asked may have given up at this very moment.
            drop(waiting.send(response.body));
        }
    }

    /// Keeps a subscription. One that was there before is replaced.
    ///
    /// # Errors
    /// There are too many.
    pub(crate) fn subscribe(
        &self,
        uri: &str,
        server: Option<ServerName>,
        guard: Subscription,
    ) -> Result<(), ErrorObject> {
        let mut state = self.lock();
        if state.subscriptions.len() >= SUBSCRIPTIONS_MAX && !state.subscriptions.contains_key(uri)
        {
            return Err(ErrorObject::new(
                codes::OVERLOADED,
                &format!(
                    "a session subscribes to at most {SUBSCRIPTIONS_MAX} resources; unsubscribe from some"
                ),
            ));
        }
        if state.phase != Phase::Closed {
            state.subscriptions.insert(
                uri.into(),
                Subscribed {
                    server,
                    _guard: guard,
                },
            );
        }
        Ok(())
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        let gone = self.lock().subscriptions.remove(uri);
        drop(gone);
    }

    /// Whether the client wants to hear of this server's resource.
    pub(crate) fn subscribes(&self, uri: &str, server: &ServerName) -> bool {
        self.lock()
            .subscriptions
            .get(uri)
            .is_some_and(|held| held.server.as_ref().is_none_or(|owner| owner == server))
    }

    /// Remembers a task the client holds, the latest few hundred of them.
    pub(crate) fn task_noted(&self, handle: &str) {
        let mut state = self.lock();
        if state.tasks.iter().any(|known| **known == *handle) {
            return;
        }
        if state.tasks.len() >= TASKS_MAX {
            state.tasks.pop_front();
        }
        state.tasks.push_back(handle.into());
    }

    pub(crate) fn knows_task(&self, handle: &str) -> bool {
        self.lock().tasks.iter().any(|known| **known == *handle)
    }

    /// Ties a place among the watchers to the session.
    pub(crate) fn watched(&self, guard: WatchGuard) {
        let mut state = self.lock();
        let before = if state.phase == Phase::Closed {
            Some(guard)
        } else {
            state.watch.replace(guard)
        };
        drop(state);
        drop(before);
    }

    /// Notes that the servers know the seat; whether they did before.
    pub(crate) fn seat_taken(&self) -> bool {
        self.seated.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn is_seated(&self) -> bool {
        self.seated.load(Ordering::Relaxed)
    }

    /// Makes the caller the one reader of [`Session::general`].
    pub(crate) fn reader_taken(&self) -> u64 {
        let reader = self.readers.fetch_add(1, Ordering::Relaxed) + 1;
        self.general.poke();
        reader
    }

    pub(crate) fn is_reader(&self, reader: u64) -> bool {
        self.readers.load(Ordering::Relaxed) == reader
    }

    /// Gives a resumable stream a number.
    pub(crate) fn stream_opened(&self, outbox: &Arc<Outbox>) -> u64 {
        self.lock().streams.open(outbox)
    }

    /// A resumable stream was read to its end.
    pub(crate) fn stream_delivered(&self, number: u64) {
        self.lock().streams.delivered(number);
    }

    /// Finds a stream by its number; 0 is [`Session::general`].
    pub(crate) fn stream(&self, number: u64) -> Option<Arc<Outbox>> {
        if number == 0 {
            return Some(Arc::clone(&self.general));
        }
        self.lock().streams.find(number)
    }

    /// Notes that the client was heard of at `now_ms`.
    pub(crate) fn touch(&self, now_ms: u64) {
        self.used_ms.store(now_ms, Ordering::Relaxed);
    }

    /// When the client was last heard of; `None` while a call is under way.
    pub(crate) fn idle_since(&self) -> Option<u64> {
        let busy = !self.lock().flights.is_empty();
        (!busy).then(|| self.used_ms.load(Ordering::Relaxed))
    }

    /// Ends the session: its calls are called off, its questions fail, its
    /// subscriptions end. Whether it was open.
    pub(crate) fn close(&self, reason: CancelReason) -> bool {
        let (flights, asks, subscriptions, watch, permissions) = {
            let mut state = self.lock();
            if state.phase == Phase::Closed {
                return false;
            }
            state.phase = Phase::Closed;
            self.is_closed.store(true, Ordering::Release);
            (
                std::mem::take(&mut state.flights),
                std::mem::take(&mut state.asks),
                std::mem::take(&mut state.subscriptions),
                state.watch.take(),
                std::mem::take(&mut state.permissions),
            )
        };
        flights.cancel_all(reason);
        drop((asks, subscriptions, watch, permissions));
        self.general.finish();
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn invalid(message: &str) -> ErrorObject {
    ErrorObject::new(codes::INVALID_PARAMS, message)
}

#[cfg(test)]
mod tests;
