//! A person who comes first, on a real engine: for `soak`, which wants it often, and for `bench`,
//! which wants its times.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::sys;
use crate::tools::{self, Tool};

/// Disturbs tasks so many times at moments that the seed says; what was measured. Fails where a task
/// said or did anything else than one that nobody disturbs.
pub(crate) fn run(rounds: u64, seed: u64, programs: Option<&Path>) -> Result<Vec<Value>> {
    let release = sys::target_dir().join("release");
    let folder = match programs {
        Some(folder) => folder,
        None => {
            build()?;
            &release
        }
    };
    let tools = tools::ensure(&[Tool::Engine])?;
    let mut command = sys::command(folder.join("e2e"));
    command.arg("preempt").arg("--tools").arg(&tools);
    command.args(["--rounds", &rounds.to_string(), "--seed", &seed.to_string()]);
    command.current_dir(sys::root());
    let lines = sys::json_lines(&mut command).context("tasks that are disturbed")?;
    ensure!(!lines.is_empty(), "nothing was measured");
    Ok(lines)
}

fn build() -> Result<()> {
    sys::say("building the hub and the test of preemption in release mode");
    let mut cargo = sys::cargo();
    let status = cargo
        .args(["build", "--release", "--locked", "--bins"])
        .args(["-p", "legation", "-p", "legation-tests"])
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "the build failed; nothing was measured");
    Ok(())
}
