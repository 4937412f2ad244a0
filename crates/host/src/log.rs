//! The last words of a server: what its process wrote to stderr, and what the
//! hub noticed about it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lines kept per server.
const LINES_MAX: usize = 500;
/// Bytes kept of one line.
const LINE_MAX: usize = 2_048;
/// Warnings kept per server.
const WARNINGS_MAX: usize = 20;
/// Lines of stderr quoted in a reason.
const QUOTED_LINES: usize = 3;
/// Characters quoted of one line.
const QUOTED_CHARS: usize = 200;

/// The log of one server, all its instances together.
#[derive(Debug, Default)]
pub struct ServerLog {
    lines: Mutex<VecDeque<Line>>,
    warnings: Mutex<VecDeque<String>>,
}

#[derive(Debug)]
struct Line {
    kind: Kind,
    text: Box<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Start,
    Stderr,
    Note,
}

// === impl ServerLog ===

impl ServerLog {
    /// Takes a line a process wrote to stderr.
    pub fn stderr(&self, line: &str) {
        self.push(Kind::Stderr, line);
    }

    /// Notes that a connection is attempted: what stderr said before has
    /// nothing to do with what becomes of it.
    pub fn starting(&self) {
        self.push(Kind::Start, "the hub connects");
    }

    /// Takes a remark of the hub's own.
    pub fn note(&self, line: &str) {
        self.push(Kind::Note, line);
    }

    /// Takes a remark that its owner should see although the server works.
    pub fn warn(&self, line: &str) {
        self.note(line);
        let text = printable(line);
        let mut warnings = self.lock_warnings();
        // The same again is the same trouble, not more of it.
        warnings.retain(|known| *known != text);
        if warnings.len() == WARNINGS_MAX {
            warnings.pop_front();
        }
        warnings.push_back(text);
    }

    /// The last warnings, the latest last.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.lock_warnings().iter().cloned().collect()
    }

    /// Forgets the warnings: the server is another now.
    pub fn forget_warnings(&self) {
        self.lock_warnings().clear();
    }

    fn lock_warnings(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last lines, oldest first, at most `count`.
    #[must_use]
    pub fn tail(&self, count: usize) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let skip = lines.len().saturating_sub(count);
        lines
            .iter()
            .skip(skip)
            .map(|line| line.text.to_string())
            .collect()
    }

    /// The last lines of stderr since the latest attempt to connect, for a
    /// reason; `None` when there are none.
    #[must_use]
    pub fn quote(&self) -> Option<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last: Vec<String> = lines
            .iter()
            .rev()
            .take_while(|line| line.kind != Kind::Start)
            .filter(|line| line.kind == Kind::Stderr && !line.text.trim().is_empty())
            .map(|line| line.text.trim().chars().take(QUOTED_CHARS).collect())
            .take(QUOTED_LINES)
            .collect();
        last.reverse();
        // A server that is started twice to find its era complains twice.
        last.dedup();
        (!last.is_empty()).then(|| last.join(" | "))
    }

    fn push(&self, kind: Kind, line: &str) {
        let text = printable(line);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(Line {
            kind,
            text: text.into(),
        });
    }
}

/// A control character of a server must not repaint the terminal that shows its
/// log.
fn printable(line: &str) -> String {
    let line = line.chars().take(LINE_MAX);
    line.map(|c| {
        if c.is_control() && c != '\t' {
            '\u{fffd}'
        } else {
            c
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{LINES_MAX, ServerLog, WARNINGS_MAX};

    #[test]
    fn the_last_warnings_are_kept_once_each() {
        let log = ServerLog::default();
        for n in 0..=WARNINGS_MAX {
            log.warn(&format!("warning {n}"));
        }
        log.warn("warning 1\u{7}");
        log.warn("warning 2");
        let warnings = log.warnings();
        assert_eq!(warnings.len(), WARNINGS_MAX);
        assert_eq!(warnings[0], "warning 3");
        assert_eq!(warnings[18..], ["warning 1\u{fffd}", "warning 2"]);
        assert_eq!(log.tail(1), ["warning 2"]);
        log.forget_warnings();
        assert!(log.warnings().is_empty());
    }

    #[test]
    fn the_log_keeps_the_last_lines_and_quotes_only_stderr() {
        let log = ServerLog::default();
        assert_eq!(log.quote(), None);
        for n in 0..LINES_MAX {
            log.stderr(&format!("line {n}"));
        }
        log.stderr("\u{1b}[31mred");
        log.note("the hub restarted it");
        assert_eq!(log.tail(usize::MAX).len(), LINES_MAX);
        assert_eq!(log.tail(1), ["the hub restarted it"]);
        assert_eq!(
            log.quote().as_deref(),
            Some("line 498 | line 499 | \u{fffd}[31mred")
        );
        log.starting();
        assert_eq!(log.quote(), None, "of an earlier attempt");
        log.stderr("no configuration");
        log.stderr("no configuration");
        assert_eq!(log.quote().as_deref(), Some("no configuration"));
    }
}
