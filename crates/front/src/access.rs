//! What the front asks of whoever puts the hub together: who a credential
//! belongs to, and what the owner's administration answers.
//!
//! Both are traits because the front may know neither the data directory's
//! files nor the hub's commands.

use std::fmt;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use legation_core::{ClientId, SeatId, Wall};
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;

/// Knows credentials.
pub trait Authenticator: Send + Sync + fmt::Debug {
    /// The client a bearer token was minted for; compared in constant time.
    fn bearer(&self, token: &str) -> Option<ClientId>;

    /// Another number whenever [`bearer`](Self::bearer) may answer anything else than it did; `None`
    /// where that is not known, and it is asked about every request.
    fn edition(&self) -> Option<u64> {
        None
    }

    /// Who comes with a token that somebody else issued (RFC 9068). Never waits.
    fn issued(&self, token: &str) -> Issued {
        let _nobody = token;
        Issued::Refused
    }

    /// The client of a peer on the Unix socket that showed no token. Its user
    /// id is the hub's own; `name` is what it calls itself.
    fn local(&self, name: Option<&str>) -> Option<ClientId>;

    /// Whether a client is the owner in person.
    fn is_owner(&self, client: &ClientId) -> bool {
        let _nobody = client;
        false
    }
}

/// What a token comes to that somebody else issued.
pub enum Issued {
    /// It is this client's.
    Client {
        /// Whose.
        client: ClientId,
        /// When it is no longer: what was opened with it ends then.
        until: Wall,
    },
    /// It is good, and has no scope that leads anywhere here.
    NoScope,
    /// It is not good.
    Refused,
    /// It cannot be told at the moment.
    Unavailable,
    /// It can be told when this is over; then it is to be asked again.
    Wait(BoxFuture<'static, ()>),
}

/// One thing the administration says in answer to a request.
#[derive(Debug)]
pub enum AdminItem {
    /// Something on the way; any number of these.
    Notification {
        /// The JSON-RPC method.
        method: Box<str>,
        /// Its params.
        params: Raw,
    },
    /// The answer; the last item.
    Done(Result<Raw, ErrorObject>),
}

/// Answers the owner's commands on the socket.
pub trait AdminHandler: Send + Sync + fmt::Debug {
    /// Zero or more notifications, then one [`AdminItem::Done`]. Dropping the
    /// stream calls the request off. `seat` is its peer's: the client, a colon, and where that says
    /// that it sits, as a command or in the terminal UI.
    fn handle(
        &self,
        seat: &SeatId,
        method: &str,
        params: Option<Raw>,
    ) -> BoxStream<'static, AdminItem>;

    /// What else there is to count, in the text format of Prometheus; families that stand on no
    /// other page. Never waits.
    fn metrics(&self) -> String {
        String::new()
    }
}

// === impl Issued ===

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client { client, .. } => f.debug_tuple("Client").field(client).finish(),
            Self::NoScope => f.write_str("NoScope"),
            Self::Refused => f.write_str("Refused"),
            Self::Unavailable => f.write_str("Unavailable"),
            Self::Wait(_) => f.write_str("Wait"),
        }
    }
}
