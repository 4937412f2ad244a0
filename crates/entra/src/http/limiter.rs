//! Who was told to wait, waits; and so does everybody who would ask the same
//! host for the same kind of thing.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use legation_core::{SharedClock, Wall};

use super::{HttpError, Origin};

/// Longer than this nobody is kept waiting; the caller hears how long it is.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(120);
/// Entries in the past are dropped when there are more than this.
const SWEEP_AT: usize = 256;

/// A wait that is kept cannot be longer: clocks are set.
const KEPT_MAX: Duration = Duration::from_secs(86_400);

/// Keeps what services said about waiting beyond the process: one that was
/// started anew must not ask earlier than its predecessor was told.
pub trait WaitMemory: Send + Sync + fmt::Debug {
    /// What is kept of an account: which requests, and not before when.
    fn kept(&self, account: &str) -> Vec<(String, Wall)>;

    /// Keeps that such requests of an account must wait. It does not block; what could not be
    /// kept is in the log.
    fn keep(&self, account: &str, requests: &str, not_before: Wall);
}

/// A memory, and the account whose waits are kept in it.
#[derive(Clone, Debug)]
pub struct Waits {
    /// The account.
    pub account: Box<str>,
    /// The memory.
    pub memory: Arc<dyn WaitMemory>,
}

pub(super) struct Limiter {
    clock: SharedClock,
    waits: Option<Waits>,
    /// By host and kind of request.
    not_before: Mutex<HashMap<Box<str>, Instant>>,
}

// === impl Limiter ===

impl Limiter {
    pub(super) fn new(clock: SharedClock, waits: Option<Waits>) -> Self {
        let (now, wall) = (clock.now(), clock.wall());
        let kept = waits
            .as_ref()
            .map(|waits| waits.memory.kept(&waits.account));
        let kept = kept.into_iter().flatten().filter_map(|(requests, until)| {
            let left = u64::try_from(until.0.saturating_sub(wall.0)).ok()?;
            let left = Duration::from_millis(left).min(KEPT_MAX);
            Some((requests.into(), now + left))
        });
        Self {
            not_before: Mutex::new(kept.collect()),
            clock,
            waits,
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
        let name = name(origin, bucket);
        let until = entries.entry(name.clone()).or_insert(now);
        let is_longer = now + wait > *until;
        *until = (*until).max(now + wait);
        drop(entries);
        if let Some(waits) = self.waits.as_ref().filter(|_| is_longer) {
            let wait = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
            // Milliseconds are cut off; one more is never too early.
            let until = Wall(self.clock.wall().0.saturating_add(wait + 1));
            waits.memory.keep(&waits.account, &name, until);
        }
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
        let until = entries.get(&name(origin, bucket))?;
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

fn name(origin: &Origin, bucket: &str) -> Box<str> {
    format!("{origin} {bucket}").into()
}
