//! `cargo xtask test`: every test that gates a change.
//!
//! The stages go from cheap to dear: formatting, lints and house rules, unit tests, then the
//! end-to-end drivers that put official suites, client libraries and real agents in front of the
//! hub. What those need is installed under the target folder by [`crate::tools`].

mod stages;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use self::stages::{Build, Stage, Tally};
use crate::sys;

/// Options of `cargo xtask test`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run these stages only, by comma.
    #[arg(long, value_delimiter = ',', value_enum)]
    only: Vec<Stage>,
    /// Leave these stages out, by comma.
    #[arg(long, value_delimiter = ',', value_enum)]
    skip: Vec<Stage>,
    /// Pass a filter to the end-to-end drivers: only checks whose name contains it.
    #[arg(long)]
    filter: Option<String>,
    /// Drive the build of `--release`, from outside; the crates' own tests are left out.
    #[arg(long)]
    release: bool,
}

/// Runs the stages in order; a failed stage does not stop the next one.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let chosen: Vec<Stage> = Stage::ALL
        .into_iter()
        .filter(|stage| args.only.is_empty() || args.only.contains(stage))
        .filter(|stage| !args.skip.contains(stage))
        .collect();
    let build = if args.release {
        Build::Release
    } else {
        Build::Debug
    };
    let begun = sys::now();
    let mut total = Tally::default();
    let mut lines = Vec::new();
    for (index, stage) in chosen.iter().enumerate() {
        sys::say(&format!(
            "[{}/{}] {}",
            index + 1,
            chosen.len(),
            stage.about()
        ));
        let stage_begun = sys::now();
        let tally = stage
            .run(build, args.filter.as_deref())
            .unwrap_or_else(|error| {
                sys::say(&format!("error: {error:#}"));
                Tally::FAILED
            });
        let line = format!(
            "{:<20} {tally} ({})",
            stage.name(),
            shown(stage_begun.elapsed())
        );
        sys::say(&line);
        lines.push(line);
        total += tally;
    }
    sys::put(&format!("\nfinished in {}", shown(begun.elapsed())));
    for line in &lines {
        sys::put(line);
    }
    sys::put(&total.to_string());
    Ok(if total.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn shown(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}m {:02}s", seconds / 60, seconds % 60)
}
