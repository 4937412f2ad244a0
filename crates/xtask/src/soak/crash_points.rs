//! Disks that lost power: a recorded run of the store, and of the inbox, with what was not synced
//! dropped, reordered and torn; and the inbox's writer killed in a burst.
//!
//! The tests `crash` of the two crates do it, in a short form with every test run and in the long
//! one here.

use anyhow::{Context as _, Result, ensure};

use crate::{sys, tools};

/// The store at so many crash points.
pub(super) fn store(seed: u64, points: usize) -> Result<()> {
    long("legation-store", "points", points, seed)
}

/// The inbox at so many crash points, and its writer killed so often.
pub(super) fn inbox(seed: u64, points: usize, kills: usize) -> Result<()> {
    long("legation-inbox", "points", points, seed)?;
    long("legation-inbox", "kills", kills, seed)
}

/// Runs the long form of a crate's test.
fn long(package: &str, form: &str, count: usize, seed: u64) -> Result<()> {
    tools::debian(&[tools::STRACE])?;
    sys::say(&format!(
        "building the crash test of {package} in release mode"
    ));
    let status = sys::cargo()
        .args(["test", "--release", "--locked", "-p", package])
        .args(["--test", "crash", "--", form])
        .args([count.to_string(), seed.to_string()])
        .status()
        .context("cannot start cargo")?;
    ensure!(
        status.success(),
        "{package} lost something ({form}), seed {seed}"
    );
    Ok(())
}
