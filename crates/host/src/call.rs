//! One call at one server, from the wait for its connection to its outcome.
//!
//! A call runs wholly in its caller's task. Dropping it drops the exchange,
//! and with that the request is cancelled at the server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use legation_core::OpContext;
use legation_gate::policy::{DefinitionHash, Permitted};
use legation_gate::{Call, CallFailure, Item, ListKind, Outcome, Peer, TaskWish};
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use tokio::time::Instant;

use crate::ask;
use crate::definitions::{Definitions, TaskSupport};
use crate::flight::{Flight, Loose, LooseAsk};
use crate::instance::{Key, Live};
use crate::level;
use crate::port::{self, AskKey, CallEvent, Face, Order};
use crate::roots;
use crate::server::Server;
use crate::template;

mod rounds;

/// How often a call looks for an instance that is not just ending.
const INSTANCE_TRIES: usize = 4;

/// Runs a call to its outcome.
pub(crate) async fn call(
    server: Arc<Server>,
    context: OpContext,
    permitted: Permitted,
    call: Call,
) -> Outcome {
    let opened = Conversation::open(server, context, Arc::clone(&call.peer)).await;
    let conversation = match opened {
        Ok(conversation) => conversation,
        Err(failure) => return Outcome::Failed(failure),
    };
    match conversation.check(&permitted, &call.item) {
        Ok(()) => conversation.run(permitted, call).await,
        Err(failure) => Outcome::Failed(failure),
    }
}

/// A caller with a connected instance of the server it calls.
pub(crate) struct Conversation {
    pub(crate) server: Arc<Server>,
    pub(crate) context: OpContext,
    pub(crate) peer: Arc<dyn Peer>,
    pub(crate) live: Arc<Live>,
    pub(crate) flight: Flight,
    limit: Duration,
    /// When the time for an answer is over.
    until: Instant,
}

/// Whom an answer goes to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Where {
    /// A question of the exchange.
    Exchange(AskKey),
    /// A question of the connection.
    Connection(AskKey),
}

/// A client's answer to a question; `None` when the question was withdrawn.
type Answered = (Where, Option<Result<Raw, ErrorObject>>);

/// The questions of one exchange that its client has not answered.
#[derive(Default)]
struct Asking {
    /// Made with the first question: most exchanges ask none.
    answers: Option<FuturesUnordered<BoxFuture<'static, Answered>>>,
    handles: BTreeMap<Where, AbortHandle>,
}

// === impl Conversation ===

impl Conversation {
    /// Waits until the caller's instance is connected.
    pub(crate) async fn open(
        server: Arc<Server>,
        context: OpContext,
        peer: Arc<dyn Peer>,
    ) -> Result<Self, CallFailure> {
        let name = &server.spec.name;
        let common = &server.common;
        let limit = server.spec.timeout.unwrap_or(common.settings.call_timeout);
        for _ in 0..INSTANCE_TRIES {
            let instance = server.instance(common, &context.caller, Some(&peer))?;
            let live = instance.connected(name, limit, &context.cancel).await?;
            let until = until(&server, &context, limit);
            let Some(flight) = instance.enter(&context.caller.seat, &peer, until) else {
                server.forget(&instance);
                continue;
            };
            return Ok(Self {
                server,
                context,
                peer,
                live,
                flight,
                limit,
                until,
            });
        }
        Err(CallFailure::NotConnected {
            server: name.clone(),
            reason: "it was stopped".to_owned(),
        })
    }

    /// Whether what was decided on is what the server offers now.
    fn check(&self, permitted: &Permitted, item: &Item) -> Result<(), CallFailure> {
        let target = permitted.target();
        let Some(pinned) = target.definition else {
            return Ok(());
        };
        let published = self.live.published.load();
        if definition(&published.definitions, item, &target.item) == Some(pinned) {
            return Ok(());
        }
        Err(CallFailure::DefinitionChanged {
            server: self.server.spec.name.clone(),
            item: target.item.clone(),
        })
    }

    /// Waits for the session that follows the one the call was not made in.
    async fn reconnect(&mut self, permitted: &Permitted, item: &Item) -> Result<(), CallFailure> {
        let name = &self.server.spec.name;
        // Many may ask, and one attempt is made.
        self.flight.instance.retry();
        let next = self.flight.instance.connected_after(
            &self.live,
            name,
            self.limit,
            &self.context.cancel,
        );
        self.live = next.await?;
        self.check(permitted, item)
    }

    /// The request as the server is to get it.
    fn order(&self, permitted: &Permitted, call: &Call) -> Order {
        let name = &permitted.target().item;
        let mut params = call.params.clone();
        match &call.item {
            Item::Tool(_) | Item::Prompt(_) => rename(&mut params, "name", name),
            Item::Resource(_) | Item::Skill(_) | Item::Directory(_) => {
                rename(&mut params, "uri", name);
            }
            Item::PromptArgument(_) => {
                if let Some(mut reference) = params.get("ref").and_then(Raw::to_object) {
                    rename(&mut reference, "name", name);
                    params.set("ref", reference.to_raw());
                }
            }
            Item::ResourceArgument(_) => {}
        }
        let mut order = Order {
            progress: self.peer.wants_progress(),
            log_level: self.peer.log_level(),
            retry: call.retry.clone(),
            ..Order::own(call.item.method(), params)
        };
        if self.live.about.revision.is_modern() {
            order.face = Some(self.face(call.task));
        }
        if matches!(call.item, Item::Tool(_)) {
            let published = self.live.published.load();
            let tool = published.definitions.list(ListKind::Tools).get(name);
            order.declared = tool.and_then(|tool| tool.declared.clone());
            let support = tool.map_or(TaskSupport::Forbidden, |tool| tool.task_support);
            if let Some(task) = self.task_param(call.task, support) {
                order.params.set("task", task);
            }
        }
        order
    }

    /// What a modern server may ask of the client of this very request.
    pub(crate) fn face(&self, wish: TaskWish) -> Face {
        // For a client that knows no tasks the hub follows them itself, except
        // that a modern one is told which extension it lacks.
        let tasks_ext = wish != TaskWish::Never || !self.peer.revision().is_modern();
        Face {
            capabilities: self.live.asked(self.peer.capabilities(), tasks_ext),
            info: self.peer.client_info(),
        }
    }

    /// `params.task` for a server of revision 2025-11-25.
    fn task_param(&self, wish: TaskWish, support: TaskSupport) -> Option<Raw> {
        if !self.has_legacy_tasks() {
            return None;
        }
        match (support, wish) {
            // A client that asks for no task hears what the server says to that.
            (TaskSupport::Forbidden, _)
            | (_, TaskWish::Never)
            | (TaskSupport::Optional, TaskWish::Needed) => None,
            (_, TaskWish::Requested { ttl: Some(ttl) }) => {
                let ms = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
                Some(Object::new().with("ttl", Raw::int(ms)).to_raw())
            }
            _ => Some(Raw::empty_object()),
        }
    }

    /// Whether tasks of this server have the shape of 2025-11-25.
    pub(crate) fn has_legacy_tasks(&self) -> bool {
        self.live.legacy_tasks
    }

    /// Sets a legacy server's log level to what this call wants. A server of
    /// one client follows that client; a shared one is set to the most verbose
    /// level anybody wanted, and each call picks from what comes.
    async fn set_level(&mut self) {
        let about = &self.live.about;
        if about.revision.is_modern() || !about.capabilities.contains("logging") {
            return;
        }
        let Some(wanted) = self.peer.log_level() else {
            return;
        };
        let wanted = level::severity(&wanted);
        let own = matches!(self.flight.instance.key, Key::Seat(_));
        {
            let mut level = self
                .live
                .level
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let set = match *level {
                None => true,
                Some(level) if own => level != wanted,
                Some(level) => wanted < level,
            };
            if !set {
                return;
            }
            *level = Some(wanted);
        }
        let params = Object::new().with("level", Raw::str(level::word(wanted)));
        // A new session may have been waited for since.
        self.put_off();
        let set = port::request(&*self.live.port, "logging/setLevel", params);
        match tokio::time::timeout_at(self.until, set).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => self.server.log.note(&format!("logging/setLevel: {error}")),
            Err(_) => {
                let note = format!("logging/setLevel was not answered within {:?}", self.limit);
                self.server.log.note(&note);
            }
        }
        // The call itself has not begun.
        self.put_off();
    }

    /// Sends one request and sees it through: progress and log go to the
    /// client, questions are put to it. `patient` exchanges have no time limit
    /// of the hub's.
    pub(crate) async fn exchange(
        &mut self,
        order: Order,
        patient: bool,
    ) -> Result<Result<Raw, ErrorObject>, CallFailure> {
        let mut exchange = self.live.port.open(order);
        let mut asking = Asking::default();
        if self.flight.begin() {
            self.put_off();
        }
        loop {
            tokio::select! {
                biased;
                event = exchange.next() => match event {
                    CallEvent::Done(answer) => {
                        self.flight.finish();
                        return Ok(answer);
                    }
                    CallEvent::Progress(params) => {
                        self.put_off();
                        if self.peer.wants_progress() {
                            self.peer.progress(params);
                        }
                    }
                    CallEvent::Log(params) => self.log(params),
                    CallEvent::Ask { key, method, params } => {
                        if let Some(root) = self.root(&method) {
                            exchange.answer(key, Ok(root));
                            continue;
                        }
                        asking.put(&self.peer, Where::Exchange(key), method, params);
                    }
                    CallEvent::AskWithdrawn(key) => asking.withdraw(&Where::Exchange(key)),
                    ended => return Err(self.ended(ended)),
                },
                Some((to, answer)) = asking.next(), if !asking.is_empty() => {
                    self.put_off();
                    asking.handles.remove(&to);
                    match (to, answer) {
                        (Where::Exchange(key), Some(answer)) => exchange.answer(key, answer),
                        (Where::Connection(key), Some(answer)) => {
                            self.flight.settle(&key);
                            self.live.port.answer(key, answer);
                        }
                        (_, None) => {}
                    }
                }
                loose = self.flight.next() => match loose {
                    Loose::Asked(LooseAsk { key, method, params, .. }) => {
                        asking.put(&self.peer, Where::Connection(key), method, params);
                    }
                    Loose::Withdrawn(key) => asking.withdraw(&Where::Connection(key)),
                    // A person may take their time over a question.
                    Loose::Overdue if patient || !asking.is_empty() => {}
                    Loose::Overdue if self.until <= Instant::now() => {
                        return Err(CallFailure::TimedOut {
                            server: self.server.spec.name.clone(),
                            after: self.limit,
                        });
                    }
                    Loose::Overdue => self.flight.wait_until(self.until),
                },
                reason = self.context.cancel.cancelled() => {
                    return Err(CallFailure::Cancelled(reason));
                }
            }
        }
    }

    fn ended(&self, event: CallEvent) -> CallFailure {
        let server = self.server.spec.name.clone();
        match event {
            CallEvent::Lost(reason) => {
                let reason = match self.server.log.quote() {
                    Some(quote) => format!("{reason}; stderr: {quote}"),
                    None => reason,
                };
                CallFailure::Lost { server, reason }
            }
            CallEvent::NotMade(reason) => CallFailure::NotConnected { server, reason },
            CallEvent::NeedsAuth => CallFailure::NeedsAuth { server },
            CallEvent::Progress(_)
            | CallEvent::Log(_)
            | CallEvent::Ask { .. }
            | CallEvent::AskWithdrawn(_)
            | CallEvent::Done(_) => CallFailure::Protocol {
                server,
                reason: "the exchange ended without an answer".to_owned(),
            },
        }
    }

    /// What the hub itself answers: an instance of one folder has that root,
    /// whichever of the clients that work there is calling.
    fn root(&self, method: &str) -> Option<Raw> {
        match &self.flight.instance.key {
            Key::Folder(folder) if method == "roots/list" => Some(roots::of_folder(folder)),
            _ => None,
        }
    }

    /// Passes a log message on. A pipe does not say which call it is about: one
    /// that several clients share may be telling of another's.
    fn log(&self, params: Raw) {
        let pipe = self.server.spec.transport.is_one_stream();
        let own = matches!(self.flight.instance.key, Key::Seat(_));
        if pipe && !own && !self.flight.instance.is_only(&self.context.caller.seat) {
            self.server.log.note(params.as_text());
            return;
        }
        if level::passes(&params, self.peer.log_level().as_deref()) {
            self.peer.log(params);
        }
    }

    /// Something has happened: the time for an answer begins anew.
    fn put_off(&mut self) {
        self.until = until(&self.server, &self.context, self.limit);
        self.flight.wait_until(self.until);
    }
}

// === impl Asking ===

impl Asking {
    fn put(&mut self, peer: &Arc<dyn Peer>, to: Where, method: Box<str>, params: Option<Raw>) {
        let (handle, registration) = AbortHandle::new_pair();
        let answer = Abortable::new(ask::ask(peer, method, params), registration);
        self.handles.insert(to.clone(), handle);
        self.answers
            .get_or_insert_default()
            .push(Box::pin(async { (to, answer.await.ok()) }));
    }

    async fn next(&mut self) -> Option<Answered> {
        self.answers.as_mut()?.next().await
    }

    fn withdraw(&mut self, to: &Where) {
        if let Some(handle) = self.handles.remove(to) {
            handle.abort();
        }
    }

    fn is_empty(&self) -> bool {
        self.answers.as_ref().is_none_or(FuturesUnordered::is_empty)
    }
}

/// When the time for an answer is over, if nothing happens until then.
fn until(server: &Server, context: &OpContext, limit: Duration) -> Instant {
    let now = Instant::now();
    let end = now + limit;
    let Some(deadline) = context.deadline else {
        return end;
    };
    let left = deadline.saturating_duration_since(server.common.clock.now());
    end.min(now + left)
}

fn rename(object: &mut Object, key: &str, name: &str) {
    let same = object.get(key).and_then(Raw::to_str).as_deref() == Some(name);
    if !same {
        object.set(key, Raw::str(name));
    }
}

/// The pin of what an item of a call stands for. A resource that is not listed
/// has the pin of the template it comes from, if there is one.
pub(crate) fn definition(
    definitions: &Definitions,
    item: &Item,
    name: &str,
) -> Option<DefinitionHash> {
    let of = |kind: ListKind| definitions.list(kind).get(name).map(|item| item.hash);
    match item {
        Item::Tool(_) => of(ListKind::Tools),
        Item::Prompt(_) | Item::PromptArgument(_) => of(ListKind::Prompts),
        Item::Skill(_) => of(ListKind::Skills),
        Item::Directory(_) => None,
        Item::Resource(_) | Item::ResourceArgument(_) => of(ListKind::Resources)
            .or_else(|| of(ListKind::Templates))
            .or_else(|| {
                let templates = definitions.list(ListKind::Templates).items();
                let found = templates
                    .iter()
                    .find(|item| template::matches(&item.name, name));
                found.map(|item| item.hash)
            }),
    }
}
