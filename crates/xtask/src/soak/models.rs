//! What of generated conversations reaches which provider.
//!
//! The test `leak` of the models' crate does it, in a short form with every test run and in the
//! long one here.

use anyhow::{Context as _, Result, ensure};

use crate::sys;

/// So many conversations.
pub(super) fn leak(seed: u64, conversations: usize) -> Result<()> {
    sys::say("building the test of conversations in release mode");
    let status = sys::cargo()
        .args(["test", "--release", "--locked", "-p", "legation-models"])
        .args(["--test", "leak", "--", "conversations"])
        .args([conversations.to_string(), seed.to_string()])
        .status()
        .context("cannot start cargo")?;
    ensure!(
        status.success(),
        "data reached who may not have it, seed {seed}"
    );
    Ok(())
}
