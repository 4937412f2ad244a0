//! What the gate needs of whoever holds the servers.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_core::{Caller, EntityId, OpContext, ServerName, TaskHandle};
use legation_policy::{Permitted, Target};
use legation_wire::json::{Object, Raw};
use tokio::sync::broadcast;

use crate::{Call, Description, Endpoint, HubEvent, Item, ListKind, Listing, Outcome, Peer};

/// Why a name leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// No server offers it.
    #[error("there is no {what} named {name:?}; nothing was called")]
    Unknown {
        /// `tool`, `resource`, `prompt`, `skill`, `directory` or `task`.
        what: &'static str,
        /// The name given.
        name: Box<str>,
    },
    /// Nobody is known to offer it, and a server that may has not connected yet.
    #[error(
        "{name:?} is not known, and {server}, whose it may be, is not connected ({reason}); nothing was called"
    )]
    Unavailable {
        /// The name given.
        name: Box<str>,
        /// The server that may offer it.
        server: ServerName,
        /// Why it is not connected.
        reason: String,
    },
    /// More than one server offers it, and the name does not say which is meant.
    #[error("{name:?} is offered by {}; nothing was read", listed(.owners))]
    Ambiguous {
        /// The URI given.
        name: Box<str>,
        /// Those that offer it, two or more.
        owners: Vec<ServerName>,
    },
    /// A server of the hub's own was called for an account that cannot be used.
    #[error("{why}")]
    NoAccount {
        /// What is wrong, and what was not done.
        why: String,
        /// What to do next.
        hint: String,
    },
    /// The endpoint itself does not exist.
    #[error("there is no {what} named {name:?}")]
    NoEndpoint {
        /// `server` or `view`.
        what: &'static str,
        /// The name given.
        name: Box<str>,
    },
}

/// A resolution that is at hand, or one that has to wait for a server.
pub enum Resolve {
    /// Known now.
    Ready(Result<Target, Unresolved>),
    /// A server that might offer it is still connecting for the first time.
    Wait(BoxFuture<'static, Result<Target, Unresolved>>),
}

/// Whose data a call concerns: known at hand, or looked up first.
pub enum Concern {
    /// Known now.
    Ready(Result<Option<EntityId>, Unresolved>),
    /// It stands in a file.
    Wait(BoxFuture<'static, Result<Option<EntityId>, Unresolved>>),
}

/// What a client does with a task of its own.
#[derive(Debug)]
pub enum TaskVerb {
    /// `tasks/get`.
    Get,
    /// `tasks/update`: answers to the task's questions, by key.
    Update(Object),
    /// `tasks/cancel`.
    Cancel,
}

/// Holds a resource subscription open; dropping it ends the subscription.
pub struct Subscription(Box<dyn Any + Send + Sync>);

/// The servers, upstream and native alike.
pub trait ServerSet: Send + Sync + fmt::Debug {
    /// Finds the pinned definition behind a name.
    fn resolve(&self, caller: &Caller, endpoint: &Endpoint, item: &Item) -> Resolve;

    /// Calls what was permitted; the target is the `Permitted`'s, never the
    /// call's. Dropping the future cancels the call at the server.
    fn call(
        &self,
        context: OpContext,
        permitted: Permitted,
        call: Call,
    ) -> BoxFuture<'static, Outcome>;

    /// The target behind a task handle, if the task is the caller's.
    ///
    /// # Errors
    /// When there is no such task, or it is another client's.
    fn task_target(&self, caller: &Caller, handle: &TaskHandle) -> Result<Target, Unresolved>;

    /// Reads, answers or cancels a task. `Get` completes with the task in the
    /// extension's shape (`status`, and `inputRequests`, `result` or `error`).
    fn task(
        &self,
        context: OpContext,
        permitted: Permitted,
        handle: TaskHandle,
        verb: TaskVerb,
        peer: Arc<dyn Peer>,
    ) -> BoxFuture<'static, Outcome>;

    /// The handles of a caller's tasks, oldest first.
    fn tasks(&self, caller: &Caller) -> Vec<TaskHandle>;

    /// One list of an endpoint. Never waits for a server. The same `Arc` comes
    /// back while nothing changed.
    ///
    /// # Errors
    /// When there is no such endpoint.
    fn listing(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        kind: ListKind,
    ) -> Result<Arc<Listing>, Unresolved>;

    /// A number that every change of a list makes greater, where all callers without a
    /// workspace see the same lists: what was read of one after this number holds until it
    /// changes. `None` where lists depend on more than that.
    fn lists_version(&self) -> Option<u64> {
        None
    }

    /// What an endpoint says of itself.
    ///
    /// # Errors
    /// When there is no such endpoint.
    fn describe(&self, caller: &Caller, endpoint: &Endpoint) -> Result<Description, Unresolved>;

    /// Whether an endpoint exists for a caller.
    ///
    /// # Errors
    /// When there is no such endpoint.
    fn endpoint(&self, caller: &Caller, endpoint: &Endpoint) -> Result<(), Unresolved> {
        match endpoint {
            Endpoint::All => Ok(()),
            Endpoint::Server(_) | Endpoint::View(_) => self.describe(caller, endpoint).map(drop),
        }
    }

    /// Whether a server's changes concern an endpoint.
    fn covers(&self, caller: &Caller, endpoint: &Endpoint, server: &ServerName) -> bool;

    /// Whose data a server holds, where its configuration says so.
    fn entity(&self, caller: &Caller, server: &ServerName) -> Option<EntityId>;

    /// Whose data a call to a server of the hub's own concerns, as its arguments
    /// say; an error when what they name is not there or cannot be used. Asked of
    /// such servers alone, before anything is decided.
    fn concerns(&self, target: &Target, params: &Object) -> Concern {
        let _nobody = (target, params);
        Concern::Ready(Ok(None))
    }

    /// To whom a server of the hub's own sends what it is called with, where the
    /// arguments do not say so; asked of such servers alone.
    fn recipient(&self, target: &Target, arguments: &Raw) -> Option<Box<str>> {
        let _nobody = (target, arguments);
        None
    }

    /// Asks the server of a permitted resource to report its changes.
    fn subscribe(&self, caller: &Caller, permitted: &Permitted) -> Subscription;

    /// A seat is taken: its client's capabilities are known from here on.
    fn seat_opened(&self, caller: &Caller, peer: Arc<dyn Peer>);

    /// The roots of a seat's client changed (`notifications/roots/list_changed`).
    fn roots_changed(&self, caller: &Caller);

    /// A seat's client is gone, or has been idle for long: what was started for
    /// it alone can stop.
    fn seat_closed(&self, caller: &Caller);

    /// Everything that happens from now on.
    fn events(&self) -> broadcast::Receiver<HubEvent>;
}

fn listed(owners: &[ServerName]) -> String {
    let names: Vec<&str> = owners.iter().map(ServerName::as_str).collect();
    match names.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => names.concat(),
    }
}

// === impl Resolve ===

impl fmt::Debug for Resolve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(result) => f.debug_tuple("Ready").field(result).finish(),
            Self::Wait(_) => f.write_str("Wait"),
        }
    }
}

// === impl Concern ===

impl Concern {
    /// Waits for it, where it is not known yet.
    ///
    /// # Errors
    /// When what the call names is not there or cannot be used.
    pub async fn known(self) -> Result<Option<EntityId>, Unresolved> {
        match self {
            Self::Ready(entity) => entity,
            Self::Wait(entity) => entity.await,
        }
    }
}

impl fmt::Debug for Concern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(result) => f.debug_tuple("Ready").field(result).finish(),
            Self::Wait(_) => f.write_str("Wait"),
        }
    }
}

// === impl Subscription ===

impl Subscription {
    /// Wraps whatever ends the subscription when dropped.
    #[must_use]
    pub fn new(guard: impl Any + Send + Sync) -> Self {
        Self(Box::new(guard))
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription")
            .field(&(*self.0).type_id())
            .finish()
    }
}
