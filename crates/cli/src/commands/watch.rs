//! `legation watch`: what comes in, for the person beside the agent.
//!
//! It reads the day files and has a place of its own. It has no network, no
//! token and no connection to the hub, so that it can run wherever there is a
//! terminal.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use clap::Args;
use legation_api::inbox::Message;
use legation_core::home::write_private;
use legation_core::process::{OnceSpec, run_to_end};
use legation_inbox::Seq;
use serde::Serialize;

use super::inbox::{Follower, line};
use crate::{CliError, Context};

/// How long a desktop may take to show something.
const NOTIFY: Duration = Duration::from_secs(5);

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

pub(crate) fn cmd_watch(context: &Context, args: &WatchArgs) -> Result<(), CliError> {
    let cursor = context.home.root().join("watch.cursor");
    let known = std::fs::read_to_string(&cursor).ok();
    let after = known.and_then(|text| text.trim().parse().ok()).map(Seq);
    let mut follower = Follower::begin(context, after, args.channel.clone())?;
    if args.status_line {
        return status_line(context, &mut follower, after.is_some());
    }
    if !args.quiet {
        context.output.say("watching the inbox; Ctrl-C ends it");
    }
    loop {
        let messages = follower.next(None)?;
        for message in &messages {
            if !args.quiet {
                show(context, message)?;
            }
        }
        if !args.no_desktop {
            notify(context, &messages);
        }
        write_private(&cursor, format!("{}\n", follower.last()).as_bytes())?;
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
            standing.latest = Some(line(last));
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

fn show(context: &Context, message: &Message) -> Result<(), CliError> {
    if context.output.is_json() {
        let text = serde_json::to_string(message).map_err(|error| CliError::failed(&error))?;
        context.output.data(&text);
        return Ok(());
    }
    let text = context.output.foreign(&line(message));
    let hint = "tell your agent: check inbox";
    context.output.data(&match io::stdout().is_terminal() {
        // The terminal's own colours, so that it is read on light and dark alike.
        true => format!("\u{1b}[1;36m{text}\u{1b}[0m\n  \u{1b}[2m\u{2192} {hint}\u{1b}[0m"),
        false => format!("{text}\n  \u{2192} {hint}"),
    });
    Ok(())
}

/// Shows on the desktop what came, in one notification. A desktop that shows
/// nothing is no reason to end.
fn notify(context: &Context, messages: &[Message]) {
    let Some(last) = messages.last() else { return };
    let title = match messages.len() {
        1 => "Message for your agent".to_owned(),
        count => format!("{count} messages for your agent"),
    };
    // Other users of the machine see what programs are started with.
    let text = match &last.entity {
        None => line(last),
        Some(_) => format!("[{}] of an entity; the terminal shows it", last.channel),
    };
    let Some((program, args)) = desktop(&title, &text) else {
        return;
    };
    let variables = context.environment.inherited_by_children();
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let spec = OnceSpec {
        program: program.into(),
        args,
        env: variables.collect(),
        cwd: None,
        timeout: NOTIFY,
        keep: 1024,
    };
    drop(run_to_end(&spec));
}

/// The command that shows a notification on this system. Texts are arguments of
/// their own and never part of a script.
fn desktop(title: &str, text: &str) -> Option<(&'static str, Vec<OsString>)> {
    let words = |words: &[&str]| words.iter().map(OsString::from).collect();
    if cfg!(target_os = "linux") {
        let args = ["--app-name=legation", "--", title, text];
        return Some(("notify-send", words(&args)));
    }
    if cfg!(target_os = "macos") {
        let script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
        return Some(("osascript", words(&["-e", script, "--", title, text])));
    }
    None
}
