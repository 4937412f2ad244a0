//! What servers do unasked, as fronts hear of it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_core::{Caller, ClientId, EntityId, SeatId, ServerName};
use legation_wire::json::{Object, Raw};

use crate::ListKind;

/// Whom an event is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// Every client that sees the server.
    All,
    /// The one seat whose instance it came from.
    Seat(SeatId),
    /// The clients that work in one folder.
    Workspace(Arc<Path>),
}

/// Something changed.
#[derive(Debug, Clone)]
pub enum HubEvent {
    /// A list of a server's reads differently now.
    ListChanged {
        /// Whose list.
        server: ServerName,
        /// Which one.
        kind: ListKind,
        /// Who sees it.
        audience: Audience,
    },
    /// A resource has new content; only for those who subscribed to it.
    ResourceUpdated {
        /// Whose resource.
        server: ServerName,
        /// Which one, as the server names it.
        uri: Box<str>,
        /// Params of the notification, without era keys.
        params: Object,
        /// Who sees it.
        audience: Audience,
    },
    /// A server logged something that no call of anybody's caused, or that
    /// came outside every call.
    Logged {
        /// Whose log.
        server: ServerName,
        /// Params of `notifications/message`.
        params: Raw,
        /// Who may hear it, if their level lets it through.
        audience: Audience,
    },
    /// A task moved on.
    TaskChanged {
        /// Whose task.
        client: ClientId,
        /// The task in the shape of the tasks extension, under the hub's handle.
        task: Object,
    },
    /// A server of the hub's own says something that the protocol has no word for, to the
    /// clients of one principal that declared to understand it.
    Noted(Box<Note>),
    /// A server connected, failed or stopped.
    StatusChanged {
        /// Which server.
        server: ServerName,
    },
}

/// See [`HubEvent::Noted`].
#[derive(Debug, Clone)]
pub struct Note {
    /// Whose business it is.
    pub client: ClientId,
    /// In which of its conversations it began, where that is known: if that one is there and
    /// listens, no other is told.
    pub seat: Option<SeatId>,
    /// Who says it.
    pub server: ServerName,
    /// The key of `experimental` that says that a client understands it.
    pub capability: &'static str,
    /// The notification's method.
    pub method: &'static str,
    /// Its params.
    pub params: Object,
    /// Whose data they hold.
    pub entities: Vec<EntityId>,
    /// The params for a client that may not hear of those entities: they hold nobody's data.
    pub bare: Object,
}

/// What is said into a conversation without a call (`notifications/claude/channel`).
#[derive(Debug)]
pub struct Injection {
    /// Who says it.
    pub server: ServerName,
    /// Whose data it is.
    pub entity: Option<EntityId>,
    /// The text.
    pub content: Box<str>,
    /// What else there is: texts under names of letters, digits and `_`.
    pub meta: Object,
    /// Who wants to know that a client has it.
    pub arrival: Arc<dyn Arrival>,
}

/// What is told one by one and in its order. Whoever is told keeps a place of its own
/// and goes on from there when it can take more, so that nothing is queued for a client
/// that reads slowly and nothing is left out for it either.
pub trait Feed: Send + Sync + fmt::Debug {
    /// Where a client begins: at what comes next or, if it was carried over from an
    /// earlier connection, behind the last thing it is known to have.
    fn start(&self, caller: &Caller, again: bool) -> BoxFuture<'static, u64>;

    /// Some of what follows on a place, oldest first; waits until there is something.
    /// Nothing once nothing will follow.
    fn next(&self, caller: &Caller, after: u64) -> BoxFuture<'static, Vec<News>>;
}

/// One thing of a [`Feed`].
#[derive(Debug)]
pub struct News {
    /// Its place.
    pub place: u64,
    /// For clients that registered a channel.
    pub injection: Injection,
    /// For clients that want to hear logs: params of `notifications/message`.
    pub log: Raw,
}

/// Told when something that was pushed has arrived.
pub trait Arrival: Send + Sync + fmt::Debug {
    /// A client asked for something after it was written out, so it is there and reads.
    fn arrived(&self, caller: &Caller);
}
