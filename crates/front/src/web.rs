//! Whoever answers what is neither MCP nor a sign of life: the admin API and the
//! console. The front reads requests, says whose they are and writes answers; it
//! knows none of the paths.

use std::fmt;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use http::{HeaderMap, Method, StatusCode};
use legation_core::Principal;

/// Longest body of a request, in bytes.
pub const WEB_BODY_MAX: usize = 1 << 20;

/// Answers what is neither MCP nor a sign of life.
pub trait WebHandler: Send + Sync + fmt::Debug {
    /// `None`: nothing at this path. Runs on an HTTP worker and never blocks it.
    ///
    /// The answer to a GET or HEAD is dropped when its client hangs up; what may
    /// change something is brought to its end.
    fn web(&self, request: WebRequest) -> Option<BoxFuture<'static, WebAnswer>>;
}

/// One request, whose `Host` and `Origin` are the hub's own.
pub struct WebRequest {
    /// Its method.
    pub method: Method,
    /// Its path, with whatever is percent-encoded in it.
    pub path: String,
    /// What stands behind the question mark.
    pub query: Option<String>,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, at most [`WEB_BODY_MAX`].
    pub body: Bytes,
    /// Who sent it.
    pub caller: WebCaller,
}

/// Who sent a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebCaller {
    /// Whoever has the owner's bearer token.
    Owner(Principal),
    /// It says nothing of that; there may be a cookie.
    Nobody,
}

/// What a request is answered with.
#[derive(Debug)]
pub struct WebAnswer {
    /// The status.
    pub status: StatusCode,
    /// Headers; those of the body's length and of the connection are the front's.
    pub headers: HeaderMap,
    /// The body.
    pub body: WebBody,
}

/// The body of an answer.
pub enum WebBody {
    /// Whole, or nothing.
    Whole(Bytes),
    /// As it comes. Asked for more once what came before was written.
    Stream(BoxStream<'static, Bytes>),
}

// === impl WebRequest ===

impl fmt::Debug for WebRequest {
    /// Without headers and body, which hold credentials and what people write.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebRequest")
            .field("method", &self.method)
            .field("path", &self.path)
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}

// === impl WebBody ===

impl fmt::Debug for WebBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(body) => f.debug_tuple("Whole").field(&body.len()).finish(),
            Self::Stream(_) => f.debug_tuple("Stream").finish(),
        }
    }
}
