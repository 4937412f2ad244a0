//! What the inbox costs as it grows: keeping, starting, pulling, memory.
//!
//! Syncs are what keeping costs, and disks differ by a factor of a hundred: so what is compared is
//! many at once with one at a time, on the same disk in the same minute.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::programs::median;
use super::table::{Row, Table, Target};
use crate::sys;

/// Milliseconds a pull of 20 may take, with few and with many records.
const PULL_MS: f64 = 2.0;
/// How many times as long it may take with many.
const PULL_RATIO: f64 = 1.5;
/// How many times as many are kept a second where many bring some at once.
const GROUP: f64 = 5.0;
/// Milliseconds a start may take with the most records.
const START_MS: f64 = 300.0;
/// Mebibytes that a hundred times as many records may add.
const GROWTH_MIB: f64 = 2.0;

/// Runs the example of the crate, each part in a process of its own.
pub(super) fn measure(quick: bool, table: &mut Table) -> Result<()> {
    let (rounds, sizes) = match quick {
        true => (1, [10_000, 50_000]),
        false => (5, [10_000, 1_000_000]),
    };
    let mut build = sys::cargo();
    build.args(["build", "--release", "--quiet", "-p", "legation-inbox"]);
    build.args(["--example", "inbox_cost"]);
    let built = build.status().context("cargo cannot be started")?;
    ensure!(built.success(), "the example cannot be built");
    keeping(rounds, table)?;
    let small = grown(sizes[0])?;
    let large = grown(sizes[1])?;
    for (read, what) in [(&small, &sizes[0]), (&large, &sizes[1])] {
        let name = |row: &str| format!("inbox, {what} records: {row}");
        let us = |key: &str| number(read, key).map(|us| us / 1e3);
        let most = Target::AtMost(PULL_MS);
        table.push(Row::new(
            name("pull of 20, p50"),
            us("pull_p50_us")?,
            "ms",
            most,
        ));
        table.push(Row::new(
            name("pull of 20, p99"),
            us("pull_p99_us")?,
            "ms",
            Target::None,
        ));
        let most = Target::AtMost(START_MS);
        table.push(Row::new(
            name("start"),
            number(read, "start_ms")?,
            "ms",
            most,
        ));
        let killed = number(read, "after_a_kill_ms")?;
        let row = format!("start after a kill, {LATE} records in no index");
        table.push(Row::new(name(&row), killed, "ms", Target::None));
        let resident = number(read, "resident_kb")? / 1024.0;
        table.push(Row::new(
            name("resident memory"),
            resident,
            "MiB",
            Target::None,
        ));
    }
    let ratio = number(&large, "pull_p50_us")? / number(&small, "pull_p50_us")?;
    let name = "inbox: pull of 20, many records to few, p50".to_owned();
    table.push(Row::new(name, ratio, "×", Target::AtMost(PULL_RATIO)));
    let grown = number(&large, "resident_kb")? - number(&small, "resident_kb")?;
    let name = "inbox: resident memory, many records to few, added".to_owned();
    table.push(Row::new(
        name,
        grown / 1024.0,
        "MiB",
        Target::AtMost(GROWTH_MIB),
    ));
    Ok(())
}

/// Records that are in no index when the example's writer ends.
const LATE: usize = 10_000;

/// One at a time and many at once, in rounds.
fn keeping(rounds: usize, table: &mut Table) -> Result<()> {
    let (mut alone, mut together, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=rounds {
        let folder = tempfile::tempdir()?;
        let line = run(&["burst"], folder.path(), &[])?;
        let (one, many) = (
            number(&line, "alone_per_second")?,
            number(&line, "together_per_second")?,
        );
        sys::say(&format!(
            "keeping {round}/{rounds}: {one:.0}/s alone, {many:.0}/s together"
        ));
        alone.push(one);
        together.push(many);
        times.push(many / one);
    }
    let mut push = |what: &str, value: &[f64], unit, target| {
        table.push(Row::new(
            format!("inbox: {what}"),
            median(value),
            unit,
            target,
        ));
    };
    push("kept, one at a time", &alone, "/s", Target::None);
    push("kept, 64 at once", &together, "/s", Target::None);
    let least = Target::AtLeast(GROUP);
    push("kept, 64 at once to one at a time", &times, "×", least);
    Ok(())
}

/// An inbox of so many records, started and read.
fn grown(records: usize) -> Result<Value> {
    let folder = tempfile::tempdir()?;
    sys::say(&format!("an inbox of {records} records"));
    run(&["fill"], folder.path(), &[&records.to_string()])?;
    let read = run(&["read"], folder.path(), &[])?;
    ensure!(
        number(&read, "records")? == records as f64,
        "the inbox does not hold {records} records: {read}"
    );
    Ok(read)
}

fn run(part: &[&str], folder: &Path, rest: &[&str]) -> Result<Value> {
    let mut command = sys::command(sys::target_dir().join("release/examples/inbox_cost"));
    command.args(part).arg(folder).args(rest);
    let lines = sys::json_lines(&mut command)?;
    let line = lines.into_iter().next();
    line.with_context(|| format!("{part:?} measured nothing"))
}

fn number(line: &Value, key: &str) -> Result<f64> {
    let number = line[key].as_f64();
    number.with_context(|| format!("{key} was not measured"))
}
