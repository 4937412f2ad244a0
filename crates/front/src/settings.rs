//! Limits and times of the front; every one has a default that suits a hub on
//! one person's machine.

use std::time::Duration;

use bytes::Bytes;

use crate::Discovery;

/// How the front behaves.
#[derive(Debug, Clone)]
pub struct FrontSettings {
    /// Lets HTTP requests in without a credential (loopback tests only).
    pub no_auth: bool,
    /// Further `Host` values that are the hub's own (`name` or `name:port`).
    pub hosts: Vec<Box<str>>,
    /// Further `Origin` values that may speak to the hub.
    pub origins: Vec<Box<str>>,
    /// What it is for an authorization server whose tokens open it, if there is one.
    pub resource: Option<ProtectedResource>,
    /// Most HTTP connections at once; further ones are closed on arrival.
    pub connections_max: usize,
    /// Most handshake sessions over HTTP at once.
    pub sessions_max: usize,
    /// Most of them for one client; past that its longest idle one ends.
    pub sessions_per_client: usize,
    /// Longest message of a client's, in bytes.
    pub body_max: usize,
    /// How long a request's headers may take; an idle connection is asked this
    /// often whether it is idle or slow.
    pub header_timeout: Duration,
    /// How long a request's body may take.
    pub body_timeout: Duration,
    /// How long a client may leave bytes unread.
    pub write_timeout: Duration,
    /// How long a connection may stay open without a request.
    pub connection_idle: Duration,
    /// How long a session may stay without a request.
    pub session_idle: Duration,
    /// How long a modern client's seat is kept without a request.
    pub seat_idle: Duration,
    /// How long a call waits for a modern client's answers.
    pub park_ttl: Duration,
    /// Most calls of one client that wait so.
    pub parked_per_client: usize,
    /// After how much silence a stream gets a sign of life.
    pub keepalive: Duration,
    /// After how long a resumable stream is closed for the client to come back
    /// (revision 2025-11-25, SEP-1699).
    pub poll_close: Duration,
    /// How long a legacy call goes on after its client's connection broke.
    pub survive: Duration,
    /// Whose lists of tools are short.
    pub discovery: Discovery,
}

/// The front as a resource that an authorization server's tokens open (RFC 9728).
#[derive(Debug, Clone)]
pub struct ProtectedResource {
    /// Host and port that clients have of it. Under a name that is not this machine's own
    /// nothing but MCP is answered, and to nobody but who has such a token.
    pub authority: Box<str>,
    /// The path clients have of it.
    pub path: Box<str>,
    /// Where its description is.
    pub metadata_url: Box<str>,
    /// The description, in JSON.
    pub document: Bytes,
    /// The scopes a token may have for it, divided by spaces.
    pub scope: Box<str>,
}

// === impl FrontSettings ===

impl Default for FrontSettings {
    fn default() -> Self {
        Self {
            no_auth: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            resource: None,
            connections_max: 16 * 1024,
            sessions_max: 16 * 1024,
            sessions_per_client: 4096,
            body_max: 4 << 20,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            connection_idle: Duration::from_secs(3600),
            session_idle: Duration::from_secs(1800),
            seat_idle: Duration::from_secs(600),
            park_ttl: Duration::from_secs(600),
            parked_per_client: 64,
            keepalive: Duration::from_secs(15),
            poll_close: Duration::from_secs(300),
            survive: Duration::from_secs(600),
            discovery: Discovery::default(),
        }
    }
}
