//! The store on disks that lost power: a recorded run of it, with what was not synced dropped,
//! reordered and torn.
//!
//! The store's own test `crash` does it, in a short form with every test run and in the long one
//! here.

use anyhow::{Context as _, Result, ensure};

use crate::{sys, tools};

pub(super) fn run(seed: u64, points: usize) -> Result<()> {
    tools::debian(&[tools::STRACE])?;
    sys::say("building the simulator in release mode");
    let status = sys::cargo()
        .args(["test", "--release", "--locked", "-p", "legation-store"])
        .args(["--test", "crash", "--", "points"])
        .args([points.to_string(), seed.to_string()])
        .status()
        .context("cannot start cargo")?;
    ensure!(
        status.success(),
        "the store lost something at a crash point, seed {seed}"
    );
    Ok(())
}
