//! `watch_chat` and `unwatch_chat`: which chats come in.

use std::collections::BTreeMap;

use legation_core::error::chain;
use legation_core::{EntityId, SharedClock};
use legation_gate::policy::NativeTool;
use legation_gate::{Outcome, Unresolved};
use legation_inbox::{WatchedChats, WatchedError};
use legation_wire::json::Object;
use serde::Serialize;

use crate::{Tool, failed, json_result};

/// The chats of the hub's accounts.
#[derive(Debug, Clone)]
pub struct ChatList {
    /// Which are watched.
    pub watched: WatchedChats,
    /// Whose data each account reads.
    pub entities: BTreeMap<Box<str>, EntityId>,
    /// The time.
    pub clock: SharedClock,
}

/// What became of a chat.
#[derive(Serialize)]
struct Answer {
    chat_id: String,
    title: String,
    account: String,
    watched: bool,
    /// Whether it was otherwise before.
    changed: bool,
}

const CHANGES: NativeTool = NativeTool {
    changes: true,
    drafts: false,
};

pub(super) const WATCH: Tool = Tool {
    name: "watch_chat",
    title: "Watch a chat",
    description: "Brings what others write in a Teams chat into the inbox from now on, for you and every other agent. chat_id is that of a message. unwatch_chat undoes it.",
    input: INPUT,
    reads: false,
    facts: CHANGES,
};

pub(super) const UNWATCH: Tool = Tool {
    name: "unwatch_chat",
    title: "Leave a chat alone",
    description: "Keeps what is written in a Teams chat out of the inbox from now on, for you and every other agent, until watch_chat undoes it. What came in stays. chat_id is that of a message.",
    input: INPUT,
    reads: false,
    facts: CHANGES,
};

const INPUT: &str = r#"{"type":"object","properties":{"chat_id":{"type":"string","minLength":1,"maxLength":500,"description":"The chat, as the messages from it name it"}},"required":["chat_id"],"additionalProperties":false}"#;

// === impl ChatList ===

impl ChatList {
    /// Whose data a call concerns: that of the account which is in the chat.
    pub(super) fn entity(&self, arguments: &Object) -> Result<Option<EntityId>, Unresolved> {
        let refused = |why: String, hint: &str| Unresolved::NoAccount {
            why,
            hint: hint.to_owned(),
        };
        let Some(id) = id(arguments) else {
            return Ok(None);
        };
        let of_error = |error: &WatchedError| refused(chain(error), error.hint());
        let chats = self.watched.list().map_err(|error| of_error(&error))?;
        let chat = chats.into_iter().find(|chat| chat.id == id);
        let chat = chat.ok_or_else(|| of_error(&WatchedError::Unknown { id }))?;
        match self.entities.get(&*chat.account) {
            Some(entity) => Ok(Some(entity.clone())),
            None => Err(refused(
                format!("the account `{}` of the chat is not there", chat.account),
                "write the account into legation.toml again; nothing was changed",
            )),
        }
    }

    /// Watches a chat, or no more. It writes a file.
    pub(super) fn set(&self, arguments: &Object, is_watched: bool) -> Outcome {
        let Some(id) = id(arguments) else {
            return failed("`chat_id` must be a text; nothing was changed");
        };
        match self.watched.set(&id, is_watched, self.clock.wall()) {
            Ok((chat, changed)) => json_result(&Answer {
                chat_id: chat.id,
                title: chat.title,
                account: chat.account,
                watched: chat.is_watched,
                changed,
            }),
            Err(error) => failed(&format!("{}; {}", chain(&error), error.hint())),
        }
    }
}

fn id(arguments: &Object) -> Option<String> {
    let id = arguments.get("chat_id")?.to_str()?;
    Some(id.into_owned()).filter(|id| !id.is_empty())
}
