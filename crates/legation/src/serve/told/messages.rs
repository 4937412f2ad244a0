//! The inbox as a log of events.

use std::sync::{Arc, Weak};

use legation_core::Wall;
use legation_core::error::chain;
use legation_events::{Batch, Entry, Kind, Log, LogError, Told, Topic, event_id};
use legation_gate::Gate;
use legation_inbox::{self as inbox, Inbox, Message, ReadError, Seq, summary};
use legation_servers::feeds::Occurrence;
use legation_servers::teams::APPROVAL_REPLY;
use legation_wire::json::{Object, Raw};
use tokio::sync::watch;

use crate::serve::inbox::uri_of;

/// Characters of a message in an event.
const SUMMARY: usize = 200;
/// The inbox's numbers are for ever.
const EPOCH: u64 = 0;

/// See the module.
#[derive(Debug)]
pub(super) struct InboxLog {
    inbox: Arc<Inbox>,
    announced: watch::Receiver<u64>,
    /// What it tells of servers is cleaned by it. Weak, because its owner owns this.
    gate: Weak<Gate>,
}

// === impl InboxLog ===

impl InboxLog {
    pub(super) fn new(inbox: &Arc<Inbox>, gate: &Arc<Gate>) -> Self {
        Self {
            inbox: Arc::clone(inbox),
            announced: inbox.announced(),
            gate: Arc::downgrade(gate),
        }
    }

    /// The event of a server that a message was.
    fn told(&self, message: &Message) -> Option<Told> {
        let event = Occurrence::of(message)?;
        let gate = self.gate.upgrade()?;
        let topic = Topic::of_server(&event.server, &event.kind);
        Some(Told {
            event_id: event_id(&["of a server", topic.as_str(), &event.id]).into(),
            data: gate.cleaned(&event.server, &event.kind, event.data),
            topic,
        })
    }

    /// The first record from a place on that is still there.
    fn first_from(&self, place: u64) -> Result<Option<Message>, LogError> {
        let found = self.inbox.after(Seq(place.saturating_sub(1)), 1);
        Ok(found.map_err(unreadable)?.pop())
    }
}

impl Log for InboxLog {
    fn epoch(&self) -> u64 {
        EPOCH
    }

    fn end(&self) -> u64 {
        *self.announced.borrow()
    }

    fn read(&self, after: u64, most: usize) -> Result<Batch, LogError> {
        let end = self.end();
        let messages = self.inbox.after(Seq(after), most).map_err(unreadable)?;
        // What is on its way to being announced is not told yet.
        let messages = messages.iter().filter(|message| message.seq.0 <= end);
        let mut expected = after + 1;
        let mut gap = false;
        for message in messages.clone() {
            gap |= message.seq.0 != expected;
            expected = message.seq.0 + 1;
        }
        let last = messages.clone().next_back().map(|message| message.seq.0);
        // An answer to the hub is nobody's to act on.
        let others = messages.filter(|message| !message.meta.contains_key(APPROVAL_REPLY));
        let entries = others.map(|message| Entry {
            of_server: self.told(message),
            ..entry(message)
        });
        let entries: Vec<Entry> = entries.collect();
        Ok(Batch {
            // Nothing there although the log goes on: retention took it all.
            gap: gap || (last.is_none() && after < end),
            reached: last.unwrap_or_else(|| end.max(after)),
            entries,
        })
    }

    /// Messages are kept in the order of their time but for a clock that was set
    /// back, which an hour of a log tells nothing about.
    fn older_than(&self, at: Wall) -> Result<u64, LogError> {
        let (mut low, mut high) = (0, self.end());
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            match self.first_from(middle)? {
                Some(message) if message.received_at < at => low = message.seq.0.min(high),
                Some(_) => high = middle - 1,
                // Everything from there on is gone.
                None => high = middle - 1,
            }
        }
        Ok(low)
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.inbox.announced()
    }
}

fn entry(message: &Message) -> Entry {
    let (kind, version) = match message.kind {
        inbox::Kind::New => (Kind::MessageReceived, ""),
        inbox::Kind::Edited | inbox::Kind::Deleted => (Kind::MessageEdited, &*message.version),
    };
    let channel = message.channel.as_str();
    let mut notice = Object::new()
        .with("id", Raw::str(&message.id))
        .with("uri", Raw::str(&uri_of(&message.id)))
        .with("channel", Raw::str(channel))
        .with("kind", Raw::str(message.kind.as_str()));
    if let Some(entity) = &message.entity {
        notice.set("entity", Raw::str(entity.as_str()));
    }
    let details = Object::new()
        .with("chat_id", Raw::str(&message.chat_id))
        .with("from", Raw::str(&message.from))
        .with("ts", Raw::str(&message.ts))
        .with("summary", Raw::str(&summary(&message.text, SUMMARY)));
    let parts = [
        kind.as_str(),
        channel,
        &message.chat_id,
        &message.id,
        version,
    ];
    Entry {
        place: message.seq.0,
        kind,
        event_id: event_id(&parts).into(),
        at: message.received_at,
        entity: message.entity.clone(),
        client: None,
        channel: Some(channel.into()),
        notice,
        details,
        of_server: None,
    }
}

fn unreadable(error: ReadError) -> LogError {
    LogError {
        what: chain(&error),
    }
}
