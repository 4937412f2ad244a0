//! What the book's events lead to: rows, records, and waking who waits.

use std::sync::Arc;

use legation_core::ApprovalId;
use legation_policy::registry::{EventName, ReasonCode};
use legation_policy::{GrantId, GrantIndex};
use legation_store::{ApprovalState, StoreError};

use super::book::{Effect, Event};
use super::granted::{lasting, once};
use super::shell::Held;
use super::{
    Answer, AnswerError, Answered, Approval, ApprovalEvent, Approvals, Lasting, NotOpen, Voided,
    row,
};
use crate::journal::{About, Happened};

impl Approvals {
    /// Does what an event leads to. A write that fails takes the approval out
    /// of the book: what is not on record does not count.
    pub(super) fn handle(&self, held: &mut Held, event: Event) -> Result<(), AnswerError> {
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
                    Ok(true) => {
                        self.happened(EventName::ApprovalRequested, approval);
                        self.tell(ApprovalEvent::Asked(id));
                    }
                    // Thirty random bits met a row of old.
                    Ok(false) => return Err((id, NotOpen::Full.into())),
                    Err(error) => return Err((id, error)),
                }
            }
            Effect::Decide { id, answered } => match self.decide(held, &id, &answered) {
                Ok(true) => {
                    if let Some(open) = held.book.get(&id) {
                        let event = match answered.answer {
                            Answer::Deny => EventName::ApprovalDenied,
                            _ => EventName::ApprovalGranted,
                        };
                        self.happened(event, open);
                    }
                    self.tell(ApprovalEvent::Answered(id, answered.answer));
                }
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
                    if let Some(lasting) = held.lasting.remove(&grant) {
                        self.grant_happened(EventName::GrantRemoved, &lasting);
                    }
                    self.store
                        .grant_remove(grant.as_str())
                        .map_err(|error| (id.clone(), AnswerError::NotKept(error)))?;
                }
            }
            Effect::Close { gone, why } => {
                let (to, event) = match why {
                    Voided::Expired => (ApprovalState::Expired, EventName::ApprovalExpired),
                    Voided::Policy => (ApprovalState::Voided, EventName::ApprovalVoided),
                };
                let now_ms = self.now_ms();
                let closed = self
                    .store
                    .approval_decide(gone.id.as_str(), to, why.as_str(), now_ms);
                // It has left the book already; a row that stays open is dated.
                if let Err(error) = closed {
                    tracing::warn!(error = %legation_core::error::chain(&error), "an approval's row stays open");
                }
                self.happened(event, &gone);
                self.tell(ApprovalEvent::Closed(gone.id));
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
            self.grant_happened(EventName::GrantAdded, &lasting);
            held.lasting.insert(lasting.grant.id.clone(), lasting);
        }
        Ok(held_it)
    }

    pub(super) fn reindex(&self, held: &Held) {
        let once = held.book.iter().filter_map(once);
        let lasting = held.lasting.values().map(|lasting| lasting.grant.clone());
        let index = GrantIndex::new(once.chain(lasting), self.store.grant_generation());
        self.index.store(Arc::new(index));
        self.tell(ApprovalEvent::GrantsChanged);
    }

    /// Has it recorded that an approval moved on.
    fn happened(&self, event: EventName, approval: &Approval) {
        let bound = &approval.bound;
        let by = approval.answered.as_ref();
        let text = match (event, by) {
            (EventName::ApprovalRequested, _) => "a person is asked".to_owned(),
            (EventName::ApprovalExpired, _) => "nobody used it in time".to_owned(),
            (EventName::ApprovalVoided, _) => "other rules are in force".to_owned(),
            (_, Some(by)) => format!("{} by {}", by.answer, by.channel.as_str()),
            (_, None) => "it moved on".to_owned(),
        };
        self.journal.add(Happened {
            entity: bound.entity.clone(),
            client: Some(bound.client.clone()),
            tool: Some(format!("{}/{}", bound.server, bound.item).into()),
            about: Some(About::Approval(approval.id.as_str().into())),
            reason: match event {
                EventName::ApprovalRequested => Some(ReasonCode::ApprovalPending),
                EventName::ApprovalDenied => Some(ReasonCode::ApprovalDenied),
                EventName::ApprovalExpired => Some(ReasonCode::ApprovalExpired),
                EventName::ApprovalVoided => Some(ReasonCode::ApprovalVoided),
                _ => None,
            },
            ..Happened::new(event, &text)
        });
    }

    /// Has it recorded that a grant was made or taken back.
    pub(super) fn grant_happened(&self, event: EventName, lasting: &Lasting) {
        let grant = &lasting.grant;
        let text = format!("{} by {}", grant.scope.as_str(), grant.approver);
        self.journal.add(Happened {
            entity: grant.entity.clone(),
            client: Some(grant.client.clone()),
            tool: Some(format!("{}/{}", grant.server, grant.item).into()),
            about: Some(About::Grant(grant.id.as_str().into())),
            ..Happened::new(event, &text)
        });
    }
}
