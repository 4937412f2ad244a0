//! What it costs to find a tool among ten thousand.

use anyhow::{Context as _, Result};

use super::table::{Row, Table, Target};
use crate::sys;

/// Milliseconds that a search may take.
const SEARCH_MS: f64 = 5.0;

/// Runs the example of the index.
pub(super) fn measure(quick: bool, table: &mut Table) -> Result<()> {
    let mut command = sys::cargo();
    command.args(["run", "--release", "--quiet", "-p", "legation-find"]);
    command.args(["--example", "search", "--"]);
    command.arg(if quick { "5" } else { "100" });
    let lines = sys::json_lines(&mut command).context("the searches")?;
    for line in &lines {
        let what = line["what"].as_str().context("no name")?;
        let ms = line["ms"].as_f64().context("no number")?;
        let target = match what.starts_with("search") {
            true => Target::AtMost(SEARCH_MS),
            false => Target::None,
        };
        table.push(Row::new(
            format!("find, 10,000 tools: {what}"),
            ms,
            "ms",
            target,
        ));
    }
    anyhow::ensure!(lines.len() == 3, "something was not measured");
    Ok(())
}
