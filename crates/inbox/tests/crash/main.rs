//! What a crash leaves of the inbox: power failures at every moment of a recorded
//! run, disks that are full or fail, and a writer that is killed again and again.
//!
//! This program is its own harness, because it is also the program that is
//! traced and killed, and the long campaign of `cargo xtask soak`:
//! `crash points COUNT SEED`, `crash kills COUNT SEED`, `crash drive FOLDER SEED ROUNDS`,
//! `crash burst FOLDER SEED`.

mod book;
mod burst;
mod check;
mod drive;
mod flood;
mod full;
mod kills;
mod messages;

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::ExitCode;

use legation_crash::{Faults, Kind, Operation, Recording, Trace, explore, fresh_seed};

use crate::check::{Facts, look};

/// What a test came to, in words; it is given a seed.
type Test = fn(u64) -> Result<String, String>;

/// The short forms, by their names.
const TESTS: [(&str, Test); 5] = [
    (
        "every_crash_point_of_a_short_run_keeps_what_was_acknowledged",
        |seed| points(200, seed, 60),
    ),
    (
        "a_call_of_the_system_that_fails_loses_nothing_that_was_acknowledged",
        |seed| faults(|faults| faults.some(seed)),
    ),
    (
        "a_writer_that_is_killed_in_a_burst_loses_and_repeats_nothing",
        |seed| kills::run(100, seed),
    ),
    (
        "a_disk_that_fills_up_in_a_burst_stops_the_sources_until_there_is_room",
        full::run,
    ),
    (
        "a_burst_of_a_hundred_thousand_messages_costs_no_more_memory_than_one_of_ten_thousand",
        flood::run,
    ),
];

/// The folders whose names are synced.
const FOLDERS: [&str; 6] = [
    "",
    "inbox",
    "inbox/index",
    "inbox/consumers",
    "inbox/forgotten",
    "keys",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().expect("a number");
    match words[..] {
        ["drive", folder, seed, rounds] => {
            let errors = drive::drive(Path::new(folder), number(seed), number(rounds) as usize);
            last_words(&format!("{errors} errors\n"))
        }
        ["burst", folder, seed] => burst::burst(Path::new(folder), number(seed)),
        ["points", count, seed] => {
            let seed = number(seed);
            let done = points(number(count) as usize, seed, 250)
                .and_then(|told| Ok(format!("{told}; {}", faults(|one| one.every(seed))?)));
            report(done)
        }
        ["kills", count, seed] => report(kills::run(number(count) as usize, number(seed))),
        // The rest is what a harness is asked by `cargo test` and by nextest.
        _ if words.contains(&"--list") => {
            if !words.contains(&"--ignored") {
                for (name, _) in TESTS {
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
    say(&format!("seed {seed}"));
    for (name, test) in TESTS {
        if wanted(name) && report(test(seed)) == ExitCode::FAILURE {
            return ExitCode::FAILURE;
        }
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
        disks += explore(&trace, count - disks, run, look)?;
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
fn would_be_noticed(trace: &Trace, seed: u64) -> Result<(), String> {
    let deaf = [
        ("of a file", trace.without(|one| one.is_file_sync(&FOLDERS))),
        (
            "of a folder",
            trace.without(|one| one.is_folder_sync(&FOLDERS)),
        ),
        (
            "of a key's folder",
            trace.without(|one| one.is_folder_sync(&["keys"])),
        ),
    ];
    for (what, deaf) in deaf {
        if explore::<Facts>(&deaf, 300, seed, look).is_ok() {
            return Err(format!(
                "a disk that ignores every sync {what} is not noticed"
            ));
        }
    }
    Ok(())
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
        ignored: |file| file == "inbox/lock",
    };
    let trace = recording.record(&folder.join("trace"))?;
    if trace.said != b"0 errors\n" {
        return Err("the inbox failed although nothing was done to it".to_owned());
    }
    rich(&trace)?;
    Ok(trace)
}

/// A trace without syncs, other names, removals or facts would prove nothing.
fn rich(trace: &Trace) -> Result<(), String> {
    let syncs = trace.count(|one| one.is_file_sync(&FOLDERS));
    let folders = trace.count(|one| one.is_folder_sync(&FOLDERS));
    let facts = trace.count(|one| matches!(one, Operation::Fact(_)));
    let renames = trace.count(|one| matches!(one, Operation::Rename { .. }));
    let removed =
        trace.count(|one| matches!(one, Operation::Remove { name } if name.ends_with(".jsonl")));
    if syncs < 30 || folders < 10 || facts < 30 || renames < 10 || removed == 0 {
        return Err(format!(
            "the trace is too poor: {syncs} syncs, {folders} of folders, {facts} facts, \
             {renames} other names, {removed} days taken out"
        ));
    }
    Ok(())
}

/// The run in which calls fail.
fn faults(
    run: impl Fn(&Faults<'_, fn(&Path) -> Result<(), String>>) -> Result<String, String>,
) -> Result<String, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let kind = |call, error, times, early| Kind {
        call,
        error,
        times,
        early,
    };
    run(&Faults {
        program: &this,
        rounds: 20,
        kinds: &[
            kind("pwrite64", "EIO", 1, 60),
            kind("pwrite64", "ENOSPC", 30, 60),
            kind("pwrite64", "EROFS", 1, 60),
            kind("write", "ENOSPC", 3, 8),
            kind("fdatasync", "EIO", 1, 10),
            kind("fsync", "EIO", 1, 30),
            kind("ftruncate", "ENOSPC", 1, 2),
            kind("rename", "EIO", 1, 10),
        ],
        look: |place| {
            let facts = std::fs::read_to_string(place.join(drive::FACTS));
            let facts = facts.map_err(|error| error.to_string())?;
            look(place, &Facts::of(&facts), true)
        },
    })
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

/// What the run that is traced ends with: the call that is made to fail may be this one.
fn last_words(line: &str) -> ExitCode {
    let out = std::io::stdout().as_fd().try_clone_to_owned();
    let mut out = File::from(out.expect("standard output is there"));
    let said = (0..drive::PATIENCE).any(|_| out.write_all(line.as_bytes()).is_ok());
    assert!(said, "the run's end cannot be said");
    ExitCode::SUCCESS
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").expect("standard output is there");
}
