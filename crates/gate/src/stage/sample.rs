//! A server's wish to use the client's model, which is a call of its own.
//!
//! It stands around the road back to the client, so that no host can put such a
//! question past the rules. For a client that may not read what the call is about
//! as it is, that road is closed: what a server says on the way of a call is not
//! redacted, so it does not pass at all. The answers that come back along it are
//! arguments in all but name, and are restored and redacted like them.

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use legation_core::OpContext;
use legation_policy::{Clearance, Permitted, Target, Verb};
use legation_wire::caps::ClientCapabilities;
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;

use crate::stage::delegate::Delegation;
use crate::{Ask, Delivery, Gate, Peer};

/// The method that asks for a model.
const METHOD: &str = "sampling/createMessage";

/// A client whose model is guarded.
pub(crate) struct Guarded {
    pub(crate) gate: Arc<Gate>,
    pub(crate) context: OpContext,
    pub(crate) target: Target,
    /// For whom the call is made: a wish on its way is judged for both, too.
    delegation: Delegation,
    pub(crate) peer: Arc<dyn Peer>,
    /// The client may not read the call's data as it is.
    closed: bool,
    /// What it can be asked, with a model of the hub's where it has none.
    sampled: Option<ClientCapabilities>,
}

/// Guards the model of a client that has one to offer or is lent the hub's, and a client that is
/// not cleared for what it calls.
pub(crate) fn guard(
    gate: &Arc<Gate>,
    context: &OpContext,
    permitted: &Permitted,
    delegation: Delegation,
    peer: Arc<dyn Peer>,
) -> Arc<dyn Peer> {
    let labels = permitted.labels();
    let client = &permitted.principal().client;
    let rules = gate.in_force();
    let closed = !labels.is_empty() && rules.clearance(client, labels) != Clearance::Cleared;
    let asked = peer.capabilities();
    let answers = (asked.elicitation_form || asked.elicitation_url) && gate.redacts();
    let lends = || gate.sampler_under(&rules).is_some();
    let sampled = (!closed && !asked.sampling && lends()).then(|| ClientCapabilities {
        sampling: true,
        ..asked.clone()
    });
    if !closed && !asked.sampling && !answers && sampled.is_none() {
        return peer;
    }
    let target = permitted.target().clone();
    Arc::new(Guarded {
        gate: Arc::clone(gate),
        context: context.clone(),
        target,
        delegation,
        peer,
        closed,
        sampled,
    })
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guarded").field(&self.peer).finish()
    }
}

impl Peer for Guarded {
    fn revision(&self) -> Revision {
        self.peer.revision()
    }

    fn capabilities(&self) -> &ClientCapabilities {
        let own = self.sampled.as_ref();
        own.unwrap_or_else(|| self.peer.capabilities())
    }

    fn answers_itself(&self, method: &str) -> bool {
        method == METHOD && self.sampled.is_some()
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

    fn result_max(&self) -> Option<usize> {
        self.peer.result_max()
    }

    fn progress(&self, params: Object) {
        if !self.closed {
            self.peer.progress(params);
        }
    }

    fn partial(&self, bytes: u64) {
        self.peer.partial(bytes);
    }

    fn log(&self, params: Raw) {
        if !self.closed {
            self.peer.log(params);
        }
    }

    fn deliver(&self, delivery: Box<dyn Delivery>) {
        self.peer.deliver(delivery);
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        if self.closed {
            let refused = ErrorObject::new(
                codes::REFUSED,
                "this client may not see the data of this call as it is, so it was not asked",
            );
            return std::future::ready(Err(refused)).boxed();
        }
        let samples = &*ask.method == METHOD;
        if !samples && !self.gate.redacts() {
            return self.peer.ask(ask);
        }
        let gate = Arc::clone(&self.gate);
        let (context, target) = (self.context.clone(), self.target.clone());
        let (delegation, peer) = (self.delegation.clone(), Arc::clone(&self.peer));
        async move {
            let answer = if samples {
                let sampled = Target {
                    verb: Verb::Sample,
                    ..target.clone()
                };
                gate.sample(&context, (sampled, &delegation), peer, ask)
                    .await?
            } else {
                peer.ask(ask).await?
            };
            gate.prepared_answer(&context, &target, answer)
        }
        .boxed()
    }
}
