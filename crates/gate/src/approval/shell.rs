//! The book with its rows, its clock and those who wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use legation_core::{ApprovalId, SharedClock};
use legation_keystore::{Key, KeystoreError};
use legation_policy::registry::EventName;
use legation_policy::{Grant, GrantId, GrantIndex};
use legation_store::{ApprovalState, Store, StoreError};
use tokio::sync::{broadcast, watch};

use super::book::{Book, Event};
use super::granted::LASTING;
use super::time::Time;
use super::{APPROVAL_TTL_MS, Answer, Answered, Approval, Bound, Channel, NotOpen, State, row};
use crate::journal::Journal;

/// How many events a listener may fall behind.
const EVENTS: usize = 256;

/// What approvals are made of.
#[derive(Debug)]
pub struct ApprovalsParts {
    /// Where rows are kept.
    pub store: Arc<Store>,
    /// The key that seals and signs them (`approvals` of the keystore).
    pub key: Key,
    /// The time.
    pub clock: SharedClock,
    /// Where what happens is recorded.
    pub journal: Arc<Journal>,
}

/// Every approval that is open, and every grant in force. Shared.
#[derive(Debug)]
pub struct Approvals {
    pub(super) store: Arc<Store>,
    pub(super) key: Key,
    time: Time,
    held: Mutex<Held>,
    pub(super) index: ArcSwap<GrantIndex>,
    pub(super) changed: watch::Sender<u64>,
    events: broadcast::Sender<ApprovalEvent>,
    pub(super) journal: Arc<Journal>,
}

#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) book: Book,
    /// Grants that rows stand for, and the approval each came from.
    pub(super) lasting: HashMap<GrantId, Lasting>,
    /// Approvals that were used up, until each would have expired anyway.
    pub(super) spent: HashMap<ApprovalId, i64>,
    reported: Vec<String>,
}

/// A grant that goes beyond one call.
#[derive(Debug, Clone)]
pub struct Lasting {
    /// What it allows.
    pub grant: Grant,
    /// The approval whose answer it was.
    pub approval: Option<ApprovalId>,
    /// When it was given, in milliseconds of wall time.
    pub created_ms: i64,
}

/// What listeners hear: the TUI, the console, Teams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalEvent {
    /// A call waits for an answer.
    Asked(ApprovalId),
    /// Somebody answered.
    Answered(ApprovalId, Answer),
    /// It can be answered no more.
    Closed(ApprovalId),
    /// The grants in force are others.
    GrantsChanged,
    /// Something else waits for a person, or does not any more: a proposal, or
    /// what a client asks of its own.
    OthersChanged,
}

/// An answer that was not taken.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// It cannot be given to this approval.
    #[error(transparent)]
    NotOpen(#[from] NotOpen),
    /// The store cannot keep it, so it does not count.
    #[error("the answer could not be kept, so it does not count")]
    NotKept(#[source] StoreError),
    /// Nothing can be sealed.
    #[error("the approval could not be sealed, so nothing was kept")]
    NotSealed(#[source] KeystoreError),
}

// === impl Approvals ===

impl Approvals {
    /// Reads what is open, and reports what was not written by the hub.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub fn open(parts: ApprovalsParts) -> Result<Self, StoreError> {
        let time = Time::new(parts.clock);
        let approvals = Self {
            store: parts.store,
            key: parts.key,
            time,
            held: Mutex::default(),
            index: ArcSwap::from_pointee(GrantIndex::default()),
            changed: watch::Sender::new(0),
            events: broadcast::Sender::new(EVENTS),
            journal: parts.journal,
        };
        approvals.reload()?;
        Ok(approvals)
    }

    /// Reads every row again.
    ///
    /// # Errors
    /// When the rows cannot be read; what was in force stays so.
    pub fn reload(&self) -> Result<(), StoreError> {
        let now_ms = self.now_ms();
        self.store.approval_expire(now_ms)?;
        self.store.grant_expire(now_ms)?;
        let mut rows = Vec::new();
        for state in [
            ApprovalState::Pending,
            ApprovalState::Granted,
            ApprovalState::Denied,
        ] {
            rows.extend(self.store.approval_list(Some(state))?);
        }
        let grants = self.store.grant_list()?;
        let mut held = self.lock();
        *held = Held {
            spent: std::mem::take(&mut held.spent),
            ..Held::default()
        };
        for row in &rows {
            match row::to_approval(row, &self.key) {
                Ok(approval) if held.spent.contains_key(&approval.id) => {
                    held.reported.push(format!(
                        "approval {} was used before, and its row was put back; it is not honoured",
                        approval.id
                    ));
                }
                Ok(approval) if approval.is_alive(now_ms) => held.book.restore(approval),
                Ok(_) => {}
                Err(forged) => held.report(&forged),
            }
        }
        for row in &grants {
            match row::to_grant(row, &self.key) {
                Ok(grant) => {
                    let lasting = Lasting {
                        grant,
                        approval: row.approval.as_deref().map(ApprovalId::new),
                        created_ms: row.created_ms,
                    };
                    held.lasting.insert(lasting.grant.id.clone(), lasting);
                }
                Err(forged) => held.report(&forged),
            }
        }
        self.reindex(&held);
        Ok(())
    }

    /// Rows that were not written by the hub, in words for its owner.
    #[must_use]
    pub fn reported(&self) -> Vec<String> {
        self.lock().reported.clone()
    }

    /// Everything that waits for an answer, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Approval> {
        let now_ms = self.now_ms();
        let mut waiting: Vec<Approval> = self
            .lock()
            .book
            .iter()
            .filter(|open| open.state == State::Pending && open.is_alive(now_ms))
            .cloned()
            .collect();
        waiting.sort_by(|a, b| (a.created_ms, &a.id).cmp(&(b.created_ms, &b.id)));
        waiting
    }

    /// What is open of one client's, however it was answered.
    #[must_use]
    pub fn open_of(&self, client: &legation_core::ClientId) -> Vec<Approval> {
        let now_ms = self.now_ms();
        let mut open: Vec<Approval> = self
            .lock()
            .book
            .iter()
            .filter(|open| open.bound.client == *client && open.is_alive(now_ms))
            .cloned()
            .collect();
        open.sort_by(|a, b| (a.created_ms, &a.id).cmp(&(b.created_ms, &b.id)));
        open
    }

    /// One that is open, or was denied a short while ago.
    #[must_use]
    pub fn get(&self, id: &ApprovalId) -> Option<Approval> {
        let now_ms = self.now_ms();
        self.lock()
            .book
            .get(id)
            .filter(|open| open.is_alive(now_ms))
            .cloned()
    }

    /// The open approval of a call, or a new one.
    ///
    /// # Errors
    /// When too many wait, or it cannot be kept.
    pub(crate) fn ask(
        &self,
        bound: Bound,
        make: impl FnOnce(Bound, i64) -> Result<Approval, AnswerError>,
    ) -> Result<(Approval, bool), AnswerError> {
        let now_ms = self.now_ms();
        let mut held = self.lock();
        if let Some(open) = held.book.of(&bound).filter(|open| open.is_alive(now_ms)) {
            return Ok((open.clone(), false));
        }
        self.handle(&mut held, Event::Tick { now_ms })?;
        let approval = make(bound, now_ms)?;
        self.handle(&mut held, Event::Asked(Box::new(approval.clone())))?;
        Ok((approval, true))
    }

    /// Takes an answer in.
    ///
    /// # Errors
    /// When it cannot be given, or cannot be kept; it does not count then.
    pub fn answer(
        &self,
        id: &ApprovalId,
        answer: Answer,
        channel: Channel,
    ) -> Result<Answer, AnswerError> {
        let at_ms = self.now_ms();
        let mut held = self.lock();
        self.handle(&mut held, Event::Tick { now_ms: at_ms })?;
        let open = held.book.get(id);
        let answer = open.map_or(answer, |open| open.granted_by(answer));
        let answered = Answered {
            answer,
            channel,
            at_ms,
        };
        let told = self.handle(
            &mut held,
            Event::Answered {
                id: id.clone(),
                answered,
            },
        );
        drop(held);
        match told {
            Err(AnswerError::NotOpen(NotOpen::Unknown)) => Err(match self.ended(id) {
                Some(ApprovalState::Expired) => NotOpen::Expired,
                Some(ApprovalState::Consumed) => NotOpen::Used,
                Some(ApprovalState::Voided) => NotOpen::Voided,
                Some(ApprovalState::Denied) => NotOpen::Denied,
                Some(ApprovalState::Pending | ApprovalState::Granted) | None => NotOpen::Unknown,
            }
            .into()),
            told => told.map(|()| answer),
        }
    }

    /// The approval that a grant stands for, where using it uses that up. Told
    /// by the name and not by what is open: an approval that another call has
    /// just used up must still be claimed, and in vain.
    pub(crate) fn used_by(grant: &GrantId) -> Option<ApprovalId> {
        let lasts = grant.as_str().starts_with(LASTING);
        (!lasts).then(|| ApprovalId::new(grant.as_str()))
    }

    /// A call used an approval up, in the transaction of its intent.
    pub(crate) fn consumed(&self, id: &ApprovalId) {
        let now_ms = self.now_ms();
        let mut held = self.lock();
        held.spent.retain(|_, until_ms| *until_ms > now_ms);
        let until_ms = match held.book.get(id) {
            Some(open) => open.expires_ms,
            None => now_ms.saturating_add(APPROVAL_TTL_MS),
        };
        held.spent.insert(id.clone(), until_ms);
        drop(held);
        self.pass_on(Event::Consumed(id.clone()));
    }

    /// How an approval that is open no more ended, from its row.
    #[must_use]
    pub fn ended(&self, id: &ApprovalId) -> Option<ApprovalState> {
        let row = self.store.approval_get(id.as_str()).ok()??;
        let over = row.expires_ms <= self.now_ms();
        match row.state {
            ApprovalState::Pending | ApprovalState::Granted if over => Some(ApprovalState::Expired),
            ApprovalState::Pending | ApprovalState::Granted => None,
            ended => Some(ended),
        }
    }

    /// Other rules are in force: what was asked under the old ones is void.
    pub fn policy_changed(&self, version: u64) {
        self.pass_on(Event::PolicyChanged { version });
    }

    /// Closes what has expired.
    pub fn sweep(&self) {
        let now_ms = self.now_ms();
        self.pass_on(Event::Tick { now_ms });
    }

    /// Something of the owner's that was changed by another hand.
    pub(crate) fn report(&self, what: String) {
        tracing::error!(what, "a row was changed by hand");
        self.lock().reported.push(what);
    }

    /// What is granted at the moment.
    #[must_use]
    pub fn index(&self) -> arc_swap::Guard<Arc<GrantIndex>> {
        self.index.load()
    }

    /// The grants that last beyond one call, oldest first.
    #[must_use]
    pub fn grants(&self) -> Vec<Lasting> {
        let mut grants: Vec<Lasting> = self.lock().lasting.values().cloned().collect();
        grants.sort_by(|a, b| {
            (a.created_ms, a.grant.id.as_str()).cmp(&(b.created_ms, b.grant.id.as_str()))
        });
        grants
    }

    /// Takes a grant back; whether there was one.
    ///
    /// # Errors
    /// When the row cannot be removed; it stays in force then.
    pub fn grant_remove(&self, id: &GrantId) -> Result<bool, StoreError> {
        let mut held = self.lock();
        let removed = self.store.grant_remove(id.as_str())?;
        if let Some(lasting) = held.lasting.remove(id) {
            self.grant_happened(EventName::GrantRemoved, &lasting);
        }
        self.reindex(&held);
        Ok(removed)
    }

    /// Says when anything changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Where what happens is recorded.
    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Everything that happens from now on.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<ApprovalEvent> {
        self.events.subscribe()
    }

    /// The time that expiry is reckoned in.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.time.now_ms()
    }

    fn pass_on(&self, event: Event) {
        let mut held = self.lock();
        if let Err(error) = self.handle(&mut held, event) {
            tracing::error!(error = %legation_core::error::chain(&error), "an approval's row is behind");
        }
    }

    pub(crate) fn tell(&self, event: ApprovalEvent) {
        // Nobody may be listening.
        drop(self.events.send(event));
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Held ===

impl Held {
    fn report(&mut self, forged: &row::Forged) {
        tracing::error!(%forged, "a row was changed by hand");
        self.reported.push(forged.to_string());
    }
}
