//! Everything there is of the extension, for one hub.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use legation_core::{Caller, ClientId, SharedClock, TaskSet, Wall};
use legation_keystore::{Keystore, KeystoreError};
use legation_store::Store;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use tokio::sync::watch;

use crate::ask::{Ask, Filter};
use crate::cursor::{Cursors, Position};
use crate::webhook::Webhooks;
use crate::{
    Access, Batch, EventsError, EventsSettings, Family, Journal, Kind, Listed, Log, LogError,
    Lookup, Stream, Topic, Topics, Unsettled,
};

/// Most streams of one client at once.
const STREAMS_MAX: usize = 256;

/// What it is made of.
#[derive(Debug)]
pub struct EventsParts {
    /// The rules.
    pub access: Arc<dyn Access>,
    /// The messages of the inbox.
    pub messages: Arc<dyn Log>,
    /// Approvals and tasks.
    pub journal: Arc<Journal>,
    /// What servers behind the hub offer.
    pub topics: Arc<dyn Topics>,
    /// How events are told.
    pub settings: EventsSettings,
    /// Where subscriptions are kept.
    pub store: Arc<Store>,
    /// The key of cursors and of what is kept.
    pub keystore: Arc<Keystore>,
    /// The time.
    pub clock: SharedClock,
    /// What runs beside requests.
    pub tasks: TaskSet,
    /// How hosts are found.
    pub lookup: Arc<dyn Lookup>,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Events {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) access: Arc<dyn Access>,
    messages: Arc<dyn Log>,
    journal: Arc<Journal>,
    topics: Arc<dyn Topics>,
    pub(crate) settings: EventsSettings,
    pub(crate) cursors: Cursors,
    pub(crate) clock: SharedClock,
    pub(crate) webhooks: Webhooks,
    pub(crate) counted: Counters,
    rules: watch::Sender<u64>,
}

/// What has been told so far.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Open streams, by client.
    streams: Arc<Mutex<HashMap<ClientId, usize>>>,
    pub(crate) polls: AtomicU64,
    pub(crate) told: AtomicU64,
    pub(crate) delivered: AtomicU64,
    pub(crate) given_up: AtomicU64,
}

/// One of a client's streams, for as long as it lives.
#[derive(Debug)]
pub(crate) struct OpenStream {
    streams: Arc<Mutex<HashMap<ClientId, usize>>>,
    client: ClientId,
}

/// See [`Events::counts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Streams that are open.
    pub streams: u64,
    /// Subscriptions of webhooks.
    pub subscriptions: u64,
    /// Polls that were answered.
    pub polls: u64,
    /// Events told by polls and streams.
    pub told: u64,
    /// Events that a receiver took.
    pub delivered: u64,
    /// Events that no receiver took in time.
    pub given_up: u64,
}

/// Where reading begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Started {
    pub(crate) place: u64,
    pub(crate) truncated: bool,
}

// === impl Events ===

impl Events {
    /// The extension of a hub, with the subscriptions that were kept. Those go on
    /// from here: to be called on the runtime that lives as long as the hub.
    ///
    /// # Errors
    /// [`Unsettled`].
    pub fn open(parts: EventsParts) -> Result<Self, Unsettled> {
        let key = |name: &str| {
            let key = parts.keystore.key(name);
            key.map_err(|source: KeystoreError| Unsettled::Key { source })
        };
        let cursors = Cursors::new(key("event-cursors")?);
        let webhooks = Webhooks::new(&parts, key("event-subscriptions")?)?;
        let events = Self {
            inner: Arc::new(Inner {
                access: parts.access,
                messages: parts.messages,
                journal: parts.journal,
                topics: parts.topics,
                settings: parts.settings,
                cursors,
                clock: parts.clock,
                webhooks,
                counted: Counters::default(),
                rules: watch::Sender::new(0),
            }),
        };
        events.inner.load_kept()?;
        Ok(events)
    }

    /// `events/list`. There is one page.
    ///
    /// # Errors
    /// [`EventsError::Invalid`] for a cursor, since none is ever given.
    pub fn list(&self, who: &Caller, params: &Object) -> Result<Object, EventsError> {
        if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
            return Err(EventsError::invalid("cursor is none that was given here"));
        }
        let access = &self.inner.access;
        let kinds = Kind::ALL.into_iter();
        let mut offered: Vec<Raw> = kinds
            .filter(|kind| access.offers(who, &Topic::Own(*kind)))
            .map(Kind::definition)
            .collect();
        let topics = self.inner.topics.all().into_iter();
        let topics = topics.filter(|one| {
            let topic = Topic::of_server(&one.server, &one.name);
            access.offers(who, &topic)
        });
        offered.extend(topics.map(|one| one.definition()));
        Ok(complete().with("events", Raw::array(&offered)))
    }

    /// `events/poll`.
    ///
    /// # Errors
    /// See [`EventsError`].
    pub async fn poll(&self, who: &Caller, params: &Object) -> Result<Object, EventsError> {
        crate::poll::poll(&self.inner, who, params).await
    }

    /// `events/stream`; nothing of it is told before the first frame is asked for.
    ///
    /// # Errors
    /// See [`EventsError`].
    pub async fn stream(&self, who: &Caller, params: &Object) -> Result<Stream, EventsError> {
        let ask = Ask::read(params)?;
        permitted(&self.inner, who, &ask.filter)?;
        let open = self.inner.counted.open(who)?;
        let started = self.inner.start(who, &ask).await?;
        Ok(Stream::new(
            &self.inner,
            who.clone(),
            ask.filter,
            (started, open),
        ))
    }

    /// `events/subscribe`.
    ///
    /// # Errors
    /// See [`EventsError`].
    pub async fn subscribe(&self, who: &Caller, params: &Object) -> Result<Object, EventsError> {
        self.inner.subscribe(who, params).await
    }

    /// `events/unsubscribe`.
    ///
    /// # Errors
    /// See [`EventsError`].
    pub async fn unsubscribe(&self, who: &Caller, params: &Object) -> Result<Object, EventsError> {
        self.inner.unsubscribe(who, params).await
    }

    /// The subscriptions there are, for their owner.
    #[must_use]
    pub fn subscriptions(&self) -> Vec<Listed> {
        self.inner.webhooks.listed(self.inner.clock.wall())
    }

    /// Asks a subscription's receiver for a sign of life.
    ///
    /// # Errors
    /// [`EventsError::UnknownSubscription`], or [`EventsError::Callback`] with
    /// what is wrong with the receiver.
    pub async fn test(&self, id: &str) -> Result<(), EventsError> {
        self.inner.test(id).await
    }

    /// Ends a subscription and tells its receiver.
    ///
    /// # Errors
    /// [`EventsError::UnknownSubscription`], [`EventsError::Unkept`].
    pub async fn remove(&self, id: &str) -> Result<(), EventsError> {
        self.inner.remove(id).await
    }

    /// Changes whenever the list may read differently for somebody.
    #[must_use]
    pub fn list_changed(&self) -> watch::Receiver<u64> {
        self.inner.rules.subscribe()
    }

    /// Other rules are in force.
    pub fn rules_changed(&self) {
        self.inner.rules.send_modify(|version| *version += 1);
    }

    /// An error as it is answered.
    #[must_use]
    pub fn error(&self, error: &EventsError) -> ErrorObject {
        error.to_error(self.inner.settings.numbers)
    }

    /// What has been told so far, and to how many.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let counted = &self.inner.counted;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            streams: counted.streams(),
            subscriptions: self.inner.webhooks.len() as u64,
            polls: load(&counted.polls),
            told: load(&counted.told),
            delivered: load(&counted.delivered),
            given_up: load(&counted.given_up),
        }
    }
}

// === impl Counters ===

impl Counters {
    fn streams(&self) -> u64 {
        lock(&self.streams).values().map(|open| *open as u64).sum()
    }

    /// Room for one more stream of a client's.
    fn open(&self, who: &Caller) -> Result<OpenStream, EventsError> {
        let client = who.principal.client.clone();
        let mut streams = lock(&self.streams);
        let open = streams.entry(client.clone()).or_default();
        if *open >= STREAMS_MAX {
            return Err(EventsError::Exhausted {
                limit: "streams",
                max: STREAMS_MAX,
            });
        }
        *open += 1;
        drop(streams);
        Ok(OpenStream {
            streams: Arc::clone(&self.streams),
            client,
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl OpenStream ===

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut streams = lock(&self.streams);
        if let Some(open) = streams.get_mut(&self.client) {
            *open -= 1;
            if *open == 0 {
                streams.remove(&self.client);
            }
        }
    }
}

// === impl Inner ===

impl Inner {
    pub(crate) fn log(&self, topic: &Topic) -> Arc<dyn Log> {
        match topic.family() {
            Family::Messages | Family::Servers => Arc::clone(&self.messages),
            Family::Approvals | Family::Tasks => Arc::clone(&self.journal) as _,
        }
    }

    pub(crate) fn cursor(&self, who: &Caller, topic: &Topic, place: u64) -> Raw {
        let position = Position {
            epoch: self.log(topic).epoch(),
            place,
        };
        Raw::str(&self.cursors.seal(&who.principal.client, topic, position))
    }

    /// Where reading begins that a client asks for.
    pub(crate) async fn start(&self, who: &Caller, ask: &Ask) -> Result<Started, EventsError> {
        let topic = &ask.filter.topic;
        let log = self.log(topic);
        let Some(cursor) = &ask.cursor else {
            return Ok(Started {
                place: log.end(),
                truncated: false,
            });
        };
        let position = self.cursors.open(&who.principal.client, topic, cursor);
        let position =
            position.ok_or_else(|| EventsError::invalid("cursor is none that was given here"))?;
        let oldest = ask.max_age.map(|age| {
            let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
            Wall(self.clock.wall().0.saturating_sub(age))
        });
        begin(log, position, oldest)
            .await
            .map_err(|source| EventsError::Log { source })
    }
}

/// Finds out from where a position can be gone on with.
pub(crate) async fn begin(
    log: Arc<dyn Log>,
    position: Position,
    oldest: Option<Wall>,
) -> Result<Started, LogError> {
    let mut started = Started {
        place: position.place,
        truncated: false,
    };
    if position.epoch != log.epoch() {
        // All there is came later.
        started = Started {
            place: 0,
            truncated: true,
        };
    } else if position.place > log.end() {
        started = Started {
            place: log.end(),
            truncated: true,
        };
    }
    let Some(oldest) = oldest else {
        return Ok(started);
    };
    let older = blocking(move || log.older_than(oldest)).await?;
    if older > started.place {
        started = Started {
            place: older,
            truncated: true,
        };
    }
    Ok(started)
}

/// Reads a log where files may be read.
pub(crate) async fn read(log: &Arc<dyn Log>, after: u64, most: usize) -> Result<Batch, LogError> {
    if log.end() <= after {
        return Ok(Batch {
            reached: after,
            ..Batch::default()
        });
    }
    let log = Arc::clone(log);
    blocking(move || log.read(after, most)).await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LogError> + Send + 'static,
) -> Result<T, LogError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(LogError {
            what: error.to_string(),
        })
    })
}

/// A result that is whole.
pub(crate) fn complete() -> Object {
    Object::new().with("resultType", Raw::from_static(r#""complete""#))
}

/// Whether a client may ask for this, and there is such a thing.
pub(crate) fn permitted(inner: &Inner, who: &Caller, filter: &Filter) -> Result<(), EventsError> {
    filter.permit(inner.access.as_ref(), who)?;
    let Some((server, name)) = filter.topic.server() else {
        return Ok(());
    };
    // One that has said nothing yet may not be connected.
    match inner.topics.is_offered(&server, name) {
        Some(false) => Err(EventsError::UnknownEvent),
        Some(true) | None => Ok(()),
    }
}
