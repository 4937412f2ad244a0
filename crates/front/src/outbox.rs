//! What waits to be written to a client: one bounded queue per stream.
//!
//! Two uses share it. A plain outbox forgets what was read. A kept one
//! remembers the latest messages under their numbers, so that a client whose
//! connection broke can go on after the last one it saw. A channel would do for
//! the first use only, and would not tell what may be dropped from what not.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::outgoing::{Deliveries, Outgoing};

/// Past this many unread messages, or bytes, what may be dropped is dropped.
const SOFT_MESSAGES: usize = 64;
const SOFT_BYTES: usize = 256 * 1024;
/// Past this many unread messages, or bytes, the client counts as not reading.
const HARD_MESSAGES: usize = 1024;
const HARD_BYTES: usize = 8 << 20;
/// What a kept outbox remembers.
const KEEP_MESSAGES: usize = 256;
const KEEP_BYTES: usize = 1 << 20;

/// What becomes of a message for a client that does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// It is dropped.
    Droppable,
    /// The stream is given up.
    Needed,
    /// It is queued all the same; whoever answers waits for room beforehand.
    Answer,
}

/// What a reader gets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A message and its number.
    Message(u64, Bytes),
    /// Nothing will follow.
    Finished,
    /// The client did not read for too long.
    Overrun,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Outbox {
    keep: bool,
    inner: Mutex<Inner>,
    /// Told when something was read, and at the end.
    room: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// Number of the first message in `items`.
    first: u64,
    items: VecDeque<Outgoing>,
    bytes: usize,
    /// Of what a reader got last, until it asks.
    leaving: Deliveries,
    /// Number behind the last one that any reader got.
    delivered: u64,
    finished: bool,
    overrun: bool,
    reader: Option<Waker>,
}

// === impl Outbox ===

impl Outbox {
    /// Forgets what was read.
    pub(crate) fn plain() -> Self {
        Self {
            keep: false,
            inner: Mutex::default(),
            room: Notify::new(),
        }
    }

    /// Remembers the latest messages.
    pub(crate) fn kept() -> Self {
        Self {
            keep: true,
            inner: Mutex::default(),
            room: Notify::new(),
        }
    }

    /// Queues a message; `false` when it was dropped.
    pub(crate) fn push(&self, message: impl Into<Outgoing>, weight: Weight) -> bool {
        let message = message.into();
        let mut inner = self.lock();
        if inner.finished || inner.overrun {
            return false;
        }
        let unread = inner.unread();
        match weight {
            Weight::Droppable
                if unread >= SOFT_MESSAGES || inner.bytes >= SOFT_BYTES + self.kept_bytes() =>
            {
                return false;
            }
            Weight::Needed if unread >= HARD_MESSAGES || inner.bytes >= HARD_BYTES => {
                inner.overrun = true;
                inner.wake();
                return false;
            }
            Weight::Droppable | Weight::Needed | Weight::Answer => {}
        }
        inner.bytes += message.bytes.len();
        inner.items.push_back(message);
        if self.keep {
            inner.trim();
        }
        inner.wake();
        true
    }

    /// Nothing follows what is queued.
    pub(crate) fn finish(&self) {
        let mut inner = self.lock();
        inner.finished = true;
        inner.wake();
        drop(inner);
        self.room.notify_waiters();
    }

    /// Whether [`Outbox::finish`] was called.
    pub(crate) fn is_finished(&self) -> bool {
        self.lock().finished
    }

    /// Whether nothing waits to be read.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().unread() == 0
    }

    /// Whether an answer may be queued without the client having to read first.
    pub(crate) fn has_room(&self) -> bool {
        let inner = self.lock();
        inner.bytes < SOFT_BYTES && inner.unread() < SOFT_MESSAGES
    }

    /// Whether more may be told that would be dropped for want of room.
    pub(crate) fn has_room_for_news(&self) -> bool {
        let inner = self.lock();
        inner.unread() < SOFT_MESSAGES / 2 && inner.bytes < SOFT_BYTES / 2 + self.kept_bytes()
    }

    /// Has those look again who wait for room.
    pub(crate) fn tell_of_room(&self) {
        self.room.notify_waiters();
    }

    /// Waits until something is so; it is looked at whenever something was read, and
    /// at the end.
    pub(crate) async fn until(&self, is: impl Fn() -> bool) {
        loop {
            let mut told = std::pin::pin!(self.room.notified());
            // Listened for before it is looked at, so that nothing is missed between.
            told.as_mut().enable();
            if is() {
                return;
            }
            told.await;
        }
    }

    /// Bytes held.
    pub(crate) fn held(&self) -> usize {
        self.lock().bytes
    }

    /// Where a reader starts that has seen nothing: at what nobody has read.
    pub(crate) fn unread_from(&self) -> u64 {
        let inner = self.lock();
        inner.delivered.max(inner.first)
    }

    /// The message at the cursor, which then moves on. One reader at a time;
    /// an earlier one is woken no more.
    pub(crate) fn poll_next(&self, cx: &mut Context<'_>, cursor: &mut u64) -> Poll<Next> {
        let mut inner = self.lock();
        if inner.overrun {
            return Poll::Ready(Next::Overrun);
        }
        *cursor = (*cursor).max(inner.first);
        let index = usize::try_from(*cursor - inner.first).unwrap_or(usize::MAX);
        let Some(item) = inner.items.get_mut(index) else {
            if inner.finished {
                return Poll::Ready(Next::Finished);
            }
            match &mut inner.reader {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            return Poll::Pending;
        };
        let message = item.bytes.clone();
        let deliveries = std::mem::take(&mut item.deliveries);
        inner.leaving.join(deliveries);
        let number = *cursor;
        *cursor += 1;
        inner.delivered = inner.delivered.max(*cursor);
        if !self.keep {
            inner.items.pop_front();
            inner.first += 1;
            inner.bytes -= message.len();
        }
        drop(inner);
        self.room.notify_waiters();
        Poll::Ready(Next::Message(number, message))
    }

    /// Who wants to know when what was read since the last time is written out.
    pub(crate) fn take_leaving(&self) -> Deliveries {
        std::mem::take(&mut self.lock().leaving)
    }

    /// Whether something is there for a reader at `cursor`; if not, it is woken
    /// when there is.
    pub(crate) fn poll_ready(&self, cx: &mut Context<'_>, cursor: u64) -> Poll<()> {
        let mut inner = self.lock();
        let end = inner.first + inner.items.len() as u64;
        if inner.finished || inner.overrun || cursor < end {
            return Poll::Ready(());
        }
        inner.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Wakes the reader without a message.
    pub(crate) fn poke(&self) {
        self.lock().wake();
    }

    /// [`Outbox::poll_next`] as a future.
    pub(crate) async fn next(&self, cursor: &mut u64) -> Next {
        std::future::poll_fn(|cx| self.poll_next(cx, cursor)).await
    }

    fn kept_bytes(&self) -> usize {
        if self.keep { KEEP_BYTES } else { 0 }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Inner ===

impl Inner {
    fn unread(&self) -> usize {
        let end = self.first + self.items.len() as u64;
        usize::try_from(end - self.delivered.max(self.first).min(end)).unwrap_or(usize::MAX)
    }

    /// The newest message stays whatever its size: it may be the answer.
    fn trim(&mut self) {
        while self.items.len() > 1 && (self.items.len() > KEEP_MESSAGES || self.bytes > KEEP_BYTES)
        {
            if let Some(gone) = self.items.pop_front() {
                self.bytes -= gone.bytes.len();
                self.first += 1;
            }
        }
    }

    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

#[cfg(test)]
mod tests;
