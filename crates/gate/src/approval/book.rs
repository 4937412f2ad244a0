//! The approvals that are open, as a state machine: events in, effects out.
//!
//! It neither reads a clock nor writes a row; [`super::Approvals`] does, in the
//! order in which the effects stand. What is open is all it knows: an approval
//! that was used up, voided or has expired leaves it, and only the store
//! remembers. A denial stays for a while, so that an agent that calls again
//! hears of it instead of asking anew.

use std::collections::HashMap;

use legation_core::{ApprovalId, ClientId};

use super::{Answer, Answered, Approval, Bound, State, Voided};

/// Most approvals that may wait for an answer, of one client and of all.
///
/// An agent in a loop must not bury the question that matters.
const PENDING_PER_CLIENT: usize = 64;
const PENDING_MAX: usize = 1024;
/// How long an agent that repeats a denied call hears of the denial.
const DENIAL_TTL_MS: i64 = 10 * 60 * 1000;

/// What is open.
#[derive(Debug, Default)]
pub(super) struct Book {
    open: HashMap<ApprovalId, Approval>,
    by_call: HashMap<Bound, ApprovalId>,
}

/// What happened.
#[derive(Debug)]
pub(super) enum Event {
    /// A call needs an answer that nobody was asked for yet.
    Asked(Box<Approval>),
    /// Somebody answered.
    Answered { id: ApprovalId, answered: Answered },
    /// The intent of a call used it up.
    Consumed(ApprovalId),
    /// The store says that it is not what the book holds: another hub, or a
    /// hand, was there first.
    Superseded(ApprovalId),
    /// Time passed.
    Tick { now_ms: i64 },
    /// Other rules are in force.
    PolicyChanged { version: u64 },
}

/// What is to be done about it, in this order.
#[derive(Debug, PartialEq)]
pub(super) enum Effect {
    /// Keep it, durably.
    Put(ApprovalId),
    /// Keep the answer, and in the same transaction what it grants beyond this
    /// one call. What follows is done only if the store takes it.
    Decide { id: ApprovalId, answered: Answered },
    /// Take back what the approval granted.
    Revoke(ApprovalId),
    /// Close the row.
    Close { gone: Box<Approval>, why: Voided },
    /// The calls that wait can go on, or end.
    Wake(ApprovalId),
    /// The index of grants reads differently now.
    Reindex,
}

/// An event that changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotOpen {
    /// There is none of this id that could still be answered.
    #[error("no approval of this id waits for an answer; nothing was changed")]
    Unknown,
    /// Its time was over.
    #[error("its time was over before it was answered; nothing was changed")]
    Expired,
    /// The call it was for has been made.
    #[error("it was used already; nothing was changed")]
    Used,
    /// The rules it was asked under are not in force any more.
    #[error("it was asked under other rules and is void; nothing was changed")]
    Voided,
    /// Somebody granted it before; only a denial can follow.
    #[error("it has been granted already; nothing was changed")]
    Answered,
    /// Somebody denied it, and a denial stands.
    #[error("it has been denied; nothing was changed")]
    Denied,
    /// The client has no such thing as a session or a folder.
    #[error("this client has no {0} to bind the answer to; nothing was changed")]
    NotOffered(&'static str),
    /// The rule that asks lets no answer hold for so long.
    #[error("the rule that asks takes no answer that lasts so long; nothing was changed")]
    TooLasting,
    /// So much waits already that nobody could answer it.
    #[error("too many approvals wait for an answer already; nothing was called")]
    Full,
}

// === impl Book ===

impl Book {
    /// The open approval of a call.
    pub(super) fn of(&self, bound: &Bound) -> Option<&Approval> {
        self.open.get(self.by_call.get(bound)?)
    }

    pub(super) fn get(&self, id: &ApprovalId) -> Option<&Approval> {
        self.open.get(id)
    }

    /// Everything open.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Approval> {
        self.open.values()
    }

    /// Takes one in as the store has it, at the start.
    pub(super) fn restore(&mut self, approval: Approval) {
        self.by_call
            .insert(approval.bound.clone(), approval.id.clone());
        self.open.insert(approval.id.clone(), approval);
    }

    /// What follows from an event. Nothing is changed when it is refused.
    pub(super) fn handle(&mut self, event: Event) -> Result<Vec<Effect>, NotOpen> {
        match event {
            Event::Asked(approval) => self.asked(*approval),
            Event::Answered { id, answered } => self.answered(id, answered),
            Event::Consumed(id) => Ok(self.consumed(&id)),
            Event::Superseded(id) => {
                self.remove(&id);
                Ok(vec![Effect::Wake(id), Effect::Reindex])
            }
            Event::Tick { now_ms } => {
                Ok(self.close(Voided::Expired, |open| !open.is_alive(now_ms)))
            }
            Event::PolicyChanged { version } => {
                Ok(self.close(Voided::Policy, |open| open.bound.policy_version != version))
            }
        }
    }

    fn asked(&mut self, approval: Approval) -> Result<Vec<Effect>, NotOpen> {
        if self.pending(Some(&approval.bound.client)) >= PENDING_PER_CLIENT
            || self.pending(None) >= PENDING_MAX
        {
            return Err(NotOpen::Full);
        }
        let id = approval.id.clone();
        self.restore(approval);
        Ok(vec![Effect::Put(id)])
    }

    fn answered(&mut self, id: ApprovalId, answered: Answered) -> Result<Vec<Effect>, NotOpen> {
        let open = self.open.get_mut(&id).ok_or(NotOpen::Unknown)?;
        let answer = answered.answer;
        open.offers(answer)?;
        let decide = Effect::Decide {
            id: id.clone(),
            answered: answered.clone(),
        };
        match (open.state, answer) {
            (State::Granted | State::Pending, Answer::Deny) => {
                // A denial beats what was granted and not used yet.
                let granted = open.state == State::Granted;
                open.state = State::Denied;
                open.expires_ms = open.expires_ms.min(answered.at_ms + DENIAL_TTL_MS);
                open.answered = Some(answered);
                let mut effects = vec![decide];
                if granted {
                    effects.extend([Effect::Revoke(id.clone()), Effect::Reindex]);
                }
                effects.push(Effect::Wake(id));
                Ok(effects)
            }
            (State::Granted, _) => Err(NotOpen::Answered),
            (State::Denied, _) => Err(NotOpen::Denied),
            (State::Pending, _) => {
                open.state = State::Granted;
                open.answered = Some(answered);
                if answer != Answer::Once {
                    // The grant answers for the call from here on; were it taken
                    // back, the next call would have to ask anew.
                    self.by_call.remove(&open.bound);
                }
                Ok(vec![decide, Effect::Reindex, Effect::Wake(id)])
            }
        }
    }

    fn consumed(&mut self, id: &ApprovalId) -> Vec<Effect> {
        match self.remove(id) {
            Some(_) => vec![Effect::Reindex, Effect::Wake(id.clone())],
            None => Vec::new(),
        }
    }

    fn close(&mut self, why: Voided, over: impl Fn(&Approval) -> bool) -> Vec<Effect> {
        let mut ids: Vec<ApprovalId> = self
            .open
            .values()
            .filter(|open| over(open))
            .map(|open| open.id.clone())
            .collect();
        ids.sort_unstable();
        let mut effects = Vec::new();
        let mut reindex = false;
        for id in ids {
            let Some(gone) = self.remove(&id) else {
                continue;
            };
            reindex |= gone.state == State::Granted;
            // The row of a denial says so already.
            if gone.state != State::Denied {
                let gone = Box::new(gone);
                effects.push(Effect::Close { gone, why });
                effects.push(Effect::Wake(id));
            }
        }
        if reindex {
            effects.push(Effect::Reindex);
        }
        effects
    }

    fn remove(&mut self, id: &ApprovalId) -> Option<Approval> {
        let gone = self.open.remove(id)?;
        if self.by_call.get(&gone.bound) == Some(id) {
            self.by_call.remove(&gone.bound);
        }
        Some(gone)
    }

    fn pending(&self, of: Option<&ClientId>) -> usize {
        self.open
            .values()
            .filter(|open| open.state == State::Pending)
            .filter(|open| of.is_none_or(|client| open.bound.client == *client))
            .count()
    }
}
