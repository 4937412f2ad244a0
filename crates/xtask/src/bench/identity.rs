//! What the client of Entra ID and Graph costs where it asks nobody: a token that is at hand, a
//! message that was read.

use anyhow::{Context as _, Result};

use super::table::{Row, Table, Target};
use crate::sys;

/// Microseconds a token may take that is at hand.
const TOKEN_US: f64 = 5.0;
/// Messages that are parsed and sanitised in a second on one core.
pub(super) const MESSAGES_PER_SECOND: f64 = 20_000.0;

/// Runs the example of the client's crate, against a development tenant of its own.
pub(super) fn measure(quick: bool, table: &mut Table) -> Result<()> {
    run(quick, table, &["µs", "/s"])
}

/// The row of the token alone.
pub(super) fn token_row(quick: bool, table: &mut Table) -> Result<()> {
    run(quick, table, &["µs"])
}

fn run(quick: bool, table: &mut Table, units: &[&str]) -> Result<()> {
    let mut command = sys::cargo();
    command.args(["run", "--release", "--quiet", "-p", "legation-entra"]);
    command.args(["--example", "identity", "--"]);
    command.arg(if quick { "2000" } else { "100000" });
    let lines = sys::json_lines(&mut command).context("the client of Entra ID")?;
    for line in &lines {
        let what = line["what"].as_str().unwrap_or_default();
        if let Some(us) = line["us"].as_f64().filter(|_| units.contains(&"µs")) {
            let name = format!("identity: {what}");
            table.push(Row::new(name, us, "µs", Target::AtMost(TOKEN_US)));
        }
        if let Some(count) = line["per_second"]
            .as_f64()
            .filter(|_| units.contains(&"/s"))
        {
            let name = format!("identity: {what}");
            let target = Target::AtLeast(MESSAGES_PER_SECOND);
            table.push(Row::new(name, count, "/s", target));
        }
    }
    anyhow::ensure!(lines.len() == 3, "something was not measured");
    Ok(())
}
