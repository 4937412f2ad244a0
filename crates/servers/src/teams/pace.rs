//! How often a chat is read: often while people talk in it, seldom when it is
//! quiet. Microsoft asks that nobody polls more than is needed.

use std::time::{Duration, Instant};

/// When a chat is read next.
#[derive(Debug)]
pub(super) struct Pace {
    /// Since when nothing was said.
    quiet_since: Instant,
    due: Instant,
}

const TALKING: Duration = Duration::from_secs(5);
const PAUSING: Duration = Duration::from_secs(15);
const QUIET: Duration = Duration::from_secs(60);
/// So long after the last word they still talk, and so long they may go on.
const TALKS_FOR: Duration = Duration::from_secs(120);
const PAUSES_FOR: Duration = Duration::from_secs(600);

// === impl Pace ===

impl Pace {
    /// A chat that is read at once.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            quiet_since: now,
            due: now,
        }
    }

    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// It was read; `news` says whether anything was new.
    pub(super) fn was_read(&mut self, news: bool, now: Instant) {
        if news {
            self.quiet_since = now;
        }
        let quiet = now.saturating_duration_since(self.quiet_since);
        let wait = match quiet {
            quiet if quiet < TALKS_FOR => TALKING,
            quiet if quiet < PAUSES_FOR => PAUSING,
            _ => QUIET,
        };
        self.due = now + wait;
    }

    /// More of it waits; others come first.
    pub(super) fn go_on(&mut self, now: Instant) {
        self.quiet_since = now;
        self.due = now;
    }

    /// It could not be read.
    pub(super) fn failed(&mut self, wait: Duration, now: Instant) {
        self.due = now + wait.max(TALKING);
    }

    /// Somebody says something in it: an answer may come soon.
    pub(super) fn talk(&mut self, now: Instant) {
        self.quiet_since = now;
        self.due = self.due.min(now + TALKING);
    }
}
