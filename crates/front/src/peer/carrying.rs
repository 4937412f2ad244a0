//! A client whose request is about a task: what the task brings has somebody who
//! wants to know when it was written out, as a call's result has.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use legation_gate::{Ask, Delivery, Peer};
use legation_wire::caps::ClientCapabilities;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;

use crate::outgoing::Deliveries;

/// See the module.
#[derive(Debug)]
pub(crate) struct Carrying {
    peer: Arc<dyn Peer>,
    deliveries: Mutex<Deliveries>,
}

// === impl Carrying ===

impl Carrying {
    pub(crate) fn new(peer: Arc<dyn Peer>) -> Self {
        Self {
            peer,
            deliveries: Mutex::default(),
        }
    }

    /// Who wants to know of the answer.
    pub(crate) fn deliveries(&self) -> Deliveries {
        super::take(&self.deliveries)
    }
}

impl Peer for Carrying {
    fn revision(&self) -> Revision {
        self.peer.revision()
    }

    fn capabilities(&self) -> &ClientCapabilities {
        self.peer.capabilities()
    }

    fn client_info(&self) -> Option<Raw> {
        self.peer.client_info()
    }

    fn takes_input_required(&self) -> bool {
        self.peer.takes_input_required()
    }

    fn log_level(&self) -> Option<Box<str>> {
        self.peer.log_level()
    }

    fn wants_progress(&self) -> bool {
        self.peer.wants_progress()
    }

    fn progress(&self, params: Object) {
        self.peer.progress(params);
    }

    fn log(&self, params: Raw) {
        self.peer.log(params);
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        self.peer.ask(ask)
    }

    fn deliver(&self, delivery: Box<dyn Delivery>) {
        super::put(&self.deliveries, delivery);
    }
}
