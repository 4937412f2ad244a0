//! `cargo xtask soak`: campaigns too long for `test`.
//!
//! Eight of them: the hub killed and started again under load, random input against its faces, and
//! the store and the inbox on disks that lost power, are full or fail, the inbox's writer killed
//! besides, the hub killed with tasks running, conversations with models of every clearance, tasks
//! that a person disturbs on a real engine, and fifty clients behind one sign-in. All print their seed; the first two end after so many
//! cycles or minutes, whichever comes first, the others after so many crash points, kills,
//! conversations and rounds. `cargo xtask test` runs short forms of all but the second.

mod crash;
mod crash_points;
mod engine;
mod fuzz;
mod models;
mod oauth;
mod preempt;
mod random;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::bench::programs::Programs;
use crate::sys;

/// Options of `cargo xtask soak`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How often the hub is killed, and the inbox's writer.
    #[arg(long, default_value_t = 1_000)]
    cycles: usize,
    /// How many disks that lost power the store is opened on; the inbox on a tenth of them.
    #[arg(long, default_value_t = 100_000)]
    points: usize,
    /// How often a hub is killed with tasks running.
    #[arg(long, default_value_t = 200)]
    kills: u64,
    /// How many conversations are had with models.
    #[arg(long, default_value_t = 10_000)]
    conversations: usize,
    /// How often a person disturbs a task.
    #[arg(long, default_value_t = 200)]
    rounds: u64,
    /// How long each of the others may take, in minutes.
    #[arg(long, default_value_t = 25.0)]
    minutes: f64,
    /// The seed of a run to repeat.
    #[arg(long)]
    seed: Option<u64>,
    /// Only one campaign.
    #[arg(long, value_enum)]
    only: Option<Campaign>,
    /// Use the programs of this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
}

/// A campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Campaign {
    /// Kill the hub under load, again and again.
    Crash,
    /// Send random input to the HTTP and socket faces.
    Fuzz,
    /// Open the store on what a power failure may leave, at every moment of a run.
    CrashPoints,
    /// The same for the inbox, and its writer killed in a burst, again and again.
    Inbox,
    /// Kill the hub with delegated tasks running, again and again.
    Engine,
    /// Conversations with mixed labels, and what of them reaches which model.
    Models,
    /// A person disturbs tasks at any moment; they say and do what they would have.
    Preempt,
    /// Fifty clients behind one sign-in whose tokens live for seconds.
    Oauth,
}

/// Runs the campaigns.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let seed = args.seed.unwrap_or_else(random::fresh_seed);
    let limit = Duration::try_from_secs_f64(args.minutes * 60.0)?;
    sys::say(&format!("seed {seed}; repeat with --seed {seed}"));
    let wanted = |campaign| args.only.is_none_or(|only| only == campaign);
    if wanted(Campaign::CrashPoints) {
        crash_points::store(seed, args.points)?;
    }
    if wanted(Campaign::Inbox) {
        crash_points::inbox(seed, args.points / 10, args.cycles)?;
    }
    if wanted(Campaign::Engine) {
        engine::kills(seed, args.kills)?;
    }
    if wanted(Campaign::Models) {
        models::leak(seed, args.conversations)?;
    }
    if wanted(Campaign::Preempt) {
        preempt::disturb(seed, args.rounds, args.programs.as_deref())?;
    }
    if wanted(Campaign::Oauth) {
        oauth::renewals()?;
    }
    if args
        .only
        .is_some_and(|only| !matches!(only, Campaign::Crash | Campaign::Fuzz))
    {
        return Ok(ExitCode::SUCCESS);
    }
    let programs = match &args.programs {
        Some(folder) => Programs::in_folder(folder)?,
        None => Programs::release()?,
    };
    if wanted(Campaign::Crash) {
        crash::run(&programs, seed, args.cycles, deadline(limit))
            .with_context(|| format!("crash campaign, seed {seed}"))?;
    }
    if wanted(Campaign::Fuzz) {
        fuzz::run(&programs, seed, deadline(limit))
            .with_context(|| format!("fuzz campaign, seed {seed}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The crash campaign's short form, for `cargo xtask test`, on the programs of a folder.
pub(crate) fn crash_shortly(folder: &Path) -> Result<()> {
    const CYCLES: usize = 15;
    const LIMIT: Duration = Duration::from_secs(120);
    let programs = Programs::in_folder(folder)?;
    let seed = random::fresh_seed();
    crash::run(&programs, seed, CYCLES, deadline(LIMIT))
        .with_context(|| format!("crash campaign, seed {seed}"))
}

fn deadline(limit: Duration) -> Instant {
    sys::now() + limit
}
