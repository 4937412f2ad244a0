//! The `legation` program: the composition root of the hub, and its commands.

mod bridge;
mod chat;
mod demo;
mod example;
mod program;
mod serve;

use std::process::ExitCode;

use legation_config::Environment;
use legation_core::SystemClock;

/// This program's version.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

#[global_allocator]
static MEMORY: legation_alloc::BySize = legation_alloc::BySize;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    // A guard stands before every server: it must not pay for a command line it does not have.
    match arguments.nth(1) {
        Some(first) if first == "guard" => return legation_core::process::guard_main(arguments),
        // Nor must a command's walls be put up by a process with threads.
        Some(first) if first == legation_sandbox::CONFINED => {
            return legation_sandbox::confined_main(arguments);
        }
        _ => {}
    }
    legation_core::process::keep_memory_private();
    legation_cli::run(
        &program::Legation,
        std::env::args_os(),
        Environment::from_process(),
        SystemClock::shared(),
        VERSION,
    )
}
