//! The redaction engine on notes that a generator writes, and `presidio-analyzer` on the same.
//!
//! The notes are of the held-out set: templates, names and locales that the engine was never tuned
//! on. What the engine missed of them is counted and never shown.

use std::fs::File;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::table::{Row, Table, Target};
use crate::sys;
use crate::tools::{self, Tool};

/// The seed of the held-out notes.
const SEED: &str = "8111";

/// Measures both engines on the same notes.
pub(super) fn measure(quick: bool, table: &mut Table) -> Result<()> {
    let python = tools::python(Tool::Redaction)?;
    let folder = sys::root().join("crates/redact/eval");
    let place = sys::target_dir().join("redaction");
    std::fs::create_dir_all(&place)
        .with_context(|| format!("cannot create {}", place.display()))?;
    let notes = place.join("hold-out.jsonl");
    let count = if quick { "160" } else { "1600" };
    let mut generate = sys::command(&python);
    generate
        .arg(folder.join("generate.py"))
        .args(["hold-out", SEED, count])
        .stdout(File::create(&notes)?);
    succeed(&mut generate, "the generator")?;
    sys::say(&format!(
        "redaction: {count} held-out notes with seed {SEED}"
    ));
    let mut score = sys::cargo();
    score
        .args([
            "run",
            "--release",
            "--quiet",
            "-p",
            "legation-redact",
            "--example",
            "score",
            "--",
        ])
        .arg(&notes);
    rows("redaction", &sys::json_lines(&mut score)?, true, table);
    let mut presidio = sys::command(&python);
    presidio.arg(folder.join("presidio_score.py")).arg(&notes);
    rows("presidio", &sys::json_lines(&mut presidio)?, false, table);
    Ok(())
}

fn succeed(command: &mut Command, what: &str) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("{what} cannot be started"))?;
    if !status.success() {
        bail!("{what} failed with {status}");
    }
    Ok(())
}

/// The rows of one engine; only ours has targets.
fn rows(engine: &str, lines: &[Value], ours: bool, table: &mut Table) {
    for line in lines {
        let (Some(what), percent) = (
            line["name"].as_str().or(line["class"].as_str()),
            line["percent"].as_f64(),
        ) else {
            continue;
        };
        let target = match what {
            _ if !ours => Target::None,
            "roster" => Target::Exactly(100.0),
            "patterned" => Target::AtLeast(99.5),
            "leaking notes" => Target::AtMost(2.0),
            "words lost" => Target::AtMost(5.0),
            "speed" => Target::AtLeast(20.0),
            "4 KiB" => Target::AtMost(0.3),
            _ => Target::None,
        };
        let (value, unit) = match (
            percent,
            line["megabytes_per_second"].as_f64(),
            line["milliseconds"].as_f64(),
        ) {
            (Some(percent), ..) => (percent, "%"),
            (_, Some(speed), _) => (speed, "MB/s"),
            (_, _, Some(time)) => (time, "ms"),
            _ => continue,
        };
        table.push(Row::new(format!("{engine}: {what}"), value, unit, target));
    }
}
