//! `legation inbox`: what people wrote to agents, for their human and for scripts.

mod answers;
mod chats;
mod follow;
mod hook;
mod listing;
mod post;
mod prune;
mod session;
mod source;
mod standing;
mod waker;

use clap::{Args, Subcommand};
use legation_api::inbox::{Pull, PullAnswer, Show};
use legation_inbox::repair;
use serde::Serialize;

pub use answers::{export, list, post as post_answer, prune as prune_answer, pull, show};
pub(crate) use follow::Follower;
pub(crate) use listing::{line, unescaped};
use source::Source;
pub(crate) use standing::{Standing, standing};
pub(crate) use waker::{Signal, wake_by_prompt};

use crate::{CliError, Context};

/// The commands of `legation inbox`.
#[derive(Debug, Subcommand)]
pub enum InboxCommand {
    /// Print the newest messages.
    List(listing::ListArgs),
    /// Print one message.
    Show {
        /// Its id.
        id: String,
    },
    /// Put a message into the inbox, for scripts and CI.
    Post(post::PostArgs),
    /// Print what a reader has not read yet, oldest first.
    Pull(PullArgs),
    /// Write every message as a line of JSON, oldest first.
    Export(listing::ExportArgs),
    /// Take out old days; what was in them is never taken in again.
    Prune(prune::PruneArgs),
    /// Mend a damaged inbox: whole messages stay, the rest is put aside.
    Repair,
    /// Print which chats come in, or choose.
    Chats(chats::ChatsArgs),
    /// Print a line for every message that comes in, as long as who started it lives.
    Follow(follow::FollowArgs),
    /// Wait for the next message, print it, and end.
    Wait(follow::WaitArgs),
    /// What an agent's hooks say of its sessions.
    #[command(subcommand)]
    Session(session::SessionCommand),
    /// Wait until a message is for one session of an agent, and wake it.
    Waker(waker::WakerArgs),
}

/// Arguments of `legation inbox pull`.
#[derive(Debug, Args)]
pub struct PullArgs {
    /// Whose place it is; each name has a place of its own.
    #[arg(long, default_value = "@cli", value_name = "NAME")]
    consumer: String,
    /// Everything up to this message has arrived.
    #[arg(long, value_name = "ID")]
    since_id: Option<String>,
    /// How many at most.
    #[arg(long, short = 'n', default_value_t = 20)]
    limit: usize,
    /// Only look: nothing will count as read.
    #[arg(long)]
    peek: bool,
    /// Only of this channel.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Messages of this entity; without it those of nobody's.
    #[arg(long, value_name = "ENTITY")]
    entity: Option<String>,
}

/// What `repair` did.
#[derive(Serialize)]
struct Mended {
    records: u64,
    lost: u64,
    bytes_aside: u64,
    repeated: Vec<String>,
}

pub(crate) fn cmd_inbox(context: &Context, command: InboxCommand) -> Result<(), CliError> {
    match command {
        InboxCommand::List(args) => listing::cmd_list(context, &args),
        InboxCommand::Show { id } => {
            let message = Source::open(context)?.show(&Show { id })?;
            context.output.result(&message, |message| {
                context.output.foreign(&listing::whole(message))
            })
        }
        InboxCommand::Post(args) => post::cmd_post(context, args),
        InboxCommand::Pull(args) => cmd_pull(context, args),
        InboxCommand::Export(args) => listing::cmd_export(context, &args),
        InboxCommand::Prune(args) => prune::cmd_prune(context, &args),
        InboxCommand::Repair => cmd_repair(context),
        InboxCommand::Chats(args) => chats::cmd_chats(context, &args),
        InboxCommand::Follow(args) => follow::cmd_follow(context, &args),
        InboxCommand::Wait(args) => follow::cmd_wait(context, &args),
        InboxCommand::Session(command) => session::cmd_session(context, &command),
        InboxCommand::Waker(args) => waker::cmd_waker(context, args),
    }
}

fn cmd_pull(context: &Context, args: PullArgs) -> Result<(), CliError> {
    let answer = Source::open(context)?.pull(&Pull {
        consumer: args.consumer,
        since_id: args.since_id,
        limit: args.limit,
        mark_consumed: !args.peek,
        channel: args.channel,
        entity: args.entity,
    })?;
    context.output.result(&answer, |answer: &PullAnswer| {
        let lines = answer.messages.iter().map(line);
        let lines: Vec<String> = lines.collect();
        context.output.foreign(&lines.join("\n"))
    })?;
    if answer.unread_remaining > 0 {
        context
            .output
            .say(&format!("{} more are unread", answer.unread_remaining));
    }
    Ok(())
}

fn cmd_repair(context: &Context) -> Result<(), CliError> {
    let repaired = repair(&context.home.inbox())
        .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    let mended = Mended {
        records: repaired.records,
        lost: repaired.lost,
        bytes_aside: repaired.aside,
        repeated: repaired.repeated,
    };
    context.output.result(&mended, |mended| {
        let mut text = format!(
            "{} messages are whole, {} are lost; {} bytes were put aside in files that end in .damaged",
            mended.records, mended.lost, mended.bytes_aside
        );
        if !mended.repeated.is_empty() {
            text.push_str("\nthese readers are offered messages again: ");
            text.push_str(&mended.repeated.join(", "));
        }
        text
    })
}
