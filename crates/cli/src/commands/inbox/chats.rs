//! `legation inbox chats`: which chats come into the inbox.

use clap::{Args, Subcommand};
use legation_inbox::{WatchedChat, WatchedChats, WatchedError};
use serde::Serialize;

use crate::{CliError, Context};

/// Arguments of `legation inbox chats`.
#[derive(Debug, Args)]
pub struct ChatsArgs {
    #[command(subcommand)]
    command: Option<ChatsCommand>,
}

/// The commands of `legation inbox chats`.
#[derive(Debug, Subcommand)]
pub(crate) enum ChatsCommand {
    /// Print the chats that were found, and which are watched.
    List,
    /// Bring what is written in a chat into the inbox, from now on.
    Watch {
        /// Its id.
        id: String,
    },
    /// Leave a chat alone; what came in stays.
    Unwatch {
        /// Its id.
        id: String,
    },
}

/// A chat as it is shown.
#[derive(Serialize)]
struct Shown {
    chat_id: String,
    title: String,
    account: String,
    added_at: String,
    watched: bool,
}

/// What became of a chat.
#[derive(Serialize)]
struct Changed {
    #[serde(flatten)]
    chat: Shown,
    /// Whether it was otherwise before.
    changed: bool,
}

pub(super) fn cmd_chats(context: &Context, args: &ChatsArgs) -> Result<(), CliError> {
    let file = WatchedChats::at(context.home.watched_chats());
    match &args.command {
        None | Some(ChatsCommand::List) => list(context, &file),
        Some(ChatsCommand::Watch { id }) => set(context, &file, id, true),
        Some(ChatsCommand::Unwatch { id }) => set(context, &file, id, false),
    }
}

fn list(context: &Context, file: &WatchedChats) -> Result<(), CliError> {
    let chats = file.list().map_err(|error| refused(&error))?;
    let shown: Vec<Shown> = chats.into_iter().map(Shown::from).collect();
    context.output.result(&shown, |shown: &Vec<Shown>| {
        let lines: Vec<String> = shown.iter().map(line).collect();
        match lines.is_empty() {
            true => "no chats were found yet".to_owned(),
            false => context.output.foreign(&lines.join("\n")),
        }
    })
}

fn set(context: &Context, file: &WatchedChats, id: &str, is_watched: bool) -> Result<(), CliError> {
    let set = file.set(id, is_watched, context.clock.wall());
    let (chat, changed) = set.map_err(|error| refused(&error))?;
    let chat = Shown::from(chat);
    context
        .output
        .result(&Changed { chat, changed }, |answer: &Changed| {
            context.output.foreign(&line(&answer.chat))
        })
}

fn line(chat: &Shown) -> String {
    let state = if chat.watched {
        "watched"
    } else {
        "left alone"
    };
    format!(
        "{state}  {}  {}  {}",
        chat.account, chat.chat_id, chat.title
    )
}

fn refused(error: &WatchedError) -> CliError {
    CliError::failed(error).with_hint(error.hint())
}

// === impl Shown ===

impl From<WatchedChat> for Shown {
    fn from(chat: WatchedChat) -> Self {
        Self {
            chat_id: chat.id,
            title: chat.title,
            account: chat.account,
            added_at: chat.added_at,
            watched: chat.is_watched,
        }
    }
}
