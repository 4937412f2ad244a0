//! Responses.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Response, StatusCode};
use hyper::body::{Body, Frame, SizeHint};
use legation_wire::codes;
use legation_wire::message::ErrorObject;

use super::guard::Rejected;
use super::stream::EventStream;
use crate::intake::bare_error;

/// The body of a response.
#[derive(Debug)]
pub(super) enum ReplyBody {
    /// Whole, or nothing.
    Full(Option<Bytes>),
    /// As it comes.
    Events(Box<EventStream>),
}

/// A response.
pub(super) type Reply = Response<ReplyBody>;

// === impl ReplyBody ===

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = super::stream::Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Events(stream) => stream
                .poll_chunk(cx)
                .map(|chunk| chunk.map(|chunk| chunk.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Events(_) => SizeHint::default(),
        }
    }
}

/// A JSON body.
pub(super) fn json(status: StatusCode, body: Bytes) -> Reply {
    let mut reply = Response::new(ReplyBody::Full(Some(body)));
    *reply.status_mut() = status;
    reply.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    reply
}

/// A text of the hub's own.
pub(super) fn text(body: String, kind: &'static str) -> Reply {
    let mut reply = Response::new(ReplyBody::Full(Some(body.into())));
    reply
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

/// No body.
pub(super) fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(ReplyBody::Full(None));
    *reply.status_mut() = status;
    reply
}

/// An event stream.
pub(super) fn events(stream: EventStream) -> Reply {
    let mut reply = Response::new(ReplyBody::Events(Box::new(stream)));
    let headers = reply.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    reply
}

/// A request that was not even read.
pub(super) fn refuse(status: StatusCode, message: &str) -> Reply {
    let error = ErrorObject::new(
        codes::INVALID_REQUEST,
        &format!("{message}; nothing was done"),
    );
    let mut reply = json(status, bare_error(&error));
    if status == StatusCode::UNAUTHORIZED {
        reply.headers_mut().insert(
            header::WWW_AUTHENTICATE,
            HeaderValue::from_static(r#"Bearer realm="legation""#),
        );
    }
    reply
}

/// A method that this path does not have.
pub(super) fn not_allowed(allow: &'static str) -> Reply {
    let mut reply = refuse(
        StatusCode::METHOD_NOT_ALLOWED,
        "this path has no such method",
    );
    reply
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static(allow));
    reply
}

impl From<Rejected> for Reply {
    fn from(rejected: Rejected) -> Self {
        refuse(rejected.status, rejected.message)
    }
}

/// A body that keeps its connection busy until it is written.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) body: ReplyBody,
    pub(super) _busy: super::connection::Busy,
}

impl Body for Counted {
    type Data = Bytes;
    type Error = super::stream::Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A response is always there.
pub(super) type Never = Infallible;
