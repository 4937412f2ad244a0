//! Forcing a commit to disk, and telling those who waited for that.
//!
//! On a quick disk the leader syncs on its own thread: handing the work to
//! another costs more than it takes. On a slow one that would hold up every
//! other call of its runtime, so the work goes to the blocking pool, one sync
//! at a time, each for all commits that gathered during the one before.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use legation_store::Committed;

use crate::chain::Written;
use crate::ledger::Inner;

/// Up to this mean, in microseconds, a sync is done in place.
const QUICK_US: u64 = 600;

/// Records that are committed but whose callers wait for the disk.
#[derive(Debug)]
pub(crate) struct Settling {
    pub(crate) commit: Committed,
    pub(crate) written: Vec<Written>,
}

/// How syncs go, and those that wait for one elsewhere.
#[derive(Debug)]
pub(crate) struct Syncs {
    /// Moving mean of how long a sync takes, in microseconds.
    mean_us: AtomicU64,
    away: Mutex<Away>,
}

#[derive(Debug, Default)]
struct Away {
    /// Bounded by those who wait, whom the ledger counts.
    waiting: Vec<Settling>,
    running: bool,
}

/// Whoever holds this owes a sync to all that wait. Dropping it pays, so that
/// the waiters of one runtime are served although another, which had taken
/// the job, is shut down before it starts.
struct Debt(Arc<Inner>);

// === impl Syncs ===

impl Default for Syncs {
    /// Nothing is known of the disk, so it counts as slow until a few syncs were quick.
    fn default() -> Self {
        Self {
            mean_us: AtomicU64::new(QUICK_US * 2),
            away: Mutex::default(),
        }
    }
}

impl Syncs {
    fn is_quick(&self) -> bool {
        self.mean_us.load(Ordering::Relaxed) <= QUICK_US
    }

    fn took(&self, time: Duration) {
        let new = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let old = self.mean_us.load(Ordering::Relaxed);
        // Two threads may both update it; a lost sample does not matter.
        self.mean_us
            .store((old * 7).saturating_add(new) / 8, Ordering::Relaxed);
    }

    fn away(&self) -> MutexGuard<'_, Away> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Debt ===

impl Drop for Debt {
    fn drop(&mut self) {
        loop {
            let waiting = {
                let mut away = self.0.syncs.away();
                if away.waiting.is_empty() {
                    away.running = false;
                    return;
                }
                std::mem::take(&mut away.waiting)
            };
            self.0.sync_now(waiting);
        }
    }
}

// === impl Inner ===

impl Inner {
    /// Sees to it that the records reach the disk and their callers hear of it.
    pub(crate) fn settle(self: &Arc<Self>, settling: Settling) {
        let runtime = tokio::runtime::Handle::try_current();
        let Ok(runtime) = runtime else {
            return self.sync_now(vec![settling]);
        };
        if self.syncs.is_quick() {
            return self.sync_now(vec![settling]);
        }
        let start = {
            let mut away = self.syncs.away();
            away.waiting.push(settling);
            !std::mem::replace(&mut away.running, true)
        };
        if start {
            let debt = Debt(Arc::clone(self));
            // The pool's task ends by itself when nothing waits any more.
            drop(runtime.spawn_blocking(move || drop(debt)));
        }
    }

    fn sync_now(self: &Arc<Self>, waiting: Vec<Settling>) {
        let Some(commit) = waiting.iter().map(|one| one.commit).max() else {
            return;
        };
        let start = self.clock.now();
        let synced = self.store.sync(commit);
        self.syncs
            .took(self.clock.now().saturating_duration_since(start));
        let written: Vec<Written> = waiting.into_iter().flat_map(|one| one.written).collect();
        match synced {
            Ok(()) => self.deliver(written),
            Err(source) => {
                let waiters = self.chain().doubt(written);
                self.tell(Arc::new(source), waiters);
            }
        }
    }
}
