//! What every command needs from the operating system, each behind one name.
//!
//! `clippy.toml` bans these calls in the product, where a clock, an environment and a process
//! guard are passed in. The commands here are not the product: they measure real time and start
//! compilers, so the exceptions are made once, in this file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// The repository's root folder.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// The folder cargo builds into.
pub(crate) fn target_dir() -> PathBuf {
    env("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// One variable of the environment, if it is set and UTF-8.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the repository's commands read the environment"
)]
pub(crate) fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A command to start.
#[expect(
    clippy::disallowed_methods,
    reason = "the repository's commands start compilers and measured programs, not the hub's children"
)]
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}

/// `cargo`, the one that runs this program where there is one.
pub(crate) fn cargo() -> Command {
    let mut command = command(env("CARGO").unwrap_or_else(|| "cargo".to_owned()));
    command.current_dir(root());
    command
}

/// What a program printed, one JSON object a line; other lines are left out.
pub(crate) fn json_lines(command: &mut Command) -> Result<Vec<Value>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output();
    let output = output.with_context(|| format!("{program} cannot be started"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{program} failed: {said}");
    }
    let text = String::from_utf8(output.stdout);
    let text = text.with_context(|| format!("{program} printed no text"))?;
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    Ok(lines.collect())
}

/// The monotonic clock.
#[expect(clippy::disallowed_methods, reason = "measurements are of real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// One line of talk, to standard error.
#[expect(clippy::print_stderr, reason = "progress is for the person watching")]
pub(crate) fn say(line: &str) {
    eprintln!("{line}");
}

/// One line of data, to standard output.
#[expect(clippy::print_stdout, reason = "the command's result")]
pub(crate) fn put(line: &str) {
    println!("{line}");
}
