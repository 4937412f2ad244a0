//! A call under way in an instance, and the questions it was given that came
//! with no call.
//!
//! A server on a byte stream does not say which call a question is about. It is
//! put to the client by way of one of its calls, and when that one ends first,
//! by way of another: what must not happen is that the server waits for ever.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use legation_wire::json::Raw;
use tokio::time::Instant;

use crate::instance::Instance;
use crate::port::AskKey;

/// Most that may wait in one call's inbox; a question that finds no room goes
/// to another call.
const WAITING_MAX: usize = 64;

/// A question that came outside every call, for a call to pass on.
#[derive(Debug, Clone)]
pub(crate) struct LooseAsk {
    /// Which connection it came on: the next one counts its keys anew.
    pub(crate) connection: u64,
    /// To answer under.
    pub(crate) key: AskKey,
    /// The method.
    pub(crate) method: Box<str>,
    /// Its params.
    pub(crate) params: Option<Raw>,
}

/// What a call is given that is not its own.
#[derive(Debug)]
pub(crate) enum Loose {
    /// A question to pass on.
    Asked(LooseAsk),
    /// One that needs no answer any more.
    Withdrawn(AskKey),
    /// The moment is past that it wanted to be told of.
    Overdue,
}

/// Where a call is given such things.
#[derive(Debug, Default)]
pub(crate) struct Inbox(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    loose: VecDeque<Loose>,
    is_overdue: bool,
    waker: Option<Waker>,
}

/// A call under way; ends with the guard.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) instance: Arc<Instance>,
    id: u64,
    inbox: Arc<Inbox>,
    held: Vec<LooseAsk>,
    begun: bool,
    over: bool,
}

// === impl Inbox ===

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts something in; gives it back when there is no room.
    pub(crate) fn put(&self, loose: Loose) -> Result<(), Loose> {
        let waker = {
            let mut waiting = self.lock();
            if waiting.loose.len() >= WAITING_MAX {
                return Err(loose);
            }
            waiting.loose.push_back(loose);
            waiting.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    /// The questions that were not taken out.
    pub(crate) fn empty(&self) -> Vec<LooseAsk> {
        let mut left: Vec<LooseAsk> = Vec::new();
        for loose in std::mem::take(&mut self.lock().loose) {
            match loose {
                Loose::Asked(ask) => left.push(ask),
                Loose::Withdrawn(key) => left.retain(|ask| ask.key != key),
                Loose::Overdue => {}
            }
        }
        left
    }

    /// Says that the moment is past, for which there is always room.
    pub(crate) fn overdue(&self) {
        let waker = {
            let mut waiting = self.lock();
            waiting.is_overdue = true;
            waiting.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    async fn next(&self) -> Loose {
        poll_fn(|cx| {
            let mut waiting = self.lock();
            if let Some(loose) = waiting.loose.pop_front() {
                return Poll::Ready(loose);
            }
            if std::mem::take(&mut waiting.is_overdue) {
                return Poll::Ready(Loose::Overdue);
            }
            waiting.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

// === impl Flight ===

impl Flight {
    /// For [`Instance::enter`] alone.
    pub(crate) fn new(instance: Arc<Instance>, id: u64, inbox: Arc<Inbox>) -> Self {
        Self {
            instance,
            id,
            inbox,
            held: Vec::new(),
            begun: false,
            over: false,
        }
    }

    /// The next thing given to this call. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Loose {
        let loose = self.inbox.next().await;
        match &loose {
            Loose::Asked(ask) => self.held.push(ask.clone()),
            Loose::Withdrawn(key) => self.settle(key),
            Loose::Overdue => {}
        }
        loose
    }

    /// A question it was given is answered or withdrawn.
    pub(crate) fn settle(&mut self, key: &AskKey) {
        self.held.retain(|ask| ask.key != *key);
    }

    /// This call wants to be told, once, when this moment is past.
    pub(crate) fn wait_until(&self, until: Instant) {
        self.instance.tell_at(self.id, until);
    }

    /// An exchange of this call begins; whether there was one before.
    pub(crate) fn begin(&mut self) -> bool {
        self.over = false;
        std::mem::replace(&mut self.begun, true)
    }

    /// The server has answered: it is not at this call any more. What it asks
    /// still is not about it.
    pub(crate) fn finish(&mut self) {
        self.over = true;
        if !self.held.is_empty() {
            self.instance.strand(std::mem::take(&mut self.held));
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.instance.leave(self.id, self.over, held);
    }
}
