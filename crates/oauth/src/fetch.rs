//! Documents and tokens from addresses that somebody else named.
//!
//! A server names its authorization server, and that one names its endpoints: each
//! of them could name a host that only this machine reaches. So a name is looked up
//! for each request, what it leads to is checked, and the connection goes to that
//! address; nothing is long, slow or redirected for ever. Where a proxy stands in
//! between ([`legation_net::proxy`]), the address is its to choose, so that a name is told to
//! it only with TLS, which says who answers, or where the owner named the host; and a
//! name that leads inside from here is refused as ever. The hub's client for MCP
//! was not taken: it trusts the address its owner wrote down.

mod guard;
mod web;

use std::fmt;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use legation_core::Secret;

use crate::url::WebUrl;

pub use guard::Reach;
pub use web::Web;

/// One request.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Where to.
    pub url: WebUrl,
    /// Header names in small letters, with their values.
    pub headers: Vec<(&'static str, Secret)>,
    /// What is posted; a request without is a GET.
    pub body: Option<Body>,
}

/// What is posted.
#[derive(Debug, Clone)]
pub enum Body {
    /// `application/x-www-form-urlencoded`.
    Form(Secret),
    /// `application/json`.
    Json(Secret),
}

/// An answer with a status.
#[derive(Clone)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// `DPoP-Nonce` (RFC 9449, section 8).
    pub nonce: Option<Box<str>>,
    /// The whole body.
    pub body: Bytes,
}

/// No answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The host is, or leads to, an address of a private network or this machine.
    #[error("{host} leads to an address that is not on the Internet; nothing was sent")]
    Private {
        /// Which host.
        host: String,
    },
    /// It is plain HTTP to somewhere else.
    #[error("{host} would be asked without TLS; nothing was sent")]
    Plain {
        /// Which host.
        host: String,
    },
    /// No connection.
    #[error("no connection to {host}: {why}")]
    Connect {
        /// Which host.
        host: String,
        /// The system's words.
        why: String,
    },
    /// The proxy that leads there.
    #[error("{host} was not reached through the proxy: {why}")]
    Proxy {
        /// Which host.
        host: String,
        /// Which proxy, and the system's words or its own.
        why: String,
    },
    /// It took too long.
    #[error("{host} did not answer in time")]
    Timeout {
        /// Which host.
        host: String,
    },
    /// The answer broke off, or was none.
    #[error("{host} gave no whole answer")]
    Broken {
        /// Which host.
        host: String,
    },
    /// The answer is too long.
    #[error("the answer of {host} has more than {limit} bytes")]
    TooLarge {
        /// Which host.
        host: String,
        /// The limit.
        limit: usize,
    },
    /// It redirects too often, or to what cannot be followed.
    #[error("{host} redirects in a way that is not followed")]
    Redirect {
        /// Which host.
        host: String,
    },
}

/// Sends requests; what is not one of the Internet is refused.
pub trait Fetch: Send + Sync + fmt::Debug {
    /// Sends one request. `reach` says what may be reached beside the Internet.
    fn fetch(&self, ask: Ask, reach: Reach) -> BoxFuture<'static, Result<Reply, FetchError>>;
}

// === impl Ask ===

impl Ask {
    /// Asks for a document.
    #[must_use]
    pub fn get(url: WebUrl) -> Self {
        Self {
            url,
            headers: Vec::new(),
            body: None,
        }
    }
}

// === impl Reply ===

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The body may hold a token.
        f.debug_struct("Reply")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

// === impl FetchError ===

impl FetchError {
    /// What the owner can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Private { .. } | Self::Plain { .. } => {
                "if the host is yours, name it in `oauth.allowedHosts` of the server in mcp.json"
            }
            Self::Connect { .. } | Self::Timeout { .. } | Self::Broken { .. } => {
                "check the network to it, and try again"
            }
            Self::Proxy { .. } => {
                "check `proxy` of the server in mcp.json, or the variables HTTPS_PROXY and NO_PROXY that the hub was started with"
            }
            Self::TooLarge { .. } | Self::Redirect { .. } => {
                "ask who runs the server: its sign-in cannot be used as it is"
            }
        }
    }
}
