//! The host as the gate sees it.

use std::sync::Arc;

use futures_util::future::{BoxFuture, join_all};
use legation_core::{Caller, EntityId, OpContext, ServerName, TaskHandle, boxed};
use legation_gate::policy::{Permitted, Target};
use legation_gate::{
    Call, CallFailure, Description, Endpoint, HubEvent, Item, ListKind, Listing, Outcome, Peer,
    Resolve, ServerSet, Subscription, TaskVerb, Unresolved,
};
use tokio::sync::broadcast;

use super::{Host, Inner};
use crate::call::{self, Conversation};
use crate::instance::Key;
use crate::server::Server;
use crate::tasks;

/// Ends a subscription when dropped.
struct Watching {
    inner: Arc<Inner>,
    server: ServerName,
    key: Key,
    uri: Box<str>,
}

impl Host {
    /// The server that was decided on, if what was decided is what is called.
    fn decided(&self, context: &OpContext, permitted: &Permitted) -> Result<Arc<Server>, Outcome> {
        let target = permitted.target();
        let gone = |reason: &str| {
            Outcome::Failed(CallFailure::NotConnected {
                server: target.server.clone(),
                reason: reason.to_owned(),
            })
        };
        if *permitted.principal() != context.caller.principal {
            tracing::error!(server = %target.server, "a permission was used by another than it was given to");
            return Err(gone("the permission is another's"));
        }
        let roster = self.inner.roster.load();
        let server = roster.exact(&context.caller, target);
        let server = server.filter(|server| server.is_visible(&context.caller));
        server
            .cloned()
            .ok_or_else(|| gone("it is not configured any more"))
    }
}

impl ServerSet for Host {
    fn resolve(&self, caller: &Caller, endpoint: &Endpoint, item: &Item) -> Resolve {
        let inner = &self.inner;
        let now = inner.resolve_now(caller, endpoint, item);
        let pending = match &now {
            Ok(target) => inner.own_pending(caller, target),
            Err(Unresolved::Unknown { .. }) => inner.pending(caller, endpoint, item),
            Err(_) => return Resolve::Ready(now),
        };
        if pending.is_empty() {
            return Resolve::Ready(
                now.map_err(|error| inner.explain(error, caller, endpoint, item)),
            );
        }
        let inner = Arc::clone(inner);
        let (caller, endpoint) = (caller.clone(), endpoint.clone());
        let item = item.clone();
        Resolve::Wait(Box::pin(async move {
            let waits = pending.iter().map(|waiting| waiting.settled());
            join_all(waits).await;
            let now = inner.resolve_now(&caller, &endpoint, &item);
            now.map_err(|error| inner.explain(error, &caller, &endpoint, &item))
        }))
    }

    fn call(
        &self,
        context: OpContext,
        permitted: Permitted,
        call: Call,
    ) -> BoxFuture<'static, Outcome> {
        match self.decided(&context, &permitted) {
            Ok(server) => {
                boxed!(call::call(server, context, permitted, call))
            }
            Err(outcome) => Box::pin(std::future::ready(outcome)),
        }
    }

    fn task_target(&self, caller: &Caller, handle: &TaskHandle) -> Result<Target, Unresolved> {
        let roster = self.inner.roster.load();
        tasks::target(&self.inner.common, &roster, caller, handle)
    }

    fn task(
        &self,
        context: OpContext,
        permitted: Permitted,
        handle: TaskHandle,
        verb: TaskVerb,
        peer: Arc<dyn Peer>,
    ) -> BoxFuture<'static, Outcome> {
        let server = match self.decided(&context, &permitted) {
            Ok(server) => server,
            Err(outcome) => return Box::pin(std::future::ready(outcome)),
        };
        let common = Arc::clone(&self.inner.common);
        Box::pin(async move {
            let stored = tasks::find(&common, &context.caller, &handle);
            let stored = stored
                .ok()
                .filter(|stored| stored.row.server == server.spec.name);
            let Some(stored) = stored else {
                return Outcome::Error(tasks::unknown(&handle));
            };
            match Conversation::open(server, context, peer).await {
                Ok(conversation) => tasks::run(conversation, stored, verb).await,
                Err(failure) => Outcome::Failed(failure),
            }
        })
    }

    fn tasks(&self, caller: &Caller) -> Vec<TaskHandle> {
        tasks::list(&self.inner.common, caller)
    }

    fn listing(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        kind: ListKind,
    ) -> Result<Arc<Listing>, Unresolved> {
        let parts = self.inner.parts(caller, endpoint)?;
        let views = self.inner.common.views.load();
        let view = match endpoint {
            Endpoint::View(name) => views.get(name),
            Endpoint::All | Endpoint::Server(_) => None,
        };
        Ok(self.inner.catalogue.listing(endpoint, kind, &parts, view))
    }

    fn lists_version(&self) -> Option<u64> {
        let shared = !self.inner.roster.load().has_own;
        shared.then(|| self.inner.common.lists_version())
    }

    fn describe(&self, caller: &Caller, endpoint: &Endpoint) -> Result<Description, Unresolved> {
        self.inner.description(caller, endpoint)
    }

    fn endpoint(&self, caller: &Caller, endpoint: &Endpoint) -> Result<(), Unresolved> {
        match endpoint {
            Endpoint::All => Ok(()),
            Endpoint::Server(_) | Endpoint::View(_) => {
                self.inner.servers(caller, endpoint).map(drop)
            }
        }
    }

    fn covers(&self, caller: &Caller, endpoint: &Endpoint, server: &ServerName) -> bool {
        let roster = self.inner.roster.load();
        // A server that was just removed concerns those who saw it.
        let visible =
            roster.find(caller, server).is_some() || roster.named(server.as_str()).next().is_none();
        visible && self.inner.includes(endpoint, server)
    }

    fn entity(&self, caller: &Caller, server: &ServerName) -> Option<EntityId> {
        let roster = self.inner.roster.load();
        roster.find(caller, server)?.spec.entity.clone()
    }

    fn subscribe(&self, caller: &Caller, permitted: &Permitted) -> Subscription {
        let target = permitted.target();
        let common = &self.inner.common;
        let roster = self.inner.roster.load();
        let server = roster.exact(caller, target);
        let server = server.filter(|server| server.is_visible(caller));
        let Some(server) = server else {
            return Subscription::new(());
        };
        let watching = Watching {
            inner: Arc::clone(&self.inner),
            server: target.server.clone(),
            key: server.key(caller),
            uri: target.item.clone(),
        };
        common
            .watches
            .add(&watching.server, &watching.key, &watching.uri);
        match server.instance(common, caller, None) {
            Ok(instance) => instance.nudge.notify_one(),
            // It is watched as soon as there is an instance.
            Err(failure) => server.log.note(&failure.to_string()),
        }
        Subscription::new(watching)
    }

    fn seat_opened(&self, caller: &Caller, peer: Arc<dyn Peer>) {
        self.inner.common.seats.open(caller, peer);
    }

    fn roots_changed(&self, caller: &Caller) {
        for instance in self.inner.of_seat(caller) {
            instance.roots_changed();
        }
    }

    fn seat_closed(&self, caller: &Caller) {
        let common = &self.inner.common;
        common.seats.close(&caller.seat);
        self.inner.end_seat(caller);
    }

    fn events(&self) -> broadcast::Receiver<HubEvent> {
        self.inner.common.events.subscribe()
    }
}

// === impl Watching ===

impl Drop for Watching {
    fn drop(&mut self) {
        let watches = &self.inner.common.watches;
        watches.remove(&self.server, &self.key, &self.uri);
        self.inner.nudge(&self.server, &self.key);
    }
}
