//! The first line each way on the hub's Unix socket.
//!
//! A peer says who it is and what it wants before the first protocol message,
//! so that the protocol itself stays untouched by the hub's own matters. Both
//! lines are JSON objects with the member `legation`, the version of this
//! exchange.

use serde::{Deserialize, Serialize};

/// The version of this exchange.
pub const HELLO_VERSION: u32 = 1;

/// The seat of a command of the owner's.
pub const COMMAND_SEAT: &str = "admin";
/// The seat of the owner in the terminal UI.
pub const TERMINAL_SEAT: &str = "terminal";

/// What a peer wants of the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The Model Context Protocol, one message a line.
    Mcp,
    /// The hub's own administration, one JSON-RPC message a line.
    Admin,
}

/// Which catalogue an MCP peer wants; absent for the merged one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HelloEndpoint {
    /// One server with its own tool names.
    Server(String),
    /// A configured subset.
    View(String),
}

/// Who a peer is.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// What it wants.
    pub mode: Mode,
    /// Which catalogue.
    #[serde(default)]
    pub endpoint: Option<HelloEndpoint>,
    /// The folder the client works in, absolute.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The client's name, as `legation connect` gave it.
    #[serde(default)]
    pub client: Option<String>,
    /// The client's credential; a secret.
    #[serde(default)]
    pub token: Option<String>,
    /// Which running instance of the client this is; it survives a restart of the hub.
    pub seat: String,
    /// The peer's own version.
    pub version: String,
    /// Whether the client registers a channel, for which the bridge keeps it in the handshake era.
    #[serde(default)]
    pub channel: bool,
    /// Whether it carries its client over from an earlier connection, as after a restart of the hub.
    #[serde(default)]
    pub again: bool,
}

/// The hub accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The hub's version.
    pub version: String,
    /// This start of the hub.
    pub boot: String,
}

/// The hub refuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// What is wrong.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

/// The peer's line.
#[derive(Debug, Serialize, Deserialize)]
pub struct HelloLine {
    /// [`HELLO_VERSION`].
    pub legation: u32,
    /// Who the peer is.
    pub hello: Hello,
}

/// The hub's line: exactly one of `ok` and `error`.
#[derive(Debug, Serialize, Deserialize)]
pub struct HelloAnswer {
    /// [`HELLO_VERSION`].
    pub legation: u32,
    /// Accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<Welcome>,
    /// Refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Rejection>,
}

// === impl Hello ===

impl std::fmt::Debug for Hello {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hello")
            .field("mode", &self.mode)
            .field("endpoint", &self.endpoint)
            .field("cwd", &self.cwd)
            .field("client", &self.client)
            .field("token", &self.token.as_ref().map(|_| "****"))
            .field("seat", &self.seat)
            .field("version", &self.version)
            .field("channel", &self.channel)
            .field("again", &self.again)
            .finish()
    }
}

// === impl HelloAnswer ===

impl HelloAnswer {
    /// The accepting line.
    #[must_use]
    pub fn ok(welcome: Welcome) -> Self {
        Self {
            legation: HELLO_VERSION,
            ok: Some(welcome),
            error: None,
        }
    }

    /// The refusing line.
    #[must_use]
    pub fn error(rejection: Rejection) -> Self {
        Self {
            legation: HELLO_VERSION,
            ok: None,
            error: Some(rejection),
        }
    }
}
