//! `cargo xtask bench`: the hub against a direct connection, in the same run.
//!
//! Direct and hub rounds alternate, so that a machine that slows down slows both; what is reported
//! is the median over the rounds of each round's own ratio and difference. Authentication, gate and
//! ledger are on, and afterwards the ledger must hold two records for each call that was made.

mod calls;
mod changes;
mod console;
mod decisions;
mod desk;
mod find;
mod footprint;
mod frames;
pub(crate) mod hub;
mod hundred;
mod identity;
mod inbox;
mod latency;
mod messages;
mod models;
mod preempt;
pub(crate) mod programs;
mod queue;
mod redaction;
mod sse;
pub(crate) mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::{peers, sys};
use programs::Programs;
use table::Table;

/// Options of `cargo xtask bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Measure the peers that install from registries too.
    #[arg(long)]
    peers: bool,
    /// One short round: shows that everything works, not how fast.
    #[arg(long)]
    quick: bool,
    /// Write all results to a file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print the table as Markdown.
    #[arg(long)]
    markdown: bool,
    /// Fail where a target is missed.
    #[arg(long)]
    strict: bool,
    /// Only the sections whose name contains this: calls, decisions, footprint,
    /// sse, starts, listing, peers, redaction, identity, messages, inbox, latency, tui,
    /// models, engine, preempt, desk, find, console, hundred.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Measure the hub of `cargo build --release`, not the one that is shipped (`cargo xtask dist`).
    #[arg(long, conflicts_with = "programs")]
    release: bool,
    /// Use the programs of this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
}

/// How long and how often to measure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Rounds of each measurement; the median counts.
    pub(crate) rounds: usize,
    /// Seconds that a round counts calls.
    pub(crate) seconds: f64,
    /// Seconds before it does.
    pub(crate) warm_up: f64,
    /// Starts of a bridge or a hub.
    pub(crate) starts: usize,
}

/// What needs no hub: its name, and how it is measured, shortly or not.
const ALONE: &[(&str, Measure)] = &[
    ("redaction", redaction::measure),
    ("decisions", decisions::measure),
    ("messages", messages::measure),
    ("inbox", inbox::measure),
    ("identity", identity::measure),
    ("tui", frames::measure),
    ("models", models::measure),
    ("desk", desk::measure),
    ("find", find::measure),
    ("engine", queue::measure),
    ("hundred", hundred::measure),
];

/// A measurement that needs no hub.
type Measure = fn(bool, &mut Table) -> Result<()>;

/// Runs the benchmark.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let effort = if args.quick {
        Effort {
            rounds: 1,
            seconds: 0.3,
            warm_up: 0.1,
            starts: 3,
        }
    } else {
        Effort {
            rounds: 5,
            seconds: 0.8,
            warm_up: 0.2,
            starts: 20,
        }
    };
    let mut table = Table::default();
    // What needs no hub is not made to wait until one is built.
    let only = |name: &str| args.only.as_deref().is_some_and(|only| name.contains(only));
    for (name, measure) in ALONE {
        if only(name) {
            measure(args.quick, &mut table).context(*name)?;
            return shown(args, &table);
        }
    }
    if only("preempt") {
        preempt::measure(args.quick, args.programs.as_deref(), &mut table).context("preempt")?;
        return shown(args, &table);
    }
    let programs = match &args.programs {
        Some(folder) => Programs::in_folder(folder)?,
        None if args.release => Programs::release()?,
        None => Programs::shipped()?,
    };
    let wanted = |name: &str| args.only.as_deref().is_none_or(|only| name.contains(only));
    if wanted("calls") {
        calls::measure(&programs, effort, &mut table).context("calls")?;
    }
    if wanted("footprint") {
        footprint::memory(&programs, &mut table).context("footprint")?;
    }
    if wanted("sse") {
        sse::measure(&programs, &mut table).context("sse")?;
    }
    if wanted("console") {
        console::measure(&programs, args.quick, &mut table).context("console")?;
    }
    if wanted("starts") {
        footprint::starts(&programs, effort, &mut table).context("starts")?;
    }
    if wanted("listing") {
        footprint::listing(&programs, effort, &mut table).context("listing")?;
    }
    if args.peers && wanted("peers") {
        peers::measure(&programs, effort, &mut table).context("peers")?;
    }
    for (name, measure) in ALONE.iter().filter(|(name, _)| wanted(name)) {
        measure(args.quick, &mut table).context(*name)?;
    }
    if wanted("preempt") {
        preempt::measure(args.quick, args.programs.as_deref(), &mut table).context("preempt")?;
    }
    if wanted("latency") {
        latency::measure(&programs, args.quick, &mut table).context("latency")?;
    }
    shown(args, &table)
}

/// Prints the table, writes it where it is wanted, and says how it went.
fn shown(args: &Args, table: &Table) -> Result<ExitCode> {
    sys::put(&if args.markdown {
        table.markdown()
    } else {
        table.text()
    });
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(table)?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let failed = args.strict && !table.all_met();
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
