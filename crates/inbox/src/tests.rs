//! The inbox on real files.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legation_core::clock::ManualClock;
use legation_core::{Clock as _, EntityId, Moment, SharedClock, Wall};
use legation_keystore::Keystore;

use crate::*;

mod damage;
mod followed;
mod kept;
mod pruned;
mod pulled;
mod sets;
mod watched;

/// 2026-11-21T23:59:00Z
const EVENING: &str = "2026-11-21T23:59:00Z";

/// A data directory that is gone with it.
struct Place {
    dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
    governor: Arc<dyn Governor>,
}

impl Place {
    fn new() -> Self {
        let epoch = Wall::parse(EVENING).expect("a time");
        Self {
            dir: tempfile::tempdir().expect("a folder"),
            clock: Arc::new(ManualClock::at(epoch)),
            governor: Arc::new(Ledger::default()),
        }
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("inbox")
    }

    fn keystore(&self) -> Arc<Keystore> {
        Arc::new(Keystore::open(&self.dir.path().join("keys")).expect("keys"))
    }

    fn try_open(&self) -> Result<Inbox, OpenError> {
        Inbox::open(Options {
            folder: self.folder(),
            keystore: self.keystore(),
            clock: Arc::clone(&self.clock) as SharedClock,
            governor: Arc::clone(&self.governor),
        })
    }

    fn open(&self) -> Inbox {
        self.try_open().expect("opened")
    }

    fn day_file(&self) -> PathBuf {
        self.folder().join("2026-11-21.jsonl")
    }

    /// Moves over midnight.
    fn next_day(&self) {
        self.clock.advance(Duration::from_secs(24 * 60 * 60));
    }
}

fn message(channel: &str, id: &str) -> Incoming {
    Incoming {
        channel: Channel::parse(channel).expect("a channel"),
        chat_id: "chat".to_owned(),
        id: id.to_owned(),
        version: "1".to_owned(),
        kind: Kind::New,
        from: "Ada Example".to_owned(),
        ts: "2026-11-21T23:58:00Z".to_owned(),
        text: format!("text of {id}"),
        meta: BTreeMap::new(),
        entity: None,
    }
}

fn put(inbox: &Inbox, channel: &str, ids: std::ops::Range<u32>) -> Vec<Added> {
    let messages = ids.map(|id| message(channel, &format!("{channel}-{id}")));
    inbox.append_blocking(messages.collect()).expect("kept")
}

fn pull(consumer: &str) -> Pull {
    Pull {
        consumer: ConsumerName::new(consumer, None),
        since_id: None,
        limit: 20,
        mark_consumed: true,
        channel: None,
        entity: None,
        began: Moment::START,
        is_persons: false,
    }
}

/// A call that begins now and whose answer is written out.
fn answered(inbox: &Inbox, call: &Pull) -> Pulled {
    let call = Pull {
        began: Moment::now(),
        ..call.clone()
    };
    let mut pulled = inbox.pull(&call).expect("pulled");
    if let Some(handed) = pulled.handed.take() {
        handed.written();
    }
    pulled
}

fn ids(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}

fn everything(inbox: &Inbox) -> Vec<Message> {
    let mut all: Vec<Message> = Vec::new();
    loop {
        let last = all.last().map_or(Seq(0), |message| message.seq);
        let page = inbox.after(last, usize::MAX).expect("read");
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

/// Rules under which one entity is sealed, and a record that can be made to fail.
#[derive(Debug, Default)]
struct Ledger {
    recorded: Mutex<Vec<u64>>,
    fails: Mutex<bool>,
}

impl Governor for Ledger {
    fn must_seal(&self, entity: &EntityId) -> bool {
        entity.as_str() == "clinic"
    }

    fn records(&self) -> bool {
        true
    }

    fn record(&self, messages: &[Message]) -> Result<(), String> {
        if *self.fails.lock().expect("whole") {
            return Err("no room".to_owned());
        }
        let mut recorded = self.recorded.lock().expect("whole");
        recorded.extend(messages.iter().map(|message| message.seq.0));
        Ok(())
    }
}
