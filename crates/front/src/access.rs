//! What the front asks of whoever puts the hub together: who a credential
//! belongs to, and what the owner's administration answers.
//!
//! Both are traits because the front may know neither the data directory's
//! files nor the hub's commands.

use std::fmt;

use futures_util::stream::BoxStream;
use legation_core::ClientId;
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;

/// Knows credentials.
pub trait Authenticator: Send + Sync + fmt::Debug {
    /// The client a bearer token was minted for; compared in constant time.
    fn bearer(&self, token: &str) -> Option<ClientId>;

    /// The client of a peer on the Unix socket that showed no token. Its user
    /// id is the hub's own; `name` is what it calls itself.
    fn local(&self, name: Option<&str>) -> Option<ClientId>;

    /// Whether a client is the owner in person.
    fn is_owner(&self, client: &ClientId) -> bool {
        let _nobody = client;
        false
    }
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

/// What the owner is told over HTTP.
#[derive(Debug)]
pub struct OpsAnswer {
    /// The HTTP status.
    pub status: u16,
    /// JSON.
    pub body: Raw,
}

/// Answers the owner's commands on the socket.
pub trait AdminHandler: Send + Sync + fmt::Debug {
    /// Zero or more notifications, then one [`AdminItem::Done`]. Dropping the
    /// stream calls the request off.
    fn handle(&self, method: &str, params: Option<Raw>) -> BoxStream<'static, AdminItem>;

    /// Answers the owner over HTTP, without waiting for anybody; a `body` is
    /// what shall be changed. `None` where there is nothing at this path.
    fn ops(&self, path: &str, body: Option<Raw>) -> Option<OpsAnswer> {
        let _nothing = (path, body);
        None
    }
}
