//! Cancellation that says why.
//!
//! Every call has a token of its own and waits for it in two or three places, so a token is one
//! allocation, and waiting for it one entry in a list. A general tree of tokens, which keeps its
//! children as it keeps its waiters, took a thirtieth of all that a call costs.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

/// Why something was called off; a later, graver reason replaces an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CancelReason {
    /// The client said it no longer wants the answer.
    ClientCancelled,
    /// The client's connection is gone.
    Disconnected,
    /// The time allowed has passed.
    Deadline,
    /// The hub is stopping.
    Shutdown,
}

/// A token that is cancelled once, with a reason, together with its children.
#[derive(Debug, Clone)]
pub struct Cancel {
    node: Arc<Node>,
}

#[derive(Debug)]
struct Node {
    /// Set under the lock, and after the reason.
    cancelled: AtomicBool,
    /// The gravest reason given to this very token; see [`CancelReason::from_code`].
    own: AtomicU8,
    parent: Option<Arc<Self>>,
    /// No waker or node may be dropped under the lock: what hangs on it may take it again.
    lists: Mutex<Lists>,
}

#[derive(Debug, Default)]
struct Lists {
    /// Tokens to be cancelled with this one. They leave by themselves.
    children: Vec<Weak<Node>>,
    /// Who waits, by number.
    waiters: Vec<(u64, Waker)>,
    /// The number of the next one.
    next: u64,
}

/// Somebody who waits; dropping it leaves the list.
struct Waiting<'a> {
    node: &'a Node,
    number: Option<u64>,
    /// Where it was in the list; others who leave may have moved it.
    place: usize,
}

// === impl CancelReason ===

impl CancelReason {
    /// A word for records and messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClientCancelled => "cancelled by the client",
            Self::Disconnected => "the client disconnected",
            Self::Deadline => "the time allowed has passed",
            Self::Shutdown => "the hub is stopping",
        }
    }

    /// As a number, zero being none and a graver one larger.
    fn code(self) -> u8 {
        match self {
            Self::ClientCancelled => 1,
            Self::Disconnected => 2,
            Self::Deadline => 3,
            Self::Shutdown => 4,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => None,
            1 => Some(Self::ClientCancelled),
            2 => Some(Self::Disconnected),
            3 => Some(Self::Deadline),
            _ => Some(Self::Shutdown),
        }
    }
}

// === impl Cancel ===

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

impl Cancel {
    /// A token nobody has cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self {
            node: Arc::new(Node::new(None)),
        }
    }

    /// A token that is cancelled with this one, and can be cancelled alone.
    #[must_use]
    pub fn child(&self) -> Self {
        let node = Arc::new(Node::new(Some(Arc::clone(&self.node))));
        let mut lists = self.node.lists();
        if self.node.is_cancelled() {
            node.cancelled.store(true, Ordering::Release);
        } else {
            lists.children.push(Arc::downgrade(&node));
        }
        drop(lists);
        Self { node }
    }

    /// Cancels this token and its children.
    pub fn cancel(&self, reason: CancelReason) {
        self.node.own.fetch_max(reason.code(), Ordering::AcqRel);
        let mut open = vec![Arc::clone(&self.node)];
        while let Some(node) = open.pop() {
            let (children, waiters) = node.trip();
            open.extend(children.iter().filter_map(Weak::upgrade));
            for (_, waker) in waiters {
                waker.wake();
            }
        }
    }

    /// Why it was cancelled, if it was.
    #[must_use]
    pub fn reason(&self) -> Option<CancelReason> {
        if !self.node.is_cancelled() {
            return None;
        }
        self.node.reason()
    }

    /// Waits for the cancellation.
    pub async fn cancelled(&self) -> CancelReason {
        let waiting = Waiting {
            node: &self.node,
            number: None,
            place: 0,
        };
        waiting.await;
        self.node.reason().unwrap_or(CancelReason::Shutdown)
    }
}

// === impl Node ===

impl Node {
    fn new(parent: Option<Arc<Self>>) -> Self {
        Self {
            cancelled: AtomicBool::new(false),
            own: AtomicU8::new(0),
            parent,
            lists: Mutex::default(),
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// The gravest reason of this token and those above it.
    fn reason(&self) -> Option<CancelReason> {
        let mut gravest = self.own.load(Ordering::Acquire);
        let mut above = self.parent.as_deref();
        while let Some(node) = above {
            gravest = gravest.max(node.own.load(Ordering::Acquire));
            above = node.parent.as_deref();
        }
        CancelReason::from_code(gravest)
    }

    /// Marks this token alone; who is to be told of it, the first time.
    fn trip(&self) -> (Vec<Weak<Self>>, Vec<(u64, Waker)>) {
        let mut lists = self.lists();
        if self.cancelled.swap(true, Ordering::AcqRel) {
            return Default::default();
        }
        (
            std::mem::take(&mut lists.children),
            std::mem::take(&mut lists.waiters),
        )
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let Some(parent) = &self.parent else { return };
        let mut lists = parent.lists();
        // The youngest mostly go first.
        let own = lists
            .children
            .iter()
            .rposition(|child| std::ptr::eq(child.as_ptr(), self));
        if let Some(own) = own {
            lists.children.swap_remove(own);
        }
    }
}

// === impl Waiting ===

impl Future for Waiting<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let node = self.node;
        if node.is_cancelled() {
            return Poll::Ready(());
        }
        let mut lists = node.lists();
        if node.is_cancelled() {
            return Poll::Ready(());
        }
        let old = if let Some(place) = self.find(&lists) {
            self.place = place;
            let (_, waker) = &mut lists.waiters[place];
            let is_same = waker.will_wake(cx.waker());
            (!is_same).then(|| std::mem::replace(waker, cx.waker().clone()))
        } else {
            self.number = Some(lists.next);
            self.place = lists.waiters.len();
            let entry = (lists.next, cx.waker().clone());
            lists.next += 1;
            lists.waiters.push(entry);
            None
        };
        drop(lists);
        drop(old);
        Poll::Pending
    }
}

impl Waiting<'_> {
    /// Where it is in the list now. Whoever waits beside something else is
    /// polled with every turn of that, and thousands may wait for one token.
    fn find(&self, lists: &Lists) -> Option<usize> {
        let number = self.number?;
        let is_own = |entry: &(u64, Waker)| entry.0 == number;
        if lists.waiters.get(self.place).is_some_and(is_own) {
            return Some(self.place);
        }
        lists.waiters.iter().rposition(is_own)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.number.is_none() {
            return;
        }
        let mut lists = self.node.lists();
        let left = self
            .find(&lists)
            .map(|place| lists.waiters.swap_remove(place));
        drop(lists);
        drop(left);
    }
}

#[cfg(test)]
mod tests;
