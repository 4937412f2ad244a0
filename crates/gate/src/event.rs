//! What servers do unasked, as fronts hear of it.

use std::path::Path;
use std::sync::Arc;

use legation_core::{ClientId, SeatId, ServerName};
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
    /// A server connected, failed or stopped.
    StatusChanged {
        /// Which server.
        server: ServerName,
    },
}
