//! Servers of the hub's own under a name of the configuration's (`type: memory`).
//!
//! The host lists them, names their tools and switches them on and off like every other
//! server. What is called is the native server itself, as if its own name had been used:
//! rules, records and whose data it is go by that, so no entry can lend it another name
//! to get around them. Calls therefore never come here, and the port below answers
//! nothing but lists. Resources are left out: their addresses are the native server's
//! already, whoever lists them.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_core::ServerName;
use legation_gate::policy::{Target, Verb};
use legation_gate::{Entry, ListKind, definition_hash};
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;

use crate::port::{
    About, AskKey, CallEvent, DialError, EventSource, Exchange, ListenWish, Order, Port, PortEvent,
    Ready,
};

/// What a server of the hub's own offers, under its own names.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    /// Its tools.
    pub tools: Vec<Entry>,
    /// Its prompts.
    pub prompts: Vec<Entry>,
    /// What it wants models to know.
    pub instructions: Option<&'static str>,
}

/// What each of them offers.
pub(crate) type Offers = BTreeMap<ServerName, Arc<Offer>>;

#[derive(Debug)]
struct Lists(Arc<Offer>);

/// The answer, until somebody has it.
struct Answer(Option<Result<Raw, ErrorObject>>);

#[derive(Debug)]
struct Nothing;

/// A connection to a server of the hub's own.
pub(crate) fn ready(name: &ServerName, offer: Option<&Arc<Offer>>) -> Result<Ready, DialError> {
    let offer = offer.ok_or_else(|| {
        DialError::Misconfigured(format!(
            "this hub does not run its own server {name}: it is switched off, or what it needs is not set up"
        ))
    })?;
    let mut capabilities = Object::new().with("tools", Raw::empty_object());
    if !offer.prompts.is_empty() {
        capabilities.set("prompts", Raw::empty_object());
    }
    Ok(Ready {
        port: Arc::new(Lists(Arc::clone(offer))),
        events: Box::new(Nothing),
        about: About {
            revision: Revision::V2026_07_28,
            capabilities,
            server_info: None,
            instructions: offer.instructions.map(str::to_owned),
        },
        pid: None,
    })
}

/// What is decided about and called in the place of an entry: the native server's own.
pub(crate) fn target(own: &Entry, verb: Verb) -> Target {
    Target {
        server: own.server.clone(),
        verb,
        item: own.item.clone(),
        definition: (verb == Verb::CallTool).then(|| definition_hash(&own.raw)),
        read_only_hint: own.read_only_hint,
        trusted: own.trusted,
        origin: own.origin.clone(),
        entity: own.entity.clone(),
        pin: legation_gate::policy::PinState::Approved,
        native: own.native,
        fingerprint: own.fingerprint,
    }
}

// === impl Offer ===

impl Offer {
    /// The entry of a list with that name.
    pub(crate) fn entry(&self, kind: ListKind, name: &str) -> Option<&Entry> {
        self.list(kind).iter().find(|entry| *entry.item == *name)
    }

    fn list(&self, kind: ListKind) -> &[Entry] {
        match kind {
            ListKind::Tools => &self.tools,
            ListKind::Prompts => &self.prompts,
            ListKind::Resources | ListKind::Templates | ListKind::Skills => &[],
        }
    }
}

// === impl Lists ===

impl Port for Lists {
    fn open(&self, order: Order) -> Box<dyn Exchange> {
        let mut kinds = ListKind::ALL.into_iter();
        let answer = match kinds.find(|kind| kind.method() == order.method) {
            Some(kind) => {
                let entries = self.0.list(kind).iter().map(|entry| &entry.raw);
                let list = Object::new().with(kind.member(), Raw::array(entries));
                Ok(list.to_raw())
            }
            None => {
                let why = "a server of the hub's own is called by the hub itself";
                Err(ErrorObject::new(codes::METHOD_NOT_FOUND, why))
            }
        };
        Box::new(Answer(Some(answer)))
    }

    fn notify(&self, _method: &'static str, _params: Option<Raw>) {}

    fn listen(&self, _wish: ListenWish) {}

    fn answer(&self, _key: AskKey, _answer: Result<Raw, ErrorObject>) {}

    fn stop(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

// === impl Answer ===

impl Exchange for Answer {
    fn next(&mut self) -> BoxFuture<'_, CallEvent> {
        let event = match self.0.take() {
            Some(answer) => CallEvent::Done(answer),
            None => CallEvent::Lost("it has been answered".to_owned()),
        };
        Box::pin(std::future::ready(event))
    }

    fn answer(&mut self, _key: AskKey, _answer: Result<Raw, ErrorObject>) {}
}

// === impl Nothing ===

impl EventSource for Nothing {
    fn next(&mut self) -> BoxFuture<'_, Option<PortEvent>> {
        // What it offers never changes, and it ends with the hub.
        Box::pin(std::future::pending())
    }
}
