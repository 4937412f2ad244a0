//! What others see beside the agent's name: shown anew before it fades, and
//! taken back when the hub stops.
//!
//! `follow` shows what the hub does, not what somebody said last: busy while
//! calls are under way, available for a while after, then away. A call that
//! waits for a person is none of them: who waits can be talked to. One agent
//! has one presence, so the calls of all clients count, whoever asked for it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use legation_core::error::chain;
use legation_core::{Caller, Cancel, CancelReason, OpContext, TaskSet};
use legation_entra::chat::{ChatError, Presence};
use legation_entra::{Account, Class};
use legation_wire::json::{Object, Raw};
use serde::Serialize;

use super::Shared;
use super::arguments::{bad, text};
use crate::accounts::{self, Failure};

/// What the hub does, and what it is told of what agents do here.
pub trait Activity: Send + Sync + fmt::Debug {
    /// How many calls are under way, those of this server included, without those
    /// that only wait for messages.
    fn calls(&self) -> usize;

    /// A caller says something in a chat: an answer there is for that session
    /// first. It must not hold the call up.
    fn talked(&self, caller: &Caller, chat: &str) {
        let _nobody = (caller, chat);
    }
}

/// Who shows what.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// By account: what ends showing it, and with whom to take it back.
    by_account: Mutex<HashMap<Box<str>, Showing>>,
    tasks: TaskSet,
}

#[derive(Debug)]
struct Showing {
    account: Account,
    context: OpContext,
}

/// What is shown.
#[derive(Serialize)]
pub(super) struct Set {
    account: String,
    entity: String,
    presence: &'static str,
    follows: bool,
}

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Fixed(Presence),
    Follow,
}

/// What the hub's work looks like from outside.
#[derive(Debug)]
pub(super) struct Follow {
    shown: Presence,
    /// Since when calls are under way.
    busy_since: Option<Instant>,
    idle_since: Instant,
}

/// Graph lets it fade after this, should the hub die.
const LASTS: Duration = Duration::from_secs(10 * 60);
/// `Available` fades after five minutes.
const RENEW: Duration = Duration::from_secs(4 * 60);
/// How often the hub's work is looked at.
const LOOK: Duration = Duration::from_secs(2);
/// After a failure: whoever has to sign in is not there in two seconds.
const RETRY: Duration = Duration::from_secs(30);
/// Shorter calls are not worth showing.
const BUSY_AFTER: Duration = Duration::from_secs(4);
const AVAILABLE_AFTER: Duration = Duration::from_secs(20);
const AWAY_AFTER: Duration = Duration::from_secs(10 * 60);
/// For taking everything back when the hub stops.
const CLOSE: Duration = Duration::from_secs(3);

pub(super) async fn presence(
    shared: &Arc<Shared>,
    context: &OpContext,
    account: &Account,
    arguments: &Object,
) -> Result<Set, Failure> {
    let wish = Wish::read(arguments)?;
    accounts::ready(context, account).await?;
    let follow = Follow::new(account.instant());
    let first = match wish {
        Wish::Fixed(presence) => presence,
        Wish::Follow => follow.shown,
    };
    let chats = account.chats();
    let set = chats.presence_set(context, first, LASTS).await;
    set.map_err(|error| Failure::from(&error))?;
    shared.shown.show(shared, context, account, wish, follow);
    Ok(Set {
        account: account.name().to_owned(),
        entity: account.entity().to_string(),
        presence: first.as_str(),
        follows: wish == Wish::Follow,
    })
}

// === impl Wish ===

impl Wish {
    fn read(arguments: &Object) -> Result<Self, Failure> {
        let status = text(arguments, "status")?;
        let follow = match arguments.get("follow").map(Raw::to_bool) {
            None | Some(Some(false)) => false,
            Some(Some(true)) => true,
            Some(None) => return Err(bad("`follow` must be true or false")),
        };
        match (status, follow) {
            (None, true) => Ok(Self::Follow),
            (Some(status), false) => Presence::parse(&status)
                .map(Self::Fixed)
                .ok_or_else(|| bad("`status` must be available, busy, away or offline")),
            _ => Err(bad("give either `status`, or `follow` with true")),
        }
    }
}

// === impl Shown ===

impl Shown {
    /// Shows something from here on, in place of what was shown before.
    fn show(
        &self,
        shared: &Arc<Shared>,
        context: &OpContext,
        account: &Account,
        wish: Wish,
        follow: Follow,
    ) {
        // It outlives the call.
        let context = OpContext {
            cancel: Cancel::new(),
            deadline: None,
            ..context.clone()
        };
        let showing = Showing {
            account: account.clone(),
            context: context.clone(),
        };
        let before = self.lock().insert(account.name().into(), showing);
        if let Some(before) = before {
            before.context.cancel.cancel(CancelReason::ClientCancelled);
        }
        let (shared, account) = (Arc::clone(shared), account.clone());
        self.tasks.spawn("presence", async move {
            keep(&shared, &context, &account, wish, follow).await;
        });
    }

    /// Takes everything back. Who cannot be reached in time is left to fade.
    pub(super) async fn close(&self) {
        let all: Vec<Showing> = self.lock().drain().map(|(_, showing)| showing).collect();
        for showing in &all {
            showing.context.cancel.cancel(CancelReason::Shutdown);
        }
        self.tasks.shutdown().await;
        for Showing { account, context } in all {
            let context = OpContext {
                cancel: Cancel::new(),
                deadline: Some(account.instant() + CLOSE),
                ..context
            };
            if let Err(error) = account.chats().presence_clear(&context).await {
                log(&account, &error);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Box<str>, Showing>> {
        let all = self.by_account.lock();
        all.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows it until it is called off.
async fn keep(
    shared: &Shared,
    context: &OpContext,
    account: &Account,
    wish: Wish,
    mut follow: Follow,
) {
    let pace = if wish == Wish::Follow { LOOK } else { RENEW };
    let mut set_at = account.instant();
    let mut not_before = set_at;
    let mut shown = follow.shown;
    loop {
        tokio::select! {
            biased;
            _ = context.cancel.cancelled() => return,
            () = tokio::time::sleep(pace) => {}
        }
        let now = account.instant();
        let wanted = match wish {
            Wish::Fixed(presence) => presence,
            Wish::Follow => follow.next(shared.is_busy(), now),
        };
        let is_due = now.saturating_duration_since(set_at) >= RENEW;
        if wish == Wish::Follow && (wanted == shown && !is_due || now < not_before) {
            continue;
        }
        match account.chats().presence_set(context, wanted, LASTS).await {
            Ok(()) => (set_at, shown) = (now, wanted),
            Err(error) if error.class() == Class::Cancelled => {}
            Err(error) => {
                log(account, &error);
                not_before = now + error.retry_after().unwrap_or(RETRY).max(RETRY);
            }
        }
    }
}

fn log(account: &Account, error: &ChatError) {
    let error = chain(error);
    tracing::warn!(
        account = account.name(),
        error,
        "the presence is not shown as it should be"
    );
}

// === impl Follow ===

impl Follow {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            shown: Presence::Available,
            busy_since: None,
            idle_since: now,
        }
    }

    /// What to show, as calls are under way or not.
    pub(super) fn next(&mut self, is_busy: bool, now: Instant) -> Presence {
        let passed = |since: Instant| now.saturating_duration_since(since);
        if is_busy {
            let since = *self.busy_since.get_or_insert(now);
            self.idle_since = now;
            if passed(since) >= BUSY_AFTER {
                self.shown = Presence::Busy;
            } else if self.shown == Presence::Away {
                self.shown = Presence::Available;
            }
            return self.shown;
        }
        self.busy_since = None;
        let idle = passed(self.idle_since);
        if idle >= AWAY_AFTER {
            self.shown = Presence::Away;
        } else if idle >= AVAILABLE_AFTER {
            self.shown = Presence::Available;
        }
        self.shown
    }
}
