//! The program that tests of `bash` start: a guard, and what the guard starts
//! to be confined.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(word) if word == "guard" => legation_core::process::guard_main(args),
        Some(word) if word == legation_sandbox::CONFINED => legation_sandbox::confined_main(args),
        _ => ExitCode::from(2),
    }
}
