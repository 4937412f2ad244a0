//! What stands behind the native servers in tests: one server, `files`.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_core::{
    Caller, Cancel, ClientId, OpContext, Principal, SeatId, ServerName, TaskHandle, Via,
};
use legation_gate::policy::{Origin, Permitted, Target};
use legation_gate::{
    Ask, Call, Description, Endpoint, Entry, HubEvent, Item, ListKind, Listing, Outcome, Peer,
    Resolve, ServerSet, Subscription, TaskVerb, Unresolved,
};
use legation_wire::caps::{ClientCapabilities, ServerCapabilities};
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;
use tokio::sync::broadcast;

#[derive(Debug)]
pub(super) struct Others(pub(super) Arc<Listing>);

pub(super) fn entry(name: &str, description: &str) -> Entry {
    Entry {
        server: ServerName::parse("files").unwrap(),
        item: name.into(),
        raw: Raw::from_serialize(&serde_json::json!({"name": name, "description": description})),
        trusted: true,
        origin: Origin::User,
        read_only_hint: false,
        entity: None,
        native: None,
        fingerprint: None,
    }
}

pub(crate) fn context() -> OpContext {
    let principal = Principal {
        client: ClientId::new("agent"),
        via: Via::Socket,
    };
    let caller = Caller {
        principal,
        seat: SeatId::new("seat"),
        workspace: None,
    };
    OpContext::new(caller, Cancel::new())
}

/// A client that cannot be asked.
#[derive(Debug)]
struct Silent(ClientCapabilities);

pub(crate) fn silent() -> Arc<dyn Peer> {
    Arc::new(Silent(ClientCapabilities::default()))
}

impl Peer for Silent {
    fn revision(&self) -> Revision {
        Revision::V2025_11_25
    }
    fn capabilities(&self) -> &ClientCapabilities {
        &self.0
    }
    fn ask(&self, ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        panic!("asked: {ask:?}")
    }
}

fn nothing<T>() -> Result<T, Unresolved> {
    Err(Unresolved::Unknown {
        what: "tool",
        name: "of others".into(),
    })
}

impl ServerSet for Others {
    fn resolve(&self, _: &Caller, _: &Endpoint, _: &Item) -> Resolve {
        Resolve::Ready(nothing())
    }
    fn call(&self, _: OpContext, _: Permitted, _: Call) -> BoxFuture<'static, Outcome> {
        Box::pin(std::future::pending())
    }
    fn task_target(&self, _: &Caller, _: &TaskHandle) -> Result<Target, Unresolved> {
        nothing()
    }
    fn task(
        &self,
        _: OpContext,
        _: Permitted,
        _: TaskHandle,
        _: TaskVerb,
        _: Arc<dyn Peer>,
    ) -> BoxFuture<'static, Outcome> {
        Box::pin(std::future::pending())
    }
    fn tasks(&self, _: &Caller) -> Vec<TaskHandle> {
        Vec::new()
    }
    fn listing(&self, _: &Caller, _: &Endpoint, _: ListKind) -> Result<Arc<Listing>, Unresolved> {
        Ok(Arc::clone(&self.0))
    }
    fn describe(&self, _: &Caller, _: &Endpoint) -> Result<Description, Unresolved> {
        Ok(Description {
            capabilities: ServerCapabilities::default(),
            instructions: Some("theirs".to_owned()),
        })
    }
    fn covers(&self, _: &Caller, _: &Endpoint, _: &ServerName) -> bool {
        false
    }
    fn entity(&self, _: &Caller, _: &ServerName) -> Option<legation_core::EntityId> {
        None
    }
    fn subscribe(&self, _: &Caller, _: &Permitted) -> Subscription {
        Subscription::new(())
    }
    fn seat_opened(&self, _: &Caller, _: Arc<dyn Peer>) {}
    fn roots_changed(&self, _: &Caller) {}
    fn seat_closed(&self, _: &Caller) {}
    fn events(&self) -> broadcast::Receiver<HubEvent> {
        broadcast::channel(1).1
    }
}
