//! Events of upstream servers, brought to the inbox, so that they reach agents
//! that know nothing of events (SEP-3415, as its client).
//!
//! They are polled: a poll and its cursor survive a hub, a lost connection and a
//! server that says nothing, and each is kept only after what it brought is in
//! the inbox. A held stream was rejected for saving a second of delay at the price
//! of a second way to lose something.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use legation_core::error::chain;
use legation_core::{EntityId, ServerName, TaskSet};
use legation_inbox::{AppendError, Inbox};
use legation_store::{KeptRow, Store};
use legation_wire::json::{Object, Raw};
use tokio::time::Instant;

mod occurrence;
mod offers;

use occurrence::incoming;

pub use occurrence::{Occurrence, is_event_data};
pub use offers::{Offer, Offers};

/// A server that offers events.
pub trait Feed: Send + Sync + fmt::Debug {
    /// Whose events.
    fn server(&self) -> &ServerName;

    /// Whose data they are.
    fn entity(&self) -> Option<&EntityId>;

    /// Whether events of this name are wanted.
    fn wants(&self, name: &str) -> bool;

    /// Whether it is still connected.
    fn is_current(&self) -> bool;

    /// `events/list` with these params.
    fn list(&self, params: Object) -> BoxFuture<'static, Result<Raw, Untold>>;

    /// `events/poll` with these params.
    fn poll(&self, params: Object) -> BoxFuture<'static, Result<Raw, Untold>>;
}

/// Why a server told nothing, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Untold {
    /// It does not take what it was asked with.
    Params(String),
    /// It gave no answer, or another error.
    Answer(String),
}

/// Those that are connected now.
pub trait FeedSet: Send + Sync + fmt::Debug {
    /// All of them.
    fn feeds(&self) -> Vec<Arc<dyn Feed>>;
}

/// Brings events of servers to the inbox.
#[derive(Debug, Clone)]
pub struct Feeds {
    set: Arc<dyn FeedSet>,
    inbox: Arc<Inbox>,
    store: Arc<Store>,
    /// Is told what each server offers.
    offers: Arc<Offers>,
    /// The servers that are read now.
    reading: Arc<Mutex<HashSet<ServerName>>>,
}

/// Kinds that could not be read, and until when they are left alone; no more than are
/// read at all.
type Resting = HashMap<String, Instant>;

/// Why a round of a server's ended.
enum Stopped {
    /// It gave no answer, or none that can be read.
    Server(String),
    /// The inbox or the store did not take it.
    Hub(String),
}

/// How often is looked for servers that have connected.
const LOOK: Duration = Duration::from_secs(1);
/// The shortest wait between polls (SEP-3415), the longest, and the one after
/// something failed.
const WAIT_MIN: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_secs(60);
const WAIT_FAILED: Duration = Duration::from_secs(30);
/// Event types of one server that are read, pages of its list, and polls at once.
const KINDS_MAX: usize = 100;
const PAGES_MAX: usize = 10;
const POLLS_MAX: usize = 50;
/// Longest cursor that is kept, in bytes.
const CURSOR_MAX: usize = 16 * 1024;
/// The kind of what is kept.
const CURSOR: &str = "events.feed";

// === impl Untold ===

impl Untold {
    fn into_words(self) -> String {
        match self {
            Self::Params(why) | Self::Answer(why) => why,
        }
    }
}

// === impl Feeds ===

impl Feeds {
    /// Nothing is read before [`Feeds::run`].
    #[must_use]
    pub fn new(
        set: Arc<dyn FeedSet>,
        inbox: Arc<Inbox>,
        store: Arc<Store>,
        offers: Arc<Offers>,
    ) -> Self {
        Self {
            set,
            inbox,
            store,
            offers,
            reading: Arc::default(),
        }
    }

    /// Reads every server that offers events for as long as it is connected, each
    /// beside the others.
    pub async fn run(&self, tasks: &TaskSet) {
        loop {
            for feed in self.set.feeds() {
                if self.lock().insert(feed.server().clone()) {
                    let this = self.clone();
                    tasks.spawn("events of a server", async move {
                        this.read(feed.as_ref()).await;
                        this.lock().remove(feed.server());
                    });
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn read(&self, feed: &dyn Feed) {
        let mut resting = HashMap::new();
        while feed.is_current() {
            let wait = match self.round(feed, &mut resting).await {
                Ok(wait) => wait,
                Err(Stopped::Server(why)) => {
                    tracing::warn!(server = %feed.server(), why, "a server's events cannot be read");
                    WAIT_FAILED
                }
                Err(Stopped::Hub(why)) => {
                    tracing::warn!(server = %feed.server(), why, "a server's events wait to be kept");
                    WAIT_FAILED
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// Reads what is new of every kind; how long to wait before the next time. A kind
    /// that cannot be read, for want of an argument say, rests for a while and stands
    /// in no other's way.
    async fn round(&self, feed: &dyn Feed, resting: &mut Resting) -> Result<Duration, Stopped> {
        let offered = kinds(feed).await.map_err(Stopped::Server)?;
        self.offers.note(feed.server(), &offered);
        let kinds: Vec<String> = offered.into_iter().map(|offer| offer.name).collect();
        resting.retain(|kind, until| *until > Instant::now() && kinds.contains(kind));
        let mut wait = WAIT_MAX;
        for kind in kinds {
            if resting.contains_key(&kind) {
                wait = wait.min(WAIT_FAILED);
                continue;
            }
            if !feed.is_current() {
                break;
            }
            match self.kind(feed, &kind).await {
                Ok(after) => wait = wait.min(after),
                Err(Stopped::Server(why)) => {
                    tracing::warn!(server = %feed.server(), kind, why, "a server's events of one kind cannot be read");
                    wait = wait.min(WAIT_FAILED);
                    resting.insert(kind, Instant::now() + WAIT_FAILED);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(wait)
    }

    async fn kind(&self, feed: &dyn Feed, kind: &str) -> Result<Duration, Stopped> {
        let mut cursor = self.cursor(feed, kind).await?;
        for _ in 0..POLLS_MAX {
            let given = cursor.as_deref().map_or_else(Raw::null, Raw::str);
            let params = Object::new()
                .with("name", Raw::str(kind))
                .with("arguments", Raw::empty_object())
                .with("cursor", given);
            let polled = match feed.poll(params).await {
                Ok(polled) => polled,
                // A cursor it gave itself, before it was set up anew or so: without it there
                // is a new one, and its place is left alone until that is here.
                Err(Untold::Params(why)) if cursor.is_some() => {
                    tracing::warn!(server = %feed.server(), kind, why, "the server does not know where it was left; its events begin anew, and some may be missing");
                    cursor = None;
                    continue;
                }
                Err(untold) => return Err(Stopped::Server(untold.into_words())),
            };
            let events = polled.get("events").and_then(|events| events.to_array());
            let events =
                events.ok_or_else(|| Stopped::Server("a poll brought no `events`".to_owned()))?;
            let is = |member: &str| polled.get(member).and_then(|raw| raw.to_bool());
            if is("truncated").unwrap_or(false) {
                tracing::warn!(server = %feed.server(), kind, "the server no longer has some of its events");
            }
            self.keep(feed, kind, &events).await?;
            let next = polled
                .get("cursor")
                .and_then(|raw| raw.to_str().map(String::from))
                .filter(|next| next.len() <= CURSOR_MAX && Some(next) != cursor.as_ref());
            let moved = next.is_some();
            if let Some(next) = next {
                self.move_cursor(feed, kind, &next).await?;
                cursor = Some(next);
            }
            // A server that says there is more and does not move would be asked for ever.
            if !is("hasMore").unwrap_or(false) || !moved {
                let wait = polled.get("nextPollMs").and_then(|raw| raw.to_i64());
                let wait = wait.and_then(|ms| u64::try_from(ms).ok());
                let wait = wait.map_or(WAIT_MAX, Duration::from_millis);
                return Ok(wait.clamp(WAIT_MIN, WAIT_MAX));
            }
        }
        Ok(WAIT_MIN)
    }

    /// Puts events into the inbox; on disk on return.
    async fn keep(&self, feed: &dyn Feed, kind: &str, events: &[Raw]) -> Result<(), Stopped> {
        let messages: Vec<_> = events
            .iter()
            .filter_map(|event| incoming(feed.server(), feed.entity(), kind, event))
            .collect();
        if messages.len() < events.len() {
            tracing::warn!(server = %feed.server(), kind, "some events have no id and no data; they were left out");
        }
        if messages.is_empty() {
            return Ok(());
        }
        let kept = self.inbox.append(messages).await;
        kept.map(drop)
            .map_err(|error: AppendError| Stopped::Hub(chain(&error)))
    }

    async fn cursor(&self, feed: &dyn Feed, kind: &str) -> Result<Option<String>, Stopped> {
        let (store, name) = (Arc::clone(&self.store), name(feed, kind));
        let read = tokio::task::spawn_blocking(move || store.kept_get(CURSOR, &name)).await;
        let row = read
            .map_err(|error| Stopped::Hub(error.to_string()))?
            .map_err(|error| Stopped::Hub(chain(&error)))?;
        Ok(row.map(|row| row.value))
    }

    async fn move_cursor(&self, feed: &dyn Feed, kind: &str, cursor: &str) -> Result<(), Stopped> {
        let row = KeptRow {
            kind: CURSOR.to_owned(),
            name: name(feed, kind),
            value: cursor.to_owned(),
            changed_ms: 0,
            // It is of use for as long as the server has what came after it.
            expires_ms: i64::MAX,
        };
        let store = Arc::clone(&self.store);
        let kept = tokio::task::spawn_blocking(move || store.kept_put(&row)).await;
        kept.map_err(|error| Stopped::Hub(error.to_string()))?
            .map_err(|error| Stopped::Hub(chain(&error)))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<ServerName>> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a server offers to be polled for, as far as it is wanted.
async fn kinds(feed: &dyn Feed) -> Result<Vec<Offer>, String> {
    let mut kinds = Vec::new();
    let mut params = Object::new();
    for _ in 0..PAGES_MAX {
        let page = feed.list(params).await.map_err(Untold::into_words)?;
        let events = page.get("events").and_then(|events| events.to_array());
        for event in events.ok_or("its list has no `events`")? {
            let name = event
                .get("name")
                .and_then(|name| name.to_str().map(String::from));
            let delivery = event.get("delivery").and_then(|ways| ways.to_array());
            let mut ways = delivery.iter().flatten();
            let polls = ways.any(|way| way.to_str().as_deref() == Some("poll"));
            if let Some(name) = name.filter(|name| polls && feed.wants(name))
                && kinds.len() < KINDS_MAX
            {
                kinds.push(Offer::of(name, &event));
            }
        }
        let Some(next) = page.get("nextCursor").filter(|next| !next.is_null()) else {
            break;
        };
        params = Object::new().with("cursor", next);
    }
    Ok(kinds)
}

fn name(feed: &dyn Feed, kind: &str) -> String {
    // No name of a server holds a line feed.
    format!("{}\n{kind}", feed.server())
}

#[cfg(test)]
mod tests;
