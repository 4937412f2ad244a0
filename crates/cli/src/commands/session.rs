//! `legation session`: the conversations that people, agents and models share.

pub(crate) mod export;
#[cfg(test)]
mod tests;

use clap::{Args, Subcommand};
use legation_api::conversation::{Delete, Open, SessionView, Sessions, SessionsAnswer};

use crate::commands::{running_hub, workspace};
use crate::table::{Table, printable};
use crate::{CliError, Context, Exit};

/// The commands of `legation session`.
#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// List the sessions, the most recently used first.
    List,
    /// Make a session the current one of its folder.
    Resume {
        /// Its id, or a beginning of it that no other has.
        id: String,
    },
    /// Begin a new session in the current folder.
    New,
    /// Write a session with everything in it as JSON.
    Export(export::ExportArgs),
    /// Delete a session with everything in it.
    Delete(DeleteArgs),
}

/// Arguments of `legation session delete`.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// Its id, or a beginning of it that no other has.
    id: String,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn cmd_session(context: &Context, command: SessionCommand) -> Result<(), CliError> {
    match command {
        SessionCommand::List => {
            let answer = running_hub(context)?.call(&Sessions {})?;
            context.output.result(&answer, render)
        }
        SessionCommand::Resume { id } => open(
            context,
            Open {
                session: Some(id),
                ..Open::default()
            },
        ),
        SessionCommand::New => open(
            context,
            Open {
                workspace: workspace(),
                new: true,
                ..Open::default()
            },
        ),
        SessionCommand::Export(args) => export::cmd_export(context, &args),
        SessionCommand::Delete(args) => cmd_delete(context, &args),
    }
}

fn open(context: &Context, open: Open) -> Result<(), CliError> {
    let session = running_hub(context)?.call(&open)?;
    context.output.result(&session, |session| {
        let folder = session.workspace.as_deref().unwrap_or("no folder");
        format!("{} is the session of {}\n", session.id, printable(folder))
    })
}

fn cmd_delete(context: &Context, args: &DeleteArgs) -> Result<(), CliError> {
    let mut hub = running_hub(context)?;
    if !args.yes {
        let question = format!("Delete {} with everything in it?", printable(&args.id));
        match context.output.confirm(&question) {
            Some(true) => {}
            Some(false) => return Err(CliError::new(Exit::Failed, "nothing was deleted")),
            None => {
                let what = "nobody is there to ask; nothing was deleted";
                return Err(CliError::new(Exit::Usage, what).with_hint("say --yes"));
            }
        }
    }
    let done = hub.call(&Delete {
        session: args.id.clone(),
    })?;
    context
        .output
        .result(&done, |_| format!("{} is deleted\n", printable(&args.id)))
}

fn render(answer: &SessionsAnswer) -> String {
    if answer.sessions.is_empty() {
        return "There are no sessions.\n".to_owned();
    }
    let mut table = Table::new(&["", "ID", "USED", "ENTRIES", "FOLDER", "TITLE"]);
    for session in &answer.sessions {
        table.row(row(session));
    }
    table.render()
}

fn row(session: &SessionView) -> [String; 6] {
    const TITLE: usize = 50;
    [
        if session.current { "*" } else { "" }.to_owned(),
        session.id.clone(),
        session.active.clone(),
        session.messages.to_string(),
        session.workspace.clone().unwrap_or_else(|| "-".to_owned()),
        session.title.chars().take(TITLE).collect(),
    ]
}
