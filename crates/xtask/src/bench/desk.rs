//! What a brief costs over what was read before: letters, events and deals by the hundred.

use anyhow::{Context as _, Result};

use super::table::{Row, Table, Target};
use crate::sys;

/// Milliseconds that a brief may take without a model.
const BRIEF_MS: f64 = 50.0;

/// Runs the example of the servers' crate, against a development tenant of its own.
pub(super) fn measure(quick: bool, table: &mut Table) -> Result<()> {
    let mut command = sys::cargo();
    command.args(["run", "--release", "--quiet", "-p", "legation-servers"]);
    command.args(["--example", "desk", "--"]);
    command.arg(if quick { "20" } else { "500" });
    sys::say("a desk with 1,000 letters, 200 events and 100 deals");
    let lines = sys::json_lines(&mut command).context("the desk's briefs")?;
    for line in &lines {
        let what = line["what"].as_str().context("no name")?;
        let ms = line["ms"].as_f64().context("no number")?;
        let target = match what.ends_with("p50") {
            true => Target::AtMost(BRIEF_MS),
            false => Target::None,
        };
        let name = format!("desk, 1,000 letters, 200 events, 100 deals: {what}");
        table.push(Row::new(name, ms, "ms", target));
    }
    anyhow::ensure!(lines.len() == 4, "something was not measured");
    Ok(())
}
