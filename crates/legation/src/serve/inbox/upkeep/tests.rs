use std::sync::Arc;
use std::time::Duration;

use legation_config::InboxSettings;
use legation_core::clock::ManualClock;
use legation_core::{Moment, SharedClock, TaskSet, Wall};
use legation_inbox::{
    Channel, ConsumerName, Footprint, Inbox, Incoming, Kind, Options, Pull, Ungoverned,
};
use legation_keystore::Keystore;

use super::begin;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

struct Place {
    folder: tempfile::TempDir,
    clock: Arc<ManualClock>,
    inbox: Arc<Inbox>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let epoch = Wall::parse("2026-11-21T12:00:00Z").unwrap();
        let clock = Arc::new(ManualClock::at(epoch));
        let keystore = Keystore::open(&folder.path().join("keys")).unwrap();
        let inbox = Inbox::open(Options {
            folder: folder.path().join("inbox"),
            keystore: Arc::new(keystore),
            clock: Arc::clone(&clock) as SharedClock,
            governor: Arc::new(Ungoverned),
        });
        Self {
            inbox: Arc::new(inbox.unwrap()),
            folder,
            clock,
        }
    }

    async fn put(&self, id: &str) {
        let message = Incoming {
            channel: Channel::parse("local").unwrap(),
            chat_id: "chat".to_owned(),
            id: id.to_owned(),
            version: "1".to_owned(),
            kind: Kind::New,
            from: "Ada Example".to_owned(),
            ts: String::new(),
            text: "text".to_owned(),
            meta: std::collections::BTreeMap::new(),
            entity: None,
        };
        self.inbox.append(vec![message]).await.unwrap();
    }

    /// How many messages a reader has not read, without reading them.
    fn unread(&self, reader: &str) -> u64 {
        let pull = Pull {
            consumer: ConsumerName::new(reader, None),
            since_id: None,
            limit: 100,
            mark_consumed: false,
            channel: None,
            entity: None,
            began: Moment::now(),
            is_persons: false,
        };
        let pulled = self.inbox.pull(&pull).unwrap();
        pulled.unread_remaining + pulled.messages.len() as u64
    }

    /// Has a reader read everything.
    fn read(&self, reader: &str) {
        for _ in 0..2 {
            let pull = Pull {
                consumer: ConsumerName::new(reader, None),
                since_id: None,
                limit: 100,
                mark_consumed: true,
                channel: None,
                entity: None,
                began: Moment::now(),
                is_persons: false,
            };
            if let Some(handed) = self.inbox.pull(&pull).unwrap().handed {
                handed.written();
            }
        }
    }

    fn footprint(&self) -> Footprint {
        Footprint::of(&self.folder.path().join("inbox")).unwrap()
    }
}

/// Time passes by itself where nothing is to be done: an hour of the hub takes no time here.
#[tokio::test(start_paused = true)]
async fn what_is_old_goes_by_itself_and_what_is_used_stays() {
    let place = Place::new();
    place.put("old").await;
    place.read("idle");
    place.clock.advance(10 * DAY);
    place.put("new").await;
    place.read("codex");
    assert_eq!(place.unread("idle"), 1);
    let tasks = TaskSet::new();
    let settings = InboxSettings {
        retention_days: Some(5),
        takes_unread: false,
        reader_days: Some(5),
    };
    let clock = Arc::clone(&place.clock) as SharedClock;
    assert!(begin(&tasks, &place.inbox, &clock, settings));
    assert_eq!(place.footprint().days, 2, "starts are to be quick");
    // tidy: the clock is held, and passes the first wait at once
    tokio::time::sleep(Duration::from_secs(61)).await;
    let gone = async || {
        while place.footprint().days > 1 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(3_000), gone())
        .await
        .expect("the old day is taken out");
    assert_eq!(place.footprint().oldest.as_deref(), Some("2026-12-01"));
    // A reader that nobody used is forgotten, and offered what there is; one in use is not.
    assert_eq!(place.unread("codex"), 0);
    assert_eq!(place.unread("idle"), 1);
    // It goes on by itself.
    place.clock.advance(10 * DAY);
    place.put("newest").await;
    place.read("codex");
    // tidy: the clock is held, and passes the next one at once
    tokio::time::sleep(Duration::from_secs(61 * 60)).await;
    tokio::time::timeout(Duration::from_secs(3_000), gone())
        .await
        .expect("the next one as well");
    assert_eq!(place.footprint().oldest.as_deref(), Some("2026-12-11"));
    tasks.shutdown().await;
}

#[tokio::test]
async fn nothing_runs_where_everything_is_kept() {
    let place = Place::new();
    let tasks = TaskSet::new();
    let settings = InboxSettings {
        retention_days: None,
        takes_unread: true,
        reader_days: None,
    };
    let clock = Arc::clone(&place.clock) as SharedClock;
    assert!(!begin(&tasks, &place.inbox, &clock, settings));
    assert!(tasks.is_empty());
}
