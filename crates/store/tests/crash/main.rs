//! Crash points: what a power failure may leave on the disk, at every moment of
//! a recorded run.
//!
//! A run of the store is traced by `strace`, every write and every sync of it.
//! Then, for moments of that run, disks are made as a power failure could have
//! left them: with what was synced, and of what was not any part, whole or torn
//! at the size of a sector. Each is opened with the store, and must hold
//! everything that had been acknowledged by then.
//!
//! And the same run with a disk that is full, or fails, at one of its writes or
//! syncs: the store must say so, lose nothing that it acknowledged, and work
//! again.
//!
//! This program is its own harness, because it is also the program that is
//! traced and the long campaign of `cargo xtask soak`:
//! `crash points COUNT SEED` and `crash drive FOLDER SEED ROUNDS`.

mod check;
mod drive;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use legation_crash::{Faults, Kind, Operation, Recording, Trace, fresh_seed};

const NAMES: [&str; 2] = [
    "every_crash_point_of_a_short_run_keeps_what_was_acknowledged",
    "a_write_or_sync_that_fails_loses_nothing_that_was_acknowledged",
];

/// Rounds of the run in which calls fail: long enough for the log to start over.
const FAILING: usize = 40;

/// Crash points of the short form.
const SHORT: usize = 600;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["drive", folder, seed, rounds] => {
            let number = |text: &str| text.parse().expect("a number");
            let errors = drive::drive(Path::new(folder), number(seed), number(rounds) as usize);
            say(&format!("{errors} errors"));
            ExitCode::SUCCESS
        }
        ["points", count, seed] => {
            let number = |text: &str| text.parse::<u64>().expect("a number");
            let seed = number(seed);
            let done = points(number(count) as usize, seed, 400)
                .and_then(|told| Ok(format!("{told}; {}", faults(|faults| faults.every(seed))?)));
            report(done)
        }
        // The rest is what a harness is asked by `cargo test` and by nextest.
        _ if words.contains(&"--list") => {
            if !words.contains(&"--ignored") {
                for name in NAMES {
                    say(&format!("{name}: test"));
                }
            }
            ExitCode::SUCCESS
        }
        _ if words.contains(&"--ignored") => ExitCode::SUCCESS,
        _ => chosen(&words),
    }
}

/// Runs the short forms whose names were asked for, or all.
fn chosen(words: &[&str]) -> ExitCode {
    let filters: Vec<&&str> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let wanted =
        |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(**filter));
    let seed = fresh_seed();
    let [crash, fault] = NAMES;
    if wanted(crash) && report(points(SHORT, seed, 40)) == ExitCode::FAILURE {
        return ExitCode::FAILURE;
    }
    if wanted(fault) {
        return report(faults(|faults| faults.some(seed)));
    }
    ExitCode::SUCCESS
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
        let trace = record(folder.path(), run, rounds)?;
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

/// The run in which calls fail.
fn faults(
    run: impl Fn(&Faults<'_, fn(&Path) -> Result<(), String>>) -> Result<String, String>,
) -> Result<String, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let kind = |call, error, early| Kind {
        call,
        error,
        times: 1,
        early,
    };
    run(&Faults {
        program: &this,
        rounds: FAILING,
        kinds: &[
            kind("pwrite64", "EIO", 60),
            kind("pwrite64", "ENOSPC", 60),
            kind("pwrite64", "EROFS", 60),
            kind("fdatasync", "EIO", 3),
            kind("fsync", "EIO", 3),
            kind("ftruncate", "EIO", 3),
        ],
        look: |place| {
            let facts = std::fs::read_to_string(place.join(drive::FACTS));
            let facts = facts.map_err(|error| error.to_string())?;
            check::look(
                &place.join(drive::DATABASE),
                &check::Facts::of(&facts),
                true,
            )
        },
    })
}

/// Runs the driver and records what it does to its files.
fn record(folder: &Path, seed: u64, rounds: usize) -> Result<Trace, String> {
    let place = folder.join("data");
    std::fs::create_dir(&place).map_err(|error| error.to_string())?;
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let place_name = place.to_str().ok_or("the folder's name is not Unicode")?;
    let recording = Recording {
        program: &this,
        arguments: &[
            "drive".to_owned(),
            place_name.to_owned(),
            seed.to_string(),
            rounds.to_string(),
        ],
        folder: &place,
        facts: drive::FACTS,
        // SQLite makes the shared memory anew when it is the first to open.
        ignored: |file| file.ends_with("-shm"),
    };
    let trace = recording.record(&folder.join("trace"))?;
    if trace.said != b"0 errors\n" {
        return Err("the store failed although nothing was done to it".to_owned());
    }
    rich(&trace)?;
    Ok(trace)
}

/// A trace without syncs, restarts of the log or facts would prove nothing.
fn rich(trace: &Trace) -> Result<(), String> {
    let syncs = trace.count(|one| one.is_file_sync(&[""]));
    let folders = trace.count(|one| one.is_folder_sync(&[""]));
    let facts = trace.count(|one| matches!(one, Operation::Fact(_)));
    let starts = trace.count(
        |one| matches!(one, Operation::Write { offset: 0, file, .. } if file.ends_with("-wal")),
    );
    let database =
        trace.count(|one| matches!(one, Operation::Write { file, .. } if file == drive::DATABASE));
    if syncs < 10 || facts < 10 || folders == 0 || starts < 2 || database == 0 {
        return Err(format!(
            "the trace is too poor: {syncs} syncs, {folders} of the folder, {facts} facts, \
             the log started {starts} times, {database} writes to the database"
        ));
    }
    Ok(())
}

/// The same run on a disk that ignores syncs must be seen to lose something, or
/// the others prove nothing.
fn would_be_noticed(trace: &Trace, seed: u64) -> Result<(), String> {
    for (what, deaf) in [
        ("of a file", trace.without(|one| one.is_file_sync(&[""]))),
        (
            "of the folder",
            trace.without(|one| one.is_folder_sync(&[""])),
        ),
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
