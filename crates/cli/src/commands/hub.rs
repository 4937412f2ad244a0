//! `legation status` and `legation stop`.

use std::time::Duration;

use clap::Args;
use legation_api::Done;
use legation_api::hub::{Status, StatusAnswer, Stop};
use serde::Serialize;

use crate::commands::inbox::{Standing, standing};
use crate::commands::running_hub;
use crate::{CliError, Context, Exit};

/// Arguments of `legation status`.
#[derive(Debug, Args)]
pub struct StatusArgs {}

/// Arguments of `legation stop`.
#[derive(Debug, Args)]
pub struct StopArgs {}

/// How the hub is, and what it keeps.
#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    answer: StatusAnswer,
    inbox: Option<Standing>,
}

/// How long a hub may take to stop: calls that were called off and servers that are slow to end have five
/// seconds each.
const STOP_LIMIT: Duration = Duration::from_secs(15);

pub(crate) fn cmd_status(context: &Context, _args: &StatusArgs) -> Result<(), CliError> {
    let shown = Shown {
        answer: running_hub(context)?.call(&Status {})?,
        inbox: standing(context).ok(),
    };
    context.output.result(&shown, describe)
}

fn describe(shown: &Shown) -> String {
    let answer = &shown.answer;
    let mut text = format!(
        "hub {} (process {}) has been running for {} s\nhome     {}\nhttp     {}\nservers  {} of {} connected\nrules    {}\n",
        answer.version,
        answer.pid,
        answer.uptime_ms / 1000,
        answer.home,
        match (&answer.listen, answer.no_auth) {
            (Some(address), false) => address.clone(),
            (Some(address), true) => format!("{address} WITHOUT credentials (--no-auth)"),
            (None, _) => "off".to_owned(),
        },
        answer.connected,
        answer.servers,
        answer.rules,
    );
    // Files that cannot be read are a problem of the hub's, which says so.
    if let Some(inbox) = &shown.inbox {
        text.push_str(&format!("inbox    {}\n", inbox.words()));
    }
    for problem in &answer.problems {
        text.push_str("problem  ");
        text.push_str(&crate::table::printable(problem));
        text.push('\n');
    }
    text
}

pub(crate) fn cmd_stop(context: &Context, _args: &StopArgs) -> Result<(), CliError> {
    let mut client = running_hub(context)?;
    client.call(&Stop {})?;
    let until = context.clock.now() + STOP_LIMIT;
    // The data directory is free only when the last record is on disk.
    while context
        .home
        .lock()
        .map_err(|error| CliError::failed(&error))?
        .is_none()
    {
        if context.clock.now() > until {
            return Err(CliError::new(
                Exit::Failed,
                format!(
                    "the hub was asked to stop but has not ended after {} s",
                    STOP_LIMIT.as_secs()
                ),
            )
            .with_hint("see `legation status` for its process"));
        }
        context.output.progress("waiting for calls under way …");
        std::thread::sleep(Duration::from_millis(20));
    }
    context.output.progress_done();
    context.output.result(&Done {}, |_| "stopped".to_owned())
}

#[cfg(test)]
mod tests;
