//! A gate without servers, over a store and a ledger of its own.

use std::sync::Arc;

use legation_core::{
    Caller, ClientId, EntityId, Home, OpContext, ServerName, SystemClock, TaskHandle,
};
use legation_gate::policy::{Permitted, Policy};
use legation_gate::rate::RateLimits;
use legation_gate::redaction::Redaction;
use legation_gate::stage::KnownClients;
use legation_gate::{
    Asking, Call, Description, Endpoint, Gate, HubEvent, Item, ListKind, Listing, Outcome, Peer,
    Resolve, ServerSet, Subscription, TaskVerb, Unresolved,
};
use legation_keystore::{Key, Keystore};
use legation_ledger::{Ledger, LedgerKeys};
use legation_store::{Store, StoreOptions};
use tokio::sync::broadcast;

/// What a gate needs around it.
pub(crate) struct Hub {
    _folder: tempfile::TempDir,
    pub(crate) gate: Arc<Gate>,
    pub(crate) store: Arc<Store>,
    pub(crate) ledger: Arc<Ledger>,
}

#[derive(Debug)]
struct NoServers(broadcast::Sender<HubEvent>);

// === impl Hub ===

impl Hub {
    /// A hub under these rules, for one client.
    pub(crate) fn new(rules: Policy, client: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path());
        let clock = SystemClock::shared();
        // Nothing here outlives its test.
        let options = StoreOptions {
            sync: |_| Ok(()),
            ..StoreOptions::default()
        };
        let store = Store::open(&home.state_db(), options);
        let store = Arc::new(store.expect("a store"));
        let keys = LedgerKeys::from_bytes(&[7; 32]);
        let ledger = Ledger::open(Arc::clone(&store), keys, Arc::clone(&clock));
        let ledger = Arc::new(ledger.expect("a ledger"));
        let key = Key::from_bytes([8; 32]);
        let asking = Asking::open(&store, &key, &clock, RateLimits::default()).expect("rows");
        let keystore = Arc::new(Keystore::open(&home.keys()).expect("a keystore"));
        let gate = Gate::new(
            Arc::new(NoServers(broadcast::Sender::new(1))),
            Arc::clone(&ledger),
            rules,
            KnownClients::new([ClientId::new(client)]),
            asking,
        );
        let redaction = Redaction::new(Arc::clone(&store), keystore, clock);
        Self {
            _folder: folder,
            gate: Arc::new(gate.with_redaction(redaction)),
            store,
            ledger,
        }
    }

    /// Everything that is on record, as it stands there.
    pub(crate) async fn records(&self) -> Vec<String> {
        self.ledger.flush().await.expect("flushed");
        let entries = self.ledger.tail(100_000).expect("read");
        entries.into_iter().map(|entry| entry.text).collect()
    }
}

// === impl NoServers ===

impl ServerSet for NoServers {
    fn resolve(&self, _: &Caller, _: &Endpoint, item: &Item) -> Resolve {
        Resolve::Ready(Err(unknown(item.name())))
    }

    fn call(
        &self,
        _: OpContext,
        _: Permitted,
        _: Call,
    ) -> futures_util::future::BoxFuture<'static, Outcome> {
        unreachable!("there is no server")
    }

    fn task_target(
        &self,
        _: &Caller,
        handle: &TaskHandle,
    ) -> Result<legation_gate::policy::Target, Unresolved> {
        Err(unknown(handle.as_str()))
    }

    fn task(
        &self,
        _: OpContext,
        _: Permitted,
        _: TaskHandle,
        _: TaskVerb,
        _: Arc<dyn Peer>,
    ) -> futures_util::future::BoxFuture<'static, Outcome> {
        unreachable!("there is no server")
    }

    fn tasks(&self, _: &Caller) -> Vec<TaskHandle> {
        Vec::new()
    }

    fn listing(&self, _: &Caller, _: &Endpoint, _: ListKind) -> Result<Arc<Listing>, Unresolved> {
        Err(unknown("a list"))
    }

    fn describe(&self, _: &Caller, _: &Endpoint) -> Result<Description, Unresolved> {
        Err(unknown("an endpoint"))
    }

    fn covers(&self, _: &Caller, _: &Endpoint, _: &ServerName) -> bool {
        false
    }

    fn entity(&self, _: &Caller, _: &ServerName) -> Option<EntityId> {
        None
    }

    fn subscribe(&self, _: &Caller, _: &Permitted) -> Subscription {
        unreachable!("there is no server")
    }

    fn seat_opened(&self, _: &Caller, _: Arc<dyn Peer>) {}
    fn roots_changed(&self, _: &Caller) {}
    fn seat_closed(&self, _: &Caller) {}

    fn events(&self) -> broadcast::Receiver<HubEvent> {
        self.0.subscribe()
    }
}

fn unknown(name: &str) -> Unresolved {
    Unresolved::Unknown {
        what: "server",
        name: name.into(),
    }
}
