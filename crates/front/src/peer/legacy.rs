//! A client that shook hands: it is asked by real requests on the stream of the
//! call, under ids of the hub's that mean something in its session only.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use legation_gate::{Ask, Delivery, Peer};
use legation_wire::caps::ClientCapabilities;
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::{ErrorObject, Message};
use legation_wire::revision::Revision;
use legation_wire::translate::{self, ElicitMode};

use crate::outbox::{Outbox, Weight};
use crate::outgoing::Deliveries;
use crate::session::{Question, Session};

/// See the module.
#[derive(Debug)]
pub(crate) struct LegacyPeer {
    session: Arc<Session>,
    outbox: Arc<Outbox>,
    revision: Revision,
    capabilities: Arc<ClientCapabilities>,
    token: Option<Raw>,
    deliveries: Mutex<Deliveries>,
}

// === impl LegacyPeer ===

impl LegacyPeer {
    /// A peer that speaks through `outbox`; `token` is the client's progress token.
    pub(crate) fn new(session: &Arc<Session>, outbox: &Arc<Outbox>, token: Option<Raw>) -> Self {
        Self {
            session: Arc::clone(session),
            outbox: Arc::clone(outbox),
            revision: session.revision(),
            capabilities: session.capabilities(),
            token,
            deliveries: Mutex::default(),
        }
    }

    /// Who wants to know of the call's answer.
    pub(crate) fn deliveries(&self) -> Deliveries {
        super::take(&self.deliveries)
    }

    /// The request as this client's revision has it.
    fn request(&self, ask: &Ask, id: &legation_wire::message::Id) -> Result<Message, ErrorObject> {
        let params = if &*ask.method == "elicitation/create" {
            let own_id = format!("legation-{id}");
            translate::elicit_for_legacy(Some(&ask.params), self.revision, &own_id)
                .map_err(|error| ErrorObject::new(codes::METHOD_NOT_FOUND, &error.to_string()))?
        } else {
            Some(ask.params.clone())
        };
        Ok(Message::request(id.clone(), &ask.method, params))
    }
}

impl Peer for LegacyPeer {
    fn revision(&self) -> Revision {
        self.revision
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn client_info(&self) -> Option<Raw> {
        self.session.info()
    }

    fn log_level(&self) -> Option<Box<str>> {
        self.session.level().map(|level| level.as_str().into())
    }

    fn wants_progress(&self) -> bool {
        self.token.is_some()
    }

    fn progress(&self, params: Object) {
        if let Some(token) = &self.token {
            super::send_progress(&self.outbox, token, params);
        }
    }

    fn log(&self, params: Raw) {
        super::send_log(&self.outbox, self.session.level(), params);
    }

    fn deliver(&self, delivery: Box<dyn Delivery>) {
        super::put(&self.deliveries, delivery);
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        let url = translate::elicit_mode(Some(&ask.params)) == ElicitMode::Url;
        if !self.capabilities.allows(&ask.method, url) {
            return futures_util::future::ready(Err(undeclared(&ask.method))).boxed();
        }
        let (id, answer) = self.session.ask();
        let question = Question::new(
            Arc::clone(&self.session),
            Arc::clone(&self.outbox),
            id.clone(),
        );
        let request = match self.request(&ask, &id) {
            Ok(request) => request,
            Err(error) => return futures_util::future::ready(Err(error)).boxed(),
        };
        let sent = self.outbox.push(request.to_bytes(), Weight::Needed);
        async move {
            let answer = if sent { answer.await.ok() } else { None };
            drop(question);
            answer.unwrap_or_else(|| Err(gone()))
        }
        .boxed()
    }
}

/// The answer of a client that did not say it can be asked this.
pub(super) fn undeclared(method: &str) -> ErrorObject {
    ErrorObject::new(
        codes::METHOD_NOT_FOUND,
        &format!("the client did not declare that it answers {method}"),
    )
}

/// The answer of a client that cannot answer any more.
pub(super) fn gone() -> ErrorObject {
    ErrorObject::new(
        codes::INTERNAL_ERROR,
        "the client is gone; the question has no answer",
    )
}
