//! Latencies and what is said of them.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::Serialize;

/// The latencies of one run, in nanoseconds.
#[derive(Debug, Default)]
pub struct Latencies(Vec<u64>);

/// What a run came to.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Calls answered correctly inside the measured time.
    pub calls: usize,
    /// All calls answered correctly, warm-up and handover included: what a ledger must hold.
    pub all_calls: usize,
    /// Calls with a wrong answer.
    pub wrong: usize,
    /// The first wrong answer, shortened.
    pub first_wrong: Option<String>,
    /// The measured time in seconds.
    pub seconds: f64,
    /// `calls` by `seconds`.
    pub per_second: f64,
    /// Half of the calls were answered in this many microseconds.
    pub p50_us: f64,
    /// 99 of 100 calls were.
    pub p99_us: f64,
    /// All of them were.
    pub max_us: f64,
}

// === impl Latencies ===

impl Latencies {
    /// One more call.
    pub fn push(&mut self, took: Duration) {
        self.0
            .push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Another connection's calls.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sorts them, so that [`Latencies::percentile_us`] may be asked.
    pub fn sort(&mut self) {
        self.0.sort_unstable();
    }

    /// The smallest latency that `percent` of all do not exceed, in microseconds; zero of none.
    /// The latencies must be sorted.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a latency is far below 2^52 ns")]
    pub fn percentile_us(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0
            .get(rank - 1)
            .map_or(0.0, |nanos| *nanos as f64 / 1000.0)
    }
}
