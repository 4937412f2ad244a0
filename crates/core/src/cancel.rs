//! Cancellation that says why.
//!
//! Every call has a token of its own and waits for it in two or three places of one task, so a token is
//! one allocation, and waiting for it one entry for the task, without a list. A general tree of tokens,
//! which keeps its children as it keeps its waiters, took a thirtieth of all that a call costs.

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
    /// The first who waits: mostly the only one, who needs no list.
    first: Option<Waiter>,
    /// Who waits beside the first.
    others: Vec<Waiter>,
    /// The number of the next one.
    next: u64,
}

/// A task that waits, in one place or in several.
#[derive(Debug)]
struct Waiter {
    number: u64,
    waker: Waker,
    /// In how many places it waits.
    places: usize,
}

/// Somebody who waits; dropping it leaves the list.
struct Waiting<'a> {
    node: &'a Node,
    number: Option<u64>,
    /// Where it was among the others; those who leave may have moved it.
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
            for waiter in waiters {
                waiter.waker.wake();
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
    fn trip(&self) -> (Vec<Weak<Self>>, Vec<Waiter>) {
        let mut lists = self.lists();
        if self.cancelled.swap(true, Ordering::AcqRel) {
            return Default::default();
        }
        let mut waiters = std::mem::take(&mut lists.others);
        waiters.extend(lists.first.take());
        (std::mem::take(&mut lists.children), waiters)
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
        let found = self.find(&mut lists);
        let old = match found {
            Some(waiter) if waiter.waker.will_wake(cx.waker()) => None,
            Some(waiter) if waiter.places == 1 => {
                Some(std::mem::replace(&mut waiter.waker, cx.waker().clone()))
            }
            // It was moved to another task, and not the others it had its place with.
            Some(waiter) => {
                waiter.places -= 1;
                self.join(&mut lists, cx.waker());
                None
            }
            None => {
                self.join(&mut lists, cx.waker());
                None
            }
        };
        drop(lists);
        drop(old);
        Poll::Pending
    }
}

impl Waiting<'_> {
    /// Waits with a task that waits already, or as a new one.
    fn join(&mut self, lists: &mut Lists, waker: &Waker) {
        if let Some(first) = &mut lists.first
            && first.waker.will_wake(waker)
        {
            first.places += 1;
            self.number = Some(first.number);
            return;
        }
        let waiter = Waiter {
            number: lists.next,
            waker: waker.clone(),
            places: 1,
        };
        self.number = Some(lists.next);
        lists.next += 1;
        if lists.first.is_none() {
            lists.first = Some(waiter);
        } else {
            self.place = lists.others.len();
            lists.others.push(waiter);
        }
    }

    /// Where it is now. Whoever waits beside something else is polled with every turn of that, and
    /// thousands may wait for one token.
    fn find<'l>(&mut self, lists: &'l mut Lists) -> Option<&'l mut Waiter> {
        let number = self.number?;
        if lists
            .first
            .as_ref()
            .is_some_and(|first| first.number == number)
        {
            return lists.first.as_mut();
        }
        let is_own = |waiter: &Waiter| waiter.number == number;
        if !lists.others.get(self.place).is_some_and(is_own) {
            self.place = lists.others.iter().rposition(is_own)?;
        }
        lists.others.get_mut(self.place)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let node = self.node;
        let mut lists = node.lists();
        let is_last = self.find(&mut lists).is_some_and(|waiter| {
            waiter.places -= 1;
            waiter.places == 0
        });
        let is_own = |waiter: &mut Waiter| waiter.number == number;
        let left = match is_last {
            true => lists
                .first
                .take_if(is_own)
                .or_else(|| Some(lists.others.swap_remove(self.place))),
            false => None,
        };
        drop(lists);
        drop(left);
    }
}

#[cfg(test)]
mod tests;
