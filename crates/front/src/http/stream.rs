//! One request's answer on its way out: as JSON when nothing but the answer is
//! to be said, as an event stream as soon as something else comes first.
//!
//! The call is driven by whoever waits for its answer, the connection itself;
//! no task is started for it. Only a call whose connection is lost before its
//! end moves into a task: a legacy one to its end, because a client may come
//! back for it, a modern one to be called off in good order.

use std::fmt;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use legation_core::{CancelReason, Wall};
use legation_wire::sse::{Event, write_comment};
use tokio::time::Sleep;

use crate::outbox::{Next, Outbox};
use crate::outgoing::Deliveries;
use crate::session::Session;
use crate::shared::{Held, Shared};

mod exchange;

pub(super) use exchange::{Answer, Exchange, Lost, Waiting};

/// A chunk is filled with waiting messages up to this many bytes.
const CHUNK: usize = 16 * 1024;
/// What a client is told to wait before it comes back, in milliseconds.
const RETRY_MS: u64 = 1000;
/// The client did not read for too long.
#[derive(Debug, thiserror::Error)]
#[error("the client did not read what was sent to it")]
pub(super) struct Broken;

/// What makes a stream one that a client can come back to.
#[derive(Debug)]
pub(super) struct Resumable {
    session: Arc<Session>,
    number: u64,
    /// For the session's general stream: which reader this is.
    reader: Option<u64>,
}

/// Messages as server-sent events.
pub(super) struct EventStream {
    exchange: Exchange,
    cursor: u64,
    resumable: Option<Resumable>,
    head: Option<Bytes>,
    keepalive: Pin<Box<Sleep>>,
    closing: Option<Pin<Box<Sleep>>>,
    expiry: Option<Expiry>,
    /// Ends with the stream (the pair of 2024-11-05).
    session: Option<Arc<Session>>,
    over: bool,
    /// Who wants to know when the last piece was written.
    leaving: Deliveries,
}

/// When the credential that a stream was opened with ends, and somebody to wake the stream then.
struct Expiry {
    at: Wall,
    timer: Pin<Box<Sleep>>,
}

// === impl Resumable ===

impl Resumable {
    /// An event's id: the stream, and where to go on after the event.
    fn id(&self, next: u64) -> Box<str> {
        format!("{}-{next}", self.number).into()
    }

    /// Reads [`Resumable::id`].
    pub(super) fn parse(id: &str) -> Option<(u64, u64)> {
        let (number, next) = id.split_once('-')?;
        Some((number.parse().ok()?, next.parse().ok()?))
    }
}

// === impl EventStream ===

impl EventStream {
    /// A stream that begins behind the first `cursor` messages.
    fn new(exchange: Exchange, cursor: u64, resumable: Option<Resumable>, fresh: bool) -> Self {
        let settings = &exchange.shared.settings;
        let polls = resumable.as_ref().is_some_and(|resumable| {
            resumable.session.revision() >= legation_wire::revision::Revision::V2025_11_25
        });
        let head = resumable
            .as_ref()
            .filter(|_| polls && fresh)
            .map(|resumable| {
                let priming = Event {
                    id: Some(resumable.id(cursor)),
                    retry_ms: Some(RETRY_MS),
                    ..Event::default()
                };
                let mut out = Vec::new();
                priming.write_to(&mut out);
                out.into()
            });
        let poll_close = settings.poll_close;
        Self {
            keepalive: Box::pin(tokio::time::sleep(settings.keepalive)),
            closing: polls.then(|| Box::pin(tokio::time::sleep(poll_close))),
            exchange,
            cursor,
            resumable,
            head,
            expiry: None,
            session: None,
            over: false,
            leaving: Deliveries::default(),
        }
    }

    /// A stream over an outbox that others fill: a session's general one, or
    /// one a client comes back to at `cursor`.
    pub(super) fn over(
        shared: &Held,
        session: &Arc<Session>,
        number: u64,
        outbox: &Arc<Outbox>,
        cursor: u64,
        fresh: bool,
    ) -> Self {
        let reader = (number == 0).then(|| session.reader_taken());
        let exchange = Exchange {
            shared: shared.clone(),
            answer: None,
            outbox: Arc::clone(outbox),
            lost: Lost::Survive,
        };
        let resumable = Resumable {
            session: Arc::clone(session),
            number,
            reader,
        };
        Self::new(exchange, cursor, Some(resumable), fresh)
    }

    /// The one stream of a session of 2024-11-05, which ends with it.
    pub(super) fn pair(shared: &Held, session: &Arc<Session>, head: Bytes) -> Self {
        let exchange = Exchange {
            shared: shared.clone(),
            answer: None,
            outbox: Arc::clone(&session.general),
            lost: Lost::Survive,
        };
        let mut stream = Self::new(exchange, 0, None, true);
        stream.head = Some(head);
        stream.session = Some(Arc::clone(session));
        stream
    }

    /// Ends when the credential does that it was opened with: what is said after that is for
    /// whoever comes with another. A client takes it for a stream that broke, and opens one anew.
    pub(super) fn ending(mut self, until: Option<Wall>) -> Self {
        let shared = &self.exchange.shared;
        self.expiry = until.map(|at| Expiry {
            at,
            timer: Box::pin(tokio::time::sleep(left(at, shared))),
        });
        self
    }

    /// The next piece of the body; asked for when the one before was written.
    pub(super) fn poll_chunk(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Broken>>> {
        std::mem::take(&mut self.leaving).written();
        if let Some(head) = self.head.take() {
            return Poll::Ready(Some(Ok(head)));
        }
        if self.over || self.poll_expired(cx) {
            return Poll::Ready(None);
        }
        if let Some(answer) = self.exchange.answer.as_mut()
            && let Poll::Ready(answer) = answer.as_mut().poll(cx)
        {
            self.exchange.answer = None;
            self.exchange.finish(answer);
        }
        if self.is_superseded() {
            self.over = true;
            return Poll::Ready(None);
        }
        let mut chunk = Vec::new();
        while chunk.len() < CHUNK {
            match self.exchange.outbox.poll_next(cx, &mut self.cursor) {
                Poll::Ready(Next::Message(number, message)) => {
                    self.write(&mut chunk, number, message)
                }
                Poll::Ready(Next::Finished) => {
                    self.over = true;
                    if let Some(resumable) = &self.resumable {
                        resumable.session.stream_delivered(resumable.number);
                    }
                    break;
                }
                Poll::Ready(Next::Overrun) => {
                    self.over = true;
                    return Poll::Ready(Some(Err(Broken)));
                }
                Poll::Pending => break,
            }
        }
        if !chunk.is_empty() {
            self.leaving = self.exchange.outbox.take_leaving();
            let keepalive = self.exchange.shared.settings.keepalive;
            self.keepalive
                .as_mut()
                .reset(tokio::time::Instant::now() + keepalive);
            return Poll::Ready(Some(Ok(chunk.into())));
        }
        if self.over {
            return Poll::Ready(None);
        }
        self.poll_timers(cx)
    }

    fn write(&self, chunk: &mut Vec<u8>, number: u64, message: Bytes) {
        let event = Event {
            id: self
                .resumable
                .as_ref()
                .map(|resumable| resumable.id(number + 1)),
            event: Some("message".into()),
            ..Event::message(message)
        };
        event.write_to(chunk);
    }

    fn poll_timers(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        if let Some(closing) = &mut self.closing
            && closing.as_mut().poll(cx).is_ready()
        {
            self.over = true;
            return Poll::Ready(None);
        }
        if self.keepalive.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        let keepalive = self.exchange.shared.settings.keepalive;
        self.keepalive
            .as_mut()
            .reset(tokio::time::Instant::now() + keepalive);
        let mut comment = Vec::new();
        write_comment(&mut comment, "");
        Poll::Ready(Some(Ok(comment.into())))
    }

    /// Whether its credential has ended. It is asked before anything is said, because a stream that
    /// is busy has no time for timers; and of the clock, because a machine may have slept.
    fn poll_expired(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(expiry) = &mut self.expiry else {
            return false;
        };
        let shared = &self.exchange.shared;
        while expiry.timer.as_mut().poll(cx).is_ready() {
            let left = left(expiry.at, shared);
            if left.is_zero() {
                break;
            }
            expiry
                .timer
                .as_mut()
                .reset(tokio::time::Instant::now() + left);
        }
        self.over |= left(expiry.at, shared).is_zero();
        self.over
    }

    /// Whether another stream has taken the session's general messages over.
    fn is_superseded(&self) -> bool {
        self.resumable.as_ref().is_some_and(|resumable| {
            resumable
                .reader
                .is_some_and(|reader| !resumable.session.is_reader(reader))
        })
    }
}

/// How long it is until then; not a century, which a timer cannot wait.
fn left(until: Wall, shared: &Shared) -> Duration {
    const MOST: Duration = Duration::from_secs(24 * 60 * 60);
    let ms = until.0.saturating_sub(shared.clock.wall().0);
    Duration::from_millis(u64::try_from(ms).unwrap_or_default()).min(MOST)
}

impl Drop for EventStream {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            self.exchange.shared.sessions.close(
                &self.exchange.shared,
                &session.id,
                CancelReason::Disconnected,
            );
        }
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("exchange", &self.exchange)
            .field("cursor", &self.cursor)
            .field("resumable", &self.resumable)
            .finish_non_exhaustive()
    }
}
