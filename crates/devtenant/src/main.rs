//! The `legation-devtenant` program.

use std::process::ExitCode;

use legation_core::SystemClock;

fn main() -> ExitCode {
    legation_devtenant::cli::run(std::env::args_os(), SystemClock::shared())
}
