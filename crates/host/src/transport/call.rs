//! One call under way, from the side of whoever waits for it.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use legation_wire::headers::ParamHeaders;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::upstream::{AskKey, CallKey, CallRequest};

use super::shared::Shared;

/// Most progress and log messages that may wait for a slow reader; newer ones
/// are dropped. Questions are bounded by the link, and there is one end.
const MAX_WAITING: usize = 256;

/// What to call.
#[derive(Debug, Clone)]
pub struct CallOrder {
    /// The request.
    pub request: CallRequest,
    /// Parameters that the tool's schema wants mirrored in headers.
    pub declared: Option<Arc<ParamHeaders>>,
}

/// Something for one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEvent {
    /// Progress, without its token.
    Progress(Object),
    /// A log message: parameters of `notifications/message`.
    Log(Raw),
    /// A question to the client whose call this is; answer it with
    /// [`super::Connection::answer`] or [`CallStream::answer`].
    Ask {
        /// To answer under.
        key: AskKey,
        /// The method.
        method: Box<str>,
        /// Its parameters.
        params: Option<Raw>,
    },
    /// A question needs no answer any more.
    AskWithdrawn(AskKey),
    /// The end: the result as the server sent it, or an error.
    Done(Result<Raw, ErrorObject>),
    /// The end: the connection is gone, and why. Whether the call was done is
    /// not known.
    Lost(String),
    /// The end: the session that it was to be made in is gone, and why. The server
    /// did nothing about it, so it may be made again.
    NotMade(String),
    /// The end: the server answered 401 or 403.
    NeedsAuth {
        /// The status.
        status: u16,
        /// `WWW-Authenticate`, if it was sent.
        challenge: Option<String>,
    },
}

/// One call under way. Dropped before its end, it is cancelled at the server.
pub struct CallStream {
    shared: Arc<Shared>,
    key: CallKey,
    slot: Arc<Slot>,
    /// Over HTTP: the exchange itself, driven by whoever calls `next`.
    driver: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// It has not been polled yet.
    fresh: bool,
    over: bool,
}

/// Where a call's events wait.
#[derive(Debug, Default)]
pub(super) struct Slot {
    state: Mutex<State>,
    /// An event was added at some time.
    any: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// What comes before the end, which most calls have nothing of.
    waiting: VecDeque<CallEvent>,
    end: Option<CallEvent>,
    ended: bool,
    waker: Option<Waker>,
}

// === impl CallOrder ===

impl From<CallRequest> for CallOrder {
    fn from(request: CallRequest) -> Self {
        Self {
            request,
            declared: None,
        }
    }
}

// === impl CallEvent ===

impl CallEvent {
    /// Whether nothing follows.
    #[must_use]
    pub fn is_end(&self) -> bool {
        matches!(
            self,
            Self::Done(_) | Self::Lost(_) | Self::NotMade(_) | Self::NeedsAuth { .. }
        )
    }
}

// === impl CallStream ===

impl CallStream {
    pub(super) fn new(
        shared: Arc<Shared>,
        key: CallKey,
        slot: Arc<Slot>,
        driver: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    ) -> Self {
        Self {
            shared,
            key,
            slot,
            driver,
            fresh: true,
            over: false,
        }
    }

    /// The next event; the last one [is an end](CallEvent::is_end), and after
    /// it there is only [`CallEvent::Lost`]. Over HTTP nothing moves unless
    /// this is awaited. May be dropped and called again.
    pub async fn next(&mut self) -> CallEvent {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// As [`next`](Self::next), for hand-written futures.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<CallEvent> {
        if self.over {
            return Poll::Ready(CallEvent::Lost("the call has ended before".to_owned()));
        }
        // At first there is no waker to take out, and hardly ever an event.
        let is_fresh = std::mem::replace(&mut self.fresh, false);
        let mut popped = match is_fresh && !self.slot.any.load(Ordering::Acquire) {
            true => None,
            false => self.slot.pop(),
        };
        // The reader's waker is not in the slot while the exchange is polled:
        // what it pushes is popped right below, so a wake-up would be wasted.
        if popped.is_none()
            && let Some(driver) = &mut self.driver
            && driver.as_mut().poll(cx).is_ready()
        {
            self.driver = None;
            // Every way out of an exchange leaves an end behind; should one
            // not, waiting for ever would be the worse answer.
            popped = self.slot.pop_ended("the exchange ended without an answer");
        }
        if popped.is_none() {
            popped = match self.slot.poll_pop(cx) {
                Poll::Ready(event) => Some(event),
                Poll::Pending => return Poll::Pending,
            };
        }
        let Some(event) = popped else {
            return Poll::Pending;
        };
        if event.is_end() {
            self.over = true;
            self.driver = None;
        }
        Poll::Ready(event)
    }

    /// Answers a question of this call.
    pub fn answer(&self, key: AskKey, body: Result<Raw, ErrorObject>) {
        self.shared.drive(|link| link.answer(key, body));
    }

    /// Calls it off, with a reason for the server; the same as dropping it,
    /// which gives none.
    pub fn cancel(mut self, reason: &str) {
        self.cancel_with(reason);
    }

    fn cancel_with(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.over, true) {
            // The exchange first: over HTTP closing it is the cancellation.
            self.driver = None;
            self.shared.cancel(self.key, reason);
        }
    }
}

impl Drop for CallStream {
    fn drop(&mut self) {
        self.cancel_with("");
    }
}

impl fmt::Debug for CallStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallStream")
            .field("key", &self.key)
            .field("over", &self.over)
            .finish_non_exhaustive()
    }
}

// === impl Slot ===

impl Slot {
    /// Adds an event. What follows an end is dropped.
    pub(super) fn push(&self, event: CallEvent) {
        let waker = {
            let mut state = self.lock();
            let droppable = matches!(event, CallEvent::Progress(_) | CallEvent::Log(_));
            if state.ended || (droppable && state.waiting.len() >= MAX_WAITING) {
                return;
            }
            if event.is_end() {
                state.ended = true;
                state.end = Some(event);
            } else {
                state.waiting.push_back(event);
            }
            self.any.store(true, Ordering::Release);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether the end is there, read or not.
    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    /// Waits until everything has been read. Only for the exchange, which is
    /// polled by the reader itself and only when nothing waits.
    pub(super) async fn drained(&self) {
        poll_fn(|_| {
            if self.lock().is_empty() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    fn pop(&self) -> Option<CallEvent> {
        let mut state = self.lock();
        state.waker = None;
        state.pop()
    }

    /// The next event, of which there is one: nothing follows any more.
    fn pop_ended(&self, why: &str) -> Option<CallEvent> {
        let mut state = self.lock();
        if !state.ended {
            state.ended = true;
            state.end = Some(CallEvent::Lost(why.to_owned()));
        }
        state.pop()
    }

    fn poll_pop(&self, cx: &Context<'_>) -> Poll<CallEvent> {
        let mut state = self.lock();
        if let Some(event) = state.pop() {
            return Poll::Ready(event);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    fn pop(&mut self) -> Option<CallEvent> {
        self.waiting.pop_front().or_else(|| self.end.take())
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.end.is_none()
    }
}
