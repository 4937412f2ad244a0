//! The time that approvals expire in.

use legation_core::SharedClock;

/// Time that does not go back while the hub runs: setting the clock back a day
/// gives no approval a day more.
#[derive(Debug)]
pub(super) struct Time {
    clock: SharedClock,
    start: std::time::Instant,
    start_ms: i64,
}

// === impl Time ===

impl Time {
    pub(super) fn new(clock: SharedClock) -> Self {
        Self {
            start: clock.now(),
            start_ms: clock.wall().0,
            clock,
        }
    }

    pub(super) fn now_ms(&self) -> i64 {
        let passed = self.clock.now().saturating_duration_since(self.start);
        let passed = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
        self.clock
            .wall()
            .0
            .max(self.start_ms.saturating_add(passed))
    }
}
