//! `cargo xtask soak`.

use std::process::ExitCode;

use anyhow::Result;

/// Options of `cargo xtask soak`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs it.
pub(crate) fn run(_args: &Args) -> Result<ExitCode> {
    anyhow::bail!("not built yet")
}
