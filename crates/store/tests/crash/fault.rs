//! A disk that is full, fails or may not be written, at one call of a run.
//!
//! `strace` makes the n-th call of a kind fail, for every n until there is no
//! n-th any more: the way in which SQLite tests itself.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::check::{self, Facts};
use crate::drive::{DATABASE, FACTS};
use crate::random::Random;
use crate::trace::strace;

/// Calls, and how they fail.
const KINDS: [(&str, &str); 6] = [
    ("pwrite64", "EIO"),
    ("pwrite64", "ENOSPC"),
    ("pwrite64", "EROFS"),
    ("fdatasync", "EIO"),
    ("fsync", "EIO"),
    ("ftruncate", "EIO"),
];

/// Rounds of the run: long enough for the log to start over.
const ROUNDS: usize = 40;

/// Of each kind, so many in the short form.
const SHORT: usize = 3;

/// A run in which nothing is hit after so many would be endless.
const MOST: usize = 10_000;

/// What became of one run.
struct Run {
    hit: bool,
    errors: usize,
}

/// Every call of every kind.
pub(crate) fn every(seed: u64) -> Result<String, String> {
    let (mut faults, mut errors) = (0, 0);
    for kind in KINDS {
        for nth in 1..MOST {
            let run = run(kind, nth, seed)?;
            if !run.hit {
                break;
            }
            faults += 1;
            errors += run.errors;
        }
    }
    told(faults, errors)
}

/// A few calls of every kind.
pub(crate) fn some(seed: u64) -> Result<String, String> {
    let mut random = Random::new(seed);
    let (mut faults, mut errors) = (0, 0);
    for kind in KINDS {
        for _ in 0..SHORT {
            // Early enough that every kind has as many calls.
            let nth = 1 + random.below(if kind.0 == "pwrite64" { 60 } else { 3 });
            let run = run(kind, nth, seed)?;
            faults += usize::from(run.hit);
            errors += run.errors;
        }
    }
    told(faults, errors)
}

fn told(faults: usize, errors: usize) -> Result<String, String> {
    if faults == 0 || errors == 0 {
        return Err(format!("{faults} calls failed, and {errors} were noticed"));
    }
    Ok(format!(
        "{faults} calls failed, {errors} times the store said so, nothing lost"
    ))
}

/// Runs the driver with the n-th call of a kind failing, and looks at what is left.
fn run((call, error): (&str, &str), nth: usize, seed: u64) -> Result<Run, String> {
    let point = format!("seed {seed}, {call} {nth} fails with {error}");
    let fail = |told: String| format!("{point}: {told}");
    let folder = tempfile::tempdir().map_err(|error| fail(error.to_string()))?;
    let log = folder.path().join("trace");
    let place = folder.path().join("data");
    fs::create_dir(&place).map_err(|error| fail(error.to_string()))?;
    let this = std::env::current_exe().map_err(|error| fail(error.to_string()))?;
    let done = strace()
        .args(["-f", "-e"])
        .arg(format!("trace={call}"))
        .arg("-e")
        .arg(format!("inject={call}:error={error}:when={nth}"))
        .arg("-o")
        .arg(&log)
        .arg(this)
        .arg("drive")
        .arg(&place)
        .args([seed.to_string(), ROUNDS.to_string()])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| fail(error.to_string()))?;
    if !done.status.success() {
        return Err(fail(String::from_utf8_lossy(&done.stderr).into_owned()));
    }
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let errors = said
        .strip_suffix(" errors\n")
        .and_then(|count| count.parse().ok())
        .ok_or_else(|| fail(format!("the run ended with {said:?}")))?;
    let trace = fs::read_to_string(&log).map_err(|error| fail(error.to_string()))?;
    look(&place).map_err(fail)?;
    Ok(Run {
        hit: trace.contains("(INJECTED)"),
        errors,
    })
}

fn look(place: &Path) -> Result<(), String> {
    let facts = fs::read_to_string(place.join(FACTS)).map_err(|error| error.to_string())?;
    check::look(&place.join(DATABASE), &Facts::of(&facts), true)
}
