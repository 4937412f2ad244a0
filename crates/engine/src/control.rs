//! What a run is told while it works, and what it says back.
//!
//! Nothing is queued: a run looks at what holds now whenever it is woken, so that the order in which
//! it hears of things cannot matter.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use legation_core::{Cancel, CancelReason};
use tokio::sync::Notify;

use crate::queue::Hold;

/// One run's. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Control {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Notify,
    /// Trips when the run is called off or the hub stops: for calls of tools.
    cancel: Cancel,
    /// Tells the queue what the run says.
    says: Box<dyn Fn(Says) + Send + Sync>,
}

/// What a run says to the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    /// It stands still, as it was told to.
    Yielded,
    /// It has nothing to do until something is there that runs elsewhere.
    Rests,
    /// That is there.
    Ready,
}

#[derive(Debug, Default)]
struct State {
    hold: Option<Hold>,
    cancelled: Option<String>,
    is_stopping: bool,
}

// === impl Control ===

impl Control {
    /// A run's; `says` is called with whatever it says to the queue.
    pub(crate) fn new(says: impl Fn(Says) + Send + Sync + 'static) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                changed: Notify::new(),
                cancel: Cancel::new(),
                says: Box::new(says),
            }),
        }
    }

    /// Whether the run is to stand still: before its next step, or at once. A call of a tool that
    /// runs is waited for even so.
    pub(crate) fn hold(&self) -> Option<Hold> {
        self.state().hold
    }

    /// Why the run was called off, if it was: it then ends as soon as it can, with
    /// [`RunEnd::Cancelled`](crate::record::RunEnd::Cancelled).
    pub(crate) fn cancelled(&self) -> Option<String> {
        self.state().cancelled.clone()
    }

    /// Whether the hub stops: the run keeps what it has and ends with
    /// [`RunEnd::Paused`](crate::record::RunEnd::Paused).
    pub(crate) fn is_stopping(&self) -> bool {
        self.state().is_stopping
    }

    /// For calls of tools: trips when the run is called off or the hub stops.
    pub(crate) fn cancel_token(&self) -> &Cancel {
        &self.shared.cancel
    }

    /// Returns when something may have changed since this was last awaited, or somebody said
    /// something to the task.
    pub(crate) async fn changed(&self) {
        self.shared.changed.notified().await;
    }

    /// Says that the run stands still, as it was told to: its stream is dropped and it makes no
    /// request until [`Control::hold`] is `None` again. To be said once each time.
    pub(crate) fn yielded(&self) {
        (self.shared.says)(Says::Yielded);
    }

    /// Gives up the floor until [`Control::is_ready`] is said: it is held from now on, and makes no
    /// request until [`Control::hold`] is `None` again.
    pub(crate) fn rests(&self) {
        (self.shared.says)(Says::Rests);
    }

    /// Says that it would go on, as soon as it may.
    pub(crate) fn is_ready(&self) {
        (self.shared.says)(Says::Ready);
    }

    pub(crate) fn set_hold(&self, hold: Option<Hold>) {
        self.state().hold = hold;
        self.wake();
    }

    /// Calls the run off; the first reason counts.
    pub(crate) fn set_cancelled(&self, reason: &str) {
        self.state()
            .cancelled
            .get_or_insert_with(|| reason.to_owned());
        self.shared.cancel.cancel(CancelReason::ClientCancelled);
        self.wake();
    }

    pub(crate) fn set_stopping(&self) {
        self.state().is_stopping = true;
        self.shared.cancel.cancel(CancelReason::Shutdown);
        self.wake();
    }

    /// Somebody said something to the task.
    pub(crate) fn wake(&self) {
        self.shared.changed.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.state().fmt(f)
    }
}
