//! A message of Teams, as the inbox keeps it.

use std::collections::BTreeMap;

use legation_core::EntityId;
use legation_entra::chat::{Change, Chat, Message, News};
use legation_inbox::{Channel, Incoming, Kind};

/// In `meta` of a message that answers a question of the hub's own. It is kept
/// like any other, and is nobody's to act on.
pub const APPROVAL_REPLY: &str = "approval_reply";

/// Marks what answers a question of the hub's, or looks as if it did.
pub(super) fn told_from_answers(mut incoming: Incoming) -> Incoming {
    let said = legation_gate::desk::words::read(&incoming.text);
    if said.is_some_and(|said| said.is_sure()) {
        let yes = true.to_string();
        incoming.meta.insert(APPROVAL_REPLY.to_owned(), yes);
    }
    incoming
}

/// The channel of Teams.
#[must_use]
pub fn channel() -> Channel {
    Channel::parse("teams").expect("lower-case letters are a channel's name")
}

/// What is kept of news from a chat. What a reply needs is in `meta`; whether
/// the writer is the account's human is told by id, whatever the name says.
#[must_use]
pub fn incoming(
    news: News,
    channel: &Channel,
    (account, entity): (&str, &EntityId),
    chat: &Chat,
) -> Incoming {
    let News { message, change } = news;
    let meta = meta(&message, account, chat);
    let from = message.from.map(|from| from.name).unwrap_or_default();
    Incoming {
        channel: channel.clone(),
        chat_id: chat.id.clone(),
        version: format!("{} {}", message.etag, message.modified.0),
        kind: match change {
            Change::New => Kind::New,
            Change::Edited => Kind::Edited,
            Change::Deleted => Kind::Deleted,
        },
        from,
        ts: message.created.to_string(),
        text: message.text,
        meta,
        entity: Some(entity.clone()),
        id: message.id,
    }
}

fn meta(message: &Message, account: &str, chat: &Chat) -> BTreeMap<String, String> {
    let mut meta = BTreeMap::new();
    let mut add = |key: &str, value: String| meta.insert(key.to_owned(), value);
    add("account", account.to_owned());
    add("message_id", message.id.clone());
    let is_human = message.is_from(&chat.human);
    add("from_your_human", is_human.to_string());
    if let Some(from) = &message.from {
        add("from_id", from.id.clone());
    }
    if message.modified != message.created {
        add("changed_at", message.modified.to_string());
    }
    let quoted = message.attachments.iter().filter(|one| one.is_quotation());
    let quoted: Vec<&str> = quoted.map(|one| one.id.as_str()).collect();
    if !quoted.is_empty() {
        add("reply_to_ids", serde_json::json!(quoted).to_string());
    }
    let names = message
        .attachments
        .iter()
        .filter_map(|one| one.name.as_deref());
    let names: Vec<&str> = names.collect();
    if !names.is_empty() {
        add("attachments", serde_json::json!(names).to_string());
    }
    if message
        .mentions
        .iter()
        .any(|id| id.eq_ignore_ascii_case(&chat.me))
    {
        add("mentions_you", true.to_string());
    }
    meta
}
