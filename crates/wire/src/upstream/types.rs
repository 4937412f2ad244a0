//! What goes into a link and what comes out of it.

use std::sync::Arc;

use crate::caps::{ClientCapabilities, ServerCapabilities};
use crate::json::{Object, Raw};
use crate::listen::ListenFilter;
use crate::message::{ErrorObject, Id, Message, Notification};
use crate::revision::Revision;

/// Names a call for the shell; chosen by the shell, unique within a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKey(pub u64);

/// Names a question that the server asked; chosen by the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskKey(pub u64);

/// Which era to speak to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EraChoice {
    /// Find out: `server/discover` first, `initialize` when the answer is not a modern one.
    #[default]
    Auto,
    /// `initialize` at once.
    Legacy,
    /// `server/discover` and nothing else.
    Modern,
}

/// How to speak to one server.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// Which era.
    pub era: EraChoice,
    /// Streamable HTTP rather than a byte stream.
    pub http: bool,
    /// Name and version of the hub, for the handshake and for calls that bring none.
    pub client_info: Raw,
    /// What the handshake declares. Nothing at all for a server that several clients share:
    /// a legacy server cannot say whose call it asks for.
    pub offered: ClientCapabilities,
    /// The revision that `initialize` proposes.
    pub legacy_revision: Revision,
}

/// One request on behalf of a client.
#[derive(Debug, Clone)]
pub struct CallRequest {
    /// The method.
    pub method: Box<str>,
    /// Parameters as the client sent them; metadata of its era is taken out.
    pub params: Object,
    /// What the client can answer; declared to a modern server.
    pub caps: Arc<ClientCapabilities>,
    /// The client's name, for a modern server; the hub's own when there is none.
    pub client_info: Option<Raw>,
    /// Least severity of log messages the client wants for this call (modern servers).
    pub log_level: Option<Box<str>>,
    /// Whether somebody waits for progress.
    pub want_progress: bool,
}

/// What the shell has to do, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Send a message. `call` is set on a call's own request; over HTTP the answer and what
    /// belongs to the call come on the stream of that POST.
    Send {
        message: Message,
        call: Option<CallKey>,
    },
    /// HTTP: drop the call's POST and its stream, which in the modern era is the cancellation.
    Abort(CallKey),
    /// HTTP: drop the POST of the request with this id, and its stream: a subscription that was
    /// replaced, or a probe that took too long. Report nothing about it any more.
    DropRequest { id: Id },
    /// Call [`super::Link::probe_timed_out`] after this many milliseconds unless the link is
    /// ready or has failed by then. Only where there is another era to try.
    ProbeTimer(u64),
    /// The server can be called.
    Ready(Ready),
    /// The server cannot be used; nothing follows.
    Failed(LinkError),
    /// A byte stream ended on the probe: start the server again and call
    /// [`super::Link::start`], which then goes straight to `initialize`.
    Respawn,
    /// Something for a call.
    Call(CallKey, CallEvent),
    /// The server asks something that no call in flight is known to have caused, or no longer:
    /// a question whose call ended first comes again under the same key.
    AskIdle {
        key: AskKey,
        method: Box<str>,
        params: Option<Raw>,
    },
    /// A question needs no answer any more; one given is dropped.
    AskWithdrawn { key: AskKey, call: Option<CallKey> },
    /// A list of the server changed.
    ListChanged(ListKind),
    /// A resource changed.
    ResourceUpdated { uri: Box<str> },
    /// A task changed: parameters in the shape of the link's era.
    TaskStatus(Raw),
    /// A legacy URL elicitation is done: parameters.
    ElicitationComplete(Raw),
    /// The modern server agreed to send these.
    ListenAcknowledged(ListenFilter),
    /// The modern server sends no more notifications; listen again after a pause. The error
    /// is set when it refused.
    ListenEnded(Option<ErrorObject>),
    /// A notification that no call caused and that means nothing to the link.
    Unattributed { notification: Notification },
    /// Something to count and log.
    Stray(StrayKind),
}

/// Something for one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEvent {
    /// Progress, without the token.
    Progress(Object),
    /// A log message: parameters.
    Log(Raw),
    /// The server asks the client something; answer with [`super::Link::answer`].
    Ask {
        key: AskKey,
        method: Box<str>,
        params: Option<Raw>,
    },
    /// The end: the result as the server sent it, whatever its type, or an error.
    Done(Result<Raw, ErrorObject>),
}

/// Which list changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// Tools.
    Tools,
    /// Resources and resource templates.
    Resources,
    /// Prompts.
    Prompts,
}

/// What the handshake found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// The revision spoken from here on.
    pub revision: Revision,
    /// What the server offers.
    pub capabilities: ServerCapabilities,
    /// Name and version, if the server says.
    pub server_info: Option<Raw>,
    /// For the model, if the server has any.
    pub instructions: Option<Box<str>>,
    /// Every revision the server named.
    pub supported: Vec<Box<str>>,
}

/// Something a server should not have sent, or too late.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StrayKind {
    /// An answer to an id that was never used.
    UnknownId { id: Option<Id> },
    /// An answer to a call that was cancelled, or to the probe after its time.
    AfterCancel { id: Id },
    /// A second answer.
    AnsweredTwice { id: Id },
    /// Progress for no call in flight.
    UnknownProgress,
    /// A question that nobody may be asked; it was refused.
    RefusedAsk { method: Box<str> },
    /// A notification of a subscription that is not this link's.
    StaleSubscription { method: Box<str> },
    /// Text that is no message.
    Garbage { problem: Box<str> },
    /// A message before the handshake was done.
    TooEarly { method: Box<str> },
    /// The shell used a key twice; the second call was not sent.
    DuplicateCall { key: CallKey },
}

/// Why a server cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// `initialize` was answered with a revision that is not spoken here.
    #[error(
        "the server answered revision {answered:?} when {offered} was offered; neither side speaks the other's"
    )]
    Revision {
        offered: Revision,
        answered: Box<str>,
    },
    /// No revision that both sides speak.
    #[error("no common protocol revision: the server speaks {}", supported.join(", "))]
    NoCommonRevision { supported: Vec<Box<str>> },
    /// The handshake was answered with an error.
    #[error("the server refused {step}")]
    Refused { step: Step, source: ErrorObject },
    /// The handshake was answered with something else.
    #[error("the server's answer to {step} is malformed: {problem}")]
    Malformed { step: Step, problem: &'static str },
    /// The stream ended during the handshake.
    #[error("the connection ended during {step}")]
    Closed { step: Step },
    /// No answer in time, and no other era to try.
    #[error("no answer to {step}")]
    TimedOut { step: Step },
    /// An HTTP status that says nothing about the era.
    #[error("HTTP status {status} in answer to {step}")]
    Http { step: Step, status: u16 },
}

/// A part of the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// `server/discover`
    Discover,
    /// `initialize`
    Initialize,
}

// === impl Step ===

impl Step {
    /// The method.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Discover => "server/discover",
            Self::Initialize => "initialize",
        }
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl LinkError ===

impl LinkError {
    /// What the server's owner can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Revision { .. } | Self::NoCommonRevision { .. } => {
                "install a version of the server that speaks a published revision"
            }
            Self::Refused {
                step: Step::Discover,
                source,
            } if source.code == crate::codes::METHOD_NOT_FOUND => {
                "it speaks only older revisions: set the server's era to auto"
            }
            Self::Refused { .. } | Self::Malformed { .. } => {
                "check the server's own log; it may need settings it did not get"
            }
            Self::Closed { .. } => "run the configured command by hand and see why it stops",
            Self::TimedOut { .. } => {
                "set the server's era to auto, or check that it is an MCP server at all"
            }
            Self::Http {
                status: 401 | 403, ..
            } => "sign in to the server",
            Self::Http { .. } => "check the configured URL",
        }
    }
}
