//! `cargo xtask test`: every test that gates a change.

use std::process::ExitCode;

use anyhow::Result;

use crate::sys;

/// Options of `cargo xtask test`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the workspace's tests.
pub(crate) fn run(_args: &Args) -> Result<ExitCode> {
    let status = sys::cargo().args(["test", "--workspace"]).status()?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
