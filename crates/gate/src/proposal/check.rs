//! What the record knows of proposals: see [`crate::approval`]'s own check.

use legation_core::ProposalId;
use legation_ledger::Named;
use legation_policy::registry::{EventName, ReasonCode};
use legation_store::ProposalState;

use super::{Proposal, Proposals};
use crate::approval::ApprovalEvent;
use crate::journal::{About, Happened};

/// Events after which a proposal allows nothing.
const CLOSING: [EventName; 4] = [
    EventName::ProposalApplied,
    EventName::ProposalRejected,
    EventName::ProposalExpired,
    EventName::ProposalVoided,
];

impl Proposals {
    /// When the oldest of what is certified was made.
    pub(crate) fn oldest_ms(&self) -> Option<i64> {
        let open = self.lock();
        let certified = open.values().filter(|open| open.certified.is_some());
        certified.map(|open| open.created_ms).min()
    }

    /// Takes out what the records say is over.
    pub(crate) fn check_against(&self, named: &Named) {
        for record in &named.records {
            let event = record.event.as_deref().and_then(EventName::parse);
            let closed = record.topic.is_none() || event.is_some_and(|one| CLOSING.contains(&one));
            if let Some(id) = &record.proposal
                && closed
            {
                self.put_back(&ProposalId::new(id.as_str()));
            }
        }
        if !named.whole {
            let mut open = self.lock();
            open.retain(|_, one| one.certified.is_none() || one.created_ms >= named.from_ms);
        }
    }

    /// Nothing can be checked: what was certified counts no more.
    pub(crate) fn distrust(&self) {
        self.lock().retain(|_, open| open.certified.is_none());
    }

    fn put_back(&self, id: &ProposalId) {
        let gone = {
            let mut open = self.lock();
            match open.get(id) {
                Some(found) if found.certified.is_some() => open.remove(id),
                _ => None,
            }
        };
        if gone.is_none() {
            return;
        }
        drop(
            self.store
                .proposal_state(id.as_str(), ProposalState::Voided),
        );
        self.approvals.report(format!(
            "proposal {id} was applied or closed before, and its row was put back; it is not honoured"
        ));
    }

    /// Has it recorded that a proposal moved on.
    pub(super) fn happened(&self, event: EventName, proposal: &Proposal) {
        self.approvals.tell(ApprovalEvent::OthersChanged);
        let bound = &proposal.bound;
        let text = match (event, &proposal.certified) {
            (EventName::ProposalMade, _) => "it waits for a person's certificate".to_owned(),
            (EventName::ProposalExpired, _) => "nobody applied it in time".to_owned(),
            (EventName::ProposalVoided, _) => "other rules are in force".to_owned(),
            (_, Some((how, _))) => format!("certified by {how}"),
            (_, None) => "not certified".to_owned(),
        };
        self.approvals.journal().add(Happened {
            entity: bound.entity.clone(),
            client: Some(bound.client.clone()),
            tool: Some(format!("{}/{}", bound.server, bound.item).into()),
            about: Some(About::Proposal(proposal.id.as_str().into())),
            reason: match event {
                EventName::ProposalMade => Some(ReasonCode::CertificationRequired),
                EventName::ProposalRejected => Some(ReasonCode::ApprovalDenied),
                EventName::ProposalExpired => Some(ReasonCode::ApprovalExpired),
                EventName::ProposalVoided => Some(ReasonCode::ProposalVoided),
                _ => None,
            },
            ..Happened::new(event, &text)
        });
    }
}
