//! Committing off the runtime, for a store on another machine.
//!
//! A commit to a file takes microseconds and is done in place; one that crosses
//! a network would hold up every other call of its runtime. So it goes to the
//! blocking pool, one at a time, each for all that queued during the one before.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::LedgerError;
use crate::ledger::Inner;

/// Whether commits go elsewhere, and what is under way there.
#[derive(Debug)]
pub(crate) struct Away {
    is_used: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: bool,
    /// Something was queued since the last batch was taken.
    wanted: bool,
}

/// Whoever holds this owes commits to all that wait. Dropping it pays, so that
/// the waiters of one runtime are served although another, which had taken the
/// job, is shut down before it starts.
struct Errand(Arc<Inner>);

// === impl Away ===

impl Away {
    pub(crate) fn new(is_used: bool) -> Self {
        Self {
            is_used,
            state: Mutex::default(),
        }
    }

    pub(crate) fn is_used(&self) -> bool {
        self.is_used
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Errand ===

impl Drop for Errand {
    fn drop(&mut self) {
        loop {
            {
                let mut state = self.0.away.state();
                if !std::mem::take(&mut state.wanted) {
                    state.running = false;
                    return;
                }
            }
            // Whoever waits is told; nobody else wants to know.
            drop(self.0.commit_all());
        }
    }
}

// === impl Inner ===

impl Inner {
    /// Has all queues committed, soon and elsewhere.
    pub(crate) fn commit_away(self: &Arc<Self>) {
        let start = {
            let mut state = self.away.state();
            state.wanted = true;
            !std::mem::replace(&mut state.running, true)
        };
        if !start {
            return;
        }
        let errand = Errand(Arc::clone(self));
        match tokio::runtime::Handle::try_current() {
            // The pool's task ends by itself when nothing waits any more.
            Ok(runtime) => drop(runtime.spawn_blocking(move || drop(errand))),
            Err(_) => drop(errand),
        }
    }

    /// Runs something that waits for the store where it holds nobody up.
    pub(crate) async fn aside<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Self>) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        if !self.away.is_used() {
            return work(self);
        }
        let inner = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || work(&inner)).await;
        done.unwrap_or(Err(LedgerError::Stopped))
    }
}
