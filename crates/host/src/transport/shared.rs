//! The link, its lock, and the road of every effect.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use legation_core::TaskSet;
use legation_wire::codes;
use legation_wire::framing::FrameError;
use legation_wire::json::Limits;
use legation_wire::listen::ListenFilter;
use legation_wire::message::{Cut, ErrorObject, Id, Message, MessageError, Parsed, Response};
use legation_wire::revision::Revision;
use legation_wire::upstream::{CallKey, Link, LinkConfig, Ready};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::call::{CallEvent, Slot};
use super::error::{StartError, too_large};
use super::events::{Event, Queue};
use super::http::{Http, Sse};
use super::stdio::Writer;
use super::{CallOrder, LineSink};

mod effects;

/// Deepest nesting accepted from a server of the user's own.
const DEPTH: usize = 512;
/// The first strays of a connection are told one by one, the rest by count.
const STRAYS_TOLD: u64 = 10;
/// The pause before a modern server is asked to listen again, doubled up to
/// the second.
const RELISTEN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// How long calls of a lost session may take to end, and how often that is looked at.
const LAST_CALLS: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(5);

/// What all parts of one connection share.
pub(super) struct Shared {
    inner: Mutex<Inner>,
    pub(super) events: Arc<Queue>,
    pub(super) limits: Limits,
    note: LineSink,
    /// Where the connection's own tasks and pipes live.
    runtime: Handle,
    /// Taken out when the connection is dropped, which ends the tasks.
    tasks: Mutex<Option<TaskSet>>,
    strays: AtomicU64,
    /// The server has forgotten the session.
    session_lost: AtomicBool,
    pub(super) revision: OnceLock<Revision>,
    /// Somebody asked for the end.
    pub(super) stopping: CancellationToken,
    /// Everything has ended.
    pub(super) stopped: CancellationToken,
}

/// What the lock guards. Messages are put in order while it is held, as the
/// link made them, and written when it is given back; nothing in here waits.
struct Inner {
    link: Link,
    slots: BTreeMap<CallKey, Arc<Slot>>,
    next_call: u64,
    carrier: Carrier,
    standing: Box<Standing>,
    /// The request of the call being made over HTTP, which its own stream sends.
    outgoing: Option<Box<Message>>,
    /// Who has something to write as soon as the lock is given back.
    queued: Option<Arc<Writer>>,
}

/// What stays as it is from call to call, apart from what each of them changes.
struct Standing {
    starting: Option<oneshot::Sender<Result<Ready, StartError>>>,
    /// Set before the link is told, so that calls end as lost and not refused.
    ended: Option<Arc<str>>,
    respawn: bool,
    /// What a modern server is to report, to ask again when it ends.
    wish: ListenFilter,
    relisten: Duration,
    relistener: Option<AbortHandle>,
}

/// How messages leave.
pub(super) enum Carrier {
    /// Nothing is connected yet, or any more.
    None,
    /// To a process.
    Stdio(Arc<Writer>),
    /// To a URL.
    Http(Arc<Http>),
    /// To a URL, with answers on a stream.
    Sse(Arc<Sse>),
}

// === impl Shared ===

impl Shared {
    pub(super) fn new(
        config: LinkConfig,
        max_message: usize,
        note: LineSink,
        starting: oneshot::Sender<Result<Ready, StartError>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::new(Inner {
                link: Link::new(config),
                slots: BTreeMap::new(),
                next_call: 1,
                carrier: Carrier::None,
                standing: Box::new(Standing {
                    starting: Some(starting),
                    ended: None,
                    respawn: false,
                    wish: ListenFilter::default(),
                    relisten: RELISTEN.0,
                    relistener: None,
                }),
                outgoing: None,
                queued: None,
            }),
            events: Arc::default(),
            limits: Limits {
                bytes: max_message,
                depth: DEPTH,
            },
            note,
            runtime: Handle::current(),
            tasks: Mutex::new(Some(TaskSet::new())),
            strays: AtomicU64::new(0),
            session_lost: AtomicBool::new(false),
            revision: OnceLock::new(),
            stopping: CancellationToken::new(),
            stopped: CancellationToken::new(),
        })
    }

    /// Tells the link something and carries out what it wants done.
    pub(super) fn drive<T>(self: &Arc<Self>, tell: impl FnOnce(&mut Link) -> T) -> T {
        let mut inner = self.lock();
        let told = tell(&mut inner.link);
        while let Some(effect) = inner.link.next_effect() {
            inner.carry_out(self, effect);
        }
        pump(inner);
        told
    }

    /// Registers a call and makes its request. Over stdio it is sent before
    /// this returns; over HTTP it is returned, for the call's stream to send.
    pub(super) fn call(
        self: &Arc<Self>,
        order: CallOrder,
    ) -> (CallKey, Arc<Slot>, Option<Box<Message>>) {
        let mut inner = self.lock();
        let key = CallKey(inner.next_call);
        inner.next_call += 1;
        let slot = Arc::new(Slot::default());
        inner.slots.insert(key, Arc::clone(&slot));
        inner.link.call(key, order.request);
        while let Some(effect) = inner.link.next_effect() {
            inner.carry_out(self, effect);
        }
        let outgoing = inner.outgoing.take();
        pump(inner);
        (key, slot, outgoing)
    }

    pub(super) fn cancel(self: &Arc<Self>, key: CallKey, reason: &str) {
        self.drive(|link| link.cancel(key, reason));
        self.lock().slots.remove(&key);
    }

    /// Takes text that came from the server, on the stream of a call if `via`.
    /// Returns what in it were answers.
    pub(super) fn feed(self: &Arc<Self>, text: Bytes, via: Option<CallKey>) -> Answers {
        let mut answers = Answers::default();
        match Message::parse(&text, &self.limits) {
            Ok(Parsed::One(message)) => self.take(message, via, &mut answers),
            Ok(Parsed::Batch(messages)) => {
                for message in messages {
                    match message {
                        Ok(message) => self.take(message, via, &mut answers),
                        Err(error) => self.garbled(&text, &error),
                    }
                }
            }
            Err(error) => self.garbled(&text, &error),
        }
        answers
    }

    fn take(self: &Arc<Self>, message: Message, via: Option<CallKey>, answers: &mut Answers) {
        if let Message::Response(response) = &message {
            answers.count += 1;
            answers.last.clone_from(&response.id);
        }
        self.drive(|link| link.received(message, via));
    }

    fn garbled(self: &Arc<Self>, text: &[u8], error: &MessageError) {
        self.stray(|| {
            let start = String::from_utf8_lossy(&text[..text.len().min(120)]);
            format!("text that is no message ({error}): {start}")
        });
        self.drive(|link| link.garbled(error.id.as_ref(), &error.to_string()));
    }

    /// Takes note of a line that was too long to be read: a call it answers ends.
    pub(super) fn overlong(self: &Arc<Self>, line: &FrameError) {
        let error = too_large(line.limit, Some(line.dropped));
        let answered = match line.excerpt.read() {
            Cut::Response(id) => self.drive(|link| link.unread(&id, error)),
            Cut::Request(_) | Cut::Other => false,
        };
        if !answered {
            self.stray(|| line.to_string());
        }
    }

    /// Ends a call whose exchange brought no answer.
    pub(super) fn fail_call(self: &Arc<Self>, key: CallKey, code: i64, why: &str) {
        self.fail_call_with(key, ErrorObject::new(code, why));
    }

    /// As [`fail_call`](Self::fail_call), with an error that is whole.
    pub(super) fn fail_call_with(self: &Arc<Self>, key: CallKey, error: ErrorObject) {
        let body = Err(error);
        let message = Message::Response(Response { id: None, body });
        self.drive(|link| link.http_failed(Some(key), 0, Some(message)));
    }

    /// Ends a call in words of this crate's own.
    pub(super) fn end_call(self: &Arc<Self>, key: CallKey, end: CallEvent) {
        // First the slot, which keeps only the first end.
        if let Some(slot) = self.lock().slots.remove(&key) {
            slot.push(end);
        }
        self.fail_call(key, codes::SERVER_UNAVAILABLE, "the call was not done");
    }

    /// The connection is gone: whoever waits is told why.
    pub(super) fn closed(self: &Arc<Self>, why: &str) -> After {
        {
            let mut inner = self.lock();
            inner.standing.ended.get_or_insert_with(|| why.into());
            inner.carrier = Carrier::None;
        }
        self.drive(Link::closed);
        let mut inner = self.lock();
        if std::mem::take(&mut inner.standing.respawn) {
            inner.standing.ended = None;
            return After::Respawn;
        }
        if let Some(starting) = inner.standing.starting.take() {
            let reason = why.to_owned();
            let _unheard = starting.send(Err(StartError::Closed { reason }));
        }
        drop(inner);
        self.events.push(Event::Closed(why.to_owned()));
        After::Over
    }

    /// The server has forgotten the session: another is needed. Calls under way still
    /// hear what the server says to them, which for most is the same.
    pub(super) fn session_lost(&self, why: &str) {
        self.session_lost.store(true, Ordering::Relaxed);
        self.start_failed(StartError::Closed {
            reason: why.to_owned(),
        });
        self.events.push(Event::Closed(why.to_owned()));
    }

    /// Waits for calls of a session that is lost, but not for long.
    pub(super) async fn let_calls_end(&self) {
        if !self.session_lost.load(Ordering::Relaxed) {
            return;
        }
        let ended = async {
            while !self.lock().slots.is_empty() {
                tokio::time::sleep(LOOK).await;
            }
        };
        let _some_hang = tokio::time::timeout(LAST_CALLS, ended).await;
    }

    /// The connection cannot be made.
    pub(super) fn start_failed(&self, error: StartError) {
        if let Some(starting) = self.lock().standing.starting.take() {
            let _unheard = starting.send(Err(error));
        }
    }

    /// The connection is made.
    pub(super) fn started(&self, ready: Ready) {
        if let Some(starting) = self.lock().standing.starting.take() {
            let _unheard = starting.send(Ok(ready));
        }
    }

    pub(super) fn set_carrier(&self, carrier: Carrier) {
        self.lock().carrier = carrier;
    }

    pub(super) fn listen(self: &Arc<Self>, wish: ListenFilter) {
        {
            let mut inner = self.lock();
            inner.standing.wish.clone_from(&wish);
            inner.standing.relisten = RELISTEN.0;
            if let Some(waiting) = inner.standing.relistener.take() {
                waiting.abort();
            }
        }
        self.drive(|link| link.listen(wish));
    }

    /// Runs something of the connection's own, where its pipes live.
    pub(super) fn spawn<F>(&self, name: &'static str, future: F) -> Option<AbortHandle>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.as_ref()?.spawn_on(&self.runtime, name, future)
    }

    /// Runs something on the runtime of whoever asks, with whose reactor its
    /// sockets are registered.
    pub(super) fn spawn_here<F>(&self, name: &'static str, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tasks) = tasks.as_ref() {
            tasks.spawn(name, future);
        }
    }

    pub(super) fn take_tasks(&self) -> Option<TaskSet> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.take()
    }

    pub(super) fn note(&self, line: &str) {
        (self.note)(line);
    }

    /// Counts something the server should not have sent, and tells the first.
    pub(super) fn stray(&self, what: impl FnOnce() -> String) {
        let count = self.strays.fetch_add(1, Ordering::Relaxed) + 1;
        if count <= STRAYS_TOLD {
            self.note(&what());
        } else if count.is_power_of_two() {
            self.note(&format!(
                "{count} messages that do not belong were left out"
            ));
        }
    }

    /// Messages that did not belong, so far.
    pub(super) fn strays(&self) -> u64 {
        self.strays.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("revision", &self.revision.get())
            .finish_non_exhaustive()
    }
}

/// Which answers a text held.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// How many, those without an id included.
    pub(super) count: usize,
    /// The id of the last one.
    pub(super) last: Option<Id>,
}

/// What follows the end of a byte stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// The probe broke the server: start it again.
    Respawn,
    /// Nothing.
    Over,
}

/// Gives the lock back and writes what was queued under it.
fn pump(mut inner: MutexGuard<'_, Inner>) {
    let queued = inner.queued.take();
    drop(inner);
    if let Some(writer) = queued {
        writer.pump();
    }
}

impl fmt::Debug for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Stdio(_) => "Stdio",
            Self::Http(_) => "Http",
            Self::Sse(_) => "Sse",
        })
    }
}
