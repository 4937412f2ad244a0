//! What a server does outside every call.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use legation_wire::json::Raw;
use legation_wire::listen::ListenFilter;
use legation_wire::message::{ErrorObject, Notification};
use legation_wire::upstream::{AskKey, ListKind};
use tokio::sync::Notify;

/// Most events that may wait. A server that outruns its reader loses the
/// newest; the end of the connection is never lost.
const MAX_WAITING: usize = 4_096;

/// What a server does outside every call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A list reads differently.
    ListChanged(ListKind),
    /// A resource has new content.
    ResourceUpdated {
        /// Which.
        uri: Box<str>,
    },
    /// A task moved on: parameters in the shape of the connection's era.
    TaskStatus(Raw),
    /// A URL elicitation of the legacy era is done: parameters.
    ElicitationComplete(Raw),
    /// The modern server agreed to send these.
    ListenAcknowledged(ListenFilter),
    /// The modern server does not send any more; unless it refused, it is
    /// asked again by itself.
    ListenEnded(Option<ErrorObject>),
    /// A notification without a meaning here, log messages of no call among
    /// them.
    Unattributed(Notification),
    /// A question that belongs to no call.
    Ask {
        /// To answer under.
        key: AskKey,
        /// The method.
        method: Box<str>,
        /// Its parameters.
        params: Option<Raw>,
    },
    /// A question of no call needs no answer any more.
    AskWithdrawn(AskKey),
    /// The connection is gone, and why. Nothing follows.
    Closed(String),
}

/// The receiving end of a connection's events; one per connection.
#[derive(Debug)]
pub struct Events {
    queue: Arc<Queue>,
    over: bool,
}

/// The sending end. Never waits.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Event>,
    closed: bool,
}

// === impl Events ===

impl Events {
    pub(super) fn new(queue: Arc<Queue>) -> Self {
        Self { queue, over: false }
    }

    /// The next event; `None` after [`Event::Closed`]. May be dropped and
    /// called again.
    pub async fn recv(&mut self) -> Option<Event> {
        while !self.over {
            let news = self.queue.news.notified();
            if let Some(event) = self.queue.pop() {
                self.over = matches!(event, Event::Closed(_));
                return Some(event);
            }
            news.await;
        }
        None
    }
}

// === impl Queue ===

impl Queue {
    pub(super) fn push(&self, event: Event) {
        {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let closes = matches!(event, Event::Closed(_));
            // The same change told twice is one change to whoever reads later.
            let repeats = matches!(event, Event::ListChanged(_) | Event::ResourceUpdated { .. })
                && waiting.events.contains(&event);
            if waiting.closed || repeats || (waiting.events.len() >= MAX_WAITING && !closes) {
                return;
            }
            waiting.closed = closes;
            waiting.events.push_back(event);
        }
        self.news.notify_one();
    }

    fn pop(&self) -> Option<Event> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.events.pop_front()
    }
}
