//! A scripted server and a scripted client.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, Shared};
use legation_config::{EraChoice, Instance, ServerSpec, Settings, Source};
use legation_core::{
    Caller, Cancel, ClientId, OpContext, Principal, SeatId, ServerName, SystemClock, Via,
};
use legation_gate::policy::{Permitted, Rules, Target};
use legation_gate::{Ask, Call, Endpoint, HubEvent, Item, ListKind, Outcome, Peer, Resolve};
use legation_gate::{ServerSet as _, TaskWish, Unresolved};
use legation_store::{Store, StoreOptions};
use legation_wire::caps::ClientCapabilities;
use legation_wire::codes;
use legation_wire::json::{Limits, Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;
use tokio::sync::{broadcast, mpsc, watch};

use crate::Host;
use crate::common::Times;
use crate::port::{
    About, AskKey, CallEvent, DialError, Dialer, EventSource, Exchange, ListenWish, Order, Plan,
    Port, PortEvent, Ready,
};

pub(crate) type Answer = Result<Raw, ErrorObject>;
type Script = Arc<dyn Fn(Order, Talk) -> BoxFuture<'static, Answer> + Send + Sync>;

/// A server that runs a script.
pub(crate) struct Scripted {
    pub(crate) about: Mutex<About>,
    pub(crate) lists: Mutex<HashMap<ListKind, Vec<Raw>>>,
    script: Script,
    /// While set, dialling fails with it.
    pub(crate) refuses: Mutex<Option<DialError>>,
    /// While set, dialling does not end.
    pub(crate) hangs: Mutex<bool>,
    pub(crate) plans: Mutex<Vec<Plan>>,
    pub(crate) events: Mutex<Vec<mpsc::Sender<PortEvent>>>,
    pub(crate) orders: Mutex<Vec<Order>>,
    pub(crate) loose: Mutex<Vec<(AskKey, Answer)>>,
    pub(crate) wishes: Mutex<Vec<ListenWish>>,
    pub(crate) notified: Mutex<Vec<&'static str>>,
    pub(crate) open: AtomicUsize,
    pub(crate) cancelled: AtomicUsize,
}

/// The server's side of one request.
pub(crate) struct Talk {
    pub(crate) events: mpsc::Sender<CallEvent>,
    answers: Arc<tokio::sync::Mutex<mpsc::Receiver<(AskKey, Answer)>>>,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

pub(crate) fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned().into(), &Limits::CLIENT).expect("JSON")
}

impl Scripted {
    pub(crate) fn new<F>(revision: Revision, capabilities: &str, script: F) -> Arc<Self>
    where
        F: Fn(Order, Talk) -> BoxFuture<'static, Answer> + Send + Sync + 'static,
    {
        Arc::new(Self {
            about: Mutex::new(About {
                revision,
                capabilities: raw(capabilities).to_object().expect("an object"),
                server_info: None,
                instructions: None,
            }),
            lists: Mutex::default(),
            script: Arc::new(script),
            refuses: Mutex::default(),
            hangs: Mutex::default(),
            plans: Mutex::default(),
            events: Mutex::default(),
            orders: Mutex::default(),
            loose: Mutex::default(),
            wishes: Mutex::default(),
            notified: Mutex::default(),
            open: AtomicUsize::new(0),
            cancelled: AtomicUsize::new(0),
        })
    }

    /// A server with one tool, `echo`, that answers its arguments.
    pub(crate) fn echo() -> Arc<Self> {
        let server = Self::new(Revision::V2025_11_25, r#"{"tools":{}}"#, |order, _| {
            let arguments = order.params.get("arguments").cloned();
            Box::pin(async move { Ok(arguments.unwrap_or_else(Raw::empty_object)) })
        });
        server.offer(ListKind::Tools, &[r#"{"name":"echo","inputSchema":{}}"#]);
        server
    }

    pub(crate) fn offer(&self, kind: ListKind, entries: &[&str]) {
        let entries = entries.iter().map(|text| raw(text)).collect();
        self.lists.lock().expect("a lock").insert(kind, entries);
    }

    /// Does something unasked on every connection.
    pub(crate) async fn tell(&self, event: PortEvent) {
        let senders = self.events.lock().expect("a lock").clone();
        for sender in senders {
            // Connections that have ended hear nothing.
            drop(sender.send(event.clone()).await);
        }
    }

    /// Does something unasked on the newest connection.
    pub(crate) async fn tell_newest(&self, event: PortEvent) {
        let newest = self.events.lock().expect("a lock").last().cloned();
        let sent = newest.expect("a connection").send(event).await;
        sent.expect("it stands");
    }

    pub(crate) fn methods(&self) -> Vec<&'static str> {
        let orders = self.orders.lock().expect("a lock");
        orders.iter().map(|order| order.method).collect()
    }
}

impl Talk {
    /// Asks the client of this call and waits for the answer.
    pub(crate) async fn ask(&self, key: u64, method: &str, params: &str) -> Answer {
        let event = CallEvent::Ask {
            key: AskKey(key),
            method: method.into(),
            params: Some(raw(params)),
        };
        self.events.send(event).await.expect("somebody listens");
        let mut answers = self.answers.lock().await;
        let (answered, answer) = answers.recv().await.expect("an answer");
        assert_eq!(answered, AskKey(key));
        answer
    }
}

/// Dials scripted servers by name.
#[derive(Debug, Default)]
pub(crate) struct FakeDialer {
    pub(crate) servers: Mutex<HashMap<String, Arc<Scripted>>>,
}

#[derive(Debug)]
struct FakePort {
    server: Arc<Scripted>,
    stopped: watch::Sender<bool>,
}

#[derive(Debug)]
struct FakeEvents(mpsc::Receiver<PortEvent>);

struct FakeExchange {
    server: Arc<Scripted>,
    events: mpsc::Receiver<CallEvent>,
    work: Shared<BoxFuture<'static, Answer>>,
    stopped: watch::Receiver<bool>,
    answers: mpsc::Sender<(AskKey, Answer)>,
    over: bool,
}

impl Dialer for FakeDialer {
    fn dial(&self, plan: Plan) -> BoxFuture<'static, Result<Ready, DialError>> {
        let server = self.servers.lock().expect("a lock")[plan.spec.name.as_str()].clone();
        Box::pin(async move {
            server.plans.lock().expect("a lock").push(plan);
            if *server.hangs.lock().expect("a lock") {
                std::future::pending::<()>().await;
            }
            if let Some(error) = server.refuses.lock().expect("a lock").clone() {
                return Err(error);
            }
            let (sender, events) = mpsc::channel(16);
            server.events.lock().expect("a lock").push(sender);
            server.open.fetch_add(1, Ordering::SeqCst);
            let about = server.about.lock().expect("a lock").clone();
            Ok(Ready {
                port: Arc::new(FakePort {
                    server,
                    stopped: watch::Sender::new(false),
                }),
                events: Box::new(FakeEvents(events)),
                about,
                pid: None,
            })
        })
    }
}

impl EventSource for FakeEvents {
    fn next(&mut self) -> BoxFuture<'_, Option<PortEvent>> {
        Box::pin(self.0.recv())
    }
}

impl Port for FakePort {
    fn open(&self, order: Order) -> Box<dyn Exchange> {
        let server = Arc::clone(&self.server);
        server.orders.lock().expect("a lock").push(order.clone());
        let (sender, events) = mpsc::channel(16);
        let (answers, answered) = mpsc::channel(16);
        let talk = Talk {
            events: sender,
            answers: Arc::new(tokio::sync::Mutex::new(answered)),
        };
        let kind = ListKind::ALL
            .into_iter()
            .find(|kind| kind.method() == order.method);
        let work: BoxFuture<'static, Answer> = match kind {
            Some(kind) => {
                let lists = server.lists.lock().expect("a lock");
                let entries = lists.get(&kind).cloned().unwrap_or_default();
                let list = Object::new().with(kind.member(), Raw::array(&entries));
                Box::pin(std::future::ready(Ok(list.to_raw())))
            }
            None => (server.script)(order, talk),
        };
        Box::new(FakeExchange {
            server,
            events,
            work: work.shared(),
            stopped: self.stopped.subscribe(),
            answers,
            over: false,
        })
    }

    fn notify(&self, method: &'static str, _params: Option<Raw>) {
        self.server.notified.lock().expect("a lock").push(method);
    }

    fn listen(&self, wish: ListenWish) {
        self.server.wishes.lock().expect("a lock").push(wish);
    }

    fn answer(&self, key: AskKey, answer: Answer) {
        self.server
            .loose
            .lock()
            .expect("a lock")
            .push((key, answer));
    }

    fn stop(&self) -> BoxFuture<'static, ()> {
        self.server.open.fetch_sub(1, Ordering::SeqCst);
        self.stopped.send_replace(true);
        Box::pin(std::future::ready(()))
    }
}

impl Exchange for FakeExchange {
    fn next(&mut self) -> BoxFuture<'_, CallEvent> {
        Box::pin(async move {
            let work = self.work.clone();
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => event,
                answer = work => {
                    self.over = true;
                    CallEvent::Done(answer)
                }
                Ok(_) = self.stopped.wait_for(|stopped| *stopped) => {
                    self.over = true;
                    CallEvent::Lost("the hub closed the connection".to_owned())
                }
            }
        })
    }

    fn answer(&mut self, key: AskKey, answer: Answer) {
        self.answers.try_send((key, answer)).expect("room");
    }
}

impl Drop for FakeExchange {
    fn drop(&mut self) {
        if !self.over {
            self.server.cancelled.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// A client that answers from a table and notes what it hears.
pub(crate) struct FakePeer {
    pub(crate) name: String,
    pub(crate) revision: Revision,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) takes_input: bool,
    pub(crate) level: Option<&'static str>,
    pub(crate) heard: Mutex<Vec<String>>,
    pub(crate) asked: Mutex<Vec<Ask>>,
}

impl std::fmt::Debug for FakePeer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl FakePeer {
    pub(crate) fn legacy(name: &str, capabilities: &str) -> Arc<Self> {
        Self::of(name, Revision::V2025_11_25, capabilities)
    }

    pub(crate) fn modern(name: &str, capabilities: &str) -> Arc<Self> {
        Self::of(name, Revision::V2026_07_28, capabilities)
    }

    fn of(name: &str, revision: Revision, capabilities: &str) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            revision,
            capabilities: ClientCapabilities::from_raw(&raw(capabilities), revision),
            takes_input: revision.is_modern(),
            level: Some("info"),
            heard: Mutex::default(),
            asked: Mutex::default(),
        })
    }

    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().expect("a lock").clone()
    }
}

impl Peer for FakePeer {
    fn revision(&self) -> Revision {
        self.revision
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn client_info(&self) -> Option<Raw> {
        let info = Object::new().with("name", Raw::str(&self.name));
        Some(info.to_raw())
    }

    fn takes_input_required(&self) -> bool {
        self.takes_input
    }

    fn log_level(&self) -> Option<Box<str>> {
        self.level.map(Into::into)
    }

    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, params: Object) {
        let text = format!("progress {}", params.to_raw());
        self.heard.lock().expect("a lock").push(text);
    }

    fn log(&self, params: Raw) {
        self.heard
            .lock()
            .expect("a lock")
            .push(format!("log {params}"));
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'static, Answer> {
        let method = ask.method.clone();
        self.asked.lock().expect("a lock").push(ask);
        let name = self.name.clone();
        Box::pin(async move {
            match &*method {
                "elicitation/create" => Ok(raw(&format!(
                    r#"{{"action":"accept","content":{{"name":"{name}"}}}}"#
                ))),
                "roots/list" => Ok(raw(r#"{"roots":[]}"#)),
                _ => Err(ErrorObject::new(codes::INTERNAL_ERROR, "no")),
            }
        })
    }
}

/// A host over scripted servers.
pub(crate) struct Bench {
    pub(crate) host: Arc<Host>,
    pub(crate) dialer: Arc<FakeDialer>,
    pub(crate) events: broadcast::Receiver<HubEvent>,
    store: Arc<Store>,
    rules: Rules,
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
        let rules = Rules::parse(Rules::personal_template(), "rules.toml").expect("rules");
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
        self.rules
            .decide(&caller.principal, target)
            .expect("the owner's servers may run")
    }

    pub(crate) fn context(caller: &Caller) -> OpContext {
        OpContext {
            caller: caller.clone(),
            cancel: Cancel::new(),
            deadline: None,
        }
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
