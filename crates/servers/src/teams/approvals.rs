//! What waits for a person, put to the account's human in their chat, and their
//! answers brought back to the desk.
//!
//! It runs beside the calls: none waits for a message to be sent, and what
//! cannot be sent waits at the hub as if there were no Teams. Whether an answer
//! counts is the desk's to say ([`Desk::hear`]); nothing here can approve
//! anything, and no tool of this server leads here.

mod card;
mod route;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use legation_core::error::chain;
use legation_core::{Cancel, EntityId, OpContext, Wall};
use legation_entra::chat::{
    Body, Change, Earlier, Kind as MessageKind, Message, OVERLAP_MS, Outgoing, Seen, Width,
};
use legation_entra::{Account, Class};
use legation_gate::desk::{Desk, Heard, Place, Posting, Question, Refused, Stage, Verdict};

use super::Shared;
use super::pace::Pace;
use super::poll::Place as ReadTo;
use super::talk::Line;
use crate::accounts::Failure;
use crate::kept::{self, Kind};
use crate::sources::{context_as, is_over};

/// Who is asked in Teams, and what of.
#[derive(Clone)]
pub struct ApprovalsHere {
    /// What waits, and who judges what comes back.
    pub desk: Arc<Desk>,
    /// The accounts whose humans are asked, in the order in which they are.
    pub accounts: Vec<(Box<str>, EntityId)>,
    /// What of a question may be shown.
    pub rules: Arc<dyn Rules>,
}

/// What the rules in force say of what is shown.
pub trait Rules: Send + Sync + fmt::Debug {
    /// Whether an entity's data holds health information.
    fn holds_health(&self, entity: &EntityId) -> bool;
}

/// How far the chat was read for answers.
const PLACES: Kind = Kind {
    word: "teams approvals",
    days: 30,
    most: 1_000,
};
/// The name under which the hub asks for itself.
const ASKER: &str = "approvals";
/// After a failure.
const RETRY: Duration = Duration::from_secs(15);
/// How often is looked for what nobody told of.
const LOOK: Duration = Duration::from_secs(60);
/// How long after the end of a question a second or late answer is still read.
const WATCHED_MS: i64 = 24 * 60 * 60 * 1000;
/// Messages are listed by times that differ between Teams' own machines.
const SLACK_MS: i64 = 10_000;

const AS_THE_HUMAN: &str = "the agent acts as its human, who cannot be told from it in a chat: it takes a user of the agent's own (`agent_user`)";

/// One account's desk in Teams.
struct Counter<'a> {
    shared: &'a Shared,
    here: &'a ApprovalsHere,
    account: Account,
    context: OpContext,
    pace: Pace,
    /// How much of the chat is read at once.
    width: Width,
    /// Whether the person was told that wrong codes locked it.
    said_locked: bool,
}

/// Runs until it is called off.
pub(super) async fn run(shared: &Shared, here: &ApprovalsHere, cancel: &Cancel) {
    let context = context_as(cancel, ASKER);
    let all = here.accounts.iter().map(|(name, _)| {
        let context = &context;
        async move {
            let mut said = String::new();
            while context.cancel.reason().is_none() {
                let failure = attend(shared, here, name, context).await;
                if failure.error == Class::Cancelled.as_str() {
                    return;
                }
                here.desk.set_problem(name, Some(&failure.message));
                if failure.message != said {
                    let error = &failure.message;
                    tracing::warn!(
                        account = &**name,
                        error,
                        "approvals are not put to its human for now"
                    );
                    said.clone_from(error);
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

async fn attend(shared: &Shared, here: &ApprovalsHere, name: &str, context: &OpContext) -> Failure {
    let account = match shared.accounts.pick(Some(name)).await {
        Ok(account) => account,
        Err(error) => return Failure::from(&error),
    };
    if !account.acting().is_somebody_else() {
        return Failure::said(Class::Local, AS_THE_HUMAN.to_owned(), "");
    }
    let counter = Counter {
        pace: Pace::new(account.instant()),
        width: Width::default(),
        shared,
        here,
        account,
        context: context.clone(),
        said_locked: false,
    };
    match counter.run().await {
        Ok(()) => Failure::said(Class::Cancelled, "the hub stops".to_owned(), ""),
        Err(failure) => failure,
    }
}

// === impl Counter ===

impl Counter<'_> {
    /// Until it is called off, or something fails that is not one question's.
    async fn run(mut self) -> Result<(), Failure> {
        let mut events = self.here.desk.events();
        loop {
            self.here.desk.forget(self.account.now().0);
            // What cannot be put or shown keeps no answer from being read.
            let put = self.put_all().await;
            let told = self.tell_ended().await;
            let now = self.account.instant();
            let watched_from = self.watched_from();
            let watches = watched_from.is_some();
            if let Some(from) = watched_from.filter(|_| now >= self.pace.due()) {
                self.read(from).await?;
                put.and(told)?;
                continue;
            }
            put.and(told)?;
            self.here.desk.set_problem(self.account.name(), None);
            let wait = match watches {
                true => self.pace.due().saturating_duration_since(now).min(LOOK),
                false => LOOK,
            };
            tokio::select! {
                biased;
                _ = self.context.cancel.cancelled() => return Ok(()),
                // One that fell behind looks at everything anyway.
                _ = events.recv() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Since when there is something here that can still be answered, rightly or
    /// too late.
    fn watched_from(&self) -> Option<Wall> {
        let now_ms = self.account.now().0;
        let all = self.here.desk.postings(self.account.name());
        let watched = all
            .iter()
            .filter(|one| one.message.is_some() && now_ms < one.expires_ms + WATCHED_MS);
        watched.map(|one| Wall(one.asked_ms - SLACK_MS)).min()
    }

    /// Puts what waits to the person, each question once. One that cannot be put
    /// holds up none of the others; the first failure is reported.
    async fn put_all(&mut self) -> Result<(), Failure> {
        let mut result = Ok(());
        for question in self.here.desk.waiting() {
            let Some(is_shown) = route::here(&self.here.accounts, self.account.name(), &question)
            else {
                continue;
            };
            let known = self.here.desk.posting(&question.id);
            let is_put = known
                .is_some_and(|one| one.message.is_some() && *one.account == *self.account.name());
            if is_put {
                continue;
            }
            match self.put(&question, is_shown).await {
                Ok(()) => self.pace.talk(self.account.instant()),
                Err(failure) if is_passing(&failure) => return result.and(Err(failure)),
                Err(failure) => result = result.and(Err(failure)),
            }
        }
        result
    }

    async fn put(&self, question: &Question, is_shown: bool) -> Result<(), Failure> {
        let line = self.line().await?;
        let _turn = line.talk.turn.lock().await;
        let place = Place {
            account: self.account.name(),
            chat: &line.chat.id,
            person: &line.chat.human,
            program: &line.chat.me,
            now_ms: line.chats.services_time().0,
            is_shown,
        };
        let begun = self.here.desk.posting(&question.id);
        let put = self.here.desk.begin(question, &place);
        let (posting, code) = put.map_err(|error| local(&error))?;
        let shows_arguments = !self.holds_health(question);
        let outgoing = Outgoing {
            body: Body::Card {
                card: card::asking(question, &posting, &code, shows_arguments),
                text: card::title(&posting),
            },
            mentions: Vec::new(),
            key: Some(self.name(&[&line.chat.id, &posting.id, &posting.asked_ms.to_string()])),
            // What an attempt before this one sent is found by its mark.
            earlier: begun.filter(|one| *one == posting).map(|one| Earlier {
                began: Wall(one.asked_ms),
                ids: Vec::new(),
                others: Vec::new(),
            }),
        };
        let sent = line
            .chats
            .send(&self.context, &line.chat.id, &outgoing)
            .await;
        let sent = sent.map_err(|error| line.failure(&error))?;
        if let Some(first) = sent.first() {
            let entity = self.account.entity();
            self.here.desk.posted(&posting.id, &first.id, entity);
        }
        Ok(())
    }

    /// Whether the arguments could hold health information, which no card shows.
    fn holds_health(&self, question: &Question) -> bool {
        let rules = &self.here.rules;
        rules.holds_health(self.account.entity())
            || question.entities.iter().any(|one| rules.holds_health(one))
    }

    /// Has what stands in the chat say how it ended elsewhere.
    async fn tell_ended(&self) -> Result<(), Failure> {
        for (posting, stage) in self.here.desk.overtaken(self.account.name()) {
            self.close(&posting, stage).await?;
        }
        // Answers that counted, of which the hub died before it said so.
        for posting in self.here.desk.postings(self.account.name()) {
            if matches!(posting.stage, Stage::Answered { .. }) && !posting.is_told {
                let stage = posting.stage.clone();
                self.close(&posting, stage).await?;
            }
        }
        Ok(())
    }

    async fn close(&self, posting: &Posting, stage: Stage) -> Result<(), Failure> {
        if let Some(message) = &posting.message {
            let line = self.line().await?;
            let outgoing = Outgoing {
                body: Body::Card {
                    card: card::ended(posting, &stage),
                    text: card::title(posting),
                },
                mentions: Vec::new(),
                key: None,
                earlier: None,
            };
            let chat = &posting.chat;
            let updated = line.chats.update(&self.context, chat, message, &outgoing);
            if let Err(error) = updated.await {
                let failure = Failure::from(&error);
                if is_passing(&failure) {
                    return Err(failure);
                }
                // The card is gone, or cannot be changed: nothing hangs on it.
                tracing::info!(
                    error = failure.message,
                    "a card does not say how its question ended"
                );
            }
        }
        self.here.desk.closed(&posting.id, stage);
        Ok(())
    }

    /// Reads what was written since, and has the desk judge it.
    async fn read(&mut self, from: Wall) -> Result<(), Failure> {
        let line = self.line().await?;
        let name = self.name(&[&line.chat.id, "read"]);
        let place: Option<ReadTo> = self.shared.kept.get(PLACES, &name).await?;
        let mut seen = begin(place.as_ref().map(ReadTo::seen), from);
        let since = seen.since().unwrap_or(from);
        let read = line
            .chats
            .window(&self.context, &line.chat.id, since, &mut self.width)
            .await;
        let window = read.map_err(|error| line.failure(&error))?;
        let waits_more = window.until.is_some();
        let news = seen.take_window(window.messages, window.until);
        let has_news = !news.is_empty();
        let said = news.iter().filter(|one| {
            one.change != Change::Deleted && one.message.kind == MessageKind::Message
        });
        let judged: Vec<(&Message, Verdict)> = said
            .filter_map(|one| Some((&one.message, self.hear(&line, &one.message)?)))
            .collect();
        let after = ReadTo::of(&seen);
        if place.as_ref() != Some(&after) {
            self.shared.kept.put(PLACES, &name, &after).await?;
        }
        // Only now, for it takes a while: what was judged is not judged again.
        for (message, verdict) in judged {
            self.answer(&line, message, verdict).await?;
        }
        let now = self.account.instant();
        match waits_more {
            true => self.pace.go_on(now),
            false => self.pace.was_read(has_news, now),
        }
        Ok(())
    }

    fn hear(&self, line: &Line, message: &Message) -> Option<Verdict> {
        let from = message.from.as_ref().filter(|from| from.is_user);
        self.here.desk.hear(&Heard {
            account: self.account.name(),
            entity: self.account.entity(),
            chat: &line.chat.id,
            person: &line.chat.human,
            program: &line.chat.me,
            message: &message.id,
            sender: from.map_or("", |from| &from.id),
            text: &message.text,
            written_ms: message.created.0,
            is_edited: message.edited.is_some(),
        })
    }

    /// Has the chat show what came of an answer.
    async fn answer(
        &mut self,
        line: &Line,
        message: &Message,
        verdict: Verdict,
    ) -> Result<(), Failure> {
        match verdict {
            Verdict::Counted { posting, .. } => {
                self.said_locked = false;
                let stage = self.here.desk.posting(&posting.id);
                let stage = stage.map_or(Stage::Void, |one| one.stage);
                self.close(&posting, stage).await
            }
            Verdict::Refused { why, is_persons } => {
                let is_again = why == Refused::Locked && self.said_locked;
                self.said_locked = why == Refused::Locked;
                if is_persons && !is_again {
                    self.say(line, message, why).await;
                }
                Ok(())
            }
        }
    }

    /// Tells the person that their answer did not count. It is recorded; that
    /// they cannot be told changes nothing.
    async fn say(&self, line: &Line, message: &Message, why: Refused) {
        let text = format!("That did not count: {why}. {}", why.hint());
        let outgoing = Outgoing {
            key: Some(self.name(&[&line.chat.id, "refused", &message.id, &message.etag])),
            ..Outgoing::markdown(&text)
        };
        let _turn = line.talk.turn.lock().await;
        if let Err(error) = line
            .chats
            .send(&self.context, &line.chat.id, &outgoing)
            .await
        {
            let error = chain(&error);
            tracing::warn!(
                error,
                "a person was not told that their answer did not count"
            );
        }
    }

    async fn line(&self) -> Result<Line, Failure> {
        let talks = &self.shared.talks;
        talks.line(&self.context, &self.account, false).await
    }

    fn name(&self, parts: &[&str]) -> String {
        let client = &self.context.caller.principal.client;
        kept::name(client, self.account.name(), parts)
    }
}

/// Where reading goes on. What was written while nothing was asked is no answer,
/// so it is left out: a chat in which much was said since is not read again.
fn begin(known: Option<Seen>, from: Wall) -> Seen {
    let is_near = |seen: &Seen| {
        let until = seen.read_to.max(seen.until);
        until.is_some_and(|until| until.0.saturating_add(OVERLAP_MS) >= from.0)
    };
    known.filter(is_near).unwrap_or_else(|| Seen::begin(from))
}

/// What may be better a moment later.
fn is_passing(failure: &Failure) -> bool {
    [Class::RateLimit, Class::Unreachable]
        .iter()
        .any(|class| failure.error == class.as_str())
}

fn local(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::said(Class::Local, chain(error), "see the hub's log and its disk")
}

impl fmt::Debug for ApprovalsHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.accounts.iter().map(|(name, _)| &**name).collect();
        f.debug_tuple("ApprovalsHere").field(&names).finish()
    }
}
