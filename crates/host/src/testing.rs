//! A scripted server, a scripted client, and a host between them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use legation_config::{EraChoice, Instance, ServerSpec, Settings, Source};
use legation_core::{
    Caller, Cancel, ClientId, EntityLabels, OpContext, Principal, SeatId, ServerName, SystemClock,
    Via,
};
use legation_gate::policy::{GrantIndex, Inquiry, Permitted, Policy, Target};
use legation_gate::{Call, Endpoint, HubEvent, Item, ListKind, Outcome, Peer, Resolve};
use legation_gate::{ServerSet as _, TaskWish, Unresolved};
use legation_store::{Store, StoreOptions};
use legation_wire::json::{Limits, Object, Raw};
use tokio::sync::broadcast;

use crate::Host;
use crate::common::Times;

mod peer;
mod server;

pub(crate) use peer::FakePeer;
pub(crate) use server::{Answer, FakeDialer, Scripted};

pub(crate) fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned().into(), &Limits::CLIENT).expect("JSON")
}

/// A host over scripted servers.
pub(crate) struct Bench {
    pub(crate) host: Arc<Host>,
    pub(crate) dialer: Arc<FakeDialer>,
    pub(crate) events: broadcast::Receiver<HubEvent>,
    store: Arc<Store>,
    rules: Policy,
    _dir: tempfile::TempDir,
}

pub(crate) fn times() -> Times {
    Times {
        connect: Duration::from_secs(5),
        debounce: Duration::from_millis(1),
        backoff: (Duration::from_millis(1), Duration::from_millis(4)),
        stable: Duration::from_secs(30),
        idle: Duration::from_secs(600),
        probe_idle: Duration::from_secs(600),
        drain: Duration::from_millis(200),
    }
}

pub(crate) fn spec(name: &str, instance: Instance) -> ServerSpec {
    let source = Source::User {
        file: "/home/me/.legation/mcp.json".into(),
    };
    let entry = serde_json::json!({
        "command": "fake", "instance": instance.as_str(), "era": EraChoice::Auto.as_str()
    });
    spec_of(name, &entry, source)
}

pub(crate) fn spec_of(name: &str, entry: &serde_json::Value, source: Source) -> ServerSpec {
    let file = serde_json::json!({ "mcpServers": { name: entry } }).to_string();
    let loaded = legation_config::servers::additional(&[file], Path::new("/"));
    let mut spec = loaded.servers.into_iter().next().expect("one server");
    spec.source = source;
    spec
}

pub(crate) fn caller(seat: &str, workspace: Option<&str>) -> Caller {
    Caller {
        principal: Principal {
            client: ClientId::new(seat.split('#').next().unwrap_or(seat)),
            via: Via::Socket,
        },
        seat: SeatId::new(seat),
        workspace: workspace.map(|path| Arc::from(Path::new(path))),
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(Settings::defaults(), times())
    }

    /// Over a host of another make.
    pub(crate) fn make(host: impl FnOnce(Arc<Store>, &Path) -> Arc<Host>) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("state.db");
        let store = Arc::new(Store::open(&path, StoreOptions::default()).expect("a store"));
        let host = host(Arc::clone(&store), dir.path());
        Self::around(host, store, Arc::default(), dir)
    }

    pub(crate) fn with(settings: Settings, times: Times) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("state.db");
        let store = Arc::new(Store::open(&path, StoreOptions::default()).expect("a store"));
        Self::over(store, settings, times, dir)
    }

    fn over(store: Arc<Store>, settings: Settings, times: Times, dir: tempfile::TempDir) -> Self {
        let dialer = Arc::new(FakeDialer::default());
        let host = Host::with_dialer(
            dialer.clone(),
            Arc::clone(&store),
            SystemClock::shared(),
            settings,
            tokio::runtime::Handle::current(),
            times,
        );
        Self::around(host, store, dialer, dir)
    }

    fn around(
        host: Arc<Host>,
        store: Arc<Store>,
        dialer: Arc<FakeDialer>,
        dir: tempfile::TempDir,
    ) -> Self {
        let rules = {
            use legation_gate::policy::governance::{FileText, Template};
            let mut sources = Template::Personal.sources();
            let rules = "version = 2\n[[rule]]\nid = \"own\"\nrule = 'allow @own/*'\n\
                         [[rule]]\nid = \"workspace\"\nrule = 'allow @workspace/*'\n";
            sources.permissions = FileText::Text(rules.to_owned());
            Policy::load(&sources, &[])
        };
        Self {
            events: host.events(),
            host,
            dialer,
            store,
            rules,
            _dir: dir,
        }
    }

    /// The same store and servers under a new host.
    pub(crate) async fn restart(self) -> Self {
        self.host.shutdown().await;
        let Self {
            store,
            dialer,
            _dir,
            ..
        } = self;
        let next = Self::over(store, Settings::defaults(), times(), _dir);
        let servers = dialer.servers.lock().expect("a lock").clone();
        *next.dialer.servers.lock().expect("a lock") = servers;
        next
    }

    pub(crate) fn serve(&self, name: &str, server: &Arc<Scripted>) {
        let mut servers = self.dialer.servers.lock().expect("a lock");
        servers.insert(name.to_owned(), Arc::clone(server));
    }

    pub(crate) async fn apply(&self, specs: Vec<ServerSpec>) {
        self.host.apply(specs, Vec::new()).await;
    }

    /// Waits until no server is starting.
    pub(crate) async fn settle(&self) {
        for server in self.host.inner.roster.load_full().all() {
            for instance in server.all_running() {
                instance.settled().await;
            }
        }
    }

    pub(crate) async fn resolve(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        item: &Item,
    ) -> Result<Target, Unresolved> {
        match self.host.resolve(caller, endpoint, item) {
            Resolve::Ready(found) => found,
            Resolve::Wait(found) => found.await,
        }
    }

    pub(crate) fn permit(&self, caller: &Caller, target: Target) -> Permitted {
        let inquiry = Inquiry {
            principal: &caller.principal,
            on_behalf_of: None,
            seat: &caller.seat,
            workspace: caller.workspace.as_deref(),
            labels: &EntityLabels::none(),
            arguments: None,
            sent_to: None,
            unredacted_phi: None,
            confidence: None,
            certified: false,
            grants: &GrantIndex::none(),
            now_ms: 0,
        };
        self.rules
            .decide(&inquiry, target)
            .permitted()
            .expect("the owner's servers may run")
    }

    pub(crate) fn context(caller: &Caller) -> OpContext {
        OpContext::new(caller.clone(), Cancel::new())
    }

    /// Resolves, permits and calls a tool on `/mcp`.
    pub(crate) async fn call(
        &self,
        caller: &Caller,
        tool: &str,
        arguments: &str,
        peer: &Arc<FakePeer>,
        task: TaskWish,
    ) -> Outcome {
        let item = Item::Tool(tool.into());
        let target = self.resolve(caller, &Endpoint::All, &item).await;
        let permitted = self.permit(caller, target.expect("a tool"));
        let call = tool_call(tool, arguments, peer, task);
        self.host.call(Self::context(caller), permitted, call).await
    }

    /// The tools that a caller sees on `/mcp`.
    pub(crate) fn host_names(&self, caller: &Caller) -> Vec<String> {
        self.names(caller, &Endpoint::All, ListKind::Tools)
    }

    pub(crate) fn names(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        kind: ListKind,
    ) -> Vec<String> {
        let listing = self
            .host
            .listing(caller, endpoint, kind)
            .expect("an endpoint");
        let key = crate::definitions::key(kind);
        let entries = listing.entries.iter();
        entries
            .map(|entry| {
                let name = entry.raw.get(key).expect("a name");
                name.to_str().expect("a text").into_owned()
            })
            .collect()
    }
}

pub(crate) fn tool_call(tool: &str, arguments: &str, peer: &Arc<FakePeer>, task: TaskWish) -> Call {
    Call {
        item: Item::Tool(tool.into()),
        params: Object::new()
            .with("name", Raw::str(tool))
            .with("arguments", raw(arguments)),
        retry: None,
        task,
        peer: Arc::clone(peer) as Arc<dyn Peer>,
    }
}

pub(crate) fn server_name(name: &str) -> ServerName {
    ServerName::parse(name).expect("a name")
}

/// The result of a call that must have one.
pub(crate) fn complete(outcome: Outcome) -> String {
    match outcome {
        Outcome::Complete(result) => result.to_string(),
        other => panic!("no result: {other:?}"),
    }
}
