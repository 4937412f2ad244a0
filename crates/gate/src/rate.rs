//! How often a client may call: token buckets per client, per server and per
//! tool, and one for looking.
//!
//! Reading lists and polling tasks has a bucket of its own, so that a client
//! that polls never eats the budget of its calls. A bucket is one number, the
//! time at which it would be full again (the generic cell rate algorithm, ITU-T
//! I.371): nothing has to be refilled by a timer, and a bucket nobody uses can
//! be forgotten as soon as it is full.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use legation_core::{ClientId, ServerName, SharedClock};

/// How many buckets are kept before full ones are forgotten.
const BUCKETS: usize = 16_384;

/// What the owner allows. Zero is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateLimits {
    /// Calls a minute of one client.
    pub client_per_minute: u32,
    /// Calls a minute of one client at one server.
    pub server_per_minute: u32,
    /// Calls a minute of one client of one tool.
    pub tool_per_minute: u32,
    /// Lists read and tasks polled a minute by one client.
    pub poll_per_minute: u32,
    /// How many seconds' worth may come at once.
    pub burst_s: u32,
}

/// A call that came too soon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("client {client} has made too many {what}; nothing was called")]
pub struct TooMany {
    /// Whose.
    pub client: ClientId,
    /// Of what, in words.
    pub what: &'static str,
    /// After how long the next may come.
    pub after: Duration,
}

/// The buckets.
#[derive(Debug)]
pub struct Rates {
    limits: RateLimits,
    clock: SharedClock,
    start: Instant,
    hasher: RandomState,
    /// Nanoseconds since `start` at which a bucket is full again, by the digest
    /// of what it is of. A collision would make two share a bucket.
    full_at: Mutex<HashMap<u64, u64>>,
}

/// What a bucket is of.
#[derive(Clone, Copy, Hash)]
enum Of<'a> {
    Client,
    Server(&'a str),
    Tool(&'a str, &'a str),
    Polls,
}

// === impl RateLimits ===

impl RateLimits {
    fn is_off(&self) -> bool {
        self.client_per_minute == 0 && self.server_per_minute == 0 && self.tool_per_minute == 0
    }
}

// === impl TooMany ===

impl TooMany {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        format!(
            "wait {} ms, then call again",
            self.after.as_millis().saturating_add(1)
        )
    }
}

// === impl Rates ===

impl Rates {
    /// Full buckets.
    #[must_use]
    pub fn new(limits: RateLimits, clock: SharedClock) -> Self {
        Self {
            limits,
            start: clock.now(),
            clock,
            hasher: RandomState::new(),
            full_at: Mutex::default(),
        }
    }

    /// Takes one call out of the buckets it is of, or out of none.
    ///
    /// # Errors
    /// When one of them is empty.
    pub fn call(&self, client: &ClientId, server: &ServerName, item: &str) -> Result<(), TooMany> {
        if self.limits.is_off() {
            return Ok(());
        }
        let server = server.as_str();
        self.take(
            client,
            &[
                (Of::Client, self.limits.client_per_minute, "calls"),
                (
                    Of::Server(server),
                    self.limits.server_per_minute,
                    "calls of this server",
                ),
                (
                    Of::Tool(server, item),
                    self.limits.tool_per_minute,
                    "calls of this tool",
                ),
            ],
        )
    }

    /// Takes one look.
    ///
    /// # Errors
    /// When the client looks too often.
    pub fn poll(&self, client: &ClientId) -> Result<(), TooMany> {
        if self.limits.poll_per_minute == 0 {
            return Ok(());
        }
        self.take(client, &[(Of::Polls, self.limits.poll_per_minute, "looks")])
    }

    fn take(
        &self,
        client: &ClientId,
        buckets: &[(Of<'_>, u32, &'static str)],
    ) -> Result<(), TooMany> {
        let now = nanos(self.clock.now().saturating_duration_since(self.start));
        let burst = nanos(Duration::from_secs(u64::from(self.limits.burst_s.max(1))));
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = [(0, 0); 3];
        let mut count = 0;
        for (of, per_minute, what) in buckets {
            let Some(each) = nanos(Duration::from_mins(1)).checked_div(u64::from(*per_minute))
            else {
                continue;
            };
            // One call must fit, however rare calls may be.
            let burst = burst.max(each);
            let key = self.hasher.hash_one((client, of));
            let after = full_at.get(&key).copied().unwrap_or(0).max(now) + each;
            let wait = after.saturating_sub(now + burst);
            if wait > 0 {
                return Err(TooMany {
                    client: client.clone(),
                    what,
                    after: Duration::from_nanos(wait),
                });
            }
            taken[count] = (key, after);
            count += 1;
        }
        if full_at.len() >= BUCKETS {
            full_at.retain(|_, full| *full > now);
        }
        full_at.extend(taken[..count].iter().copied());
        Ok(())
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
