mod accounts;
mod asking;
mod begun;
mod desk;
mod events;
mod redaction;
mod replay;
mod roads;
mod sampling;
mod seen;
mod spilled;
mod waiting;

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use legation_core::{Cancel, ClientId, Home, Principal, SeatId, ServerName, SystemClock, Via};
use legation_ledger::LedgerKeys;
use legation_policy::governance::Template;
use legation_policy::{KnownTool, Origin, Permitted, PinState};
use legation_store::{Store, StoreOptions};
use legation_wire::caps::{ClientCapabilities, ServerCapabilities};
use legation_wire::json::Object;
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;
use tokio::sync::broadcast;

use super::*;
use crate::spill::Spills;
use crate::{Ask, Concern, HubEvent, Resolve, TaskWish, Unresolved};

/// A server set with one server, `files`, whose tools are `read` and `erase`.
#[derive(Debug)]
struct OneServer {
    calls: AtomicUsize,
    /// What it answers, where a test says.
    reply: Mutex<Option<Raw>>,
    /// What it does instead, where a test says.
    act: Mutex<Option<Act>>,
    /// The arguments it was called with.
    seen: Mutex<Vec<String>>,
    /// For whom it was called last.
    told: Mutex<Option<legation_core::Principal>>,
    /// The resources it lists.
    resources: Mutex<Vec<crate::Entry>>,
    events: broadcast::Sender<HubEvent>,
}

/// What a server does with a call.
struct Act(Box<dyn Fn(Call) -> BoxFuture<'static, Outcome> + Send + Sync>);

impl std::fmt::Debug for Act {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Act")
    }
}

#[derive(Debug, Default)]
struct Nobody(ClientCapabilities);

impl Peer for Nobody {
    fn revision(&self) -> Revision {
        Revision::V2025_11_25
    }
    fn capabilities(&self) -> &ClientCapabilities {
        &self.0
    }
    fn ask(&self, _ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        std::future::ready(Err(ErrorObject::new(-32601, "nobody"))).boxed()
    }
}

impl OneServer {
    fn target(item: &Item) -> Target {
        Target {
            server: ServerName::parse("files").expect("a name"),
            verb: item.verb(),
            item: item.name().trim_start_matches("files-").into(),
            definition: None,
            read_only_hint: item.name() == "files-read",
            trusted: true,
            origin: match item.name() {
                "files-account" => Origin::Builtin,
                _ => Origin::User,
            },
            entity: match item.name() {
                name if name.starts_with("files-record") => Some(EntityId::new("meadow")),
                "files-ledger" => Some(EntityId::new("harbor")),
                _ => None,
            },
            pin: PinState::Approved,
            native: None,
            fingerprint: None,
        }
    }
}

impl ServerSet for OneServer {
    fn resolve(&self, _caller: &Caller, endpoint: &Endpoint, item: &Item) -> Resolve {
        let own = match (endpoint, item) {
            (Endpoint::Server(_), Item::Tool(name)) => {
                Some(Item::Tool(format!("files-{name}").into()))
            }
            _ => None,
        };
        let item = own.as_ref().unwrap_or(item);
        Resolve::Ready(if item.name().starts_with("files-") {
            Ok(Self::target(item))
        } else {
            Err(Unresolved::Unknown {
                what: "tool",
                name: item.name().into(),
            })
        })
    }
    fn call(
        &self,
        context: OpContext,
        permitted: Permitted,
        call: Call,
    ) -> BoxFuture<'static, Outcome> {
        *self.told.lock().expect("whole") = context.on_behalf_of;
        self.calls.fetch_add(1, Ordering::Relaxed);
        let arguments = call.params.get("arguments").map_or("", Raw::as_text);
        self.seen.lock().expect("whole").push(arguments.to_owned());
        if let Some(Act(act)) = &*self.act.lock().expect("whole") {
            return act(call);
        }
        let reply = self.reply.lock().expect("whole").clone();
        let text = permitted.target().item.to_string();
        async move { Outcome::Complete(reply.unwrap_or_else(|| Raw::from_serialize(&text))) }
            .boxed()
    }
    fn task_target(&self, _: &Caller, handle: &TaskHandle) -> Result<Target, Unresolved> {
        if let Some(tool) = handle.as_str().strip_prefix("of-") {
            return Ok(Self::target(&Item::Tool(tool.into())));
        }
        Err(Unresolved::Unknown {
            what: "task",
            name: handle.as_str().into(),
        })
    }
    fn task(
        &self,
        _: OpContext,
        _: Permitted,
        _: TaskHandle,
        verb: TaskVerb,
        _: Arc<dyn Peer>,
    ) -> BoxFuture<'static, Outcome> {
        if let TaskVerb::Update(answers) = verb {
            let answers = answers.to_raw().as_text().to_owned();
            self.seen.lock().expect("whole").push(answers);
        }
        let reply = self.reply.lock().expect("whole").clone();
        let reply = reply.unwrap_or_else(Raw::empty_object);
        std::future::ready(Outcome::Complete(reply)).boxed()
    }
    fn tasks(&self, _: &Caller) -> Vec<TaskHandle> {
        Vec::new()
    }
    fn listing(
        &self,
        _: &Caller,
        _: &Endpoint,
        kind: ListKind,
    ) -> Result<Arc<Listing>, Unresolved> {
        if kind == ListKind::Resources {
            let entries = self.resources.lock().expect("whole").clone();
            return Ok(Arc::new(Listing {
                version: 2,
                entries,
            }));
        }
        let entry = |item: &str| crate::Entry {
            server: ServerName::parse("files").expect("a name"),
            item: item.into(),
            raw: Raw::from_static("{}"),
            trusted: true,
            origin: Origin::User,
            read_only_hint: false,
            entity: None,
            native: None,
            fingerprint: None,
        };
        Ok(Arc::new(Listing {
            version: 1,
            entries: vec![entry("read"), entry("erase")],
        }))
    }
    fn describe(&self, _: &Caller, _: &Endpoint) -> Result<Description, Unresolved> {
        Ok(Description {
            capabilities: ServerCapabilities::default(),
            instructions: None,
        })
    }
    fn covers(&self, _: &Caller, _: &Endpoint, _: &ServerName) -> bool {
        true
    }
    fn entity(&self, _: &Caller, server: &ServerName) -> Option<EntityId> {
        (server.as_str() == "records").then(|| EntityId::new("meadow"))
    }
    fn concerns(&self, target: &Target, params: &Object) -> Concern {
        assert_eq!(target.origin, Origin::Builtin);
        let arguments = params.get("arguments").and_then(Raw::to_object);
        let account = arguments.as_ref().and_then(|all| all.get("account"));
        let concerned = match account.and_then(Raw::to_str).as_deref() {
            Some("nobody") => Err(Unresolved::NoAccount {
                why: "there is no such account; nothing was done".to_owned(),
                hint: "name another".to_owned(),
            }),
            account => Ok(account.map(EntityId::new)),
        };
        Concern::Ready(concerned)
    }
    fn subscribe(&self, _: &Caller, _: &Permitted) -> Subscription {
        Subscription::new(())
    }
    fn seat_opened(&self, _: &Caller, _: Arc<dyn Peer>) {}
    fn roots_changed(&self, _: &Caller) {}
    fn seat_closed(&self, _: &Caller) {}
    fn events(&self) -> broadcast::Receiver<HubEvent> {
        self.events.subscribe()
    }
}

struct Bench {
    _dir: tempfile::TempDir,
    gate: Arc<Gate>,
    servers: Arc<OneServer>,
    store: Arc<Store>,
    ledger: Arc<Ledger>,
}

fn bench(rules: Policy) -> Bench {
    let dir = tempfile::tempdir().expect("a folder");
    bench_in(dir, rules, &SystemClock::shared())
}

/// A hub over what another left in a folder.
fn bench_in(dir: tempfile::TempDir, rules: Policy, clock: &legation_core::SharedClock) -> Bench {
    let home = Home::at(dir.path());
    let store = Arc::new(Store::open(&home.state_db(), StoreOptions::default()).expect("a store"));
    let key = LedgerKeys::from_bytes(&[7; 32]);
    let ledger =
        Arc::new(Ledger::open(Arc::clone(&store), key, Arc::clone(clock)).expect("a ledger"));
    let servers = Arc::new(OneServer {
        calls: AtomicUsize::new(0),
        reply: Mutex::default(),
        act: Mutex::default(),
        seen: Mutex::default(),
        told: Mutex::default(),
        resources: Mutex::default(),
        events: broadcast::Sender::new(4),
    });
    let key = legation_keystore::Key::from_bytes([8; 32]);
    let asking =
        Asking::open(&store, &key, clock, crate::rate::RateLimits::default()).expect("rows");
    let keys = legation_keystore::Keystore::open(&home.keys()).expect("a keystore");
    let keys = Arc::new(keys);
    let gate = Gate::new(
        Arc::clone(&servers) as Arc<dyn ServerSet>,
        Arc::clone(&ledger),
        rules,
        KnownClients::new([ClientId::new("claude")]),
        asking,
    )
    .with_redaction(Redaction::new(
        Arc::clone(&store),
        Arc::clone(&keys),
        Arc::clone(clock),
    ));
    let gate = gate.with_spills(Spills::new(Arc::clone(&store), keys, Arc::clone(clock)));
    let gate = Arc::new(gate);
    Bench {
        _dir: dir,
        gate,
        servers,
        store,
        ledger,
    }
}

fn personal() -> Policy {
    use legation_policy::governance::{FileText, Template};
    let mut sources = Template::Personal.sources();
    let FileText::Text(rules) = &mut sources.permissions else {
        panic!("the template has rules");
    };
    rules.push_str("\n[[rule]]\nid = \"no-erasing\"\nrule = 'deny files/erase'\n");
    let files = ServerName::parse("files").expect("a name");
    Policy::load(&sources, &[KnownTool::server_only(files, true)])
}

fn context(client: &str) -> OpContext {
    let principal = Principal {
        client: ClientId::new(client),
        via: Via::Http,
    };
    let caller = Caller {
        principal,
        seat: SeatId::new("seat"),
        workspace: None,
    };
    OpContext::new(caller, Cancel::new())
}

fn request(name: &str) -> Request {
    Request {
        endpoint: Endpoint::All,
        item: Item::Tool(name.into()),
        params: Object::default(),
        retry: None,
        task: TaskWish::Never,
        peer: Arc::new(Nobody::default()),
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(future)
}

impl Bench {
    /// The kinds and statuses of everything recorded.
    fn recorded(&self) -> Vec<String> {
        run(self.ledger.flush()).expect("flushed");
        let entries = self.ledger.tail(100).expect("read");
        entries
            .iter()
            .map(|entry| {
                let record: serde_json::Value =
                    serde_json::from_str(&entry.text).expect("a record");
                let word = |key: &str| record[key].as_str().unwrap_or("-").to_owned();
                format!("{} {} {}", word("kind"), word("rule"), word("status"))
            })
            .collect()
    }
}

#[test]
fn a_permitted_call_leaves_an_intent_and_an_outcome() {
    let bench = bench(personal());
    let outcome = run(bench.gate.call(&context("claude"), request("files-read")));
    assert!(matches!(outcome, Ok(Outcome::Complete(raw)) if raw.as_text() == r#""read""#));
    let recorded = bench.recorded();
    assert_eq!(recorded.len(), 2, "{recorded:?}");
    assert!(recorded[0].starts_with("intent "), "{recorded:?}");
    assert_eq!(recorded[1], "outcome - ok");
}

#[test]
fn what_is_refused_reaches_no_server_and_is_recorded_with_its_rule() {
    let cases: [(&str, &str, &str, Policy, usize); 4] = [
        ("claude", "files-erase", "no-erasing", personal(), 1),
        ("claude", "files2-read", "resolve.unknown", personal(), 1),
        (
            "claude",
            "files-read",
            "governance.unavailable",
            Policy::unavailable(),
            1,
        ),
        (
            "revoked",
            "files-read",
            "authenticate.unknown_client",
            personal(),
            0,
        ),
    ];
    for (client, tool, rule, rules, records) in cases {
        let bench = bench(rules);
        let refusal =
            run(bench.gate.call(&context(client), request(tool))).expect_err("the call is refused");
        assert_eq!(refusal.rule(), rule);
        let error = refusal.to_error();
        let data = error.data.expect("data").as_text().to_owned();
        assert!(data.contains(&format!(r#""rule":"{rule}""#)), "{data}");
        assert_eq!(bench.servers.calls.load(Ordering::Relaxed), 0);
        assert_eq!(bench.recorded().len(), records, "{rule}");
    }
}

#[test]
fn a_call_that_cannot_be_recorded_is_not_made() {
    let bench = bench(personal());
    bench.store.limit_pages(Some(1)).expect("limited");
    let mut refused = false;
    for _ in 0..200 {
        let before = bench.servers.calls.load(Ordering::Relaxed);
        match run(bench.gate.call(&context("claude"), request("files-read"))) {
            Ok(_) => assert_eq!(bench.servers.calls.load(Ordering::Relaxed), before + 1),
            Err(refusal) => {
                assert_eq!(refusal.rule(), "ledger.unavailable");
                let data = refusal.to_error().data.expect("data");
                let data: serde_json::Value = data.deserialize().expect("JSON");
                assert_eq!(data["reason_code"], "LEDGER_UNAVAILABLE");
                assert_eq!(data["blocked_action"], "files/read");
                assert_eq!(bench.servers.calls.load(Ordering::Relaxed), before);
                refused = true;
                break;
            }
        }
    }
    assert!(refused, "a full disk stops calls");
}

#[test]
fn a_list_hides_what_can_never_be_used_and_stays_the_same_value() {
    let bench = bench(personal());
    let context = context("claude");
    let list = || {
        bench
            .gate
            .listing(&context, &Endpoint::All, ListKind::Tools)
            .expect("a list")
    };
    let names: Vec<_> = list()
        .entries
        .iter()
        .map(|entry| entry.item.to_string())
        .collect();
    assert_eq!(names, ["read"]);
    assert!(
        Arc::ptr_eq(&list(), &list()),
        "an unchanged list is not made again"
    );
    bench
        .gate
        .set_rules(Policy::of_template(Template::Personal));
    assert_eq!(list().entries.len(), 2, "new rules take effect");
}
