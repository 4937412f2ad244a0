//! Why there is no connection, or no answer.

use std::time::Duration;

use legation_core::process::SpawnError;
use legation_oauth::OAuthError;
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::upstream::LinkError;

use super::http::HelperError;

/// A server that could not be connected.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its process was not started.
    #[error("the server's process was not started")]
    Spawn {
        /// Why.
        #[source]
        source: SpawnError,
    },
    /// Its process could be started, but the two sides found no common ground,
    /// or it ended before they had.
    #[error("the handshake failed{}", ended.as_deref().map(|ended| format!(": {ended}")).unwrap_or_default())]
    Handshake {
        /// What the protocol says.
        #[source]
        source: LinkError,
        /// How the process ended, if it did.
        ended: Option<String>,
    },
    /// Its URL could not be reached, or spoke no HTTP that is understood.
    #[error("the server could not be reached")]
    Http {
        /// Why.
        #[source]
        source: HttpError,
    },
    /// It answered 401 or 403.
    #[error("the server wants a sign-in (HTTP status {status})")]
    NeedsAuth {
        /// The status.
        status: u16,
        /// `WWW-Authenticate`, if it was sent (RFC 9728).
        challenge: Option<String>,
    },
    /// It was stopped, or went away, before it was ready.
    #[error("{reason}")]
    Closed {
        /// What ended it.
        reason: String,
    },
}

/// An HTTP exchange without a usable answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The URL is none that can be used.
    #[error("{problem}")]
    Url {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// No connection.
    #[error("no connection to {origin}")]
    Connect {
        /// Scheme, host and port.
        origin: String,
        /// The system's own words.
        #[source]
        source: std::io::Error,
    },
    /// No connection through the proxy.
    #[error("no connection through the proxy {proxy}")]
    Proxy {
        /// Its host and port.
        proxy: String,
        /// The system's own words, or what the proxy answered.
        #[source]
        source: std::io::Error,
    },
    /// The server has no event stream where one was asked for.
    #[error("the server answered HTTP status {status} where an event stream was expected")]
    NoStream {
        /// The status; one of success when there was no stream in the answer.
        status: u16,
    },
    /// The first event did not say where messages go to.
    #[error("the server's event stream does not say where messages are to be sent")]
    NoEndpoint,
    /// Messages would go to somewhere else, where the request's secrets do not belong.
    #[error("the server wants messages sent to {target}, which is another origin")]
    ForeignEndpoint {
        /// Where to, without query.
        target: String,
    },
    /// Something took too long.
    #[error("{what} took more than {} s", after.as_secs())]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// How long.
        after: Duration,
    },
    /// The connection broke.
    #[error("the connection broke before the answer was complete")]
    Broken {
        /// What broke it.
        #[source]
        source: std::io::Error,
    },
    /// A redirect to somewhere else, where the request's secrets do not belong.
    #[error("the server redirects to {target}, which is another origin")]
    Redirect {
        /// Where to, without query.
        target: String,
    },
    /// A redirect that is none, or one too many.
    #[error("the server redirects in a way that cannot be followed")]
    BadRedirect,
    /// A compressed body, which was not asked for.
    #[error("the server sent a body with Content-Encoding, which was not asked for")]
    Encoded,
    /// A body that is neither JSON nor an event stream.
    #[error("the server answered with content type {found:?}")]
    ContentType {
        /// What it sent.
        found: String,
    },
    /// There is a sign-in, and no token could be had with it now.
    #[error("the hub is signed in at the server, but has no token")]
    SignIn {
        /// Why.
        #[source]
        source: OAuthError,
    },
    /// The command that prints the server's headers did not.
    #[error("the headers for the server could not be had")]
    Helper {
        /// Why.
        #[source]
        source: HelperError,
    },
    /// A body or event over the limit.
    #[error("the server's answer is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
}

/// What to do about an answer over the limit.
const LARGER: &str = "ask the server for less at once, or raise limits.upstream_message_bytes in legation.toml and restart the hub";

/// The end of a call whose answer was over the limit; `found` is its size, if it was read to its
/// end.
pub(super) fn too_large(limit: usize, found: Option<usize>) -> ErrorObject {
    let found = found.map_or_else(String::new, |found| format!(" ({found} bytes)"));
    let text = format!(
        "the server's answer{found} is larger than the {limit} bytes that limits.upstream_message_bytes allows and was left out; the call itself was made"
    );
    let hint = Object::new().with("hint", Raw::str(LARGER));
    ErrorObject::new(codes::BAD_UPSTREAM, &text).with_data(hint.to_raw())
}

// === impl StartError ===

impl StartError {
    /// What the server's owner can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Spawn { source } => source.hint(),
            Self::Handshake { source, .. } => source.hint(),
            Self::Http { source } => source.hint(),
            Self::NeedsAuth { .. } => "sign in, or add an Authorization header to the server",
            Self::Closed { .. } => "look at the server's log with `legation mcp logs`",
        }
    }
}

impl StartError {
    /// Whether the answer is that of a server which speaks only the transport of
    /// revision 2024-11-05 (2025-11-25, transports, "Backwards Compatibility").
    pub(super) fn may_be_older(&self) -> bool {
        matches!(
            self,
            Self::Handshake {
                source: LinkError::Http {
                    status: 400 | 404 | 405,
                    ..
                },
                ..
            }
        )
    }
}

// === impl HttpError ===

impl HttpError {
    /// What the server's owner can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Url { .. } => "write an http:// or https:// URL",
            Self::Connect { .. } => "check that the server runs and that the URL is right",
            Self::Proxy { .. } => {
                "check HTTPS_PROXY and HTTP_PROXY, name the host in NO_PROXY, or set `proxy` in the server's entry"
            }
            Self::NoStream { .. } | Self::NoEndpoint => {
                "check that the URL is that of a server of type `sse`; most of today's are `http`"
            }
            Self::ForeignEndpoint { .. } => {
                "configure the URL at the place that the server names, if you trust it"
            }
            Self::Timeout { .. } | Self::Broken { .. } => "check the server and the network to it",
            Self::Redirect { .. } | Self::BadRedirect => {
                "configure the URL that the server redirects to, if you trust it"
            }
            Self::Encoded | Self::ContentType { .. } => {
                "check that the URL is the server's MCP endpoint"
            }
            Self::SignIn { source } => source.hint(),
            Self::Helper { source } => source.hint(),
            Self::TooLarge { .. } => LARGER,
        }
    }

    /// Whether nothing listens there, as opposed to a passing trouble.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self, Self::Connect { source, .. } if source.kind() == std::io::ErrorKind::ConnectionRefused)
    }
}
