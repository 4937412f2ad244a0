//! What the tests stand on.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use legation_core::{
    BootId, Caller, ClientId, EntityId, Principal, SeatId, ServerName, SystemClock, TaskSet, Via,
    Wall,
};
use legation_keystore::Keystore;
use legation_store::{Store, StoreOptions};
use legation_wire::json::{Limits, Object, Raw};
use tokio::sync::watch;

use super::receiver::Certificates;
use crate::{
    Access, Batch, Entry, Events, EventsError, EventsParts, EventsSettings, Frame, Journal, Kind,
    Log, LogError, Lookup, Record, ServerTopic, Stream, Told, Topic, Topics, event_id,
};

/// Messages in memory, of which the oldest can be taken out.
#[derive(Debug)]
pub(super) struct Messages {
    entries: Mutex<Vec<Entry>>,
    end: watch::Sender<u64>,
}

/// Rules that can be changed.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub(super) revoked: AtomicBool,
    pub(super) withheld: AtomicBool,
    pub(super) unrecorded: AtomicBool,
    /// Entities nobody has a clearance for.
    pub(super) refused: Mutex<BTreeSet<String>>,
    pub(super) told: Mutex<Vec<Option<String>>>,
    pub(super) records: Mutex<Vec<Record>>,
}

/// Names that lead where the test says.
#[derive(Debug)]
pub(super) struct Names(pub(super) Mutex<SocketAddr>, pub(super) AtomicU64);

/// Everything.
pub(super) struct Kit {
    pub(super) events: Events,
    pub(super) messages: Arc<Messages>,
    pub(super) journal: Arc<Journal>,
    pub(super) rules: Arc<Rules>,
    pub(super) names: Arc<Names>,
    pub(super) tasks: TaskSet,
    pub(super) folder: Arc<tempfile::TempDir>,
    pub(super) store: Arc<Store>,
    settings: EventsSettings,
}

// === impl Messages ===

impl Messages {
    pub(super) fn add(&self, channel: &str, entity: Option<&str>) -> u64 {
        self.add_at(channel, entity, SystemClock::shared().wall())
    }

    pub(super) fn add_at(&self, channel: &str, entity: Option<&str>, at: Wall) -> u64 {
        let mut entries = self.entries.lock().unwrap();
        let place = *self.end.borrow() + 1;
        let id = format!("m{place}");
        entries.push(Entry {
            place,
            kind: Kind::MessageReceived,
            event_id: event_id(&[&id]).into(),
            at,
            entity: entity.map(EntityId::new),
            client: None,
            channel: Some(channel.into()),
            notice: Object::new().with("id", Raw::str(&id)),
            details: Object::new().with("summary", Raw::str("words")),
            of_server: None,
        });
        self.end.send_replace(place);
        place
    }

    /// Something that a server told.
    pub(super) fn add_of(&self, topic: &str, entity: Option<&str>) -> u64 {
        let place = self.add("files", entity);
        let mut entries = self.entries.lock().unwrap();
        let entry = entries.last_mut().unwrap();
        entry.of_server = Some(Told {
            topic: Topic::parse(topic).unwrap(),
            event_id: event_id(&["told", &place.to_string()]).into(),
            data: Object::new().with("path", Raw::str("/a")),
        });
        place
    }

    /// Takes out everything up to a place.
    pub(super) fn prune(&self, through: u64) {
        let mut entries = self.entries.lock().unwrap();
        entries.retain(|entry| entry.place > through);
    }
}

impl Log for Messages {
    fn epoch(&self) -> u64 {
        0
    }

    fn end(&self) -> u64 {
        *self.end.borrow()
    }

    fn read(&self, after: u64, most: usize) -> Result<Batch, LogError> {
        let entries = self.entries.lock().unwrap();
        let later = entries.iter().filter(|entry| entry.place > after);
        let entries: Vec<Entry> = later.take(most).cloned().collect();
        let first = entries.first().map_or(self.end() + 1, |entry| entry.place);
        Ok(Batch {
            gap: first > after + 1,
            reached: entries.last().map_or(self.end(), |entry| entry.place),
            entries,
        })
    }

    fn older_than(&self, at: Wall) -> Result<u64, LogError> {
        let entries = self.entries.lock().unwrap();
        let older = entries.iter().take_while(|entry| entry.at < at);
        Ok(older.last().map_or(0, |entry| entry.place))
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.end.subscribe()
    }
}

impl Access for Rules {
    fn knows(&self, _who: &Caller) -> bool {
        !self.revoked.load(Ordering::SeqCst)
    }

    fn offers(&self, _who: &Caller, _topic: &Topic) -> bool {
        !self.withheld.load(Ordering::SeqCst)
    }

    fn may_know(&self, _who: &Caller, entity: &EntityId) -> bool {
        !self.refused.lock().unwrap().contains(entity.as_str())
    }

    fn may_be_told(&self, _who: &Caller, entity: Option<&EntityId>) -> bool {
        let entity = entity.map(|entity| entity.as_str().to_owned());
        self.told.lock().unwrap().push(entity);
        true
    }

    fn record(&self, record: Record) -> BoxFuture<'static, Result<(), String>> {
        let failed = self.unrecorded.load(Ordering::SeqCst);
        if !failed {
            self.records.lock().unwrap().push(record);
        }
        Box::pin(async move {
            match failed {
                true => Err("the disk is full".to_owned()),
                false => Ok(()),
            }
        })
    }
}

/// What servers offer: `files` two kinds, and `away` has not said.
#[derive(Debug)]
pub(super) struct Offered;

impl Topics for Offered {
    fn all(&self) -> Vec<ServerTopic> {
        let files = ServerName::parse("files").unwrap();
        let topic = |name: &str, payload_schema| ServerTopic {
            server: files.clone(),
            name: name.into(),
            payload_schema,
        };
        vec![
            topic(
                "changed",
                Some(Raw::from_static(r#"{"type":"object","title":"A change"}"#)),
            ),
            topic("moved/away", None),
        ]
    }

    fn is_offered(&self, server: &ServerName, name: &str) -> Option<bool> {
        let all = self.all();
        let of = all.iter().filter(|one| one.server == *server);
        match of.clone().count() {
            0 => None,
            _ => Some(of.into_iter().any(|one| *one.name == *name)),
        }
    }
}

impl Lookup for Names {
    fn lookup(&self, _host: &str, _port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        let address = *self.0.lock().unwrap();
        Box::pin(async move { Ok(vec![address]) })
    }
}

// === impl Kit ===

impl Kit {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(super) fn with(change: impl FnOnce(&mut EventsSettings)) -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        let mut settings = EventsSettings {
            heartbeat: Duration::from_millis(200),
            retry: Duration::from_millis(20),
            attempt: Duration::from_millis(500),
            ca_pem: Some(Certificates::get().ca_pem.clone().into_bytes()),
            allow: vec!["hook.example.com".into()],
            ..EventsSettings::default()
        };
        change(&mut settings);
        let messages = Arc::new(Messages {
            entries: Mutex::default(),
            end: watch::Sender::new(0),
        });
        let store = Store::open(&folder.path().join("state.db"), StoreOptions::default());
        let store = Arc::new(store.expect("a store"));
        let names = Arc::new(Names(
            Mutex::new(SocketAddr::from(([127, 0, 0, 1], 9))),
            AtomicU64::new(0),
        ));
        Self::assemble(folder, store, settings, messages, Arc::default(), names)
    }

    fn assemble(
        folder: Arc<tempfile::TempDir>,
        store: Arc<Store>,
        settings: EventsSettings,
        messages: Arc<Messages>,
        rules: Arc<Rules>,
        names: Arc<Names>,
    ) -> Self {
        let keystore = Keystore::open(&folder.path().join("keys")).expect("keys");
        let journal = Arc::new(Journal::new(&BootId::random().expect("randomness")));
        let tasks = TaskSet::new();
        let events = Events::open(EventsParts {
            access: Arc::clone(&rules) as _,
            messages: Arc::clone(&messages) as _,
            journal: Arc::clone(&journal),
            topics: Arc::new(Offered),
            settings: settings.clone(),
            store: Arc::clone(&store),
            keystore: Arc::new(keystore),
            clock: SystemClock::shared(),
            tasks: tasks.clone(),
            lookup: Arc::clone(&names) as _,
        });
        Self {
            events: events.expect("open"),
            messages,
            journal,
            rules,
            names,
            tasks,
            folder,
            store,
            settings,
        }
    }

    /// Ends it and starts it again on what was kept.
    pub(super) async fn restart(self) -> Self {
        self.restart_with(|_| {}).await
    }

    /// [`Kit::restart`] with other settings.
    pub(super) async fn restart_with(self, change: impl FnOnce(&mut EventsSettings)) -> Self {
        self.tasks.shutdown().await;
        let Self {
            messages,
            rules,
            names,
            folder,
            store,
            mut settings,
            ..
        } = self;
        change(&mut settings);
        Self::assemble(folder, store, settings, messages, rules, names)
    }

    pub(super) async fn poll(&self, params: &str) -> Result<serde_json::Value, EventsError> {
        let polled = self.events.poll(&who("codex"), &object(params)).await;
        polled.map(|result| json(&result))
    }

    pub(super) async fn stream(&self, params: &str) -> Stream {
        let stream = self.events.stream(&who("codex"), &object(params)).await;
        stream.expect("a stream")
    }
}

/// A client over HTTP.
pub(super) fn who(client: &str) -> Caller {
    Caller {
        principal: Principal {
            client: ClientId::new(client),
            via: Via::Http,
        },
        seat: SeatId::new("seat"),
        workspace: None,
    }
}

pub(super) fn object(text: &str) -> Object {
    let raw = Raw::parse(text.to_owned().into(), &Limits::CLIENT).expect("JSON");
    raw.to_object().expect("an object")
}

pub(super) fn json(object: &Object) -> serde_json::Value {
    serde_json::from_str(object.to_raw().as_text()).expect("JSON")
}

/// The next frame, soon.
pub(super) async fn frame(stream: &mut Stream) -> (&'static str, serde_json::Value) {
    let frame: Frame = tokio::time::timeout(Duration::from_secs(20), stream.next())
        .await
        .expect("a frame");
    let method = frame.method().rsplit('/').next().expect("a name");
    (method, json(&frame.into_params()))
}
