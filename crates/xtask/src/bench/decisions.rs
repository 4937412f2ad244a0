//! What a decision costs, without a hub around it.

use anyhow::{Context as _, Result};

use super::table::{Row, Table, Target};
use crate::sys;

/// Microseconds a remembered decision may take.
const CACHED_US: f64 = 10.0;
/// Microseconds one may take whose rules read arguments.
const READING_US: f64 = 150.0;

/// Runs the example of the policy crate, which has 50 policies, 200 rules and 5,000 grants.
pub(super) fn measure(quick: bool, table: &mut Table) -> Result<()> {
    let mut command = sys::cargo();
    command.args(["run", "--release", "--quiet", "-p", "legation-policy"]);
    command.args(["--example", "decisions", "--"]);
    command.arg(if quick { "400" } else { "8000" });
    let lines = sys::json_lines(&mut command).context("the decisions")?;
    for line in &lines {
        let (Some(what), Some(p50), Some(p99)) = (
            line["what"].as_str(),
            line["p50_us"].as_f64(),
            line["p99_us"].as_f64(),
        ) else {
            continue;
        };
        let most = if what == "cached" {
            CACHED_US
        } else {
            READING_US
        };
        let name = |part: &str| format!("decision, {what}: {part}");
        table.push(Row::new(name("p50"), p50, "µs", Target::AtMost(most)));
        table.push(Row::new(name("p99"), p99, "µs", Target::None));
    }
    anyhow::ensure!(
        lines.iter().any(|line| line["what"] == "cached"),
        "nothing was measured"
    );
    Ok(())
}
