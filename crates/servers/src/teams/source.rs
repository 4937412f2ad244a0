//! Teams as a source of the inbox: every watched chat is read by the hub
//! itself, whoever is connected, and what is new is kept before the place in
//! the chat moves on.
//!
//! It shares nothing with `poll`: what an agent has read there is in the inbox
//! all the same, and the other way round.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use legation_core::error::chain;
use legation_core::{Caller, Cancel, ClientId, OpContext, Principal, SeatId, Via};
use legation_entra::Account;
use legation_entra::chat::{Chats, Listed, Message, News, Seen};
use legation_inbox::Inbox;

use super::kept::{self, Kind};
use super::pace::Pace;
use super::poll::{Place, is_for};
use super::watched::Watched;
use super::{Shared, incoming};
use crate::accounts::{self, Failure};

/// Where the messages of Teams go.
#[derive(Debug)]
pub struct Destination {
    /// The inbox.
    pub inbox: Arc<Inbox>,
    /// `watched_chats.json`.
    pub watched: PathBuf,
    /// The accounts whose chats are watched.
    pub accounts: Vec<Box<str>>,
}

/// How far a chat was read for the inbox.
const PLACES: Kind = Kind {
    word: "teams inbox",
    days: 3650,
    most: 10_000,
};

const DISCOVER: Duration = Duration::from_secs(120);
/// After a failure; an account that nobody signed in with among them.
const RETRY: Duration = Duration::from_secs(30);
/// The name under which the hub reads for itself.
const READER: &str = "inbox";

/// One account's chats.
struct Reader<'a> {
    shared: &'a Shared,
    destination: &'a Destination,
    account: Account,
    chats: Chats,
    context: OpContext,
}

struct Watch {
    listed: Listed,
    pace: Pace,
}

/// Reads until it is called off.
pub(super) async fn run(shared: &Shared, destination: &Destination, cancel: &Cancel) {
    let context = context(cancel);
    let all = destination.accounts.iter().map(|name| {
        let context = &context;
        async move {
            // Said once, not with every try.
            let mut said = "";
            loop {
                let failure = match shared.accounts.pick(Some(name)).await {
                    Err(error) => Failure::from(&error),
                    Ok(account) => match accounts::ready(context, &account).await {
                        Err(failure) => failure,
                        Ok(()) => {
                            let reader = Reader {
                                shared,
                                destination,
                                chats: account.chats(),
                                account,
                                context: context.clone(),
                            };
                            let begun = reader.account.instant();
                            let failure = reader.run().await;
                            let worked = reader.account.instant() - begun;
                            if worked > DISCOVER {
                                said = "";
                            }
                            failure
                        }
                    },
                };
                if context.cancel.reason().is_some() {
                    return;
                }
                if failure.error != said {
                    let error = &failure.message;
                    tracing::warn!(account = &**name, error, "chats are not watched for now");
                    said = failure.error;
                }
                let wait = failure.retry_after_s.map_or(RETRY, Duration::from_secs);
                if is_over(context, wait.max(RETRY)).await {
                    return;
                }
            }
        }
    });
    join_all(all).await;
}

fn context(cancel: &Cancel) -> OpContext {
    let principal = Principal {
        client: ClientId::new(READER),
        via: Via::Admin,
    };
    let caller = Caller {
        principal,
        seat: SeatId::new(READER),
        workspace: None,
    };
    OpContext::new(caller, cancel.clone())
}

/// Waits; whether it was called off meanwhile.
async fn is_over(context: &OpContext, wait: Duration) -> bool {
    tokio::select! {
        biased;
        _ = context.cancel.cancelled() => true,
        () = tokio::time::sleep(wait) => false,
    }
}

// === impl Reader ===

impl Reader<'_> {
    /// Reads until something fails that is not one chat's alone.
    async fn run(&self) -> Failure {
        let mut all: HashMap<String, Watch> = HashMap::new();
        let mut discover = self.account.instant();
        loop {
            let now = self.account.instant();
            if now >= discover {
                if let Err(failure) = self.discover(&mut all, now).await {
                    return failure;
                }
                discover = now + DISCOVER;
            }
            for watch in all.values_mut() {
                self.read_if_due(watch).await;
            }
            let next = all.values().map(|watch| watch.pace.due()).min();
            let until = next.unwrap_or(discover).min(discover);
            let wait = until.saturating_duration_since(self.account.instant());
            tokio::select! {
                biased;
                reason = self.context.cancel.cancelled() => {
                    let message = reason.as_str().to_owned();
                    return Failure::said(legation_entra::Class::Cancelled, message, "");
                }
                chat = self.shared.talks.talking(self.account.name()) => {
                    if let Some(watch) = chat.and_then(|chat| all.get_mut(&chat)) {
                        watch.pace.talk(self.account.instant());
                    }
                }
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Finds chats, and leaves those that are watched no more.
    async fn discover(
        &self,
        all: &mut HashMap<String, Watch>,
        now: Instant,
    ) -> Result<(), Failure> {
        let found = self.chats.all(&self.context).await;
        let found = found.map_err(|error| Failure::from(&error))?;
        let path = self.destination.watched.clone();
        let (name, wall) = (self.account.name().to_owned(), self.account.now());
        let sorted =
            tokio::task::spawn_blocking(move || Watched::found(&path, &name, found, wall)).await;
        let watched = match sorted {
            Ok(Ok(watched)) => watched,
            Ok(Err(error)) => {
                tracing::error!(error = %error, "no new chat is watched");
                return Ok(());
            }
            Err(_) => return Ok(()),
        };
        let mut before = std::mem::take(all);
        for listed in watched {
            let pace = match before.remove(&listed.chat.id) {
                Some(watch) => watch.pace,
                None => Pace::new(now),
            };
            all.insert(listed.chat.id.clone(), Watch { listed, pace });
        }
        Ok(())
    }

    async fn read_if_due(&self, watch: &mut Watch) {
        if self.account.instant() < watch.pace.due() {
            return;
        }
        let result = self.read(&watch.listed).await;
        let now = self.account.instant();
        match result {
            Ok(news) => watch.pace.was_read(news, now),
            Err(failure) => {
                let error = failure.message;
                tracing::warn!(account = self.account.name(), error, "a chat was not read");
                let wait = failure.retry_after_s.map_or(RETRY, Duration::from_secs);
                watch.pace.failed(wait, now);
            }
        }
    }

    /// Brings what is new in a chat into the inbox; whether there was any.
    async fn read(&self, listed: &Listed) -> Result<bool, Failure> {
        let chat = &listed.chat;
        let client = &self.context.caller.principal.client;
        let name = kept::name(client, self.account.name(), &[&chat.id, "inbox"]);
        let place: Option<Place> = self.shared.kept.get(PLACES, &name).await?;
        let mut seen = place.as_ref().map(Place::seen).unwrap_or_default();
        let read = self
            .chats
            .messages(&self.context, &chat.id, seen.since())
            .await;
        let messages = read.map_err(|error| Failure::from(&error))?;
        let said = !messages.is_empty();
        let news = match &place {
            Some(_) => seen.take(messages),
            None => newest(&mut seen, messages, &chat.me),
        };
        let after = Place::of(&seen);
        if place.as_ref() == Some(&after) {
            return Ok(false);
        }
        let (channel, entity) = (incoming::channel(), self.account.entity());
        let of = (self.account.name(), entity);
        let others = news
            .into_iter()
            .filter(|one| is_for(&one.message, &chat.me));
        let all: Vec<_> = others
            .map(|one| incoming::incoming(one, &channel, of, chat))
            .collect();
        if !all.is_empty() {
            let kept = self.destination.inbox.append(all).await;
            kept.map_err(|error| {
                let message = format!("{}; the chat is read again", chain(&error));
                Failure::said(legation_entra::Class::Local, message, error.hint())
            })?;
        }
        // Only what is on disk has been read.
        self.shared.kept.put(PLACES, &name, &after).await?;
        Ok(said)
    }
}

/// What is new in a chat that was never read: nothing of its history but the
/// newest word.
fn newest(seen: &mut Seen, messages: Vec<Message>, me: &str) -> Vec<News> {
    let mut news = seen.take(messages);
    news.retain(|one| is_for(&one.message, me));
    news.pop().into_iter().collect()
}
