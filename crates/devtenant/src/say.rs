//! What the person who runs the program reads: standard error, a line at a time.

use std::io::Write as _;

/// Writes one line to standard error.
pub(crate) fn say(text: &str) {
    // Nobody may be reading; that must not end the tenant.
    drop(writeln!(std::io::stderr().lock(), "{text}"));
}

/// Writes one line to standard output.
pub(crate) fn put(text: &str) {
    drop(writeln!(std::io::stdout().lock(), "{text}"));
}
