//! Crash points: what a power failure may leave on the disk, at every moment of
//! a recorded run.
//!
//! A run of the store is traced by `strace`, every write and every sync of it.
//! Then, for moments of that run, disks are made as a power failure could have
//! left them: with what was synced, and of what was not any part, whole or torn
//! at the size of a sector. Each is opened with the store, and must hold
//! everything that had been acknowledged by then.
//!
//! This program is its own harness, because it is also the program that is
//! traced and the long campaign of `cargo xtask soak`:
//! `crash points COUNT SEED` and `crash drive FOLDER`.

mod check;
mod disk;
mod drive;
mod random;
mod trace;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use trace::Operation;

const NAME: &str = "every_crash_point_of_a_short_run_keeps_what_was_acknowledged";

/// Crash points of the short form.
const SHORT: usize = 600;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["drive", folder, seed, rounds] => {
            let number = |text: &str| text.parse().expect("a number");
            drive::drive(Path::new(folder), number(seed), number(rounds) as usize);
            ExitCode::SUCCESS
        }
        ["points", count, seed] => {
            let number = |text: &str| text.parse::<u64>().expect("a number");
            report(points(number(count) as usize, number(seed), 400))
        }
        // The rest is what a harness is asked by `cargo test` and by nextest.
        _ if words.contains(&"--list") => {
            if !words.contains(&"--ignored") {
                say(&format!("{NAME}: test"));
            }
            ExitCode::SUCCESS
        }
        _ => {
            let filters: Vec<&&str> = words.iter().filter(|word| !word.starts_with('-')).collect();
            if words.contains(&"--ignored")
                || !(filters.is_empty() || filters.iter().any(|filter| NAME.contains(**filter)))
            {
                return ExitCode::SUCCESS;
            }
            report(points(SHORT, random::fresh_seed(), 40))
        }
    }
}

/// Traces runs of so many rounds, and tries crash points of them until so many
/// disks that differ were opened.
fn points(count: usize, seed: u64, rounds: usize) -> Result<String, String> {
    say(&format!(
        "seed {seed}; repeat with `crash points {count} {seed}`"
    ));
    let (mut disks, mut moments) = (0, 0);
    for run in seed.. {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let trace = trace::record(folder.path(), run, rounds)?;
        if run == seed {
            would_be_noticed(&trace, seed)?;
        }
        disks += check::run(&trace, count - disks, run)?;
        moments += trace.operations.len();
        say(&format!("{disks} crash points, nothing lost"));
        if disks >= count {
            break;
        }
    }
    Ok(format!(
        "{disks} crash points that differ, at {moments} moments, and nothing lost"
    ))
}

/// The same run on a disk that ignores syncs must be seen to lose something, or
/// the others prove nothing.
fn would_be_noticed(trace: &trace::Trace, seed: u64) -> Result<(), String> {
    for (what, deaf) in [
        ("of a file", trace.without(Operation::is_sync)),
        ("of the folder", trace.without(Operation::is_folder_sync)),
    ] {
        if check::run(&deaf, SHORT, seed).is_ok() {
            return Err(format!(
                "a disk that ignores every sync {what} is not noticed"
            ));
        }
    }
    Ok(())
}

fn report(done: Result<String, String>) -> ExitCode {
    match done {
        Ok(told) => {
            say(&told);
            ExitCode::SUCCESS
        }
        Err(told) => {
            say(&format!("FAILED: {told}"));
            ExitCode::FAILURE
        }
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").expect("standard output is there");
}
