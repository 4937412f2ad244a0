//! What is answered of an inbox, whoever has it open: the hub, or a command.

use legation_api::inbox::{
    Export, ExportAnswer, List, ListAnswer, Message, Post, PostAnswer, Prune, PruneAnswer, Pull,
    PullAnswer, Show,
};
use legation_core::{EntityId, Moment, Wall};
use legation_inbox::{
    AppendError, Channel, ConsumerName, EVENT_DATA, Inbox, Incoming, Kind, ReadError, Seq,
};

use crate::{CliError, Exit};

/// Most messages of one answer.
const ANSWER_MAX: usize = 1_000;

/// Keeps a message of a local producer.
///
/// # Errors
/// When it is none, or could not be kept.
pub fn post(inbox: &Inbox, post: Post, now: Wall) -> Result<PostAnswer, CliError> {
    let incoming = incoming(post, now)?;
    let id = incoming.id.clone();
    let added = inbox.append_blocking(vec![incoming]);
    let added = added.map_err(|error| of_append(&error))?;
    let Some(one) = added.first() else {
        return Err(CliError::new(Exit::Failed, "nothing was kept"));
    };
    Ok(PostAnswer {
        seq: one.seq.0,
        id,
        duplicate: one.duplicate,
    })
}

fn incoming(post: Post, now: Wall) -> Result<Incoming, CliError> {
    let refused = |message: &str| CliError::new(Exit::Usage, message);
    let channel = Channel::parse(&post.channel).map_err(|error| CliError::usage(&error))?;
    if matches!(channel.as_str(), "teams" | "mail" | "email") {
        return Err(
            refused("teams and mail have sources of their own; the message was not kept")
                .with_hint("leave --channel out, or take a name of your own"),
        );
    }
    if post.meta.contains_key(EVENT_DATA) {
        return Err(refused(
            "`event_data` is what events of servers have; the message was not kept",
        ));
    }
    if post.text.trim().is_empty() {
        return Err(refused("there is no text; the message was not kept"));
    }
    let id = match post.id {
        Some(id) if id.is_empty() => return Err(refused("an id cannot be empty")),
        Some(id) => id,
        None => legation_core::id::random_hex()
            .map_err(|error| CliError::new(Exit::Failed, error.to_string()))?,
    };
    Ok(Incoming {
        channel,
        chat_id: post.chat_id,
        id,
        version: post.version,
        kind: Kind::New,
        from: post.from,
        ts: now.to_string(),
        text: post.text,
        meta: post.meta,
        entity: post.entity.map(EntityId::new),
    })
}

/// The newest messages.
///
/// # Errors
/// When they could not be read.
pub fn list(inbox: &Inbox, list: &List) -> Result<ListAnswer, CliError> {
    let messages = inbox.before(list.before.map(Seq), list.limit.min(ANSWER_MAX));
    let messages = messages.map_err(|error| of_read(&error))?;
    Ok(ListAnswer {
        messages: messages.into_iter().map(message).collect(),
    })
}

/// One message.
///
/// # Errors
/// When there is none, or it could not be read.
pub fn show(inbox: &Inbox, show: &Show) -> Result<Message, ReadError> {
    inbox.by_id(&show.id).map(message)
}

/// What a consumer has not read.
///
/// # Errors
/// When it could not be read.
pub fn pull(inbox: &Inbox, pull: Pull) -> Result<PullAnswer, CliError> {
    let channel = pull.channel.map(|name| Channel::parse(&name)).transpose();
    let channel = channel.map_err(|error| CliError::usage(&error))?;
    let wanted = legation_inbox::Pull {
        consumer: ConsumerName::new(&pull.consumer, None),
        since_id: pull.since_id,
        limit: pull.limit.clamp(1, ANSWER_MAX),
        mark_consumed: pull.mark_consumed,
        channel,
        entity: pull
            .entity
            .map(EntityId::new)
            .filter(|entity| *entity != EntityId::personal()),
        began: Moment::now(),
        is_persons: true,
    };
    let pulled = inbox.pull(&wanted).map_err(|error| of_read(&error))?;
    // The socket that it goes out on is the person's own; what breaks there is asked for again with
    // the last id.
    if let Some(handed) = pulled.handed {
        handed.written();
    }
    Ok(PullAnswer {
        unread_remaining: pulled.unread_remaining,
        messages: pulled.messages.into_iter().map(message).collect(),
    })
}

/// Messages, oldest first.
///
/// # Errors
/// When they could not be read.
pub fn export(inbox: &Inbox, export: &Export) -> Result<ExportAnswer, CliError> {
    let messages = inbox.after(Seq(export.after), export.limit.min(ANSWER_MAX));
    let messages = messages.map_err(|error| of_read(&error))?;
    Ok(ExportAnswer {
        messages: messages.into_iter().map(message).collect(),
    })
}

/// Takes out old days.
///
/// # Errors
/// When a file could not be read or written.
pub fn prune(inbox: &Inbox, prune: Prune) -> Result<PruneAnswer, CliError> {
    let pruned = inbox.prune_blocking(Wall(prune.before_ms), prune.unread_too);
    let pruned = pruned.map_err(|error| CliError::new(Exit::Failed, error))?;
    Ok(PruneAnswer {
        days: pruned.days,
        records: pruned.records,
        unread: pruned.unread,
    })
}

/// A message as it is shown.
pub(super) fn message(message: legation_inbox::Message) -> Message {
    Message {
        seq: message.seq.0,
        id: message.id,
        version: message.version,
        kind: message.kind.as_str().to_owned(),
        received_at: message.received_at.to_string(),
        channel: message.channel.to_string(),
        chat_id: message.chat_id,
        from: message.from,
        ts: message.ts,
        content_text_sanitized: message.text,
        meta: message.meta,
        entity: message.entity.map(|entity| entity.to_string()),
    }
}

pub(super) fn of_read(error: &ReadError) -> CliError {
    CliError::failed(error).with_hint(error.hint())
}

fn of_append(error: &AppendError) -> CliError {
    CliError::failed(error).with_hint(error.hint())
}
