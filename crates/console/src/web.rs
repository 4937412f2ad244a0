//! Requests and answers, in words of no particular HTTP server.

use std::fmt;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Method, StatusCode};
use legation_core::Principal;
use serde::Serialize;

/// One request, whose `Host` and `Origin` are the hub's own.
pub struct Request {
    /// Its method.
    pub method: Method,
    /// Its path, with whatever is percent-encoded in it.
    pub path: String,
    /// What stands behind the question mark.
    pub query: Option<String>,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, whose length is bounded.
    pub body: Bytes,
    /// Who sent it.
    pub caller: Caller,
}

/// Who sent a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Whoever has the owner's bearer token.
    Owner(Principal),
    /// It says nothing of that; there may be a cookie.
    Nobody,
}

/// What a request is answered with.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// Headers; those of the body's length and of the connection are the server's.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
}

/// The body of an answer.
pub enum Body {
    /// Whole, or nothing.
    Whole(Bytes),
    /// As it comes.
    Stream(BoxStream<'static, Bytes>),
}

// === impl Request ===

impl fmt::Debug for Request {
    /// Without headers and body, which hold credentials and what people write.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("path", &self.path)
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}

// === impl Answer ===

impl Answer {
    /// No body.
    #[must_use]
    pub fn empty(status: StatusCode) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: Body::Whole(Bytes::new()),
        }
    }

    /// A body of this kind.
    #[must_use]
    pub fn whole(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            body: Body::Whole(body.into()),
            ..Self::empty(status).with(header::CONTENT_TYPE, HeaderValue::from_static(kind))
        }
    }

    /// JSON.
    #[must_use]
    pub fn json(status: StatusCode, body: &impl Serialize) -> Self {
        match serde_json::to_vec(body) {
            Ok(body) => Self::whole(status, "application/json", body),
            // What is answered here has string keys and finite numbers.
            Err(_) => Self::empty(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    /// With this header, in place of any other of its name.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }
}

// === impl Body ===

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(body) => f.debug_tuple("Whole").field(&body.len()).finish(),
            Self::Stream(_) => f.debug_tuple("Stream").finish(),
        }
    }
}
