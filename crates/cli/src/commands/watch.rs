//! `legation watch`: what comes in, for the person beside the agent.
//!
//! It reads the day files and has a place of its own. It has no network and no
//! token and needs no hub, so that it can run wherever there is a terminal. What
//! waits for a person is shown as well, while a hub runs.

mod desktop;
mod nudge;
#[cfg(test)]
mod tests;
mod waiting;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use legation_api::approvals::Waiting;
use legation_api::inbox::Message;
use legation_core::home::write_private;
use legation_inbox::Seq;
use serde::Serialize;
use serde_json::json;

use self::desktop::Desktop;
use self::nudge::Look;
use self::waiting::Asked;
use super::inbox::Follower;
use crate::{CliError, Context};

/// How long messages are waited for before it is looked what else waits.
const ASKED: Duration = Duration::from_secs(3);

/// Arguments of `legation watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Only notifications on the desktop, nothing in the terminal.
    #[arg(long)]
    quiet: bool,
    /// Only of this channel.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// No notifications on the desktop.
    #[arg(long, conflicts_with = "quiet")]
    no_desktop: bool,
    /// Print how many came since the last look in a few characters, and end: for
    /// a shell's prompt or an agent's status line.
    #[arg(long, conflicts_with_all = ["quiet", "no_desktop"])]
    status_line: bool,
}

/// What the status line says.
#[derive(Serialize)]
struct Standing {
    new: usize,
    latest: Option<String>,
}

/// Up to where `watch` has shown what came in, kept in a file of its own.
struct Cursor {
    path: PathBuf,
    at: Option<Seq>,
}

pub(crate) fn cmd_watch(context: &Context, args: &WatchArgs) -> Result<(), CliError> {
    let mut cursor = Cursor::read(context.home.root());
    let mut follower = Follower::begin(context, cursor.at, args.channel.clone())?;
    if args.status_line {
        return status_line(context, &mut follower, cursor.at.is_some());
    }
    if !args.quiet {
        context.output.say("watching the inbox; Ctrl-C ends it");
    }
    // A status line counts from here on.
    cursor.keep(follower.last())?;
    let desktop = (!args.no_desktop).then(|| Desktop::begin(&context.environment));
    let desktop = desktop.transpose()?;
    // Of one channel only is what somebody wants who asks for it.
    let mut asked = args.channel.is_none().then(Asked::default);
    loop {
        let wait = asked.is_some().then_some(ASKED);
        let messages = follower.next(wait)?.unwrap_or_default();
        let waiting = asked.as_mut().map(|asked| asked.now(context));
        let waiting = waiting.unwrap_or_default();
        let is_read = args.quiet || show(context, &messages)? && show_waiting(context, &waiting)?;
        if !is_read {
            // Nobody reads what is printed any more.
            return Ok(());
        }
        if let Some(desktop) = &desktop {
            desktop.tell(&messages);
            desktop.ask(&waiting);
        }
        cursor.keep(follower.last())?;
    }
}

/// How many came since the place of `watch`, which stays where it is.
fn status_line(context: &Context, follower: &mut Follower, known: bool) -> Result<(), CliError> {
    let mut standing = Standing {
        new: 0,
        latest: None,
    };
    // Without a place there is nothing to count from.
    if known {
        let mut messages = follower.now()?;
        while let Some(last) = messages.last() {
            standing.new += messages.len();
            standing.latest = Some(Look::plain().line(last));
            messages = follower.now()?;
        }
    }
    context
        .output
        .result(&standing, |standing| match standing.new {
            0 => String::new(),
            count => format!("\u{2709} {count}"),
        })
}

fn look(context: &Context) -> Look {
    let output = context.output;
    Look {
        columns: output.columns(),
        colours: output.columns().is_some() && context.environment.get("NO_COLOR").is_none(),
        zone: jiff::tz::TimeZone::system(),
    }
}

/// Prints what waits for a person; whether somebody reads it.
fn show_waiting(context: &Context, waiting: &[Waiting]) -> Result<bool, CliError> {
    let (output, look) = (context.output, look(context));
    for one in waiting {
        let text = match output.is_json() {
            true => serde_json::to_string(&json!({ "waiting": one }))
                .map_err(|error| CliError::failed(&error))?,
            false => look.asked(one),
        };
        if !output.line(&text) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Prints messages; whether somebody reads them.
fn show(context: &Context, messages: &[Message]) -> Result<bool, CliError> {
    let (output, look) = (context.output, look(context));
    for message in messages {
        let text = match output.is_json() {
            true => serde_json::to_string(message).map_err(|error| CliError::failed(&error))?,
            false => look.nudge(message),
        };
        if !output.line(&text) {
            return Ok(false);
        }
    }
    Ok(true)
}

// === impl Cursor ===

impl Cursor {
    fn read(root: &Path) -> Self {
        let path = root.join("watch.cursor");
        let known = std::fs::read_to_string(&path).ok();
        let at = known.and_then(|text| text.trim().parse().ok()).map(Seq);
        Self { path, at }
    }

    fn keep(&mut self, at: Seq) -> Result<(), CliError> {
        if self.at != Some(at) {
            write_private(&self.path, format!("{at}\n").as_bytes())?;
            self.at = Some(at);
        }
        Ok(())
    }
}
