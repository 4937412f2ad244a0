//! What a request to a model costs before and beside the model: its decision and redaction, and the
//! client against a bare socket.

use anyhow::{Context as _, Result};

use super::table::{Row, Table, Target};
use crate::sys;

/// Microseconds that the decision and the redaction of 4 KB may take.
const PREPARED_US: f64 = 300.0;
/// Microseconds that the client may add to the first byte.
const CLIENT_US: f64 = 300.0;

/// Runs the example of the models' crate, against a server of its own.
pub(super) fn measure(quick: bool, table: &mut Table) -> Result<()> {
    let mut command = sys::cargo();
    command.args(["run", "--release", "--quiet", "-p", "legation-models"]);
    command.args(["--example", "costs", "--"]);
    command.arg(if quick { "50" } else { "2000" });
    let lines = sys::json_lines(&mut command).context("the client of models")?;
    for line in &lines {
        let what = line["what"].as_str().unwrap_or_default();
        let Some(us) = line["us"].as_f64() else {
            continue;
        };
        let target = match what {
            "decision and redaction of 4 KB, p50" => Target::AtMost(PREPARED_US),
            "client, added to the first byte, p50" => Target::AtMost(CLIENT_US),
            _ => Target::None,
        };
        table.push(Row::new(format!("models: {what}"), us, "µs", target));
    }
    anyhow::ensure!(lines.len() == 5, "something was not measured");
    Ok(())
}
