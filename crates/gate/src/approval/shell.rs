//! The book with its rows, its clock and those who wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use legation_core::{ApprovalId, SharedClock};
use legation_keystore::{Key, KeystoreError};
use legation_policy::{Grant, GrantId, GrantIndex, GrantScope, Rung};
use legation_store::{ApprovalState, Store, StoreError};
use tokio::sync::{broadcast, watch};

use super::book::{Book, Effect, Event};
use super::{Answer, Answered, Approval, Bound, Channel, NotOpen, State, row};

/// How many events a listener may fall behind.
const EVENTS: usize = 256;
/// What the name of a grant that goes beyond one call begins with.
const LASTING: &str = "g-";
/// How long an answer for a session lasts at most: a seat that is never closed
/// must not keep it for ever.
const SESSION_TTL_MS: i64 = 12 * 60 * 60 * 1000;

/// What approvals are made of.
#[derive(Debug)]
pub struct ApprovalsParts {
    /// Where rows are kept.
    pub store: Arc<Store>,
    /// The key that seals and signs them (`approvals` of the keystore).
    pub key: Key,
    /// The time.
    pub clock: SharedClock,
}

/// Every approval that is open, and every grant in force. Shared.
#[derive(Debug)]
pub struct Approvals {
    store: Arc<Store>,
    key: Key,
    time: Time,
    held: Mutex<Held>,
    index: ArcSwap<GrantIndex>,
    changed: watch::Sender<u64>,
    events: broadcast::Sender<ApprovalEvent>,
}

#[derive(Debug, Default)]
struct Held {
    book: Book,
    /// Grants that rows stand for, and the approval each came from.
    lasting: HashMap<GrantId, Lasting>,
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

/// Time that does not go back while the hub runs: setting the clock back a day
/// gives no approval a day more.
#[derive(Debug)]
struct Time {
    clock: SharedClock,
    start: std::time::Instant,
    start_ms: i64,
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
        *held = Held::default();
        for row in &rows {
            match row::to_approval(row, &self.key) {
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
        let id = id.clone();
        self.handle(&mut held, Event::Answered { id, answered })?;
        Ok(answer)
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
        self.pass_on(Event::Consumed(id.clone()));
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
        held.lasting.remove(id);
        self.reindex(&held);
        Ok(removed)
    }

    /// Says when anything changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
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

    /// Does what an event leads to. A write that fails takes the approval out
    /// of the book: what is not on record does not count.
    fn handle(&self, held: &mut Held, event: Event) -> Result<(), AnswerError> {
        let effects = held.book.handle(event)?;
        for effect in effects {
            if let Err((id, error)) = self.carry_out(held, effect) {
                for effect in held.book.handle(Event::Superseded(id)).unwrap_or_default() {
                    // Only waking and indexing are left, neither of which writes.
                    drop(self.carry_out(held, effect));
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn carry_out(&self, held: &mut Held, effect: Effect) -> Result<(), (ApprovalId, AnswerError)> {
        match effect {
            Effect::Put(id) => {
                let Some(approval) = held.book.get(&id) else {
                    return Ok(());
                };
                let kept = row::of_approval(approval, &self.key)
                    .map_err(AnswerError::NotSealed)
                    .and_then(|row| self.store.approval_put(&row).map_err(AnswerError::NotKept));
                match kept {
                    Ok(true) => self.tell(ApprovalEvent::Asked(id)),
                    // Thirty random bits met a row of old.
                    Ok(false) => return Err((id, NotOpen::Full.into())),
                    Err(error) => return Err((id, error)),
                }
            }
            Effect::Decide { id, answered } => match self.decide(held, &id, &answered) {
                Ok(true) => self.tell(ApprovalEvent::Answered(id, answered.answer)),
                Ok(false) => return Err((id, NotOpen::Answered.into())),
                Err(error) => return Err((id, AnswerError::NotKept(error))),
            },
            Effect::Revoke(id) => {
                let of: Vec<GrantId> = held
                    .lasting
                    .values()
                    .filter(|lasting| lasting.approval.as_ref() == Some(&id))
                    .map(|lasting| lasting.grant.id.clone())
                    .collect();
                for grant in of {
                    held.lasting.remove(&grant);
                    self.store
                        .grant_remove(grant.as_str())
                        .map_err(|error| (id.clone(), AnswerError::NotKept(error)))?;
                }
            }
            Effect::Close { id, why } => {
                let to = match why {
                    super::Voided::Expired => ApprovalState::Expired,
                    super::Voided::Policy => ApprovalState::Voided,
                };
                let closed =
                    self.store
                        .approval_decide(id.as_str(), to, why.as_str(), self.now_ms());
                // It has left the book already; a row that stays open is dated.
                if let Err(error) = closed {
                    tracing::warn!(error = %legation_core::error::chain(&error), "an approval's row stays open");
                }
                self.tell(ApprovalEvent::Closed(id));
            }
            Effect::Wake(_) => self.changed.send_modify(|count| *count += 1),
            Effect::Reindex => self.reindex(held),
        }
        Ok(())
    }

    /// Keeps an answer; whether the row still was as the book has it.
    fn decide(
        &self,
        held: &mut Held,
        id: &ApprovalId,
        answered: &Answered,
    ) -> Result<bool, StoreError> {
        let by = row::decided_by(id.as_str(), answered, &self.key);
        let at_ms = answered.at_ms;
        if answered.answer == Answer::Deny {
            let to = ApprovalState::Denied;
            return self.store.approval_decide(id.as_str(), to, &by, at_ms);
        }
        let Some((grant, approval)) = held
            .book
            .get(id)
            .and_then(|open| lasting(open, answered.answer))
        else {
            let to = ApprovalState::Granted;
            return self.store.approval_decide(id.as_str(), to, &by, at_ms);
        };
        let row = row::of_grant(&grant, &approval, at_ms, &self.key);
        let held_it = self.store.approval_grant(id.as_str(), &by, at_ms, &row)?;
        if held_it {
            let lasting = Lasting {
                grant,
                approval: Some(id.clone()),
                created_ms: at_ms,
            };
            held.lasting.insert(lasting.grant.id.clone(), lasting);
        }
        Ok(held_it)
    }

    fn reindex(&self, held: &Held) {
        let once = held.book.iter().filter_map(once);
        let lasting = held.lasting.values().map(|lasting| lasting.grant.clone());
        let index = GrantIndex::new(once.chain(lasting), self.store.grant_generation());
        self.index.store(Arc::new(index));
        self.tell(ApprovalEvent::GrantsChanged);
    }

    fn tell(&self, event: ApprovalEvent) {
        // Nobody may be listening.
        drop(self.events.send(event));
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
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

// === impl Time ===

impl Time {
    fn new(clock: SharedClock) -> Self {
        Self {
            start: clock.now(),
            start_ms: clock.wall().0,
            clock,
        }
    }

    fn now_ms(&self) -> i64 {
        let passed = self.clock.now().saturating_duration_since(self.start);
        let passed = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
        self.clock
            .wall()
            .0
            .max(self.start_ms.saturating_add(passed))
    }
}

/// What an approval that was granted once allows.
fn once(open: &Approval) -> Option<Grant> {
    let answered = open.answered.as_ref()?;
    if open.state != State::Granted || answered.answer != Answer::Once {
        return None;
    }
    Some(Grant {
        id: GrantId::new(open.id.as_str()),
        args_digest: Some(open.bound.arguments),
        policy_version: Some(open.bound.policy_version),
        scope: GrantScope::Once,
        seat: None,
        workspace: None,
        expires_ms: Some(open.expires_ms),
        uses_left: Some(1),
        ..of_call(open, answered)
    })
}

/// What an answer allows beyond its call. An answer for a session or a folder
/// ends with the rules it was given under; one for always ends with the
/// definition.
fn lasting(open: &Approval, answer: Answer) -> Option<(Grant, Approval)> {
    let answered = open.answered.as_ref()?;
    let bound = &open.bound;
    let (seat, workspace, expires_ms, version) = match answer {
        Answer::Once | Answer::Deny => return None,
        Answer::Session => (
            Some(open.seat.clone()),
            None,
            Some(answered.at_ms + SESSION_TTL_MS),
            Some(bound.policy_version),
        ),
        Answer::Here => (
            None,
            open.workspace.clone(),
            None,
            Some(bound.policy_version),
        ),
        Answer::Always => {
            let until = open
                .lasts_ms
                .map(|lasts| answered.at_ms.saturating_add(lasts));
            (None, None, until, None)
        }
    };
    let scope = match (answer, expires_ms) {
        (Answer::Always, Some(_)) => GrantScope::Until,
        (answer, _) => answer.scope()?,
    };
    let grant = Grant {
        id: GrantId::new(format!("{LASTING}{}", open.id)),
        policy_version: version,
        scope,
        seat,
        workspace,
        expires_ms,
        ..of_call(open, answered)
    };
    Some((grant, open.clone()))
}

/// The members that every grant of an approval has in common.
fn of_call(open: &Approval, answered: &Answered) -> Grant {
    let bound = &open.bound;
    Grant {
        id: GrantId::new(open.id.as_str()),
        client: bound.client.clone(),
        server: bound.server.clone(),
        item: bound.item.clone(),
        verb: bound.verb,
        definition: bound.definition,
        args_digest: None,
        entity: bound.entity.clone(),
        rung: Rung::Execute,
        policy_version: None,
        scope: GrantScope::Always,
        seat: None,
        workspace: None,
        expires_ms: None,
        uses_left: None,
        approver: answered.channel.as_str().into(),
    }
}
