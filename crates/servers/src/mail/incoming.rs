//! A letter, as the inbox keeps it.

use std::collections::BTreeMap;

use legation_core::{EntityId, Wall};
use legation_entra::mail::{Address, Letter};
use legation_inbox::{Channel, Incoming, Kind};
use serde::{Deserialize, Serialize};

/// The channel of mail.
#[must_use]
pub fn channel() -> Channel {
    Channel::parse("mail").expect("lower-case letters are a channel's name")
}

/// Where a letter is in the inbox: what is known of it when it is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shelf {
    pub(super) chat: String,
    pub(super) id: String,
}

/// Words of a received letter never change, so it has one version and perhaps
/// its deletion.
const RECEIVED: &str = "received";
const DELETED: &str = "deleted";

/// Instead of words that could not be had.
const NOT_READ: &str = "[its text could not be read; see the mailbox]";

// === impl Shelf ===

impl Shelf {
    /// A letter may be in the mailboxes of several accounts, and is then a
    /// message of each; in one it is a message once, however many copies came.
    pub(super) fn of(letter: &Letter, account: &str) -> Self {
        Self {
            chat: account.to_owned(),
            id: letter.message_id.clone(),
        }
    }

    /// What is kept of a letter. What a draft that answers it needs is in
    /// `meta`. Nobody proves who sent it: the address is a claim like the name.
    pub(super) fn received(
        self,
        letter: Letter,
        (words, attachments): (Option<&str>, &[String]),
        (account, entity): (&str, &EntityId),
    ) -> Incoming {
        let meta = meta(&letter, attachments, account);
        Incoming {
            channel: channel(),
            chat_id: self.chat,
            id: self.id,
            version: RECEIVED.to_owned(),
            kind: Kind::New,
            from: letter.from.as_ref().map(shown).unwrap_or_default(),
            ts: letter.received.to_string(),
            text: text(&letter, words, attachments),
            meta,
            entity: Some(entity.clone()),
        }
    }

    /// The record that a letter was deleted.
    pub(super) fn deleted(
        self,
        graph_id: &str,
        now: Wall,
        (account, entity): (&str, &EntityId),
    ) -> Incoming {
        let meta = [("account", account), ("mail_id", graph_id)];
        let meta = meta.map(|(key, value)| (key.to_owned(), value.to_owned()));
        Incoming {
            channel: channel(),
            chat_id: self.chat,
            id: self.id,
            version: DELETED.to_owned(),
            kind: Kind::Deleted,
            from: String::new(),
            ts: now.to_string(),
            text: String::new(),
            meta: meta.into(),
            entity: Some(entity.clone()),
        }
    }
}

/// Name and address. Brackets around it would be escaped.
fn shown(address: &Address) -> String {
    match address.name == address.address || address.name.is_empty() {
        true => address.address.clone(),
        false => format!("{} ({})", address.name, address.address),
    }
}

fn text(letter: &Letter, words: Option<&str>, attachments: &[String]) -> String {
    let words = words.map_or(NOT_READ, str::trim);
    let mut text = format!("{}\n\n{words}", letter.subject);
    if !attachments.is_empty() {
        text.push('\n');
    }
    for name in attachments {
        text.push_str("\n[attachment: ");
        text.push_str(name);
        text.push(']');
    }
    text.trim().to_owned()
}

fn meta(letter: &Letter, attachments: &[String], account: &str) -> BTreeMap<String, String> {
    let mut meta = BTreeMap::new();
    let mut add = |key: &str, value: String| {
        if !value.is_empty() {
            meta.insert(key.to_owned(), value);
        }
    };
    let list = |all: &[Address]| {
        let addresses: Vec<&str> = all.iter().map(|one| one.address.as_str()).collect();
        match addresses.is_empty() {
            true => String::new(),
            false => serde_json::json!(addresses).to_string(),
        }
    };
    add("account", account.to_owned());
    add("mail_id", letter.id.clone());
    add("internet_message_id", letter.message_id.clone());
    add("conversation_id", letter.conversation.clone());
    add("subject", letter.subject.clone());
    let from = letter.from.as_ref().map(|from| from.address.clone());
    add("from_address", from.unwrap_or_default());
    add("to", list(&letter.to));
    add("cc", list(&letter.cc));
    add("reply_to", list(&letter.reply_to));
    if !attachments.is_empty() {
        add("attachments", serde_json::json!(attachments).to_string());
    }
    meta
}
