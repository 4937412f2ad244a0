//! The operation context: who asks, from where, and until when.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::{Cancel, ClientId, EntityLabels, SeatId, TaskId};

/// How a caller reached the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Via {
    /// Streamable HTTP with a bearer token.
    Http,
    /// The HTTP+SSE pair of 2024-11-05, with a bearer token.
    Sse,
    /// The Unix socket; the peer's user id was checked.
    Socket,
    /// A command of the owner's, on the admin socket.
    Admin,
    /// The owner in person, in the console or with the owner's token at the admin API.
    Web,
    /// The Copilot webhook; GitHub signed the request and knows whose it is.
    Copilot,
    /// HTTP on loopback under `--no-auth`: nobody was authenticated.
    NoAuth,
}

/// Who asks: a client and, through its credential, the person behind it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    /// The client whose credential was shown.
    pub client: ClientId,
    /// How it was shown.
    pub via: Via,
}

/// The client that whoever writes in GitHub Copilot's chat is: `copilot/LOGIN`, and `copilot` in the
/// owner's files.
pub const COPILOT: &str = "copilot";

/// A principal, the seat it sits in, and the folder it works in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    /// Who.
    pub principal: Principal,
    /// Which running instance of the client.
    pub seat: SeatId,
    /// The folder the client works in, canonical, when its bridge said so.
    pub workspace: Option<Arc<Path>>,
}

/// A place in the order of what happens in this process, where it matters what came before what.
/// A clock would not do: two things of one tick have no order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

/// Only what is marked moves it on, so that looking at it costs no contention.
static MOMENTS: AtomicU64 = AtomicU64::new(1);

/// The delegated work that an operation is a part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForTask {
    /// Which.
    pub id: TaskId,
    /// Whose data it holds: what is kept of the operation is sealed for all of
    /// them.
    pub labels: EntityLabels,
}

/// What every operation carries: without one there is no call and no record.
#[derive(Debug, Clone)]
pub struct OpContext {
    /// Who asks.
    pub caller: Caller,
    /// Calls the operation off.
    pub cancel: Cancel,
    /// When it must be done, if the caller set a time.
    pub deadline: Option<Instant>,
    /// When its request was read.
    pub began: Moment,
    /// The delegated work it is done for; only the engine sets it.
    pub task: Option<ForTask>,
    /// For whom the caller does it, where it said so; only the gate sets it, for the server that
    /// it calls, so that what that asks of the rules is asked for both.
    pub on_behalf_of: Option<Principal>,
}

// === impl Moment ===

impl Moment {
    /// Before everything that happens.
    pub const START: Self = Self(0);

    /// This moment: later than everything that was marked before.
    #[must_use]
    pub fn now() -> Self {
        Self(MOMENTS.load(Ordering::SeqCst))
    }

    /// Marks a moment: [`Moment::now`] is later from here on, and was not before.
    #[must_use]
    pub fn mark() -> Self {
        Self(MOMENTS.fetch_add(1, Ordering::SeqCst))
    }
}

// === impl Via ===

impl Via {
    /// The word that stands in records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Sse => "sse",
            Self::Socket => "socket",
            Self::Admin => "admin",
            Self::Web => "web",
            Self::Copilot => "copilot",
            Self::NoAuth => "no-auth",
        }
    }
}

// === impl OpContext ===

impl OpContext {
    /// A context without a deadline.
    #[must_use]
    pub fn new(caller: Caller, cancel: Cancel) -> Self {
        Self {
            caller,
            cancel,
            deadline: None,
            began: Moment::now(),
            task: None,
            on_behalf_of: None,
        }
    }

    /// The same on behalf of somebody.
    #[must_use]
    pub fn on_behalf_of(mut self, delegator: Option<Principal>) -> Self {
        self.on_behalf_of = delegator;
        self
    }

    /// The same for a piece of delegated work.
    #[must_use]
    pub fn for_task(mut self, task: ForTask) -> Self {
        self.task = Some(task);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_after_a_mark_is_later_than_it() {
        let before = Moment::now();
        let mark = Moment::mark();
        assert!(before <= mark && Moment::now() > mark && Moment::START < before);
    }
}
