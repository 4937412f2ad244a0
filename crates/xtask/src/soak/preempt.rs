//! Tasks that a person disturbs again and again, on a real engine.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::{preempt, sys};

/// So many times, at moments that the seed says.
pub(super) fn disturb(seed: u64, rounds: u64, programs: Option<&Path>) -> Result<()> {
    let lines = preempt::run(rounds, seed, programs).with_context(|| format!("seed {seed}"))?;
    for line in lines {
        sys::say(&line.to_string());
    }
    Ok(())
}
