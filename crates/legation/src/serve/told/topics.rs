//! What the servers behind the hub offer to tell of.

use std::sync::{Arc, Weak};

use legation_core::ServerName;
use legation_events::{ServerTopic, Topics};
use legation_gate::Gate;
use legation_servers::feeds::Offers;
use legation_wire::json::Object;

/// See the module.
#[derive(Debug)]
pub(super) struct HubTopics {
    offers: Arc<Offers>,
    /// Weak, because the gate's owner owns this.
    gate: Weak<Gate>,
}

// === impl HubTopics ===

impl HubTopics {
    pub(super) fn new(offers: &Arc<Offers>, gate: &Arc<Gate>) -> Self {
        Self {
            offers: Arc::clone(offers),
            gate: Arc::downgrade(gate),
        }
    }
}

impl Topics for HubTopics {
    fn all(&self) -> Vec<ServerTopic> {
        let Some(gate) = self.gate.upgrade() else {
            return Vec::new();
        };
        let all = self.offers.all().into_iter();
        let topics = all.map(|(server, offer)| {
            let schema = offer.payload_schema.and_then(|schema| schema.to_object());
            let clean = |schema: Object| gate.cleaned(&server, &offer.name, schema).to_raw();
            ServerTopic {
                payload_schema: schema.map(clean),
                name: offer.name.as_str().into(),
                server: server.clone(),
            }
        });
        topics.collect()
    }

    fn is_offered(&self, server: &ServerName, name: &str) -> Option<bool> {
        self.offers.is_offered(server, name)
    }
}
