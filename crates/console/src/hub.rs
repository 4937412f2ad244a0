//! What the console asks of the hub.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The hub, as its owner reaches it.
pub trait Hub: Send + Sync + fmt::Debug {
    /// Calls a tool through the gate as the owner in person: decided and recorded like
    /// every call. Runs on; whoever drops the future only stops listening.
    fn call(&self, call: ToolCall) -> BoxFuture<'static, ToolAnswer>;

    /// Asks what the admin socket answers: any number of notifications, then one
    /// [`AdminItem::Done`]. Dropping the stream calls the request off.
    /// The road is what an answer to an approval is recorded with.
    fn admin(
        &self,
        road: Road,
        method: &str,
        params: Box<RawValue>,
    ) -> BoxStream<'static, AdminItem>;

    /// Records that somebody signed in at the pages, durably.
    fn signed_in(&self) -> BoxFuture<'static, Result<(), AdminFault>>;

    /// What happens in the hub, from a place on.
    fn events(&self, since: Since) -> EventStream;

    /// Takes an idempotency key for a request with this digest, durably.
    fn claim(&self, key: &str, digest: [u8; 32])
    -> BoxFuture<'static, Result<Claimed, AdminFault>>;

    /// Keeps what a request was answered with that had claimed this key; `None` gives
    /// the key up, because nothing was done.
    fn settle(&self, key: &str, digest: [u8; 32], kept: Option<Kept>) -> BoxFuture<'static, ()>;
}

/// A tool call of the owner's.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// Whose tool.
    pub server: Box<str>,
    /// The server's own name for it.
    pub tool: Box<str>,
    /// The arguments, an object.
    pub arguments: Box<RawValue>,
    /// By which road the owner came.
    pub road: Road,
}

/// By which road the owner came, as the name of their seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Road {
    /// The console's pages.
    Console,
    /// The admin API.
    Api,
}

/// What became of a call.
#[derive(Debug, Clone)]
pub enum ToolAnswer {
    /// The tool answered.
    Done {
        /// The result as the server gave it: `content`, `structuredContent`, `isError`.
        result: Box<RawValue>,
        /// `structuredContent`, where there is any.
        structured: Option<Value>,
        /// Its texts, one after the other.
        text: String,
        /// Whether the tool says that it failed.
        is_error: bool,
    },
    /// It did not get that far, or the hub has no answer.
    Stopped(ToolStop),
}

/// Why a call brought nothing.
#[derive(Debug, Clone)]
pub struct ToolStop {
    /// Which kind of reason it is.
    pub reason: StopReason,
    /// What happened, and what was not done.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// The refusal as programs read it: `rule`, `reason_code`, `approval_id` and more.
    pub data: Option<Value>,
}

/// Why a call brought nothing, as far as a program can act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// A person has to agree first; `data` says under which id it waits.
    Waits,
    /// A rule or a person refused it.
    Refused,
    /// It was called, and a rule keeps back what it answered.
    Withheld,
    /// There is no such server, tool or account.
    Unknown,
    /// The arguments are not what the tool takes.
    Invalid,
    /// Too many calls.
    TooMany,
    /// It wants something of its client that the owner cannot give this way.
    Unanswerable,
    /// The server is not there; nothing was called.
    Unreachable,
    /// It broke off with the call under way: whether it took effect is not known.
    Lost,
    /// The server did not answer in time.
    TimedOut,
    /// The server's own error.
    Server,
    /// The hub could not do it.
    Failed,
}

/// One thing that the administration says in answer to a request.
#[derive(Debug)]
pub enum AdminItem {
    /// Something on the way.
    Notification {
        /// The method.
        method: Box<str>,
        /// Its params.
        params: Box<RawValue>,
    },
    /// The answer; the last item.
    Done(Result<Box<RawValue>, AdminFault>),
}

/// Why the administration did not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AdminFault {
    /// The JSON-RPC code.
    pub code: i64,
    /// Which kind of reason it is.
    pub kind: FaultKind,
    /// What happened, and what was not done.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// The rule that refused it.
    pub rule: Option<String>,
    /// The gate's refusal as programs read it: `reason_code`, `approval_id` and more.
    pub data: Option<Box<Value>>,
}

/// Why the administration did not do something, as far as a program can act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// A person has to agree first; `data` says under which id it waits.
    Waits,
    /// There is no such method.
    NoMethod,
    /// The request is not what the method takes.
    Invalid,
    /// What it names is not there.
    NotFound,
    /// It cannot be done as things stand.
    Conflict,
    /// A rule refused it.
    Refused,
    /// Too many calls.
    TooMany,
    /// What it needs is not there at the moment.
    Unavailable,
    /// The hub could not do it.
    Failed,
}

/// What a claim on an idempotency key came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// The key is new: the request is to be done now, and settled.
    New,
    /// The same request was answered with this.
    Answered(Kept),
    /// The same request is being answered.
    Running,
    /// The same request was being answered when a hub ended: whether it was done is not
    /// known.
    Unknown,
    /// Another request has the key.
    Other,
}

/// An answer that is kept under an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its status.
    pub status: u16,
    /// Its JSON; `None` where it was too long to be kept.
    pub body: Option<Bytes>,
}

/// From where on somebody wants to hear.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Since {
    /// Only what happens from now on.
    #[default]
    Now,
    /// What came after the event with this id.
    Event(String),
}

/// What happens in the hub. It ends when the hub stops.
pub type EventStream = BoxStream<'static, Arc<Event>>;

/// Something that happened, written out once for everybody who listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    id: Option<Box<str>>,
    name: &'static str,
    frame: Bytes,
    /// Where the data stand in the frame.
    data: Range<usize>,
}

// === impl AdminFault ===

impl AdminFault {
    /// The hub ends.
    #[must_use]
    pub fn stopping() -> Self {
        Self {
            // JSON-RPC 2.0, section 5.1: the answering side failed.
            code: -32603,
            // What is unavailable was not done, and may be tried again under the same key.
            kind: FaultKind::Failed,
            message: "the hub is stopping; whether it was done is not known".to_owned(),
            hint: None,
            rule: None,
            data: None,
        }
    }
}

// === impl Event ===

impl Event {
    /// An event; `id` is its place, which only one lacks that is said to one listener.
    /// `data` are JSON.
    #[must_use]
    pub fn new(id: Option<&str>, name: &'static str, data: &impl Serialize) -> Self {
        let mut frame = Vec::with_capacity(128);
        if let Some(id) = id {
            frame.extend_from_slice(b"id: ");
            frame.extend_from_slice(id.as_bytes());
            frame.push(b'\n');
        }
        frame.extend_from_slice(b"event: ");
        frame.extend_from_slice(name.as_bytes());
        frame.extend_from_slice(b"\ndata: ");
        let start = frame.len();
        // Written out by `serde_json` it is one line; what cannot be is no event's data.
        if serde_json::to_writer(&mut frame, data).is_err() {
            frame.truncate(start);
            frame.extend_from_slice(b"null");
        }
        let end = frame.len();
        frame.extend_from_slice(b"\n\n");
        Self {
            id: id.map(Into::into),
            name,
            frame: frame.into(),
            data: start..end,
        }
    }

    /// Its place, for coming back.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// What it is.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its data, JSON on one line.
    #[must_use]
    pub fn data(&self) -> Bytes {
        self.frame.slice(self.data.clone())
    }

    /// The whole of it as server-sent events have it.
    #[must_use]
    pub fn frame(&self) -> Bytes {
        self.frame.clone()
    }
}

// === impl Road ===

impl Road {
    /// The name of the seat that the owner has then.
    #[must_use]
    pub fn seat(self) -> &'static str {
        match self {
            Self::Console => "console",
            Self::Api => "api",
        }
    }
}
