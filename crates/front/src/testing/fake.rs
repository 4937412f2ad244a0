//! A server set with one server, `fake`, whose tools do what their names say.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use legation_core::{Caller, CancelReason, OpContext, ServerName, TaskHandle};
use legation_gate::policy::{Origin, Permitted, PinState, Target};
use legation_gate::{
    Ask, Call, CallFailure, Delivery, Description, Endpoint, Entry, HubEvent, InputRequired, Item,
    ListKind, Listing, Outcome, Peer, Resolve, ServerSet, Subscription, TaskVerb, TaskWish,
    Unresolved,
};
use legation_wire::caps::ServerCapabilities;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;
use tokio::sync::{Notify, broadcast};

use super::raw;

#[derive(Debug)]
pub(crate) struct Fake {
    pub(crate) events: broadcast::Sender<HubEvent>,
    /// Lets `slow` go on.
    pub(crate) go: Arc<Notify>,
    /// Told when `slow` has begun.
    pub(crate) begun: Arc<Notify>,
    pub(crate) cancelled: Arc<Mutex<Vec<CancelReason>>>,
    pub(crate) seats: Mutex<Vec<String>>,
    pub(crate) calls: AtomicUsize,
    pub(crate) tools: Mutex<usize>,
    /// What became of the answers of tools, and whether they were written out.
    pub(crate) fates: Fates,
}

/// Tools, each with whether its answer was written out.
pub(crate) type Fates = Arc<Mutex<Vec<(Box<str>, bool)>>>;

/// Notes what became of an answer.
#[derive(Debug)]
struct Fate {
    tool: Box<str>,
    is_written: bool,
    fates: Fates,
}

impl Delivery for Fate {
    fn written(mut self: Box<Self>) {
        self.is_written = true;
    }
}

impl Drop for Fate {
    fn drop(&mut self) {
        let fate = (std::mem::take(&mut self.tool), self.is_written);
        self.fates.lock().expect("sound").push(fate);
    }
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            events: broadcast::channel(64).0,
            go: Arc::default(),
            begun: Arc::default(),
            cancelled: Arc::default(),
            seats: Mutex::default(),
            calls: AtomicUsize::new(0),
            tools: Mutex::new(0),
            fates: Arc::default(),
        }
    }
}

const TOOLS: [&str; 14] = [
    "echo", "progress", "ask", "ask3", "passes", "slow", "sample", "log", "task", "fail", "error",
    "big", "twice", "url",
];

fn server() -> ServerName {
    ServerName::parse("fake").expect("a name")
}

fn target(item: &Item) -> Target {
    Target {
        server: server(),
        verb: item.verb(),
        item: item.name().into(),
        definition: None,
        read_only_hint: true,
        trusted: true,
        origin: Origin::User,
        entity: None,
        pin: PinState::Approved,
        native: None,
        fingerprint: None,
    }
}

fn entry(name: &str, text: &str) -> Entry {
    Entry {
        server: server(),
        item: name.into(),
        raw: raw(text),
        trusted: true,
        origin: Origin::User,
        read_only_hint: true,
        entity: None,
        native: None,
        fingerprint: None,
    }
}

fn ask(method: &str, key: &str) -> Ask {
    let params = format!(
        r#"{{"message":"{key}?","requestedSchema":{{"type":"object","properties":{{}}}},"_meta":{{"io.legation/inputKey":"{key}"}}}}"#
    );
    Ask {
        method: method.into(),
        params: raw(&params),
    }
}

fn text(text: &str) -> Outcome {
    let content = Object::new()
        .with("type", Raw::str("text"))
        .with("text", Raw::str(text))
        .to_raw();
    Outcome::Complete(
        Object::new()
            .with("content", Raw::array([&content]))
            .to_raw(),
    )
}

fn answer(answer: Result<Raw, ErrorObject>) -> Outcome {
    match answer {
        Ok(answer) => text(answer.as_text()),
        Err(error) => Outcome::Error(error),
    }
}

/// The tools that ask their client something.
fn asking(name: &str, peer: Arc<dyn Peer>) -> BoxFuture<'static, Outcome> {
    match name {
        "ask" => {
            async move { answer(peer.ask(ask("elicitation/create", "user_name")).await) }.boxed()
        }
        "twice" => async move {
            let first = peer.ask(ask("elicitation/create", "one")).await;
            let second = peer.ask(ask("elicitation/create", "two")).await;
            match (first, second) {
                (Ok(first), Ok(second)) => text(&format!("{first}{second}")),
                (first, _) => answer(first),
            }
        }
        .boxed(),
        "ask3" => async move {
            let asks = [
                ask("elicitation/create", "name"),
                ask("sampling/createMessage", "sample"),
                ask("roots/list", "roots"),
            ];
            let answers = join_all(asks.map(|ask| peer.ask(ask))).await;
            text(&format!(
                "{} answers",
                answers.iter().filter(|answer| answer.is_ok()).count()
            ))
        }
        .boxed(),
        _ => async move { answer(peer.ask(ask("sampling/createMessage", "s")).await) }.boxed(),
    }
}

impl Fake {
    fn tool(&self, name: &str, context: OpContext, call: Call) -> BoxFuture<'static, Outcome> {
        let peer = call.peer;
        peer.deliver(Box::new(Fate {
            tool: name.into(),
            is_written: false,
            fates: Arc::clone(&self.fates),
        }));
        match name {
            "echo" => {
                let arguments = call
                    .params
                    .get("arguments")
                    .cloned()
                    .unwrap_or_else(Raw::null);
                let text = Object::new()
                    .with("content", Raw::from_static("[]"))
                    .with("big", Raw::from_static("9223372036854775807"))
                    .with("vendor/x", arguments)
                    .with("params", call.params.to_raw());
                std::future::ready(Outcome::Complete(text.to_raw())).boxed()
            }
            "progress" => {
                for number in 1..=3 {
                    peer.progress(Object::new().with("progress", Raw::int(number)));
                }
                std::future::ready(text("done")).boxed()
            }
            "log" => {
                peer.log(raw(r#"{"level":"info","data":"quiet"}"#));
                peer.log(raw(r#"{"level":"error","data":"loud"}"#));
                std::future::ready(text("done")).boxed()
            }
            "ask" | "twice" | "ask3" | "sample" => asking(name, peer),
            "passes" => {
                let outcome = match call.retry {
                    Some(retry) if retry.responses.contains("user_name") => {
                        text(&format!("{:?}{:?}", retry.responses, retry.state))
                    }
                    _ => Outcome::InputRequired(InputRequired {
                        result: Object::new().with(
                            "inputRequests",
                            raw(r#"{"user_name":{"method":"elicitation/create","params":{}}}"#),
                        ),
                        state: Some(Raw::str("upstream-state")),
                    }),
                };
                std::future::ready(outcome).boxed()
            }
            "url" => std::future::ready(match call.retry {
                Some(_) => text("opened"),
                None => Outcome::Error(ErrorObject::new(-32042, "sign in").with_data(raw(
                    r#"{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://x.example/","message":"sign in"}]}"#,
                ))),
            })
            .boxed(),
            "slow" => self.slow(context),
            "big" => {
                let outcome = text(&"x".repeat(12 << 20));
                std::future::ready(outcome).boxed()
            }
            "task" if call.task == TaskWish::Never => {
                std::future::ready(text("synchronous")).boxed()
            }
            "task" => std::future::ready(Outcome::Task(task("working"))).boxed(),
            "fail" => std::future::ready(Outcome::Failed(CallFailure::NotConnected {
                server: server(),
                reason: "failed".to_owned(),
            }))
            .boxed(),
            _ => std::future::ready(Outcome::Error(
                ErrorObject::new(-32077, "theirs").with_data(raw(r#"{"x":1}"#)),
            ))
            .boxed(),
        }
    }

    fn slow(&self, context: OpContext) -> BoxFuture<'static, Outcome> {
        let (go, begun, cancelled) = (self.go.clone(), self.begun.clone(), self.cancelled.clone());
        async move {
            begun.notify_one();
            tokio::select! {
                () = go.notified() => text("slowly"),
                reason = context.cancel.cancelled() => {
                    cancelled.lock().expect("sound").push(reason);
                    Outcome::Failed(CallFailure::Cancelled(reason))
                }
            }
        }
        .boxed()
    }

    /// Waits until calls were called off for these reasons.
    pub(crate) async fn called_off(&self, number: usize) -> Vec<CancelReason> {
        for _ in 0..500 {
            let seen = self.cancelled.lock().expect("sound").clone();
            if seen.len() >= number {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("no call was called off");
    }
}

fn task(status: &str) -> Object {
    raw(&format!(
        r#"{{"taskId":"t1","status":"{status}","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000,"pollIntervalMs":50}}"#
    ))
    .to_object()
    .expect("an object")
}

/// There is one server, and no view.
fn exists(endpoint: &Endpoint) -> Result<(), Unresolved> {
    let (what, name) = match endpoint {
        Endpoint::Server(name) if name.as_str() != "fake" => ("server", name.as_str()),
        Endpoint::View(name) => ("view", &**name),
        Endpoint::Server(_) | Endpoint::All => return Ok(()),
    };
    Err(Unresolved::NoEndpoint {
        what,
        name: name.into(),
    })
}

impl ServerSet for Fake {
    fn resolve(&self, _caller: &Caller, endpoint: &Endpoint, item: &Item) -> Resolve {
        let known = match item {
            Item::Tool(name) => TOOLS.contains(&&**name) || &**name == "mirrored",
            Item::Resource(uri) | Item::ResourceArgument(uri) => uri.starts_with("test://"),
            Item::Prompt(name) | Item::PromptArgument(name) => &**name == "hello",
            // It has no skills.
            Item::Skill(_) | Item::Directory(_) => false,
        };
        let unknown = || Unresolved::Unknown {
            what: "item",
            name: item.name().into(),
        };
        Resolve::Ready(match exists(endpoint) {
            Err(nowhere) => Err(nowhere),
            Ok(()) if known => Ok(target(item)),
            Ok(()) => Err(unknown()),
        })
    }

    fn call(
        &self,
        context: OpContext,
        permitted: Permitted,
        call: Call,
    ) -> BoxFuture<'static, Outcome> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        match &call.item {
            Item::Tool(_) => self.tool(&permitted.target().item.clone(), context, call),
            Item::Resource(uri) => {
                let contents = Object::new()
                    .with("uri", Raw::str(uri))
                    .with("text", Raw::str("text"))
                    .to_raw();
                let result = Object::new()
                    .with("contents", Raw::array([&contents]))
                    .to_raw();
                std::future::ready(Outcome::Complete(result)).boxed()
            }
            Item::Prompt(_) | Item::Skill(_) | Item::Directory(_) => {
                std::future::ready(Outcome::Complete(raw(r#"{"messages":[]}"#))).boxed()
            }
            Item::PromptArgument(_) | Item::ResourceArgument(_) => {
                std::future::ready(Outcome::Complete(raw(r#"{"completion":{"values":["a"]}}"#)))
                    .boxed()
            }
        }
    }

    fn task_target(&self, caller: &Caller, handle: &TaskHandle) -> Result<Target, Unresolved> {
        if handle.as_str() == "t1" && caller.principal.client.as_str() == "claude" {
            return Ok(target(&Item::Tool("task".into())));
        }
        Err(Unresolved::Unknown {
            what: "task",
            name: handle.as_str().into(),
        })
    }

    fn task(
        &self,
        _context: OpContext,
        _permitted: Permitted,
        _handle: TaskHandle,
        verb: TaskVerb,
        _peer: Arc<dyn Peer>,
    ) -> BoxFuture<'static, Outcome> {
        let outcome = match verb {
            TaskVerb::Get => {
                let result =
                    task("completed").with("result", raw(r#"{"content":[],"isError":false}"#));
                Outcome::Complete(result.to_raw())
            }
            TaskVerb::Update(_) | TaskVerb::Cancel => Outcome::Complete(Raw::empty_object()),
        };
        std::future::ready(outcome).boxed()
    }

    fn tasks(&self, caller: &Caller) -> Vec<TaskHandle> {
        if caller.principal.client.as_str() == "claude" {
            vec![TaskHandle::new("t1")]
        } else {
            Vec::new()
        }
    }

    fn listing(
        &self,
        _caller: &Caller,
        endpoint: &Endpoint,
        kind: ListKind,
    ) -> Result<Arc<Listing>, Unresolved> {
        exists(endpoint)?;
        let entries = match kind {
            ListKind::Tools => {
                let more = *self.tools.lock().expect("sound");
                let mut entries: Vec<Entry> = TOOLS
                    .iter()
                    .map(|name| entry(name, &format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"vendor":1}}"#)))
                    .collect();
                entries.push(entry("mirrored", r#"{"name":"mirrored","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}"#));
                entries.push(entry(
                    "needs_task",
                    r#"{"name":"needs_task","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}"#,
                ));
                entries.extend((0..more).map(|number| {
                    entry(
                        &format!("more{number}"),
                        &format!(r#"{{"name":"more{number}","inputSchema":{{"type":"object"}}}}"#),
                    )
                }));
                entries
            }
            ListKind::Resources => vec![entry("test://a", r#"{"uri":"test://a","name":"a"}"#)],
            ListKind::Templates | ListKind::Skills => Vec::new(),
            ListKind::Prompts => vec![entry("hello", r#"{"name":"hello"}"#)],
        };
        let version = *self.tools.lock().expect("sound") as u64 * 8 + kind as u64;
        Ok(Arc::new(Listing { version, entries }))
    }

    fn describe(&self, _caller: &Caller, endpoint: &Endpoint) -> Result<Description, Unresolved> {
        exists(endpoint)?;
        let capabilities = raw(
            r#"{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"logging":{}}"#,
        );
        Ok(Description {
            capabilities: ServerCapabilities::from_raw(&capabilities, Revision::LATEST_LEGACY),
            instructions: Some("be kind".to_owned()),
        })
    }

    fn covers(&self, _caller: &Caller, _endpoint: &Endpoint, server: &ServerName) -> bool {
        server.as_str() == "fake"
    }

    fn entity(&self, _: &Caller, _: &ServerName) -> Option<legation_core::EntityId> {
        None
    }
    fn subscribe(&self, _caller: &Caller, _permitted: &Permitted) -> Subscription {
        Subscription::new(())
    }

    fn seat_opened(&self, caller: &Caller, _peer: Arc<dyn Peer>) {
        self.seats
            .lock()
            .expect("sound")
            .push(format!("+{}", caller.principal.client));
    }

    fn roots_changed(&self, _caller: &Caller) {}

    fn seat_closed(&self, caller: &Caller) {
        self.seats
            .lock()
            .expect("sound")
            .push(format!("-{}", caller.principal.client));
    }

    fn events(&self) -> broadcast::Receiver<HubEvent> {
        self.events.subscribe()
    }
}
