//! What a message from Teams costs until it is kept, and the token to read it with: on one core.

use anyhow::{Context as _, Result};

use super::identity::{MESSAGES_PER_SECOND, token_row};
use super::table::{Row, Table, Target};
use crate::sys;

/// Runs the examples of the two crates; the first bound to one core, with the writer's thread.
pub(super) fn measure(quick: bool, table: &mut Table) -> Result<()> {
    let count = if quick { "4000" } else { "100000" };
    let mut build = sys::cargo();
    build.args(["build", "--release", "--quiet", "-p", "legation-servers"]);
    build.args(["--example", "messages"]);
    let built = build.status().context("cargo cannot be started")?;
    anyhow::ensure!(built.success(), "the example cannot be built");
    // The thread that writes the file is on the same core as the one that reads the messages.
    let mut command = sys::command("taskset");
    command.args(["-c", "0"]);
    command.arg(sys::target_dir().join("release/examples/messages"));
    command.arg(count);
    let lines = sys::json_lines(&mut command).context("messages that are kept")?;
    for line in &lines {
        let what = line["what"].as_str().unwrap_or_default();
        let count = line["per_second"].as_f64().context("no number")?;
        let target = Target::AtLeast(MESSAGES_PER_SECOND);
        table.push(Row::new(format!("messages: {what}"), count, "/s", target));
    }
    anyhow::ensure!(lines.len() == 2, "something was not measured");
    token_row(quick, table)
}
