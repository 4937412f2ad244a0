//! What the host needs of one connection to a server, whatever carries it.
//!
//! The supervisor, the calls and the tasks are written against these traits, so
//! that their tests run against a scripted server without a process or a
//! socket. `adapter` puts the real transports behind them.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_gate::{ListKind, Retry};
use legation_wire::caps::ClientCapabilities;
use legation_wire::headers::ParamHeaders;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;

/// Opens connections.
pub(crate) trait Dialer: Send + Sync + fmt::Debug {
    /// Starts a process or reaches a URL and shakes hands. Dropping the future
    /// leaves nothing behind.
    fn dial(&self, plan: Plan) -> BoxFuture<'static, Result<Ready, DialError>>;
}

/// What a connection is opened with.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// What to start or reach.
    pub(crate) spec: Arc<legation_config::ServerSpec>,
    /// The folder a workspace instance works in, instead of the configured one.
    pub(crate) folder: Option<Arc<std::path::Path>>,
    /// Whom the server should believe it talks to.
    pub(crate) face: Face,
    /// The hub's sign-in at it, where the owner configured no credential.
    pub(crate) auth: Option<Arc<legation_oauth::Upstream>>,
    /// Where the process's stderr goes.
    pub(crate) log: Arc<crate::log::ServerLog>,
}

/// A client as a server sees it.
#[derive(Debug, Clone)]
pub(crate) struct Face {
    /// What it can be asked.
    pub(crate) capabilities: Arc<ClientCapabilities>,
    /// `clientInfo`; the hub's own when `None`.
    pub(crate) info: Option<Raw>,
}

/// A connection that has shaken hands.
#[derive(Debug)]
pub(crate) struct Ready {
    /// The connection.
    pub(crate) port: Arc<dyn Port>,
    /// What the server does unasked.
    pub(crate) events: Box<dyn EventSource>,
    /// What the server said of itself.
    pub(crate) about: About,
    /// The child process, if there is one.
    pub(crate) pid: Option<u32>,
}

/// What a server says of itself in `initialize` or `server/discover`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct About {
    /// The revision agreed on.
    pub(crate) revision: Revision,
    /// `capabilities` as sent.
    pub(crate) capabilities: Object,
    /// `serverInfo` as sent.
    pub(crate) server_info: Option<Raw>,
    /// `instructions`.
    pub(crate) instructions: Option<String>,
}

/// Why there is no connection.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum DialError {
    /// The server answered 401 or 403.
    #[error("the server wants a sign-in")]
    NeedsAuth,
    /// What is configured leads to no server, and will not until it changes.
    #[error("{0}")]
    Misconfigured(String),
    /// Everything else.
    #[error("{0}")]
    Failed(String),
}

/// One connection. Cheap calls; everything that waits is a future.
pub(crate) trait Port: Send + Sync + fmt::Debug {
    /// Sends a request; dropping the exchange cancels it at the server.
    fn open(&self, order: Order) -> Box<dyn Exchange>;

    /// Tells the server something (legacy notifications only).
    fn notify(&self, method: &'static str, params: Option<Raw>);

    /// Asks to hear of changes. The last wish holds; a legacy server tells of
    /// its lists unasked, so only modern ones are sent anything.
    fn listen(&self, wish: ListenWish);

    /// Answers a question that belonged to no call.
    fn answer(&self, key: AskKey, answer: Result<Raw, ErrorObject>);

    /// Ends the connection politely, then by force; nothing is left after it.
    fn stop(&self) -> BoxFuture<'static, ()>;
}

/// What a server does outside every call.
pub(crate) trait EventSource: Send + fmt::Debug {
    /// The next event; `None` when the connection has ended. May be dropped and
    /// called again.
    fn next(&mut self) -> BoxFuture<'_, Option<PortEvent>>;
}

/// One request under way.
pub(crate) trait Exchange: Send {
    /// The next thing that happens in it. May be dropped and called again, but
    /// not after an end.
    fn next(&mut self) -> BoxFuture<'_, CallEvent>;

    /// Answers a question of this exchange.
    fn answer(&mut self, key: AskKey, answer: Result<Raw, ErrorObject>);
}

/// A request to a server, in the neutral words of the gate.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    /// The method.
    pub(crate) method: &'static str,
    /// Its params without era keys.
    pub(crate) params: Object,
    /// Whether to ask for progress.
    pub(crate) progress: bool,
    /// `_meta` log level for a modern server.
    pub(crate) log_level: Option<Box<str>>,
    /// Per-request capabilities and client info for a modern server; the
    /// connection's own when `None`.
    pub(crate) face: Option<Face>,
    /// Answers to an earlier `input_required` of a modern server.
    pub(crate) retry: Option<Retry>,
    /// Parameters that the tool's schema wants mirrored in headers
    /// (`x-mcp-header`, revision 2026-07-28).
    pub(crate) declared: Option<Arc<ParamHeaders>>,
}

/// Names one open question of a server's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct AskKey(pub(crate) u64);

/// What happens in an exchange.
#[derive(Debug, Clone)]
pub(crate) enum CallEvent {
    /// Progress, without its token.
    Progress(Object),
    /// A log message: params of `notifications/message`.
    Log(Raw),
    /// A question to the client whose call this is (legacy servers).
    Ask {
        /// To answer under.
        key: AskKey,
        /// The method.
        method: Box<str>,
        /// Its params.
        params: Option<Raw>,
    },
    /// The server took a question back.
    AskWithdrawn(AskKey),
    /// The answer.
    Done(Result<Raw, ErrorObject>),
    /// The connection is gone.
    Lost(String),
    /// The session is gone that it was to be made in; the server did nothing about it.
    NotMade(String),
    /// The server answered 401 or 403.
    NeedsAuth,
}

/// What a server does outside every call.
#[derive(Debug, Clone)]
pub(crate) enum PortEvent {
    /// A list reads differently.
    ListChanged(ListKind),
    /// A resource has new content.
    ResourceUpdated {
        /// Which.
        uri: Box<str>,
        /// Params of the notification without era keys.
        params: Object,
    },
    /// A log message.
    Logged(Raw),
    /// A question that belongs to no call.
    Ask {
        /// To answer under.
        key: AskKey,
        /// The method.
        method: Box<str>,
        /// Its params.
        params: Option<Raw>,
    },
    /// The server took a question back (`notifications/cancelled`).
    AskWithdrawn(AskKey),
    /// A task moved on: params of the notification, in the server's own shape.
    Task(Raw),
    /// The connection is gone, and why.
    Closed(String),
}

/// What a modern server is asked to report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ListenWish {
    /// Resources to watch, sorted.
    pub(crate) resources: Vec<Box<str>>,
    /// Tasks to watch, sorted.
    pub(crate) tasks: Vec<Box<str>>,
}

// === impl Order ===

impl Order {
    /// A request of the hub's own.
    pub(crate) fn own(method: &'static str, params: Object) -> Self {
        Self {
            method,
            params,
            progress: false,
            log_level: None,
            face: None,
            retry: None,
            declared: None,
        }
    }
}

/// Why a request of the hub's own brought nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum AskError {
    /// The server's own error.
    #[error("the server answered {}: {}", .0.code, .0.message)]
    Refused(ErrorObject),
    /// No answer came.
    #[error("{0}")]
    NoAnswer(String),
    /// The server answered 401 or 403.
    #[error("the server wants a sign-in")]
    NeedsAuth,
}

/// Sends a request of the hub's own and waits for the answer; what else
/// happens in the exchange is of no interest.
pub(crate) async fn request(
    port: &dyn Port,
    method: &'static str,
    params: Object,
) -> Result<Raw, AskError> {
    let mut exchange = port.open(Order::own(method, params));
    loop {
        match exchange.next().await {
            CallEvent::Done(Ok(result)) => return Ok(result),
            CallEvent::Done(Err(error)) => return Err(AskError::Refused(error)),
            CallEvent::Lost(reason) | CallEvent::NotMade(reason) => {
                return Err(AskError::NoAnswer(reason));
            }
            CallEvent::NeedsAuth => return Err(AskError::NeedsAuth),
            CallEvent::Ask { key, .. } => {
                exchange.answer(key, Err(crate::ask::unsupported()));
            }
            CallEvent::Progress(_) | CallEvent::Log(_) | CallEvent::AskWithdrawn(_) => {}
        }
    }
}
