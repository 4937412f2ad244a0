//! Teams as a source of the inbox: every watched chat is read by the hub
//! itself, whoever is connected, and what is new is kept before the place in
//! the chat moves on.
//!
//! It shares nothing with `poll`: what an agent has read there is in the inbox
//! all the same, and the other way round.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use legation_core::error::chain;
use legation_core::{Cancel, OpContext, Wall};
use legation_entra::chat::{
    ChatError, Chats, Listed, Message, News, OVERLAP_MS, Seen, Width, Window,
};
use legation_entra::error::GraphMeaning;
use legation_entra::{Account, Class};
use legation_inbox::{Inbox, Stamp, WatchedChat, WatchedChats};
use serde::{Deserialize, Serialize};

use super::pace::Pace;
use super::poll::{Place, is_for};
use super::{Shared, incoming};
use crate::accounts::Failure;
use crate::kept::{self, Kind};
use crate::sources::{self, Reports, Source};

/// Where the messages of Teams go.
#[derive(Debug)]
pub struct Destination {
    /// The inbox.
    pub inbox: Arc<Inbox>,
    /// Which chats are watched.
    pub watched: WatchedChats,
    /// The accounts whose chats are read.
    pub accounts: Vec<Box<str>>,
    /// Is told what keeps them from being read.
    pub reports: Arc<Reports>,
    /// Those of them whose humans answer questions of the hub in the chat.
    pub approvals: Vec<Box<str>>,
}

/// How far a chat was read for the inbox.
const PLACES: Kind = Kind {
    word: "teams inbox",
    days: 3650,
    most: 10_000,
};
/// When an account's chats were last looked for.
const LOOKS: Kind = Kind {
    word: "teams chats",
    days: 3650,
    most: 1_000,
};

const DISCOVER: Duration = Duration::from_secs(120);
/// Graph may list a chat so long after its first message was written.
const LISTED_LATE_MS: i64 = 60_000;

/// When an account's chats were last looked for, by the services' clock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Look {
    at_ms: i64,
}

/// One account's chats.
struct Reader<'a> {
    shared: &'a Shared,
    destination: &'a Destination,
    source: &'a Source<'a>,
    account: Account,
    chats: Chats,
    context: &'a OpContext,
}

/// A chat that is read.
struct Watch {
    listed: Listed,
    /// Since when it is watched, where that is said, by our clock.
    wanted: Option<Wall>,
    /// The same by the services': nothing before it is brought in.
    since: Option<Wall>,
    pace: Pace,
    width: Width,
    /// Why it could not be read the last time, if it could not.
    failure: Option<Failure>,
}

/// What became of reading a chat.
enum Read {
    /// Nothing waits; whether something was said.
    All { said: bool },
    /// There was more than is read at once.
    Some,
}

/// The chats that are read, and the file as it was when they were chosen.
#[derive(Default)]
struct Watches {
    by_id: HashMap<String, Watch>,
    listed: Vec<Listed>,
    stamp: Stamp,
}

/// Chats, as they are read.
struct ReadChats<'a> {
    shared: &'a Shared,
    destination: &'a Destination,
}

/// Reads until it is called off.
pub(super) async fn run(shared: &Shared, destination: &Destination, cancel: &Cancel) {
    let context = &sources::context(cancel);
    let how = &ReadChats {
        shared,
        destination,
    };
    let all = destination.accounts.iter().map(|name| async move {
        let source = Source {
            accounts: &shared.accounts,
            account: name,
            what: "chats",
            reports: &destination.reports,
            context,
        };
        source.keep_reading(how).await;
    });
    join_all(all).await;
}

// === impl Watches ===

impl Watches {
    /// Whether a chat was found, be it watched or not.
    fn knows(&self, chat: &str) -> bool {
        self.listed.iter().any(|one| one.chat.id == chat)
    }
}

// === impl ReadChats ===

impl sources::Read for ReadChats<'_> {
    async fn read(&self, source: &Source<'_>, account: Account) -> Failure {
        let reader = Reader {
            shared: self.shared,
            destination: self.destination,
            source,
            chats: account.chats(),
            account,
            context: source.context,
        };
        reader.run().await
    }
}

// === impl Reader ===

impl Reader<'_> {
    /// Reads until something fails that is not one chat's alone.
    async fn run(&self) -> Failure {
        let mut all = Watches::default();
        let mut changes = self.destination.watched.changes();
        let mut discover = self.account.instant();
        loop {
            let now = self.account.instant();
            let looked = if now >= discover {
                discover = now + DISCOVER;
                self.discover(&mut all, now).await
            } else if self.destination.watched.stamp() != all.stamp {
                self.choose(&mut all, now).await
            } else {
                Ok(())
            };
            if let Err(failure) = looked {
                return failure;
            }
            for watch in all.by_id.values_mut() {
                self.read_if_due(watch).await;
            }
            self.report(&all);
            let next = all.by_id.values().map(|watch| watch.pace.due()).min();
            let until = next.unwrap_or(discover).min(discover);
            let wait = until.saturating_duration_since(self.account.instant());
            tokio::select! {
                biased;
                reason = self.context.cancel.cancelled() => {
                    let message = reason.as_str().to_owned();
                    return Failure::said(Class::Cancelled, message, "");
                }
                Ok(()) = changes.changed() => {}
                chat = self.shared.talks.talking(self.account.name()) => {
                    let now = self.account.instant();
                    match chat {
                        Some(chat) if all.knows(&chat) => {
                            if let Some(watch) = all.by_id.get_mut(&chat) {
                                watch.pace.talk(now);
                            }
                        }
                        // It was made after chats were last looked for.
                        Some(_) => discover = now,
                        None => {}
                    }
                }
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Finds chats, and says from where on each that is new will be read.
    async fn discover(&self, all: &mut Watches, now: Instant) -> Result<(), Failure> {
        let at = self.chats.services_time();
        let found = self.chats.all(self.context).await;
        let found = found.map_err(|error| refusal(&error))?;
        let client = &self.context.caller.principal.client;
        let look = kept::name(client, self.account.name(), &["chats"]);
        let before: Option<Look> = self.shared.kept.get(LOOKS, &look).await?;
        // Of chats that are there at the first look only the newest message
        // comes in; of one that appears later, everything since the look before.
        let begin = match before {
            Some(before) => Place::of(&Seen::begin(Wall(before.at_ms - LISTED_LATE_MS))),
            None => Place::found(at),
        };
        for listed in &found {
            let name = self.place_name(&listed.chat.id);
            let kept = &self.shared.kept;
            let is_new = !all.by_id.contains_key(&listed.chat.id);
            if is_new && kept.get::<Place>(PLACES, &name).await?.is_none() {
                kept.add(PLACES, &name, &begin).await?;
            }
        }
        // Only now: whoever starts after a crash finds those that are missing.
        let kept = &self.shared.kept;
        kept.put(LOOKS, &look, &Look { at_ms: at.0 }).await?;
        // At last: of a chat that is said to be found, what comes next is new even after a crash.
        let (file, name) = (self.destination.watched.clone(), self.account.name());
        let (name, wall) = (name.to_owned(), self.account.now());
        let sorted = tokio::task::spawn_blocking(move || {
            let chats = found.iter().map(|one| (&*one.chat.id, &*one.title));
            file.found(&name, chats, wall).map(|_| found)
        });
        match sorted.await {
            Ok(Ok(found)) => all.listed = found,
            Ok(Err(error)) => {
                let hint = error.hint();
                return Err(Failure::said(Class::Local, chain(&error), hint));
            }
            Err(_) => return Ok(()),
        }
        self.choose(all, now).await
    }

    /// Takes up the chats that are watched, and leaves those that are not.
    async fn choose(&self, all: &mut Watches, now: Instant) -> Result<(), Failure> {
        let file = self.destination.watched.clone();
        let read = tokio::task::spawn_blocking(move || (file.stamp(), file.list()));
        let Ok((stamp, listed)) = read.await else {
            return Ok(());
        };
        all.stamp = stamp;
        let known: BTreeMap<String, WatchedChat> = match listed {
            Ok(chats) => chats.into_iter().map(|one| (one.id.clone(), one)).collect(),
            Err(error) => {
                let error = chain(&error);
                tracing::error!(error, "which chats are watched is not known anew");
                return Ok(());
            }
        };
        let skew = self.chats.services_time().0 - self.account.now().0;
        let mut before = std::mem::take(&mut all.by_id);
        for listed in &all.listed {
            let Some(wanted) = known.get(&listed.chat.id).filter(|one| one.is_watched) else {
                continue;
            };
            let watch = match before.remove(&listed.chat.id) {
                Some(watch) if watch.wanted == wanted.since => Watch {
                    listed: listed.clone(),
                    ..watch
                },
                _ => Watch {
                    listed: listed.clone(),
                    wanted: wanted.since,
                    since: wanted.since.map(|since| Wall(since.0 + skew)),
                    pace: Pace::new(now),
                    width: Width::default(),
                    failure: None,
                },
            };
            all.by_id.insert(listed.chat.id.clone(), watch);
        }
        Ok(())
    }

    async fn read_if_due(&self, watch: &mut Watch) {
        if self.account.instant() < watch.pace.due() {
            return;
        }
        let result = self.read(watch).await;
        let now = self.account.instant();
        match result {
            Ok(read) => {
                watch.failure = None;
                match read {
                    Read::All { said } => watch.pace.was_read(said, now),
                    Read::Some => watch.pace.go_on(now),
                }
            }
            Err(failure) => {
                let before = watch.failure.as_ref().map(|before| before.error);
                if before != Some(failure.error) {
                    let error = &failure.message;
                    tracing::warn!(account = self.account.name(), error, "a chat was not read");
                }
                watch.pace.failed(sources::wait_after(&failure), now);
                watch.failure = Some(failure);
            }
        }
    }

    /// Says when nothing is read at all, although chats can be looked for: the
    /// tenant may grant the one and not the other.
    fn report(&self, all: &Watches) {
        let failures = all.by_id.values().map(|watch| watch.failure.as_ref());
        match failures.collect::<Option<Vec<_>>>().as_deref() {
            Some([failure, ..]) => self.source.failed((*failure).clone()),
            Some([]) | None => self.source.worked(),
        }
    }

    /// Brings what is new in a chat into the inbox.
    async fn read(&self, watch: &mut Watch) -> Result<Read, Failure> {
        let name = self.place_name(&watch.listed.chat.id);
        let place: Option<Place> = self.shared.kept.get(PLACES, &name).await?;
        let mut seen = place.as_ref().map(Place::seen).unwrap_or_default();
        if seen.until < watch.since {
            // What was written while nobody watched does not come in, not even what the
            // overlap reads again.
            let since = watch.since.map(|since| Wall(since.0 + OVERLAP_MS));
            seen = since.map(Seen::begin).unwrap_or_default();
        }
        let at = self.chats.services_time();
        let Window { messages, until } = self.window(watch, &seen).await?;
        let said = !messages.is_empty();
        let (news, more) = match seen.until {
            Some(_) => (seen.take_window(messages, until), until.is_some()),
            None => {
                let found = place.as_ref().and_then(Place::found_at);
                let me = &watch.listed.chat.me;
                newest(&mut seen, messages, found.unwrap_or(at), me)
            }
        };
        let read = match more {
            true => Read::Some,
            false => Read::All { said },
        };
        let after = Place::of(&seen);
        if place.as_ref() != Some(&after) {
            self.keep(watch, news).await?;
            // Only what is on disk has been read.
            self.shared.kept.put(PLACES, &name, &after).await?;
        }
        Ok(read)
    }

    /// The next messages of a chat; of one that was never read the newest.
    async fn window(&self, watch: &mut Watch, seen: &Seen) -> Result<Window, Failure> {
        let chat = &watch.listed.chat.id;
        let read = match seen.since() {
            Some(since) => {
                let width = &mut watch.width;
                self.chats.window(self.context, chat, since, width).await
            }
            None => {
                let newest = self.chats.messages(self.context, chat, None).await;
                newest.map(|messages| Window {
                    messages,
                    until: None,
                })
            }
        };
        read.map_err(|error| Failure::from(&error))
    }

    async fn keep(&self, watch: &Watch, news: Vec<News>) -> Result<(), Failure> {
        let chat = &watch.listed.chat;
        let (channel, entity) = (incoming::channel(), self.account.entity());
        let of = (self.account.name(), entity);
        let answers = self.destination.approvals.contains(&of.0.into());
        let others = news
            .into_iter()
            .filter(|one| is_for(&one.message, &chat.me));
        let all: Vec<_> = others
            .map(|one| incoming::incoming(one, &channel, of, chat))
            .map(|one| match answers {
                true => incoming::told_from_answers(one),
                false => one,
            })
            .collect();
        if all.is_empty() {
            return Ok(());
        }
        let kept = self.destination.inbox.append(all).await;
        kept.map(drop).map_err(|error| {
            let message = format!("{}; the chat is read again", chain(&error));
            Failure::said(Class::Local, message, error.hint())
        })
    }

    fn place_name(&self, chat: &str) -> String {
        let client = &self.context.caller.principal.client;
        kept::name(client, self.account.name(), &[chat, "inbox"])
    }
}

/// Why chats cannot be looked for. Where the tenant forbids it, asking again
/// soon changes nothing.
fn refusal(error: &ChatError) -> Failure {
    let is_forbidden = matches!(
        error,
        ChatError::Graph { source } if source.meaning() == Some(GraphMeaning::Forbidden)
    );
    let failure = Failure::from(error);
    Failure {
        retry_after_s: match is_forbidden {
            true => Some(sources::REFUSED.as_secs()),
            false => failure.retry_after_s,
        },
        ..failure
    }
}

/// What is new in a chat that was never read: nothing of its history, which is
/// what was there when it was found, but the newest word. Whether there is more
/// than that.
pub(super) fn newest(
    seen: &mut Seen,
    mut all: Vec<Message>,
    found: Wall,
    me: &str,
) -> (Vec<News>, bool) {
    let count = all.len();
    all.retain(|message| message.modified <= found);
    let more = all.len() < count;
    let mut news = seen.take(all);
    news.retain(|one| is_for(&one.message, me));
    seen.until = seen.until.max(Some(found));
    (news.pop().into_iter().collect(), more)
}
