//! A client without a handshake: it cannot be asked, so questions wait in a
//! queue until its call is answered with `input_required`.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use legation_gate::{Ask, Delivery, Peer};
use legation_wire::caps::ClientCapabilities;
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::meta;
use legation_wire::revision::Revision;
use legation_wire::translate::{self, ElicitMode};

use super::queue::{Queue, is_answer};
use crate::outbox::Outbox;
use crate::outgoing::Deliveries;
use crate::speaker::Modern;

/// In a question's `_meta`: the key its server would like it to go by.
const INPUT_KEY: &str = "io.legation/inputKey";

/// See the module.
#[derive(Debug)]
pub(crate) struct ModernPeer {
    modern: Arc<Modern>,
    road: Mutex<Road>,
    /// Answers that came before they were asked for.
    given: Object,
    pub(crate) queue: Queue,
    deliveries: Mutex<Deliveries>,
}

/// Where to send what belongs to the request that is open now.
#[derive(Debug)]
struct Road {
    outbox: Arc<Outbox>,
    token: Option<Raw>,
}

// === impl ModernPeer ===

impl ModernPeer {
    pub(crate) fn new(
        modern: Arc<Modern>,
        outbox: &Arc<Outbox>,
        token: Option<Raw>,
        given: Object,
    ) -> Self {
        Self {
            modern,
            road: Mutex::new(Road {
                outbox: Arc::clone(outbox),
                token,
            }),
            given,
            queue: Queue::default(),
            deliveries: Mutex::default(),
        }
    }

    /// Who wants to know of the call's answer.
    pub(crate) fn deliveries(&self) -> Deliveries {
        super::take(&self.deliveries)
    }

    /// The client has called again: from here on its stream is another one.
    pub(crate) fn moved(&self, outbox: &Arc<Outbox>, token: Option<Raw>) {
        let mut road = self.road.lock().unwrap_or_else(PoisonError::into_inner);
        *road = Road {
            outbox: Arc::clone(outbox),
            token,
        };
    }

    /// The key its server would like a question to go by, taken out of it.
    fn hint(params: Raw) -> (Option<Box<str>>, Raw) {
        let Some(mut object) = params.to_object() else {
            return (None, params);
        };
        match meta::remove(&mut object, INPUT_KEY) {
            Some(key) => (key.to_str().map(Into::into), object.to_raw()),
            None => (None, params),
        }
    }
}

impl Peer for ModernPeer {
    fn revision(&self) -> Revision {
        self.modern.revision
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.modern.capabilities
    }

    fn client_info(&self) -> Option<Raw> {
        self.modern.info.clone()
    }

    fn takes_input_required(&self) -> bool {
        true
    }

    fn log_level(&self) -> Option<Box<str>> {
        self.modern.level.map(|level| level.as_str().into())
    }

    fn wants_progress(&self) -> bool {
        self.road
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .token
            .is_some()
    }

    fn progress(&self, params: Object) {
        let road = self.road.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = &road.token {
            super::send_progress(&road.outbox, token, params);
        }
    }

    fn log(&self, params: Raw) {
        let road = self.road.lock().unwrap_or_else(PoisonError::into_inner);
        super::send_log(&road.outbox, self.modern.level, params);
    }

    fn deliver(&self, delivery: Box<dyn Delivery>) {
        super::put(&self.deliveries, delivery);
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        let refused = |error| futures_util::future::ready(Err(error)).boxed();
        let url = translate::elicit_mode(Some(&ask.params)) == ElicitMode::Url;
        if !self.modern.capabilities.allows(&ask.method, url) {
            return refused(super::legacy::undeclared(&ask.method));
        }
        let (hint, params) = Self::hint(ask.params);
        if let Some(given) = hint.as_deref().and_then(|key| self.given.get(key))
            && is_answer(&ask.method, given)
        {
            return futures_util::future::ready(Ok(given.clone())).boxed();
        }
        match self.queue.ask(hint, ask.method, params) {
            Some(answer) => {
                async move { answer.await.unwrap_or_else(|_| Err(super::legacy::gone())) }.boxed()
            }
            None => refused(ErrorObject::new(
                codes::OVERLOADED,
                "too many questions wait for the client already",
            )),
        }
    }
}
