//! How long the queue of delegated tasks takes to dispatch them, without a hub.

use anyhow::{Context as _, Result};

use super::table::{Row, Table, Target};
use crate::sys;

/// Milliseconds in which a thousand tasks that wait are dispatched.
const DISPATCH_MS: f64 = 50.0;

/// Runs the example of the engine's crate.
pub(super) fn measure(quick: bool, table: &mut Table) -> Result<()> {
    let mut command = sys::cargo();
    command.args(["run", "--release", "--quiet", "-p", "legation-engine"]);
    command.args(["--example", "dispatch", "--", "1000"]);
    command.arg(if quick { "20" } else { "500" });
    let lines = sys::json_lines(&mut command).context("the queue")?;
    for line in &lines {
        let Some(workers) = line["workers"].as_u64() else {
            continue;
        };
        for (part, target) in [("p50", Target::None), ("max", Target::AtMost(DISPATCH_MS))] {
            if let Some(time) = line[format!("{part}_ms")].as_f64() {
                let name = format!("1,000 tasks dispatched, workers {workers}: {part}");
                table.push(Row::new(name, time, "ms", target));
            }
        }
    }
    anyhow::ensure!(!lines.is_empty(), "nothing was measured");
    Ok(())
}
