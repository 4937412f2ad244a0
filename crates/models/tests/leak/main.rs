//! Whose data reaches which provider: generated conversations with mixed labels,
//! against recording servers, while rules change under them.
//!
//! What is asserted is asserted on the bytes that arrive, under the rules in force
//! when they do, by an oracle that shares no code with the policy. This program
//! is its own harness, because it is also the long campaign of `cargo xtask
//! soak`: `leak conversations COUNT SEED`.

#[path = "../../src/test_kit/gate.rs"]
mod gate;
mod rules;
mod server;
mod talk;
mod world;

use std::io::Write as _;
use std::process::ExitCode;

use talk::campaign;

/// How many conversations the suite has.
const SHORT: usize = 1_000;
const NAME: &str = "no_provider_gets_what_it_may_not_have";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["conversations", count, seed] => {
            let number = |text: &str| text.parse::<u64>().expect("a number");
            report(number(count) as usize, number(seed))
        }
        // The rest is what a harness is asked by `cargo test` and by nextest.
        _ if words.contains(&"--list") => {
            if !words.contains(&"--ignored") {
                say(&format!("{NAME}: test"));
            }
            ExitCode::SUCCESS
        }
        _ if words.contains(&"--ignored") => ExitCode::SUCCESS,
        _ => {
            let filters: Vec<&&str> = words.iter().filter(|word| !word.starts_with('-')).collect();
            match filters.is_empty() || filters.iter().any(|filter| NAME.contains(**filter)) {
                true => report(SHORT, fresh_seed()),
                false => ExitCode::SUCCESS,
            }
        }
    }
}

fn report(count: usize, seed: u64) -> ExitCode {
    say(&format!(
        "seed {seed}; repeat with `leak conversations {count} {seed}`"
    ));
    match campaign(count, seed) {
        Ok(told) => {
            say(&told);
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&error);
            ExitCode::FAILURE
        }
    }
}

fn fresh_seed() -> u64 {
    let now = legation_core::Clock::wall(&*legation_core::SystemClock::shared());
    u64::try_from(now.0).unwrap_or_default() % 1_000_000
}

fn say(text: &str) {
    // Nobody to tell is no failure.
    drop(writeln!(std::io::stdout(), "{text}"));
}
