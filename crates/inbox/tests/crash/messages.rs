//! Messages that are known by a number.

use std::collections::BTreeMap;

use legation_core::EntityId;
use legation_inbox::{Channel, Inbox, Incoming, Kind, Message, Seq};

use legation_crash::Random;

/// The entity whose bodies are sealed.
pub(crate) const SEALED: &str = "clinic";

const CHANNELS: [&str; 3] = ["teams", "email", "local"];

/// The message with a number, as a source brings it. Some are versions of others.
pub(crate) fn incoming(number: u32) -> Incoming {
    let sealed = number % 4 == 1;
    let edit = sealed && number >= 12 && number % 8 == 5;
    let id = if edit { number - 12 } else { number };
    Incoming {
        channel: Channel::parse(CHANNELS[number as usize % 3]).expect("a channel"),
        chat_id: "chat".to_owned(),
        id: format!("m{id}"),
        version: number.to_string(),
        kind: if edit { Kind::Edited } else { Kind::New },
        from: "Ada Example".to_owned(),
        ts: "2026-11-21T23:58:00Z".to_owned(),
        text: text(number),
        meta: BTreeMap::new(),
        entity: sealed.then(|| EntityId::new(SEALED)),
    }
}

/// What it says: mostly a line, now and then many pages.
pub(crate) fn text(number: u32) -> String {
    let mut random = Random::new(number.into());
    let len = match number % 97 {
        0 => 20_000,
        _ => random.below(700),
    };
    format!("{number} ").repeat(len / 4 + 1)
}

/// The number of a record.
pub(crate) fn number(message: &Message) -> Result<u32, String> {
    let number = message.version.parse();
    number.map_err(|_| format!("record {} is nobody's: {:?}", message.seq, message.version))
}

/// Every record there is, oldest first.
pub(crate) fn everything(inbox: &Inbox) -> Result<Vec<Message>, String> {
    let mut all: Vec<Message> = Vec::new();
    loop {
        let last = all.last().map_or(Seq(0), |message| message.seq);
        let page = inbox.after(last, usize::MAX);
        let page = page.map_err(|error| format!("it cannot be read: {error}"))?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}
