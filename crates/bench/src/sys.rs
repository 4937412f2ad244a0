//! The clock and child processes, each behind one name.

use std::ffi::OsStr;
use std::time::Instant;

/// The monotonic clock.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "measurements are of real time")]
pub fn now() -> Instant {
    Instant::now()
}

/// A program to start and measure.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "the measured programs are not children of a hub; the hub's guard would be measured too"
)]
pub fn command(program: impl AsRef<OsStr>) -> std::process::Command {
    std::process::Command::new(program)
}

/// One line of data, to standard output.
#[expect(clippy::print_stdout, reason = "the program's result")]
pub fn put(line: &str) {
    println!("{line}");
}

/// One line of talk, to standard error.
#[expect(clippy::print_stderr, reason = "talk is for the person watching")]
pub fn say(line: &str) {
    eprintln!("{line}");
}
