//! `legation inbox prune`: retention.

use clap::Args;
use legation_api::inbox::{Prune, PruneAnswer};
use legation_core::Wall;

use super::source::Source;
use crate::{CliError, Context, Exit};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Arguments of `legation inbox prune`.
#[derive(Debug, Args)]
#[group(id = "until", required = true, multiple = false, args = ["before", "older_than_days"])]
pub struct PruneArgs {
    /// Days before this date, as YYYY-MM-DD in UTC.
    #[arg(long, value_name = "DATE")]
    before: Option<String>,
    /// Days that are older than so many days.
    #[arg(long, value_name = "DAYS")]
    older_than_days: Option<u32>,
    /// Days too that a reader has not read all of.
    #[arg(long)]
    unread: bool,
}

pub(super) fn cmd_prune(context: &Context, args: &PruneArgs) -> Result<(), CliError> {
    let before = match (&args.before, args.older_than_days) {
        (Some(date), _) => Wall::parse(date),
        (None, days) => days.map(|days| Wall(context.clock.wall().0 - i64::from(days) * DAY_MS)),
    };
    let before = before.ok_or_else(|| {
        CliError::new(
            Exit::Usage,
            "--before takes a date as YYYY-MM-DD; nothing was taken out",
        )
    })?;
    let answer = Source::open(context)?.prune(Prune {
        before_ms: before.0,
        unread_too: args.unread,
    })?;
    context.output.result(&answer, render)
}

fn render(answer: &PruneAnswer) -> String {
    let mut text = format!(
        "{} days with {} messages were taken out",
        answer.days.len(),
        answer.records
    );
    if let Some(day) = answer.unread.first() {
        text.push_str(&format!(
            "; {day} and what came after it stays, because not every reader has read all of it (--unread takes it out too)"
        ));
    }
    text
}
