//! `legation events`: the addresses that clients have events sent to.

use clap::Subcommand;
use legation_api::events::{List, ListAnswer, Remove, Test};

use crate::commands::running_hub;
use crate::table::{Table, printable};
use crate::{CliError, Context};

/// The commands of `legation events`.
#[derive(Debug, Subcommand)]
pub enum EventsCommand {
    /// Show the subscriptions there are, and whether they work.
    List,
    /// Ask a subscription's receiver for a sign of life.
    Test {
        /// Which one, as `list` shows it.
        id: String,
    },
    /// End a subscription; its receiver is told.
    Rm {
        /// Which one, as `list` shows it.
        id: String,
    },
}

pub(crate) fn cmd_events(context: &Context, command: EventsCommand) -> Result<(), CliError> {
    let mut hub = running_hub(context)?;
    match command {
        EventsCommand::List => {
            let answer = hub.call(&List {})?;
            context.output.result(&answer, render)
        }
        EventsCommand::Test { id } => {
            let done = hub.call(&Test { id: id.clone() })?;
            let id = printable(&id);
            let text = format!("The receiver of {id} answered.\n");
            context.output.result(&done, |_| text)
        }
        EventsCommand::Rm { id } => {
            let done = hub.call(&Remove { id: id.clone() })?;
            let text = format!("{} is over.\n", printable(&id));
            context.output.result(&done, |_| text)
        }
    }
}

fn render(answer: &ListAnswer) -> String {
    if answer.subscriptions.is_empty() {
        return "No client has events sent anywhere.\n".to_owned();
    }
    let mut table = Table::new(&["id", "client", "event", "receiver", "state", "expires"]);
    for one in &answer.subscriptions {
        let state = match &one.last_error {
            Some(error) => format!("{} ({error})", one.state),
            None => one.state.clone(),
        };
        let expires = one.expires.as_deref().unwrap_or("never");
        table.row([
            printable(&one.id),
            printable(&one.client),
            printable(&one.event),
            printable(&one.receiver),
            state,
            expires.to_owned(),
        ]);
    }
    table.render()
}
