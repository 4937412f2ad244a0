//! `cargo xtask peers`.

use std::process::ExitCode;

use anyhow::Result;

use crate::bench::{Effort, programs::Programs, table::Table};

/// Options of `cargo xtask peers`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs it.
pub(crate) fn run(_args: &Args) -> Result<ExitCode> {
    anyhow::bail!("not built yet")
}

pub(crate) fn measure(programs: &Programs, effort: Effort, table: &mut Table) -> Result<()> {
    let _unused = (programs, effort);
    table.skip("peers");
    Ok(())
}
