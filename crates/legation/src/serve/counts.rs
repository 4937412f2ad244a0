//! How much was recorded, for charts: counted from the ledger, and only once somebody
//! looks. A page never waits for more than a few records; what is left is counted
//! meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use legation_api::audit::{CountsAnswer, CountsSpan};
use legation_core::{TaskSet, Wall};
use legation_ledger::{HOUR_MS, Ledger, LedgerError, Tally};

const DAY_MS: i64 = 24 * HOUR_MS;
/// Days that are told where nobody says how many, and at most.
const DAYS: u32 = 7;
const DAYS_MAX: u32 = 90;
/// Up to so many days are told by the hour.
const BY_HOUR_MAX: u32 = 3;
/// Records that are counted before an answer.
const FIRST: usize = 1_000;
/// Records that are counted at a time beside answers.
const PAGE: usize = 4_096;

/// See the module.
#[derive(Debug)]
pub(crate) struct Counts {
    shared: Arc<Shared>,
    tasks: TaskSet,
}

#[derive(Debug, Default)]
struct Shared {
    /// Nothing before somebody looks. Held by who counts, for as long as a page takes.
    tally: Mutex<Option<Tally>>,
    /// What answers are made of, so that none waits for who counts.
    told: Mutex<Option<Arc<Counted>>>,
    /// Whether somebody counts what is left.
    is_counting: AtomicBool,
}

/// As much as was counted, and how many records were left then.
#[derive(Debug)]
struct Counted {
    tally: Tally,
    missing: u64,
}

// === impl Counts ===

impl Counts {
    pub(crate) fn new(tasks: &TaskSet) -> Self {
        Self {
            shared: Arc::default(),
            tasks: tasks.clone(),
        }
    }

    /// What was recorded in the last days. It reads the ledger, so not on a runtime's thread.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub(crate) fn answer(
        &self,
        ledger: &Arc<Ledger>,
        days: Option<u32>,
        now: Wall,
    ) -> Result<CountsAnswer, LedgerError> {
        let days = days.unwrap_or(DAYS).clamp(1, DAYS_MAX);
        let span_ms = if days <= BY_HOUR_MAX { HOUR_MS } else { DAY_MS };
        let end = (now.0.div_euclid(span_ms) + 1) * span_ms;
        let from_ms = end - i64::from(days) * DAY_MS;
        let counted = self.shared.counted(ledger, now)?;
        let missing = counted.missing;
        let starts = (0..).map(|count| from_ms + count * span_ms);
        let spans = starts.take_while(|start| *start < end).map(|start| {
            let sums = counted.tally.sums(start, span_ms);
            CountsSpan {
                calls: sums.calls,
                refused: sums.refused,
                failed: sums.failed,
                p50_ms: sums.quantile(0.5),
                p95_ms: sums.quantile(0.95),
            }
        });
        let spans = spans.collect();
        if missing > 0 {
            self.catch_up(ledger, now);
        }
        Ok(CountsAnswer {
            from_ms,
            span_ms,
            spans,
            missing,
        })
    }

    /// Counts what is left, beside everything else.
    fn catch_up(&self, ledger: &Arc<Ledger>, now: Wall) {
        if self.shared.is_counting.swap(true, Ordering::AcqRel) {
            return;
        }
        let (shared, ledger) = (Arc::clone(&self.shared), Arc::clone(ledger));
        self.tasks.spawn("counts of the ledger", async move {
            loop {
                let (counted, of) = (Arc::clone(&shared), Arc::clone(&ledger));
                // A page at a time, so that a hub that stops waits for no more than one.
                let page = tokio::task::spawn_blocking(move || counted.page(&of, PAGE, now));
                match page.await {
                    Ok(Ok(counted)) if counted.missing > 0 => {}
                    Ok(Ok(_)) | Err(_) => break,
                    Ok(Err(error)) => {
                        tracing::warn!(%error, "the ledger's records cannot be counted");
                        break;
                    }
                }
            }
            shared.is_counting.store(false, Ordering::Release);
        });
    }
}

// === impl Shared ===

impl Shared {
    /// What an answer is made of: a few records more than before, or what there is while
    /// somebody else counts. Only the first of all has to wait for who counts.
    fn counted(&self, ledger: &Ledger, now: Wall) -> Result<Arc<Counted>, LedgerError> {
        let told = self.told().clone();
        match (self.tally.try_lock(), told) {
            (Ok(tally), _) => self.go_on(tally, ledger, FIRST, now),
            (Err(TryLockError::WouldBlock), Some(told)) => Ok(told),
            (Err(TryLockError::WouldBlock), None) => self.page(ledger, FIRST, now),
            (Err(TryLockError::Poisoned(poisoned)), _) => {
                self.go_on(poisoned.into_inner(), ledger, FIRST, now)
            }
        }
    }

    /// Counts up to `limit` records, as soon as nobody else does.
    fn page(&self, ledger: &Ledger, limit: usize, now: Wall) -> Result<Arc<Counted>, LedgerError> {
        let tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        self.go_on(tally, ledger, limit, now)
    }

    fn go_on(
        &self,
        mut tally: MutexGuard<'_, Option<Tally>>,
        ledger: &Ledger,
        limit: usize,
        now: Wall,
    ) -> Result<Arc<Counted>, LedgerError> {
        let from_ms = now.0 - i64::from(DAYS_MAX) * DAY_MS;
        let sums = match &mut *tally {
            Some(sums) => sums,
            empty => empty.insert(ledger.records().tally(from_ms)?),
        };
        sums.forget(from_ms);
        let missing = ledger.records().count(sums, limit)?;
        let counted = Arc::new(Counted {
            tally: sums.clone(),
            missing,
        });
        // Told before somebody else counts on, so that no answer goes back in time.
        *self.told() = Some(Arc::clone(&counted));
        drop(tally);
        Ok(counted)
    }

    fn told(&self) -> MutexGuard<'_, Option<Arc<Counted>>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
