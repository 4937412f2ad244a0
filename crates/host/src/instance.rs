//! One running copy of a server.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use legation_core::{Cancel, CancelReason, Clock, SeatId, ServerName, SharedClock, Wall};
use legation_gate::{CallFailure, Peer};
use legation_wire::caps::ClientCapabilities;
use tokio::sync::{Notify, watch};

use crate::flight::{Flight, Inbox, Loose, LooseAsk};
use crate::port::{About, AskKey, Port};
use crate::published::Published;

mod timer;

/// Whose instance it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    /// Everybody's.
    Shared,
    /// Nobody's: started to learn what the server offers.
    Probe,
    /// One seat's.
    Seat(SeatId),
    /// The clients' that work in one folder.
    Folder(Arc<Path>),
}

/// How far it is.
#[derive(Debug, Clone)]
pub(crate) enum Phase {
    /// Connecting, for the first time or again.
    Starting,
    /// Connected, with its definitions read.
    Connected(Arc<Live>),
    /// Not connected; tried again from time to time.
    Failed(Arc<str>),
    /// Wants a sign-in; tried again when told.
    NeedsAuth,
    /// Ended for good.
    Stopped,
}

/// A connection whose definitions are known.
#[derive(Debug)]
pub(crate) struct Live {
    /// The connection.
    pub(crate) port: Arc<dyn Port>,
    /// What the server said of itself.
    pub(crate) about: About,
    /// The child process, if there is one.
    pub(crate) pid: Option<u32>,
    /// What it offers now.
    pub(crate) published: ArcSwap<Published>,
    /// Whether its tools can be called as tasks of 2025-11-25.
    pub(crate) legacy_tasks: bool,
    /// Severity of the level last set at a legacy server.
    pub(crate) level: Mutex<Option<usize>>,
    /// What the client of the last call could be asked. Most calls are of clients alike.
    pub(crate) last_asked: Mutex<Arc<ClientCapabilities>>,
}

/// One instance. Its supervisor alone moves the phase.
#[derive(Debug)]
pub(crate) struct Instance {
    /// Whose it is.
    pub(crate) key: Key,
    /// How far it is.
    phase: watch::Sender<Phase>,
    /// Milliseconds since 1970 at which the phase began.
    since_ms: AtomicI64,
    /// Ends it.
    pub(crate) stop: Cancel,
    /// Wakes its supervisor: subscriptions changed, or a retry is wanted.
    pub(crate) nudge: Notify,
    /// Told whenever a call ends.
    drained: Notify,
    /// Told when a call wants to hear of a moment sooner than the one waited for.
    sooner: Notify,
    clock: SharedClock,
    usage: Mutex<Usage>,
}

#[derive(Debug)]
struct Usage {
    /// Small, because they move up where an older one ends.
    calls: BTreeMap<u64, Box<Running>>,
    next: u64,
    /// The next moment of which a call may want to hear.
    look: Option<tokio::time::Instant>,
    /// The client itself, for what happens outside calls.
    peer: Option<Arc<dyn Peer>>,
    last_used: Instant,
    retry_now: bool,
    roots_changed: bool,
    /// A skill was got that is not what was listed.
    skills_changed: bool,
    /// No call may enter any more.
    closing: bool,
    /// Questions of calls that ended before their clients had answered. No more
    /// than a connection may have open at once.
    stranded: Vec<LooseAsk>,
    /// When each seat last gave up a call that the server may be at still.
    given_up: HashMap<SeatId, Instant>,
}

#[derive(Debug)]
struct Running {
    seat: SeatId,
    peer: Arc<dyn Peer>,
    inbox: Arc<Inbox>,
    /// Of which moment it wants to hear.
    until: Option<tokio::time::Instant>,
}

/// The longest an end may take.
const STOP_MAX: Duration = Duration::from_secs(30);

/// How long a server may still be at a call that its client gave up: so long
/// its words of no call may be about that one.
const LATE_WORDS: Duration = Duration::from_secs(60);

// === impl Live ===

impl Live {
    /// What a client that declares these capabilities can be asked in one call, without tasks of
    /// the handshake era, and with those of the modern one if the hub can follow them.
    pub(crate) fn asked(
        &self,
        declared: &ClientCapabilities,
        tasks_ext: bool,
    ) -> Arc<ClientCapabilities> {
        let mut last = self
            .last_asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !last.is_of(declared, tasks_ext) {
            *last = Arc::new(ClientCapabilities {
                tasks_ext,
                tasks_legacy: None,
                ..declared.clone()
            });
        }
        Arc::clone(&last)
    }
}

// === impl Instance ===

impl Instance {
    /// An instance that its supervisor is about to start.
    pub(crate) fn new(key: Key, peer: Option<Arc<dyn Peer>>, clock: SharedClock) -> Self {
        Self {
            key,
            phase: watch::Sender::new(Phase::Starting),
            since_ms: AtomicI64::new(clock.wall().0),
            stop: Cancel::new(),
            nudge: Notify::new(),
            drained: Notify::new(),
            sooner: Notify::new(),
            usage: Mutex::new(Usage {
                calls: BTreeMap::new(),
                next: 0,
                look: None,
                peer,
                last_used: clock.now(),
                retry_now: false,
                roots_changed: false,
                skills_changed: false,
                closing: false,
                stranded: Vec::new(),
                given_up: HashMap::new(),
            }),
            clock,
        }
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it is.
    pub(crate) fn phase(&self) -> Phase {
        self.phase.borrow().clone()
    }

    /// Since when it is so.
    pub(crate) fn since(&self) -> Wall {
        Wall(self.since_ms.load(Ordering::Relaxed))
    }

    /// Moves on; for its supervisor alone.
    pub(crate) fn set(&self, phase: Phase, clock: &dyn Clock) {
        self.since_ms.store(clock.wall().0, Ordering::Relaxed);
        self.phase.send_replace(phase);
    }

    /// The connection, if it stands.
    pub(crate) fn live(&self) -> Option<Arc<Live>> {
        match &*self.phase.borrow() {
            Phase::Connected(live) => Some(Arc::clone(live)),
            _ => None,
        }
    }

    /// The connection, waiting for it as long as it is being made.
    pub(crate) async fn connected(
        &self,
        server: &ServerName,
        limit: Duration,
        cancel: &Cancel,
    ) -> Result<Arc<Live>, CallFailure> {
        if let Some(live) = self.live() {
            return Ok(live);
        }
        self.connection(None, server, limit, cancel).await
    }

    /// The connection that follows `before`, waiting as [`connected`](Self::connected)
    /// does.
    pub(crate) async fn connected_after(
        &self,
        before: &Arc<Live>,
        server: &ServerName,
        limit: Duration,
        cancel: &Cancel,
    ) -> Result<Arc<Live>, CallFailure> {
        self.connection(Some(before), server, limit, cancel).await
    }

    async fn connection(
        &self,
        before: Option<&Arc<Live>>,
        server: &ServerName,
        limit: Duration,
        cancel: &Cancel,
    ) -> Result<Arc<Live>, CallFailure> {
        let is_before = |live: &Arc<Live>| before.is_some_and(|before| Arc::ptr_eq(before, live));
        let mut phase = self.phase.subscribe();
        let settled = async {
            loop {
                match settled(&phase.borrow_and_update(), server) {
                    // Its supervisor has not heard yet that it is gone.
                    Some(Ok(live)) if is_before(&live) => {}
                    Some(settled) => return settled,
                    None => {}
                }
                if phase.changed().await.is_err() {
                    return Err(gone(server));
                }
            }
        };
        tokio::select! {
            settled = settled => settled,
            reason = cancel.cancelled() => Err(CallFailure::Cancelled(reason)),
            () = tokio::time::sleep(limit) => Err(CallFailure::NotConnected {
                server: server.clone(),
                reason: format!("still connecting after {limit:?}"),
            }),
        }
    }

    /// Waits until it is known whether there will be a connection.
    pub(crate) async fn settled(&self) {
        let mut phase = self.phase.subscribe();
        // An error means that the instance is gone, which settles it too.
        let waited = phase
            .wait_for(|phase| !matches!(phase, Phase::Starting))
            .await;
        drop(waited);
    }

    /// Enters a call of a seat, which wants to be told when a moment is past; `None` when the
    /// instance is about to end.
    pub(crate) fn enter(
        self: &Arc<Self>,
        seat: &SeatId,
        peer: &Arc<dyn Peer>,
        until: tokio::time::Instant,
    ) -> Option<Flight> {
        let inbox = Arc::new(Inbox::default());
        let mut usage = self.usage();
        if usage.closing {
            return None;
        }
        let id = usage.next;
        usage.next += 1;
        // What clients share never ends for want of use.
        if !matches!(self.key, Key::Shared) {
            usage.last_used = self.clock.now();
        }
        let running = Box::new(Running {
            seat: seat.clone(),
            peer: Arc::clone(peer),
            inbox: Arc::clone(&inbox),
            until: Some(until),
        });
        usage.calls.insert(id, running);
        let is_sooner = usage.looks_at(until);
        drop(usage);
        if is_sooner {
            self.sooner.notify_one();
        }
        Some(Flight::new(Arc::clone(self), id, inbox))
    }

    /// Ends a call. What it was asked and did not answer is for another to
    /// answer; `over` unless the server may be at it still.
    pub(crate) fn leave(&self, id: u64, over: bool, unanswered: Vec<LooseAsk>) {
        let mut usage = self.usage();
        let running = usage.calls.remove(&id);
        if let Some(running) = running {
            if !over && !matches!(self.key, Key::Seat(_)) {
                let now = self.clock.now();
                usage
                    .given_up
                    .retain(|_, at| now.saturating_duration_since(*at) < LATE_WORDS);
                usage.given_up.insert(running.seat, now);
            }
            let waiting = running.inbox.empty();
            usage.stranded.extend(waiting);
        }
        usage.stranded.extend(unanswered);
        let idle = usage.calls.is_empty();
        let stranded = !usage.stranded.is_empty();
        drop(usage);
        if stranded {
            self.nudge.notify_one();
        }
        if idle {
            self.drained.notify_waiters();
        }
    }

    /// Takes questions back from a call, for another to answer.
    pub(crate) fn strand(&self, asks: Vec<LooseAsk>) {
        self.usage().stranded.extend(asks);
        self.nudge.notify_one();
    }

    /// Questions that belong to a call no longer.
    pub(crate) fn take_stranded(&self) -> Vec<LooseAsk> {
        std::mem::take(&mut self.usage().stranded)
    }

    /// Gives a question that belongs to no call to the newest call of the only
    /// client there is. Gives it back when there is none, or more than one.
    pub(crate) fn hand_to_call(&self, mut ask: LooseAsk) -> Result<(), LooseAsk> {
        let usage = self.usage();
        if !usage.is_of_one(self.clock.now()) {
            return Err(ask);
        }
        for call in usage.calls.values().rev() {
            match call.inbox.put(Loose::Asked(ask)) {
                Ok(()) => return Ok(()),
                Err(Loose::Asked(back)) => ask = back,
                // What comes back is what was put in.
                Err(Loose::Withdrawn(_) | Loose::Overdue) => return Ok(()),
            }
        }
        Err(ask)
    }

    /// Tells whoever was given a question that it needs no answer any more.
    pub(crate) fn withdraw(&self, key: &AskKey) {
        let mut usage = self.usage();
        usage.stranded.retain(|ask| ask.key != *key);
        for call in usage.calls.values() {
            // A call whose inbox is full has others to ask first; the answer to
            // a withdrawn question is dropped.
            drop(call.inbox.put(Loose::Withdrawn(key.clone())));
        }
    }

    /// How many calls are under way.
    pub(crate) fn calls(&self) -> usize {
        self.usage().calls.len()
    }

    /// Whether no other client than this one can have caused what the server
    /// does now.
    pub(crate) fn is_only(&self, seat: &SeatId) -> bool {
        let usage = self.usage();
        usage.is_of_one(self.clock.now()) && usage.calls.values().all(|call| call.seat == *seat)
    }

    /// The client of the newest call, else the seat's own.
    pub(crate) fn peer(&self) -> Option<Arc<dyn Peer>> {
        let usage = self.usage();
        let newest = usage.calls.values().next_back();
        newest
            .map(|call| &call.peer)
            .or(usage.peer.as_ref())
            .cloned()
    }

    /// The client of the newest call, if all calls are of one client.
    pub(crate) fn calling_peer(&self) -> Option<Arc<dyn Peer>> {
        let usage = self.usage();
        let newest = usage.calls.values().next_back();
        newest
            .filter(|_| usage.is_of_one(self.clock.now()))
            .map(|call| Arc::clone(&call.peer))
    }

    /// The seat's client, for the handshake.
    pub(crate) fn seat_peer(&self) -> Option<Arc<dyn Peer>> {
        self.usage().peer.clone()
    }

    /// Closes it if nothing has used it for `limit`.
    pub(crate) fn close_if_idle(&self, now: Instant, limit: Duration) -> bool {
        let mut usage = self.usage();
        if !usage.calls.is_empty() || now.saturating_duration_since(usage.last_used) < limit {
            return false;
        }
        usage.closing = true;
        true
    }

    /// Asks for another attempt to connect, now.
    pub(crate) fn retry(&self) {
        self.usage().retry_now = true;
        self.nudge.notify_one();
    }

    /// Whether another attempt was asked for since this was last asked.
    pub(crate) fn take_retry(&self) -> bool {
        std::mem::take(&mut self.usage().retry_now)
    }

    /// Notes that the client's roots changed.
    pub(crate) fn roots_changed(&self) {
        self.usage().roots_changed = true;
        self.nudge.notify_one();
    }

    /// Notes that a skill is not what its entry in the list says.
    pub(crate) fn skills_changed(&self) {
        self.usage().skills_changed = true;
        self.nudge.notify_one();
    }

    /// Whether that was noted since this was last asked.
    pub(crate) fn take_skills_changed(&self) -> bool {
        std::mem::take(&mut self.usage().skills_changed)
    }

    /// Whether the roots changed since this was last asked.
    pub(crate) fn take_roots_changed(&self) -> bool {
        std::mem::take(&mut self.usage().roots_changed)
    }

    /// Waits until it has no calls.
    async fn drained(&self) {
        loop {
            let told = self.drained.notified();
            if self.usage().calls.is_empty() {
                return;
            }
            told.await;
        }
    }

    /// Lets running calls end, but not for longer than `limit`, then ends it
    /// and waits until nothing of it is left.
    pub(crate) async fn end(&self, limit: Duration) {
        // Whether the calls ended or the time did, the instance ends now.
        drop(tokio::time::timeout(limit, self.drained()).await);
        self.stop.cancel(CancelReason::Shutdown);
        let mut phase = self.phase.subscribe();
        let stopped = phase.wait_for(|phase| matches!(phase, Phase::Stopped));
        // A transport that cannot end its process must not keep the hub.
        drop(tokio::time::timeout(STOP_MAX, stopped).await);
    }
}

fn settled(phase: &Phase, server: &ServerName) -> Option<Result<Arc<Live>, CallFailure>> {
    match phase {
        Phase::Starting => None,
        Phase::Connected(live) => Some(Ok(Arc::clone(live))),
        Phase::Failed(reason) => Some(Err(CallFailure::NotConnected {
            server: server.clone(),
            reason: reason.to_string(),
        })),
        Phase::NeedsAuth => Some(Err(CallFailure::NeedsAuth {
            server: server.clone(),
        })),
        Phase::Stopped => Some(Err(gone(server))),
    }
}

fn gone(server: &ServerName) -> CallFailure {
    CallFailure::NotConnected {
        server: server.clone(),
        reason: "it was stopped".to_owned(),
    }
}

// === impl Usage ===

impl Usage {
    /// Whether every call in flight, and every one that was given up lately, is
    /// of one seat.
    fn is_of_one(&self, now: Instant) -> bool {
        let late = self.given_up.iter();
        let late = late.filter(|(_, at)| now.saturating_duration_since(**at) < LATE_WORDS);
        let mut seats = self
            .calls
            .values()
            .map(|call| &call.seat)
            .chain(late.map(|(seat, _)| seat));
        let Some(first) = seats.next() else {
            return true;
        };
        seats.all(|seat| seat == first)
    }
}
