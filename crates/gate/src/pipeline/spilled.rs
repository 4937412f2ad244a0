//! Large results, put aside and read again.

use legation_ledger::{Detail, Durability, Intent, OutcomeRecord, Status};
use legation_policy::registry::EventName;
use legation_policy::{Clearance, Question};

use super::*;
use crate::journal::ALLOWED;
use crate::spill::{self, Kept, Spills};
use crate::{Resolve, Unresolved};

/// How much of a result goes out at once.
#[derive(Debug, Clone, Copy)]
pub(super) enum Room {
    /// As much as its server may send, and no more than who called wants, if that is less.
    Bounded(Option<usize>),
    /// All of it: its shape is not one that can be read on.
    Whole,
}

/// The rule under which a caller reads on in what it was given.
const RULE: &str = "spill.own";

impl Room {
    /// The room for the answer to a request for this, of a client that wants at most so much.
    pub(super) fn of(item: &Item, most: Option<usize>) -> Self {
        match item {
            Item::Skill(_) | Item::Directory(_) => Self::Whole,
            Item::Tool(_)
            | Item::Resource(_)
            | Item::Prompt(_)
            | Item::PromptArgument(_)
            | Item::ResourceArgument(_) => Self::Bounded(most),
        }
    }
}

impl Gate {
    /// With a place for results too large for one message; without it they are
    /// sent whole.
    #[must_use]
    pub fn with_spills(mut self, spills: Spills) -> Self {
        self.spills = Some(spills);
        self
    }

    /// Puts the text of a result aside that is larger than its server may send, or
    /// than whoever called wants to read at once.
    pub(super) fn put_aside(
        &self,
        context: &OpContext,
        receipt: &Receipt,
        outcome: Outcome,
        room: Room,
    ) -> Outcome {
        let (Some(spills), Outcome::Complete(raw), Room::Bounded(most)) =
            (&self.spills, &outcome, room)
        else {
            return outcome;
        };
        let target = receipt.target();
        let limit = self.cleaning.load().limit(&target.server, &target.item);
        let limit = most.map_or(limit, |most| limit.min(most));
        if raw.as_bytes().len() <= limit
            || !matches!(
                target.verb,
                Verb::CallTool | Verb::ReadResource | Verb::TaskUpdate
            )
        {
            return outcome;
        }
        let client = &receipt.principal().client;
        let cleared = self.rules.load().clearance(client, receipt.labels());
        let redacted = !receipt.labels().is_empty() && cleared != Clearance::Cleared;
        match spills.put_aside(&context.caller, receipt, (redacted, limit), raw) {
            Some(stub) => Outcome::Complete(stub),
            None => outcome,
        }
    }

    /// Reads a page of a result that the caller was given. The call behind it
    /// was decided on what it carried; what is read now must only still be
    /// allowed to this client at all.
    pub(super) async fn page(&self, context: &OpContext, uri: &str) -> Result<Outcome, Refusal> {
        self.asking.rates.poll(&context.caller.principal.client)?;
        let unknown = || {
            Refusal::Unresolved(Unresolved::Unknown {
                what: "resource",
                name: uri.into(),
            })
        };
        let spills = self.spills.as_ref().ok_or_else(unknown)?;
        let found = spills.find(&context.caller, uri);
        let found = match found {
            Ok((kept, page)) if self.may_still(context, &kept).await => Some((kept, page)),
            _ => None,
        };
        let Some((kept, page)) = found else {
            let subject = (Verb::ReadResource, None, uri);
            return Err(self.refuse(context, subject, None, unknown()).await);
        };
        let server = kept.server().ok_or_else(unknown)?;
        let (entity, labels) = (kept.entity(), kept.labels());
        let principal = &context.caller.principal;
        let intent = Intent {
            call: self.ledger.next_call(),
            entity: &entity,
            client: &principal.client,
            via: principal.via,
            server: Some(&server),
            verb: legation_ledger::Verb::ReadResource,
            item: uri,
            definition: None,
            rule: RULE,
            args: None,
            detail: Detail {
                labels: labels.as_slice(),
                event: Some(EventName::McpResourceRead.as_str()),
                governance_result: Some(ALLOWED),
                ..Detail::default()
            },
        };
        let ticket = self.ledger.intent(&intent, Durability::PageCache).await;
        let ticket = ticket.map_err(|source| Refusal::NotRecorded {
            action: uri.into(),
            source,
        })?;
        let status = match spills.page(uri, &kept, page) {
            Ok(text) => {
                let result = spill::contents(uri, &text);
                let outcome = Outcome::Complete(result);
                stage::record::outcome(&self.ledger, ticket, &outcome);
                return Ok(outcome);
            }
            Err(error) => {
                tracing::warn!(%error, "a part of a result cannot be read");
                Status::Error
            }
        };
        self.ledger.outcome(ticket, &OutcomeRecord::bare(status));
        Err(unknown())
    }

    /// Whether a client may still read what its call brought: it is cleared for
    /// it as it was kept, and could still make the call.
    async fn may_still(&self, context: &OpContext, kept: &Kept) -> bool {
        let rules = self.rules.load_full();
        let principal = &context.caller.principal;
        let labels = kept.labels();
        let cleared = match rules.clearance(&principal.client, &labels) {
            Clearance::Cleared => true,
            Clearance::Redact(_) => kept.redacted(),
            Clearance::Refused => labels.is_empty(),
        };
        let (Some(server), Some(verb)) = (kept.server(), kept.verb()) else {
            return false;
        };
        let item = match verb {
            Verb::CallTool | Verb::TaskUpdate => Item::Tool(kept.item().into()),
            _ => Item::Resource(kept.item().into()),
        };
        let endpoint = Endpoint::Server(server);
        let target = match self.servers.resolve(&context.caller, &endpoint, &item) {
            Resolve::Ready(target) => target,
            Resolve::Wait(target) => target.await,
        };
        let Ok(target) = target else {
            return false;
        };
        let question: Question<'_> = target.question();
        cleared && rules.may_ever(principal, &question)
    }
}
