//! Whether the ledger agrees with what the rows say is open.
//!
//! A MAC proves that the hub wrote a row, not that it has not written another
//! since: who owns the database can put an old row back, byte for byte. The
//! record that used an approval up, or the note that closed it, cannot be taken
//! back in the same way, so a row that they contradict is not honoured.

use legation_core::{ApprovalId, EntityId};
use legation_ledger::Named;
use legation_policy::GrantId;
use legation_policy::registry::EventName;
use legation_store::ApprovalState;

use super::book::Event;
use super::{Approvals, State};
use crate::journal::Happened;

/// Events after which an approval allows nothing.
const CLOSING: [EventName; 3] = [
    EventName::ApprovalDenied,
    EventName::ApprovalExpired,
    EventName::ApprovalVoided,
];

impl Approvals {
    /// When the oldest of what allows something was made.
    pub(crate) fn oldest_ms(&self) -> Option<i64> {
        let held = self.lock();
        let open = held.book.iter().filter(|open| open.state == State::Granted);
        let open = open.map(|open| open.created_ms);
        let lasting = held.lasting.values().map(|lasting| lasting.created_ms);
        open.chain(lasting).min()
    }

    /// Takes out what the records say is over.
    pub(crate) fn check_against(&self, named: &Named) {
        for record in &named.records {
            let event = record.event.as_deref().and_then(EventName::parse);
            // An intent has no topic; a note has.
            let used = record.topic.is_none();
            if let Some(id) = &record.approval
                && (used || event.is_some_and(|event| CLOSING.contains(&event)))
            {
                self.over(&ApprovalId::new(id.as_str()), used);
            }
            if let (Some(id), Some(EventName::GrantRemoved)) = (&record.grant, event) {
                self.grant_over(&GrantId::new(id.as_str()));
            }
        }
        if !named.whole {
            self.unchecked(named.from_ms);
        }
    }

    /// Nothing can be checked: what was granted before counts no more until the
    /// hub starts with a ledger that can be read.
    pub(crate) fn distrust(&self, why: &str) {
        self.report(format!(
            "the record cannot be compared with what is approved, so no approval of before is honoured: {why}"
        ));
        let mut held = self.lock();
        let granted: Vec<ApprovalId> = held
            .book
            .iter()
            .filter(|open| open.state == State::Granted)
            .map(|open| open.id.clone())
            .collect();
        for id in granted {
            drop(held.book.handle(Event::Superseded(id)));
        }
        held.lasting.clear();
        self.reindex(&held);
    }

    /// Whether an approval was used up before, whatever its row says now.
    pub(crate) fn is_spent(&self, id: &ApprovalId) -> bool {
        self.lock().spent.contains_key(id)
    }

    /// A row was used after it had been used before; somebody put it back.
    pub(crate) fn replayed(&self, id: &ApprovalId) {
        self.over(id, true);
    }

    fn over(&self, id: &ApprovalId, used: bool) {
        let mut held = self.lock();
        let expires_ms = match held.book.get(id) {
            Some(open) if open.state == State::Granted => open.expires_ms,
            _ => return,
        };
        if used {
            held.spent.insert(id.clone(), expires_ms);
        }
        drop(held.book.handle(Event::Superseded(id.clone())));
        self.reindex(&held);
        drop(held);
        let how = if used { "used" } else { "closed" };
        // The row is closed again; that it cannot be written changes nothing here.
        let voided = ApprovalState::Voided;
        drop(
            self.store
                .approval_decide(id.as_str(), voided, "put back", self.now_ms()),
        );
        self.put_back(&format!("approval {id} was {how} before"));
    }

    fn grant_over(&self, id: &GrantId) {
        let mut held = self.lock();
        if held.lasting.remove(id).is_none() {
            return;
        }
        self.reindex(&held);
        drop(held);
        drop(self.store.grant_remove(id.as_str()));
        self.put_back(&format!("grant {} was taken back before", id.as_str()));
    }

    fn put_back(&self, what: &str) {
        let text = format!("{what}, and its row was put back; it is not honoured");
        self.journal.add(Happened {
            entity: EntityId::personal(),
            reason: Some(legation_policy::registry::ReasonCode::ApprovalUsed),
            ..Happened::new(EventName::ApprovalVoided, &text)
        });
        self.report(text);
    }

    /// The ledger is longer than is read at a start. An approval from before
    /// what was read is asked for anew; a grant that lasts stays.
    fn unchecked(&self, from_ms: i64) {
        let mut held = self.lock();
        let unknown: Vec<ApprovalId> = held
            .book
            .iter()
            .filter(|open| open.state == State::Granted && open.created_ms < from_ms)
            .map(|open| open.id.clone())
            .collect();
        for id in unknown {
            tracing::warn!(approval = %id, "too much was recorded since it was granted to check that it was not used; it is asked for anew");
            drop(held.book.handle(Event::Superseded(id)));
        }
        self.reindex(&held);
    }
}
