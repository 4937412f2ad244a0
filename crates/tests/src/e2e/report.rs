//! Counting checks, and saying how they went while they go.

use std::fmt::Display;

/// The checks of one driver.
#[derive(Debug, Default)]
pub struct Report {
    filter: Option<String>,
    passed: u64,
    failed: u64,
}

/// One line for the person watching.
#[expect(clippy::print_stderr, reason = "progress is for the person watching")]
pub fn say(line: &str) {
    eprintln!("{line}");
}

// === impl Report ===

impl Report {
    /// An empty report that wants only checks whose name contains the filter.
    #[must_use]
    pub fn new(filter: Option<String>) -> Self {
        Self {
            filter,
            ..Self::default()
        }
    }

    /// Whether a group of checks is wanted.
    #[must_use]
    pub fn wants(&self, name: &str) -> bool {
        self.filter
            .as_ref()
            .is_none_or(|filter| name.contains(filter.as_str()))
    }

    /// One check.
    pub fn check<E: Display>(&mut self, name: &str, outcome: Result<(), E>) {
        match outcome {
            Ok(()) => {
                self.passed += 1;
                say(&format!("  ok      {name}"));
            }
            Err(why) => {
                self.failed += 1;
                say(&format!("  FAILED  {name}: {why:#}"));
            }
        }
    }

    /// Checks that somebody else counted.
    pub fn add(&mut self, passed: u64, failed: u64) {
        self.passed += passed;
        self.failed += failed;
    }

    /// How many checks there were so far.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.passed + self.failed
    }

    /// Whether nothing failed.
    #[must_use]
    pub fn good(&self) -> bool {
        self.failed == 0
    }

    /// `N passed, N failed`
    #[must_use]
    pub fn line(&self) -> String {
        format!("{} passed, {} failed", self.passed, self.failed)
    }
}
