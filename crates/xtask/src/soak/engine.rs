//! A hub that is killed again and again with delegated tasks running.
//!
//! The test `crashes` does it, in a short form with every test run and in the long one here.

use anyhow::{Context as _, Result, ensure};

use crate::sys;

/// So many kills, at moments that the seed says.
pub(super) fn kills(seed: u64, kills: u64) -> Result<()> {
    sys::say("building the hub and its tests in release mode");
    let built = sys::cargo()
        .args(["build", "--release", "--locked", "--workspace", "--bins"])
        .status()
        .context("cannot start cargo")?;
    ensure!(
        built.success(),
        "the hub does not build; nothing was killed"
    );
    let status = sys::cargo()
        .args(["test", "--release", "--locked", "--workspace"])
        .args(["--test", "it", "--", "crashes::", "--nocapture"])
        .env("LEGATION_ENGINE_KILLS", kills.to_string())
        .env("LEGATION_ENGINE_SEED", seed.to_string())
        .status()
        .context("cannot start cargo")?;
    ensure!(
        status.success(),
        "a task was lost, or a call made twice, seed {seed}"
    );
    Ok(())
}
