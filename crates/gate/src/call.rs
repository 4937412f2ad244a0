//! One call on its way through the hub, in words of no particular revision.

use std::sync::Arc;
use std::time::Duration;

use legation_core::{CancelReason, ServerName};
use legation_policy::Verb;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;

use crate::Peer;

/// Which catalogue a client looks at.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Endpoint {
    /// Every server, flat names (`/mcp`).
    All,
    /// One server with its own names (`/mcp/s/{server}`).
    Server(ServerName),
    /// A configured subset, flat names (`/mcp/v/{view}`).
    View(Box<str>),
}

/// What a client named, in the names of its endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Item {
    /// `tools/call`: a tool.
    Tool(Box<str>),
    /// `resources/read`: a resource, by URI.
    Resource(Box<str>),
    /// `prompts/get`: a prompt.
    Prompt(Box<str>),
    /// `skills/get`: a skill, by the URI of its `SKILL.md`.
    Skill(Box<str>),
    /// `resources/directory/read`: a directory, by URI.
    Directory(Box<str>),
    /// `completion/complete` for an argument of a prompt.
    PromptArgument(Box<str>),
    /// `completion/complete` for a variable of a resource template.
    ResourceArgument(Box<str>),
}

/// What a front hands to the gate.
#[derive(Debug)]
pub struct Request {
    /// Which catalogue the name is of.
    pub endpoint: Endpoint,
    /// What was named.
    pub item: Item,
    /// The request's `params` without any key of an era's own: no
    /// `io.modelcontextprotocol/*` or `progressToken` in `_meta`, no `task`, no
    /// `inputResponses`, no `requestState`. Names are still the client's.
    pub params: Object,
    /// The answers to an earlier [`Outcome::InputRequired`] of the same call.
    pub retry: Option<Retry>,
    /// What may come back instead of a result.
    pub task: TaskWish,
    /// The road back to the client.
    pub peer: Arc<dyn Peer>,
}

/// What the gate hands to the servers, beside the `Permitted` that says to
/// which server and tool it goes.
#[derive(Debug)]
pub struct Call {
    /// As in [`Request`].
    pub item: Item,
    /// As in [`Request`].
    pub params: Object,
    /// As in [`Request`].
    pub retry: Option<Retry>,
    /// As in [`Request`].
    pub task: TaskWish,
    /// As in [`Request`].
    pub peer: Arc<dyn Peer>,
}

/// The second and later rounds of a call (multi-round-trip requests,
/// revision 2026-07-28, basic/patterns/mrtr).
#[derive(Debug, Clone)]
pub struct Retry {
    /// `inputResponses`: the client's answers by key.
    pub responses: Object,
    /// The upstream's own `requestState`, as it gave it.
    pub state: Option<Raw>,
}

/// Whether a task may stand in for a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskWish {
    /// The client knows no tasks: the hub waits until the task is done.
    Never,
    /// The client declared the tasks extension; the server decides.
    Accepts,
    /// The client takes a task where there is no other way: where the server answers with one by
    /// itself, or the tool runs as nothing else.
    Needed,
    /// The client asked for a task (`params.task`, revision 2025-11-25).
    Requested {
        /// How long it wants the result kept.
        ttl: Option<Duration>,
    },
}

/// What became of a call.
#[derive(Debug)]
pub enum Outcome {
    /// The result as the server sent it.
    Complete(Raw),
    /// The server wants answers first; only for peers that take such results.
    InputRequired(InputRequired),
    /// A task in the shape of the tasks extension, under the hub's own handle:
    /// `taskId`, `status`, `createdAt`, `lastUpdatedAt`, `ttlMs`, ….
    Task(Object),
    /// The server's own JSON-RPC error.
    Error(ErrorObject),
    /// The hub could not bring an answer.
    Failed(CallFailure),
}

/// A server's questions, to be answered with a retry of the same call.
#[derive(Debug, Clone)]
pub struct InputRequired {
    /// The whole result: `inputRequests`, `_meta`, vendor members; without
    /// `resultType` and `requestState`.
    pub result: Object,
    /// The server's `requestState`.
    pub state: Option<Raw>,
}

/// Why the hub has no answer of the server's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallFailure {
    /// The server is not connected and did not become so in time.
    #[error("server {server} is not connected ({reason}); the call was not sent")]
    NotConnected {
        /// Which server.
        server: ServerName,
        /// Its status, in words.
        reason: String,
    },
    /// The server went away with the call in flight.
    #[error(
        "server {server} went away during the call ({reason}); whether it took effect is not known"
    )]
    Lost {
        /// Which server.
        server: ServerName,
        /// What happened to it.
        reason: String,
    },
    /// No answer within the time allowed.
    #[error("server {server} did not answer within {after:?}; the call was cancelled")]
    TimedOut {
        /// Which server.
        server: ServerName,
        /// How long was waited.
        after: Duration,
    },
    /// The caller called it off.
    #[error("the call was called off: {}", .0.as_str())]
    Cancelled(CancelReason),
    /// The tool is not what it was when the catalogue was read.
    #[error(
        "{item} of server {server} has changed since its definition was remembered; the call was not sent"
    )]
    DefinitionChanged {
        /// Which server.
        server: ServerName,
        /// Which tool, prompt or resource.
        item: Box<str>,
    },
    /// The server answered with something that is no answer.
    #[error("server {server} broke the protocol: {reason}")]
    Protocol {
        /// Which server.
        server: ServerName,
        /// What it did.
        reason: String,
    },
    /// The server needs the user to sign in first.
    #[error("server {server} needs a sign-in; the call was not sent")]
    NeedsAuth {
        /// Which server.
        server: ServerName,
    },
    /// The client lacks what the call needs.
    #[error("server {server} asked the client for {needed}, which this client did not declare")]
    MissingCapability {
        /// Which server.
        server: ServerName,
        /// The capability, as the specification names it.
        needed: Box<str>,
    },
    /// Too much is under way already.
    #[error("server {server} has too many calls under way; the call was not sent")]
    Busy {
        /// Which server.
        server: ServerName,
    },
}

// === impl Item ===

impl Item {
    /// The name or URI, whichever kind it is.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Tool(name)
            | Self::Resource(name)
            | Self::Prompt(name)
            | Self::Skill(name)
            | Self::Directory(name)
            | Self::PromptArgument(name)
            | Self::ResourceArgument(name) => name,
        }
    }

    /// The act that rules speak of. What a skill's entry and a directory say is said of
    /// resources, so who may not read those is not told of them either.
    #[must_use]
    pub fn verb(&self) -> Verb {
        match self {
            Self::Tool(_) => Verb::CallTool,
            Self::Resource(_) | Self::Skill(_) | Self::Directory(_) => Verb::ReadResource,
            Self::Prompt(_) => Verb::GetPrompt,
            Self::PromptArgument(_) | Self::ResourceArgument(_) => Verb::Complete,
        }
    }

    /// The method that asks for it.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match self {
            Self::Skill(_) => "skills/get",
            Self::Directory(_) => "resources/directory/read",
            Self::Tool(_)
            | Self::Resource(_)
            | Self::Prompt(_)
            | Self::PromptArgument(_)
            | Self::ResourceArgument(_) => self.verb().as_str(),
        }
    }

    /// What it is, in a word.
    #[must_use]
    pub fn what(&self) -> &'static str {
        match self {
            Self::Tool(_) => "tool",
            Self::Resource(_) | Self::ResourceArgument(_) => "resource",
            Self::Prompt(_) | Self::PromptArgument(_) => "prompt",
            Self::Skill(_) => "skill",
            Self::Directory(_) => "directory",
        }
    }
}

// === impl CallFailure ===

impl CallFailure {
    /// What a person can do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NotConnected { server, .. }
            | Self::Lost { server, .. }
            | Self::Protocol { server, .. } => format!("see `legation mcp show {server}`"),
            Self::TimedOut { server, .. } => {
                format!("raise `timeout` of {server} in mcp.json if its work takes longer")
            }
            Self::DefinitionChanged { .. } => "read the list again, then call again".to_owned(),
            Self::NeedsAuth { server } => {
                format!("sign in with `legation mcp auth {server}`, then call again")
            }
            Self::MissingCapability { server, .. } => {
                format!("use {server} from a client that has it")
            }
            Self::Busy { .. } => "call again when some calls have ended".to_owned(),
            Self::Cancelled(_) => "call again if it is still wanted".to_owned(),
        }
    }
}
