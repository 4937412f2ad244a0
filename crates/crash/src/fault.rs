//! A disk that is full, fails or may not be written, at one call of a run.
//!
//! `strace` makes the n-th call of a kind fail, for every n until there is no
//! n-th any more: the way in which SQLite tests itself.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::explore::memory_folder;
use crate::random::Random;
use crate::trace::strace;

/// Of each kind, so many in the short form.
const SHORT: usize = 3;

/// A run in which nothing is hit after so many would be endless.
const MOST: usize = 10_000;

/// A kind of call that fails.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The system call.
    pub call: &'static str,
    /// How it fails.
    pub error: &'static str,
    /// How many of them, one after the other.
    pub times: usize,
    /// The short form takes one of so many: early enough that there always are.
    pub early: usize,
}

/// A run whose calls fail.
#[derive(Debug)]
pub struct Faults<'a, L> {
    /// The program. It is given `drive`, a folder of its own, the seed and `rounds`,
    /// and says `N errors` at its end: how often it was told of a failure.
    pub program: &'a Path,
    /// How long the run is.
    pub rounds: usize,
    /// What fails.
    pub kinds: &'a [Kind],
    /// Looks at the folder that is left.
    pub look: L,
}

/// What became of one run.
struct Run {
    hit: bool,
    errors: usize,
}

// === impl Faults ===

impl<L: Fn(&Path) -> Result<(), String>> Faults<'_, L> {
    /// Every call of every kind; what came of it, in words.
    ///
    /// # Errors
    /// When something was lost or nothing was noticed, in words.
    pub fn every(&self, seed: u64) -> Result<String, String> {
        let (mut faults, mut errors) = (0, 0);
        for kind in self.kinds {
            for nth in 1..MOST {
                let run = self.run(*kind, nth, seed)?;
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
    ///
    /// # Errors
    /// As [`Faults::every`].
    pub fn some(&self, seed: u64) -> Result<String, String> {
        let mut random = Random::new(seed);
        let (mut faults, mut errors) = (0, 0);
        for kind in self.kinds {
            for _ in 0..SHORT {
                let run = self.run(*kind, 1 + random.below(kind.early), seed)?;
                faults += usize::from(run.hit);
                errors += run.errors;
            }
        }
        told(faults, errors)
    }

    /// Runs the program with the n-th call of a kind failing, and looks at what is left.
    fn run(&self, kind: Kind, nth: usize, seed: u64) -> Result<Run, String> {
        let Kind {
            call, error, times, ..
        } = kind;
        let point = format!("seed {seed}, {call} {nth} fails with {error}");
        let fail = |told: String| format!("{point}: {told}");
        let folder = memory_folder().map_err(fail)?;
        let log = folder.path().join("trace");
        let place = folder.path().join("data");
        fs::create_dir(&place).map_err(|error| fail(error.to_string()))?;
        let last = nth + times - 1;
        let done = strace()
            .args(["-f", "-e"])
            .arg(format!("trace={call}"))
            .arg("-e")
            .arg(format!("inject={call}:error={error}:when={nth}..{last}"))
            .arg("-o")
            .arg(&log)
            .arg(self.program)
            .arg("drive")
            .arg(&place)
            .args([seed.to_string(), self.rounds.to_string()])
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
        (self.look)(&place).map_err(fail)?;
        Ok(Run {
            hit: trace.contains("(INJECTED)"),
            errors,
        })
    }
}

fn told(faults: usize, errors: usize) -> Result<String, String> {
    if faults == 0 || errors == 0 {
        return Err(format!("{faults} calls failed, and {errors} were noticed"));
    }
    Ok(format!(
        "{faults} calls failed, {errors} times the run was told so, nothing lost"
    ))
}
