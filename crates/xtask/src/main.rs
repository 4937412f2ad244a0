//! The repository's own commands: `cargo xtask tidy|test|soak|bench|dist|order|peers`.
//!
//! They are a program and not shell scripts so that they read the same on every platform, are
//! linted and tested like everything else, and need nothing installed but Rust. One file per
//! command; each has an `Args` and a `run`.

mod bench;
mod dist;
mod drive;
mod order;
mod peers;
mod preempt;
mod soak;
mod sys;
mod test;
mod tidy;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Legation's repository commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check the walls between crates and the house rules a compiler does not know.
    Tidy(tidy::Args),
    /// Run every test that gates a change.
    Test(test::Args),
    /// Run campaigns too long for `test`: crash cycles and random input.
    Soak(soak::Args),
    /// Measure the hub against a direct connection.
    Bench(bench::Args),
    /// Build the hub as it is shipped: for what was counted that a hub does.
    Dist(dist::Args),
    /// Find what the program executes, so that it lies side by side.
    Order(order::Args),
    /// Install the peers that `bench --peers` compares with.
    Peers(peers::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Tidy(args) => tidy::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Soak(args) => soak::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Dist(args) => dist::run(&args),
        Command::Order(args) => order::run(&args),
        Command::Peers(args) => peers::run(&args),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            sys::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
