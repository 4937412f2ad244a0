//! The native servers beside everybody else's.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use legation_core::{Caller, EntityId, OpContext, ServerName, TaskHandle};
use legation_engine::Turns;
use legation_gate::policy::{Origin, Permitted, Target, Verb};
use legation_gate::{
    Call, CallFailure, Concern, Description, Endpoint, Entry, HubEvent, Item, ListKind, Listing,
    Outcome, Peer, Resolve, ServerSet, Subscription, TaskVerb, Unresolved,
};
use legation_wire::json::{Object, Raw};
use tokio::sync::broadcast;

use crate::Native;
use crate::catalogue::Shelf;
use crate::native::no_task;

mod described;
mod fit;
mod unread;

pub(crate) use fit::Fit;
pub use unread::Unread;

/// How many merged lists are kept; past that they are made anew.
const MERGED_MAX: usize = 64;
/// Sets the versions of merged lists apart from those of the lists in them.
const MERGED: u64 = 1 << 63;
/// Sets the versions of native lists apart from both.
const NATIVE: u64 = 1 << 62;

/// Which servers a view shows.
pub trait Views: Send + Sync + fmt::Debug {
    /// Whether the view exists and includes the server.
    fn includes(&self, view: &str, server: &str) -> bool;
}

/// Native servers, and behind them all others.
#[derive(Debug)]
pub struct Natives {
    others: Arc<dyn ServerSet>,
    views: Arc<dyn Views>,
    shelves: Vec<Shelf>,
    merged: Mutex<HashMap<(u64, ListKind, Shown), Arc<Listing>>>,
    own: HashMap<(usize, ListKind), Arc<Listing>>,
    unread: Option<Arc<dyn Unread>>,
}

/// Which native servers are in a list, one bit each.
type Shown = u32;

// === impl Natives ===

impl Natives {
    /// Puts native servers before others. At most 32; a name that is no
    /// server's is left out.
    #[must_use]
    pub fn new(
        natives: Vec<Arc<dyn Native>>,
        others: Arc<dyn ServerSet>,
        views: Arc<dyn Views>,
    ) -> Self {
        let shelves: Vec<Shelf> = natives
            .into_iter()
            .take(32)
            .filter_map(|native| {
                let name = ServerName::parse(native.name()).ok()?;
                Some(Shelf::new(native, name))
            })
            .collect();
        let mut own = HashMap::new();
        for (at, shelf) in shelves.iter().enumerate() {
            for (kind, step) in ListKind::ALL.into_iter().zip(0..) {
                let listing = Listing {
                    version: NATIVE + (at * ListKind::ALL.len()) as u64 + step,
                    entries: shelf.list(kind, false).to_vec(),
                };
                own.insert((at, kind), Arc::new(listing));
            }
        }
        Self {
            others,
            views,
            shelves,
            merged: Mutex::default(),
            own,
            unread: None,
        }
    }

    /// Has every tool's result say how many messages wait for the caller.
    #[must_use]
    pub fn with_unread(mut self, unread: Arc<dyn Unread>) -> Self {
        self.unread = Some(unread);
        self
    }

    /// Those of its servers that want to know of turns.
    #[must_use]
    pub fn turns(&self) -> Vec<Arc<dyn Turns>> {
        let shelves = self.shelves.iter();
        shelves.filter_map(|shelf| shelf.native.turns()).collect()
    }

    /// The tools and prompts of each, under their own names, and its instructions.
    pub fn offered(
        &self,
    ) -> impl Iterator<Item = (&ServerName, [&[Entry]; 2], Option<&'static str>)> {
        self.shelves.iter().map(|shelf| {
            let lists = [ListKind::Tools, ListKind::Prompts].map(|kind| shelf.list(kind, false));
            (&shelf.name, lists, shelf.native.instructions())
        })
    }

    fn native(&self, name: &ServerName) -> Option<usize> {
        self.shelves.iter().position(|shelf| shelf.name == *name)
    }

    /// The native servers of an endpoint that shows several.
    fn shown(&self, caller: &Caller, endpoint: &Endpoint) -> Shown {
        let bits = self
            .shelves
            .iter()
            .enumerate()
            .filter(|(_, shelf)| match endpoint {
                Endpoint::All => shelf.native.is_listed_for(caller),
                Endpoint::View(view) => self.views.includes(view, shelf.name.as_str()),
                Endpoint::Server(_) => false,
            });
        bits.fold(0, |shown, (at, _)| shown | 1 << at)
    }

    fn of(&self, shown: Shown) -> impl Iterator<Item = &Shelf> {
        let shelves = self.shelves.iter().enumerate();
        shelves.filter_map(move |(at, shelf)| (shown & (1 << at) != 0).then_some(shelf))
    }

    /// What is named, if it is a native server's.
    fn find(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        item: &Item,
    ) -> Option<Result<Target, Unresolved>> {
        if let Endpoint::Server(name) = endpoint {
            let shelf = &self.shelves[self.native(name)?];
            let found = match item {
                Item::Tool(name) => shelf.tool(name),
                Item::Resource(uri) => shelf.resource(uri),
                Item::Prompt(name) => shelf.prompt(name),
                Item::Skill(_)
                | Item::Directory(_)
                | Item::PromptArgument(_)
                | Item::ResourceArgument(_) => None,
            };
            return Some(found.ok_or_else(|| unknown(item)));
        }
        let find = |shelf: &Shelf| match item {
            Item::Tool(name) => shelf.flat_tool(name),
            Item::Resource(uri) => shelf.resource(uri),
            Item::Prompt(name) => shelf.flat_prompt(name),
            Item::Skill(_)
            | Item::Directory(_)
            | Item::PromptArgument(_)
            | Item::ResourceArgument(_) => None,
        };
        let (at, target) = self
            .shelves
            .iter()
            .enumerate()
            .find_map(|(at, shelf)| find(shelf).map(|target| (at, target)))?;
        (self.shown(caller, endpoint) & (1 << at) != 0).then_some(Ok(target))
    }

    /// Calls what was permitted, of a native server or of the others.
    fn answer(
        &self,
        context: OpContext,
        permitted: Permitted,
        call: Call,
    ) -> BoxFuture<'static, Outcome> {
        let Some(shelf) = self.builtin(permitted.target()) else {
            return self.others.call(context, permitted, call);
        };
        let target = permitted.target();
        let gone = || gone(target);
        if *permitted.principal() != context.caller.principal {
            tracing::error!(server = %target.server, "a permission was used by another than it was given to");
            return Box::pin(std::future::ready(gone()));
        }
        match &call.item {
            Item::Resource(_) => {
                return read(shelf, context, target)
                    .unwrap_or_else(|| Box::pin(std::future::ready(gone())));
            }
            Item::Prompt(_) => {
                let mut prompts = shelf.native.prompts().iter();
                let prompt = prompts.find(|prompt| *prompt.name == *target.item);
                let outcome = prompt.map_or_else(gone, crate::Prompt::result);
                return Box::pin(std::future::ready(outcome));
            }
            Item::Tool(_)
            | Item::Skill(_)
            | Item::Directory(_)
            | Item::PromptArgument(_)
            | Item::ResourceArgument(_) => {}
        }
        let mut tools = shelf.native.tools().iter().zip(&shelf.fits);
        let Some((tool, fit)) = tools.find(|(tool, _)| *tool.name == *target.item) else {
            return Box::pin(std::future::ready(gone()));
        };
        if let Err(error) = fit.takes(call.params.get("arguments")) {
            return Box::pin(std::future::ready(Outcome::Error(error)));
        }
        let refused = |why: &str| Box::pin(std::future::ready(crate::failed(why)));
        let Some(arguments) = arguments(&call.params) else {
            return refused("`arguments` must be an object; nothing was done");
        };
        // Tokens became values since it was asked; what was decided must not have moved.
        match shelf.native.entity(tool.name, &arguments) {
            Ok(entity) if entity == target.entity => {}
            Ok(_) => {
                return refused("the call is no longer for whom it was allowed; nothing was done");
            }
            Err(error) => return refused(&error.to_string()),
        }
        let native = &shelf.native;
        let answer = native.call(context, tool.name, arguments, call.task, call.peer);
        if !fit.has_output() {
            return answer;
        }
        let fit = Arc::clone(fit);
        Box::pin(async move { fit.answers(answer.await) })
    }

    fn builtin(&self, target: &Target) -> Option<&Shelf> {
        if target.origin != Origin::Builtin {
            return None;
        }
        self.native(&target.server).map(|at| &self.shelves[at])
    }
}

impl ServerSet for Natives {
    fn resolve(&self, caller: &Caller, endpoint: &Endpoint, item: &Item) -> Resolve {
        match self.find(caller, endpoint, item) {
            Some(found) => Resolve::Ready(found),
            None => self.others.resolve(caller, endpoint, item),
        }
    }

    fn call(
        &self,
        context: OpContext,
        permitted: Permitted,
        call: Call,
    ) -> BoxFuture<'static, Outcome> {
        let unread = match (&self.unread, &call.item) {
            (Some(unread), Item::Tool(_)) => unread::Mention::of(unread, &context.caller),
            _ => None,
        };
        let answer = self.answer(context, permitted, call);
        match unread {
            Some(mention) => Box::pin(async move { mention.add(answer.await) }),
            None => answer,
        }
    }

    fn task_target(&self, caller: &Caller, handle: &TaskHandle) -> Result<Target, Unresolved> {
        let mut shelves = self.shelves.iter();
        let own = shelves.find_map(|shelf| shelf.task(shelf.native.owns(caller, handle)?));
        own.map_or_else(|| self.others.task_target(caller, handle), Ok)
    }

    fn task(
        &self,
        context: OpContext,
        permitted: Permitted,
        handle: TaskHandle,
        verb: TaskVerb,
        peer: Arc<dyn Peer>,
    ) -> BoxFuture<'static, Outcome> {
        let target = permitted.target();
        let Some(shelf) = self.builtin(target) else {
            return self.others.task(context, permitted, handle, verb, peer);
        };
        // What was decided about must still be the caller's, and be what it was.
        let own = shelf.native.owns(&context.caller, &handle);
        let is_own =
            own.is_some_and(|own| *own.tool == *target.item && own.entity == target.entity);
        if !is_own || *permitted.principal() != context.caller.principal {
            return Box::pin(std::future::ready(no_task(&handle)));
        }
        shelf.native.task(context, handle, verb, peer)
    }

    fn tasks(&self, caller: &Caller) -> Vec<TaskHandle> {
        let own = self.shelves.iter();
        let mut tasks: Vec<TaskHandle> = own.flat_map(|shelf| shelf.native.tasks(caller)).collect();
        tasks.extend(self.others.tasks(caller));
        tasks
    }

    fn listing(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        kind: ListKind,
    ) -> Result<Arc<Listing>, Unresolved> {
        if let Endpoint::Server(name) = endpoint
            && let Some(at) = self.native(name)
        {
            return Ok(Arc::clone(&self.own[&(at, kind)]));
        }
        let theirs = self.others.listing(caller, endpoint, kind)?;
        let shown = self.shown(caller, endpoint);
        if self
            .of(shown)
            .all(|shelf| shelf.list(kind, true).is_empty())
        {
            return Ok(theirs);
        }
        let mut merged = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (theirs.version, kind, shown);
        if let Some(listing) = merged.get(&key) {
            return Ok(Arc::clone(listing));
        }
        let mut entries = theirs.entries.clone();
        for shelf in self.of(shown) {
            entries.extend_from_slice(shelf.list(kind, true));
        }
        // Which natives a list shows is a matter of the endpoint, whose listing has a version of
        // its own already.
        let listing = Arc::new(Listing {
            version: theirs.version | MERGED,
            entries,
        });
        if merged.len() >= MERGED_MAX {
            merged.clear();
        }
        merged.insert(key, Arc::clone(&listing));
        Ok(listing)
    }

    fn lists_version(&self) -> Option<u64> {
        // What natives offer never changes, and the views that show them are the others'.
        self.others.lists_version()
    }

    fn describe(&self, caller: &Caller, endpoint: &Endpoint) -> Result<Description, Unresolved> {
        if let Endpoint::Server(name) = endpoint
            && let Some(at) = self.native(name)
        {
            return Ok(described::alone(&self.shelves[at]));
        }
        let mut theirs = self.others.describe(caller, endpoint)?;
        let shown = self.shown(caller, endpoint);
        for shelf in self.of(shown) {
            described::join(&mut theirs, shelf);
        }
        Ok(theirs)
    }

    fn endpoint(&self, caller: &Caller, endpoint: &Endpoint) -> Result<(), Unresolved> {
        match endpoint {
            Endpoint::Server(name) if self.native(name).is_some() => Ok(()),
            _ => self.others.endpoint(caller, endpoint),
        }
    }

    fn covers(&self, caller: &Caller, endpoint: &Endpoint, server: &ServerName) -> bool {
        self.others.covers(caller, endpoint, server)
    }

    fn entity(&self, caller: &Caller, server: &ServerName) -> Option<EntityId> {
        self.others.entity(caller, server)
    }

    fn concerns(&self, target: &Target, params: &Object) -> Concern {
        match (self.builtin(target), target.verb) {
            (Some(shelf), Verb::CallTool) => {
                // Arguments that are none are refused when it is called.
                let arguments = arguments(params).unwrap_or_default();
                Concern::Ready(shelf.native.entity(&target.item, &arguments))
            }
            (Some(shelf), Verb::ReadResource) if shelf.is_member(&target.item) => {
                Concern::Wait(shelf.native.member_entity(&target.item))
            }
            _ => Concern::Ready(Ok(None)),
        }
    }

    fn recipient(&self, target: &Target, arguments: &Raw) -> Option<Box<str>> {
        let shelf = self.builtin(target)?;
        shelf
            .native
            .recipient(&target.item, &arguments.to_object()?)
    }

    fn subscribe(&self, caller: &Caller, permitted: &Permitted) -> Subscription {
        match self.builtin(permitted.target()) {
            // What a native server holds announces itself, to all who subscribed at the front.
            Some(_) => Subscription::new(()),
            None => self.others.subscribe(caller, permitted),
        }
    }

    fn seat_opened(&self, caller: &Caller, peer: Arc<dyn Peer>) {
        self.others.seat_opened(caller, peer);
    }

    fn roots_changed(&self, caller: &Caller) {
        self.others.roots_changed(caller);
    }

    fn seat_closed(&self, caller: &Caller) {
        self.others.seat_closed(caller);
    }

    fn events(&self) -> broadcast::Receiver<HubEvent> {
        self.others.events()
    }
}

fn gone(target: &Target) -> Outcome {
    Outcome::Failed(CallFailure::NotConnected {
        server: target.server.clone(),
        reason: "it does not offer this".to_owned(),
    })
}

/// Reads a resource of a native server, if it has it.
fn read(shelf: &Shelf, context: OpContext, target: &Target) -> Option<BoxFuture<'static, Outcome>> {
    let mut resources = shelf.native.resources().iter();
    if let Some(resource) = resources.find(|resource| *resource.uri == *target.item) {
        return Some(shelf.native.read(context, resource.uri));
    }
    if !shelf.is_member(&target.item) {
        return None;
    }
    let (native, target) = (Arc::clone(&shelf.native), target.clone());
    Some(Box::pin(async move {
        // What is there may have changed since it was asked whose it is.
        match native.member_entity(&target.item).await {
            Ok(entity) if entity == target.entity => {
                native.read_member(context, &target.item).await
            }
            _ => gone(&target),
        }
    }))
}

/// The object of arguments; `None` where there is something else in its place.
fn arguments(params: &Object) -> Option<Object> {
    match params.get("arguments") {
        None => Some(Object::new()),
        Some(raw) => raw.to_object(),
    }
}

fn unknown(item: &Item) -> Unresolved {
    Unresolved::Unknown {
        what: item.what(),
        name: item.name().into(),
    }
}
