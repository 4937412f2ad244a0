//! The guard that the tests of this crate start servers through.

use std::process::ExitCode;

fn main() -> ExitCode {
    legation_core::process::guard_main(std::env::args_os().skip(1))
}
