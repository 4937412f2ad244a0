//! The road back to the client whose call is under way.

use std::fmt;

use futures_util::future::BoxFuture;
use legation_wire::caps::ClientCapabilities;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;

/// A question of a server's to the client: elicitation, sampling or roots.
#[derive(Debug, Clone)]
pub struct Ask {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: Box<str>,
    /// Its params, in the shape of the newest revision.
    pub params: Raw,
}

/// Told when the answer that it came with has been written out to the client, all of
/// it. Dropped before that where it was not, or where nobody knows.
pub trait Delivery: Send + fmt::Debug {
    /// The answer was written out.
    fn written(self: Box<Self>);
}

/// The client at the other end of one call. Nothing sent through it can reach
/// another client. What a client need not have is what it has not, unless its peer says so.
pub trait Peer: Send + Sync + fmt::Debug {
    /// What the client speaks.
    fn revision(&self) -> Revision;

    /// What it can be asked.
    fn capabilities(&self) -> &ClientCapabilities;

    /// `clientInfo`, if it gave one.
    fn client_info(&self) -> Option<Raw> {
        None
    }

    /// Whether it takes [`crate::Outcome::InputRequired`] and calls again. A
    /// server's live question to such a client is parked by its front.
    fn takes_input_required(&self) -> bool {
        false
    }

    /// Whether the hub answers questions of a method in the client's stead.
    fn answers_itself(&self, method: &str) -> bool {
        let _the_client_does = method;
        false
    }

    /// The least severe log level it wants to hear of during this call.
    fn log_level(&self) -> Option<Box<str>> {
        None
    }

    /// Whether it asked for progress of this call.
    fn wants_progress(&self) -> bool {
        false
    }

    /// Most bytes of a result that it wants in one message, where that is less than
    /// what its server may send; what is longer is put aside in pages of that size.
    fn result_max(&self) -> Option<usize> {
        None
    }

    /// Sends progress: params without `progressToken`. Dropped when the client
    /// does not read; progress is never worth memory.
    fn progress(&self, _params: Object) {}

    /// So many bytes of the call's result are there, before its end. No revision of MCP has
    /// a message for them: whoever looks on at the call hears of it.
    fn partial(&self, _bytes: u64) {}

    /// Sends a log message: params of `notifications/message`.
    fn log(&self, _params: Raw) {}

    /// Asks the client and waits for its answer.
    fn ask(&self, ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>>;

    /// Has somebody told what becomes of the call's answer, if it brings a result. A
    /// peer that cannot say drops it.
    fn deliver(&self, delivery: Box<dyn Delivery>) {
        drop(delivery);
    }
}
