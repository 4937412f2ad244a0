//! How soon a person is answered who comes before a task, on a real engine.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::table::{Row, Table, Target};
use crate::preempt;

/// Milliseconds from Enter until the task's stream is dropped.
const DROPPED_MS: f64 = 20.0;
/// Milliseconds that a task in the way may cost the first word, unless its prompt is being read.
const LATER_MS: f64 = 50.0;
/// Tokens that may be evaluated again.
const AGAIN: f64 = 64.0;

/// Runs the test's own program; rounds with nobody in the way alternate with the others.
pub(super) fn measure(quick: bool, programs: Option<&Path>, table: &mut Table) -> Result<()> {
    let rounds = if quick { 10 } else { 200 };
    let lines = preempt::run(rounds, 0, programs)?;
    let find = |what: &str| lines.iter().find(|line| line["what"] == what);
    for line in &lines {
        let Some(what) = line["what"].as_str() else {
            continue;
        };
        for part in ["p50", "p95", "p99"] {
            let Some(time) = line[format!("{part}_ms")].as_f64() else {
                continue;
            };
            let target = match (what, part) {
                ("stream dropped", "p99") => Target::AtMost(DROPPED_MS),
                _ => Target::None,
            };
            let name = format!("preemption: {what}: {part}");
            table.push(Row::new(name, time, "ms", target));
        }
    }
    let number = |line: Option<&Value>, member: &str| line.and_then(|line| line[member].as_f64());
    let alone = number(find("first word, nothing runs"), "p95_ms").context("nobody was alone")?;
    let late = number(find("first word, outside prefill"), "p95_ms");
    let late = late.context("every task was disturbed in its prefill")?;
    let name = "preemption: first word, later than where nothing runs: p95";
    let target = Target::AtMost(LATER_MS);
    table.push(Row::new(name.to_owned(), late - alone, "ms", target));
    let again = number(find("tokens evaluated again"), "max").context("no task went on")?;
    let name = "preemption: tokens evaluated again: max";
    let target = Target::AtMost(AGAIN);
    table.push(Row::new(name.to_owned(), again, "tokens", target));
    Ok(())
}
