//! The hub's rules and ledger, for events.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use legation_core::error::chain;
use legation_core::{Caller, EntityId, EntityLabels};
use legation_events::{Access, Family, Record, Topic, What};
use legation_gate::journal::Happened;
use legation_gate::policy::Clearance;
use legation_gate::policy::registry::EventName;
use legation_gate::{Endpoint, Gate};
use legation_ledger::Ledger;

/// See the module.
#[derive(Debug)]
pub(super) struct HubAccess {
    /// Weak, because the gate's owner owns this.
    gate: Weak<Gate>,
    ledger: Arc<Ledger>,
}

// === impl HubAccess ===

impl HubAccess {
    pub(super) fn new(gate: &Arc<Gate>, ledger: &Arc<Ledger>) -> Self {
        Self {
            gate: Arc::downgrade(gate),
            ledger: Arc::clone(ledger),
        }
    }

    fn ask(&self, ask: impl FnOnce(&Gate) -> bool) -> bool {
        self.gate.upgrade().is_some_and(|gate| ask(&gate))
    }
}

impl Access for HubAccess {
    fn knows(&self, who: &Caller) -> bool {
        self.ask(|gate| gate.knows(&who.principal))
    }

    /// Whoever may read something may hear of it, and nobody else.
    fn offers(&self, who: &Caller, topic: &Topic) -> bool {
        match topic.family() {
            Family::Messages => self.ask(|gate| gate.offers(who, "inbox", "pull")),
            Family::Approvals => self.ask(|gate| gate.offers(who, "hub", "approvals")),
            // A client's own tasks are told to it by every road there is.
            Family::Tasks => true,
            // They are messages of the inbox as well.
            Family::Servers => self.ask(|gate| {
                let sees = topic
                    .server()
                    .is_some_and(|(server, _)| gate.servers().covers(who, &Endpoint::All, &server));
                sees && gate.offers(who, "inbox", "pull")
            }),
        }
    }

    fn may_know(&self, who: &Caller, entity: &EntityId) -> bool {
        self.ask(|gate| {
            let labels = EntityLabels::of(entity.clone());
            let rules = gate.rules();
            rules.clearance(&who.principal.client, &labels) != Clearance::Refused
        })
    }

    fn may_be_told(&self, who: &Caller, entity: Option<&EntityId>) -> bool {
        self.ask(|gate| gate.may_be_told(who, entity))
    }

    fn record(&self, record: Record) -> BoxFuture<'static, Result<(), String>> {
        let event = match record.what {
            What::Subscribed => EventName::EventSubscribed,
            What::Ended => EventName::EventSubscriptionEnded,
            What::Sent => EventName::EventSent,
            What::GivenUp => EventName::EventGivenUp,
        };
        let happened = Happened {
            entity: record.entity.unwrap_or_else(EntityId::personal),
            client: Some(record.client),
            ..Happened::new(event, &record.text)
        };
        let ledger = Arc::clone(&self.ledger);
        Box::pin(async move {
            let written = happened.write(&ledger).await;
            written.map_err(|error| chain(&error))
        })
    }
}
