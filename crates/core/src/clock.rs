//! Time as a value, so that tests can hold it still.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Milliseconds since 1970-01-01T00:00:00Z; prints as RFC 3339, and is kept as a number.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(transparent)]
pub struct Wall(pub i64);

/// Where the time comes from.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Monotonic time, for deadlines and durations.
    fn now(&self) -> Instant;
    /// Wall-clock time, for records.
    fn wall(&self) -> Wall;
}

/// A clock that many hold.
pub type SharedClock = Arc<dyn Clock>;

/// The operating system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

/// A clock that moves only when told.
#[derive(Debug)]
pub struct ManualClock {
    start: Instant,
    passed: Mutex<Duration>,
    epoch: Wall,
}

// === impl Wall ===

impl Wall {
    /// Reads a time as RFC 3339 has it, or a date, which is its first moment in
    /// UTC.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let stamp = text.parse::<jiff::Timestamp>().ok();
        let stamp = stamp.or_else(|| format!("{text}T00:00:00Z").parse().ok());
        stamp.map(|stamp| Self(stamp.as_millisecond()))
    }
}

impl fmt::Display for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(stamp) => write!(f, "{stamp:.3}"),
            Err(_) => write!(f, "@{}ms", self.0),
        }
    }
}

// === impl SystemClock ===

impl SystemClock {
    /// A shared handle.
    #[must_use]
    pub fn shared() -> SharedClock {
        Arc::new(Self)
    }
}

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that asks the system"
    )]
    fn now(&self) -> Instant {
        Instant::now()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that asks the system"
    )]
    fn wall(&self) -> Wall {
        let now = std::time::SystemTime::now();
        let ms = match now.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
        };
        Wall(ms)
    }
}

// === impl ManualClock ===

impl ManualClock {
    /// A clock standing at `epoch`.
    #[must_use]
    pub fn at(epoch: Wall) -> Self {
        Self {
            start: SystemClock.now(),
            passed: Mutex::new(Duration::ZERO),
            epoch,
        }
    }

    /// Moves the clock on.
    pub fn advance(&self, by: Duration) {
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }

    fn passed(&self) -> Duration {
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        self.start + self.passed()
    }

    fn wall(&self) -> Wall {
        Wall(self.epoch.0 + i64::try_from(self.passed().as_millis()).unwrap_or(i64::MAX))
    }
}

/// Nanoseconds since 1970, for spans, whose readers expect them.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that asks the system"
)]
pub(crate) fn unix_nanos() -> u64 {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_time_prints_as_rfc_3339_with_milliseconds() {
        assert_eq!(Wall(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(
            Wall(1_795_226_096_789).to_string(),
            "2026-11-21T01:54:56.789Z"
        );
    }

    #[test]
    fn a_time_or_a_date_is_read() {
        let at = |text| Wall::parse(text).map(|wall| wall.to_string());
        let same = Some("2026-11-21T01:54:56.789Z".to_owned());
        assert_eq!(at("2026-11-21T01:54:56.789Z"), same);
        assert_eq!(at("2026-11-21T02:54:56.789+01:00"), same);
        assert_eq!(
            at("2026-11-21").as_deref(),
            Some("2026-11-21T00:00:00.000Z")
        );
        for bad in ["", "today", "2026-13-01", "2026-11"] {
            assert_eq!(at(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = ManualClock::at(Wall(1_000));
        let before = clock.now();
        clock.advance(Duration::from_secs(2));
        assert_eq!(clock.now() - before, Duration::from_secs(2));
        assert_eq!(clock.wall(), Wall(3_000));
    }
}
