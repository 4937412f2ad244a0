//! Who was told to wait, waits; and so does everybody who would ask the same
//! host for the same kind of thing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use legation_core::SharedClock;

use super::{HttpError, Origin};

/// Longer than this nobody is kept waiting; the caller hears how long it is.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(120);
/// Entries in the past are dropped when there are more than this.
const SWEEP_AT: usize = 256;

pub(super) struct Limiter {
    clock: SharedClock,
    not_before: Mutex<HashMap<(Origin, Box<str>), Instant>>,
}

// === impl Limiter ===

impl Limiter {
    pub(super) fn new(clock: SharedClock) -> Self {
        Self {
            clock,
            not_before: Mutex::default(),
        }
    }

    /// Nobody's turn comes before `wait` has passed; an earlier, longer wait
    /// stays.
    pub(super) fn hold(&self, origin: &Origin, bucket: &str, wait: Duration) {
        let now = self.clock.now();
        let mut entries = self
            .not_before
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if entries.len() > SWEEP_AT {
            entries.retain(|_, until| *until > now);
        }
        let until = entries
            .entry((origin.clone(), bucket.into()))
            .or_insert(now);
        *until = (*until).max(now + wait);
    }

    /// Waits until it may be asked.
    pub(super) async fn turn(
        &self,
        origin: &Origin,
        bucket: &str,
        deadline: Option<Instant>,
    ) -> Result<(), HttpError> {
        loop {
            let now = self.clock.now();
            let Some(left) = self.left(origin, bucket, now) else {
                return Ok(());
            };
            let beyond = deadline.is_some_and(|deadline| now + left > deadline);
            if beyond || left > WAIT_MAX {
                return Err(HttpError::Throttled { retry_after: left });
            }
            self.sleep(left).await;
        }
    }

    fn left(&self, origin: &Origin, bucket: &str, now: Instant) -> Option<Duration> {
        let entries = self
            .not_before
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let until = entries.get(&(origin.clone(), bucket.into()))?;
        let left = until.saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    /// Sleeps by the clock that was given, never less.
    pub(super) async fn sleep(&self, wait: Duration) {
        let until = self.clock.now() + wait;
        loop {
            let left = until.saturating_duration_since(self.clock.now());
            if left.is_zero() {
                return;
            }
            // Timers have milliseconds; one more is never too early.
            tokio::time::sleep(left + Duration::from_millis(1)).await;
        }
    }
}
