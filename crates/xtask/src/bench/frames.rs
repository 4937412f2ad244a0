//! What a frame of the terminal costs, without a terminal.

use anyhow::{Context as _, Result};

use super::table::{Row, Table, Target};
use crate::sys;

/// Milliseconds a frame may take with ten thousand entries.
const FRAME_MS: f64 = 8.0;

/// Runs the example of the terminal's crate.
pub(super) fn measure(quick: bool, table: &mut Table) -> Result<()> {
    let mut command = sys::cargo();
    command.args(["run", "--release", "--quiet", "-p", "legation-tui"]);
    command.args(["--example", "frames", "--", "10000"]);
    command.arg(if quick { "200" } else { "5000" });
    let lines = sys::json_lines(&mut command).context("the frames")?;
    for line in &lines {
        let Some(what) = line["what"].as_str() else {
            continue;
        };
        for (part, target) in [
            ("p50", Target::None),
            ("p99", Target::AtMost(FRAME_MS)),
            ("max", Target::None),
        ] {
            if let Some(time) = line[format!("{part}_ms")].as_f64() {
                let name = format!("frame with 10,000 messages, {what}: {part}");
                table.push(Row::new(name, time, "ms", target));
            }
        }
    }
    anyhow::ensure!(!lines.is_empty(), "nothing was measured");
    Ok(())
}
