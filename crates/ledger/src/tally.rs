//! How much was recorded, by the hour: what charts are drawn of.
//!
//! A table of sums in the database was rejected: every commit would have a second page
//! to write, and a second place would say what the ledger says. Sums are counted from
//! the records instead, once, and go on with the records that are new.

use std::collections::BTreeMap;

use legation_store::Reader;
use serde::Deserialize;

use crate::error::LedgerError;

/// Milliseconds of an hour.
pub const HOUR_MS: i64 = 60 * 60 * 1_000;
/// The least time that is told apart from none, in milliseconds.
const LEAST_MS: f64 = 0.05;
/// By how much each step of time is longer than the one before.
const STEP: f64 = 1.25;
/// The last step: everything from about four hours on.
const STEPS: u8 = 88;

/// Sums of a ledger's records, as far as they were counted.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// The last record that was counted.
    position: i64,
    /// By hours since 1970.
    hours: BTreeMap<i64, Sums>,
}

/// What was recorded in a span of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums {
    /// Calls that were about to be made.
    pub calls: u64,
    /// Calls that were refused.
    pub refused: u64,
    /// Outcomes other than good ones.
    pub failed: u64,
    /// How many calls took how long, by steps; only steps with any, in order.
    took: Vec<(u8, u32)>,
}

/// As much of a record as is counted.
#[derive(Deserialize)]
struct Members<'r> {
    #[serde(borrow)]
    kind: &'r str,
    #[serde(borrow, default)]
    status: Option<&'r str>,
    #[serde(default)]
    execution_time_ms: Option<f64>,
}

// === impl Tally ===

impl Tally {
    /// A tally that begins with the records of this moment, and knows of none before.
    pub(crate) fn since(reader: &Reader, from_ms: i64) -> Result<Self, LedgerError> {
        // Records stand in the order of their times but for clocks that were set back.
        let row_after = |position| -> Result<Option<(i64, i64)>, LedgerError> {
            let rows = reader
                .ledger_after(position, 1)
                .map_err(LedgerError::read)?;
            Ok(rows.first().map(|row| (row.position, row.at_ms)))
        };
        let last = reader.ledger_last(1).map_err(LedgerError::read)?;
        let (mut low, mut high) = (0, last.first().map_or(0, |row| row.position));
        while low < high {
            let middle = low + (high - low) / 2;
            match row_after(middle)? {
                Some((position, at_ms)) if at_ms < from_ms => low = position,
                _ => high = middle,
            }
        }
        Ok(Self {
            position: low,
            hours: BTreeMap::new(),
        })
    }

    /// Counts up to `limit` records that are new; how many are left.
    pub(crate) fn go_on(&mut self, reader: &Reader, limit: usize) -> Result<u64, LedgerError> {
        let rows = reader
            .ledger_after(self.position, limit)
            .map_err(LedgerError::read)?;
        for row in &rows {
            self.add(row.position, row.at_ms, &row.bytes);
        }
        let last = reader.ledger_last(1).map_err(LedgerError::read)?;
        let last = last.first().map_or(0, |row| row.position);
        Ok(u64::try_from(last - self.position).unwrap_or(0))
    }

    /// Forgets the hours before a moment.
    pub fn forget(&mut self, before_ms: i64) {
        self.hours = self.hours.split_off(&before_ms.div_euclid(HOUR_MS));
    }

    /// What was recorded from a moment on for so many milliseconds, both whole hours.
    #[must_use]
    pub fn sums(&self, from_ms: i64, span_ms: i64) -> Sums {
        let from = from_ms.div_euclid(HOUR_MS);
        let until = (from_ms + span_ms).div_euclid(HOUR_MS);
        let mut sums = Sums::default();
        for hour in self
            .hours
            .range(from..until.max(from))
            .map(|(_, hour)| hour)
        {
            sums.calls += hour.calls;
            sums.refused += hour.refused;
            sums.failed += hour.failed;
            for (step, count) in &hour.took {
                sums.took(*step, *count);
            }
        }
        sums
    }

    fn add(&mut self, position: i64, at_ms: i64, bytes: &[u8]) {
        self.position = position;
        // A damaged record counts for nothing; the verifier says what is wrong with it.
        let Ok(members) = serde_json::from_slice::<Members<'_>>(bytes) else {
            return;
        };
        let sums = self.hours.entry(at_ms.div_euclid(HOUR_MS)).or_default();
        match members.kind {
            "intent" => sums.calls += 1,
            "refused" => sums.refused += 1,
            "outcome" => {
                let is_good = matches!(members.status, Some("ok" | "input_required" | "task"));
                sums.failed += u64::from(!is_good);
                if let Some(ms) = members.execution_time_ms {
                    sums.took(step(ms), 1);
                }
            }
            _ => {}
        }
    }
}

// === impl Sums ===

impl Sums {
    /// How long a call took that no more than this share took longer than, in
    /// milliseconds: as exact as a quarter of it. `None` where no call ended.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let all: u64 = self.took.iter().map(|(_, count)| u64::from(*count)).sum();
        // Counts of an hour are far below what a float holds exactly.
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a count of calls"
        )]
        let wanted = ((all as f64) * share).ceil() as u64;
        let mut seen = 0;
        for (step, count) in &self.took {
            seen += u64::from(*count);
            if seen >= wanted.max(1) {
                return Some(LEAST_MS * STEP.powi(i32::from(*step)));
            }
        }
        None
    }

    fn took(&mut self, step: u8, count: u32) {
        match self.took.binary_search_by_key(&step, |(step, _)| *step) {
            Ok(place) => self.took[place].1 = self.took[place].1.saturating_add(count),
            Err(place) => self.took.insert(place, (step, count)),
        }
    }
}

/// The step that a time belongs to: the first that is not shorter.
fn step(ms: f64) -> u8 {
    (0..STEPS)
        .find(|step| ms <= LEAST_MS * STEP.powi(i32::from(*step)))
        .unwrap_or(STEPS)
}

#[cfg(test)]
mod tests;
