//! A hub with a hundred servers of mixed kinds, ten of them broken.

use anyhow::{Context as _, Result, ensure};

use super::table::{Row, Table, Target};
use crate::sys;

/// Milliseconds after its own handshake in which a server that works has its first call.
const CALLED_MS: f64 = 50.0;
/// MiB that the hub may take with all of them, without its children.
const RESIDENT_MIB: f64 = 60.0;

/// Runs the program of the tests' crate, beside a hub that is built like it.
pub(super) fn measure(quick: bool, table: &mut Table) -> Result<()> {
    let mut build = sys::cargo();
    build.args(["build", "--release", "--quiet", "-p", "legation"]);
    build.args(["-p", "legation-tests", "--bins"]);
    ensure!(build.status()?.success(), "cargo build failed");
    let mut command = sys::cargo();
    command.args(["run", "--release", "--quiet", "-p", "legation-tests"]);
    command.args(["--bin", "hundred", "--"]);
    command.arg(if quick { "1" } else { "5" });
    sys::say("a hundred servers, ten of them broken");
    let lines = sys::json_lines(&mut command).context("a hundred servers")?;
    for (member, name, unit, target) in [
        (
            "called_p50_ms",
            "first call after a server's handshake: p50",
            "ms",
            Target::None,
        ),
        (
            "called_max_ms",
            "first call after a server's handshake: slowest",
            "ms",
            Target::AtMost(CALLED_MS),
        ),
        (
            "remembered_ms",
            "tools of all listed after a restart, programs held back",
            "ms",
            Target::AtMost(CALLED_MS),
        ),
        (
            "resident_mib",
            "the hub's memory, without children",
            "MiB",
            Target::AtMost(RESIDENT_MIB),
        ),
    ] {
        let mut all: Vec<f64> = lines
            .iter()
            .filter_map(|line| line[member].as_f64())
            .collect();
        ensure!(!all.is_empty(), "{member} was not measured");
        all.sort_by(f64::total_cmp);
        let name = format!("100 servers, 10 broken: {name}");
        table.push(Row::new(name, all[all.len() / 2], unit, target));
    }
    Ok(())
}
