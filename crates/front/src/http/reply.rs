//! Responses.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};
use legation_core::Wall;
use legation_wire::codes;
use legation_wire::http1::number;
use legation_wire::message::ErrorObject;

use super::guard::Rejected;
use super::head::{BadHead, Head};
use super::stream::EventStream;
use crate::intake::bare_error;
use crate::outgoing::Deliveries;
use crate::settings::ProtectedResource;
use crate::web::{WebAnswer, WebBody};

/// Length of a date as HTTP has it.
const DATE: usize = 29;

thread_local! {
    /// The date as text, which is the same for a second.
    static TODAY: RefCell<(i64, [u8; DATE])> = const { RefCell::new((i64::MIN, [b' '; DATE])) };
}

/// The body of a response.
pub(super) enum ReplyBody {
    /// Whole, or nothing.
    Full(Bytes),
    /// A client's messages as they come.
    Events(Box<EventStream>),
    /// Whatever the admin API or the console sends, as it comes.
    Web(BoxStream<'static, Bytes>),
}

/// A response.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    /// What the body is; `None` when there is none.
    kind: Option<&'static str>,
    /// Further headers.
    fields: Vec<(HeaderName, Cow<'static, str>)>,
    /// Headers of the admin API's and the console's.
    others: Box<HeaderMap>,
    pub(super) body: ReplyBody,
    /// The connection ends with it.
    pub(super) closes: bool,
    /// Who wants to know when a whole body was written.
    pub(super) deliveries: Deliveries,
}

// === impl ReplyBody ===

impl ReplyBody {
    /// Whether it comes bit by bit.
    pub(super) fn is_stream(&self) -> bool {
        match self {
            Self::Full(_) => false,
            Self::Events(_) | Self::Web(_) => true,
        }
    }
}

impl fmt::Debug for ReplyBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(body) => f.debug_tuple("Full").field(body).finish(),
            Self::Events(events) => f.debug_tuple("Events").field(events).finish(),
            Self::Web(_) => f.debug_tuple("Web").finish(),
        }
    }
}

// === impl Reply ===

impl Reply {
    fn new(status: StatusCode, kind: Option<&'static str>, body: ReplyBody) -> Self {
        Self {
            status,
            kind,
            fields: Vec::new(),
            others: Box::default(),
            body,
            closes: false,
            deliveries: Deliveries::default(),
        }
    }

    /// With those who want to know when it was written.
    pub(super) fn delivering(mut self, deliveries: Deliveries) -> Self {
        self.deliveries = deliveries;
        self
    }

    /// With another header, whose value is visible ASCII.
    pub(super) fn with(mut self, name: HeaderName, value: impl Into<Cow<'static, str>>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// The connection ends with it.
    pub(super) fn closing(mut self) -> Self {
        self.closes = true;
        self
    }

    /// Writes the response's head, as it answers this request; whether a body
    /// as it comes is sent in chunks.
    pub(super) fn write_head(&self, out: &mut Vec<u8>, request: &Head, wall: Wall) -> bool {
        if self.status == StatusCode::OK {
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        } else {
            put(out, &["HTTP/1.1 ", self.status.as_str(), " "]);
            put(
                out,
                &[self.status.canonical_reason().unwrap_or_default(), "\r\n"],
            );
        }
        if let Some(kind) = self.kind {
            put(out, &["content-type: ", kind, "\r\n"]);
        }
        for (name, value) in &self.fields {
            put(out, &[name.as_str(), ": ", value, "\r\n"]);
        }
        for (name, value) in self.others.iter() {
            put(out, &[name.as_str(), ": "]);
            out.extend_from_slice(value.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        let is_chunked = match &self.body {
            ReplyBody::Events(_) | ReplyBody::Web(_) if request.is_11 => {
                out.extend_from_slice(b"transfer-encoding: chunked\r\n");
                true
            }
            ReplyBody::Events(_) | ReplyBody::Web(_) => false,
            // What has no body by its nature says nothing of one (RFC 9110, 8.6).
            ReplyBody::Full(_) if self.status == StatusCode::NO_CONTENT => false,
            ReplyBody::Full(body) => {
                out.extend_from_slice(b"content-length: ");
                number(out, body.len());
                out.extend_from_slice(b"\r\n");
                false
            }
        };
        if self.closes {
            out.extend_from_slice(b"connection: close\r\n");
        } else if !request.is_11 {
            out.extend_from_slice(b"connection: keep-alive\r\n");
        }
        out.extend_from_slice(b"date: ");
        date(out, wall);
        out.extend_from_slice(b"\r\n\r\n");
        is_chunked
    }
}

fn put(out: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
}

/// A number in hexadecimal digits.
pub(super) fn hex(out: &mut Vec<u8>, number: usize) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let places = (usize::BITS - number.leading_zeros()).div_ceil(4).max(1);
    for place in (0..places).rev() {
        out.push(DIGITS[(number >> (4 * place)) & 15]);
    }
}

/// The date (RFC 9110, section 5.6.7), which a server with a clock has to say.
fn date(out: &mut Vec<u8>, wall: Wall) {
    let second = wall.0.div_euclid(1000);
    TODAY.with_borrow_mut(|(known, text)| {
        if *known != second {
            let since = Duration::from_secs(u64::try_from(second).unwrap_or_default());
            let written = httpdate::fmt_http_date(UNIX_EPOCH + since);
            if let Ok(written) = written.as_bytes().try_into() {
                *text = written;
            }
            *known = second;
        }
        out.extend_from_slice(text);
    });
}

/// A JSON body.
pub(super) fn json(status: StatusCode, body: Bytes) -> Reply {
    Reply::new(status, Some("application/json"), ReplyBody::Full(body))
}

/// A text of the hub's own.
pub(super) fn text(body: String, kind: &'static str) -> Reply {
    Reply::new(StatusCode::OK, Some(kind), ReplyBody::Full(body.into()))
}

/// No body.
pub(super) fn empty(status: StatusCode) -> Reply {
    Reply::new(status, None, ReplyBody::Full(Bytes::new()))
}

/// An event stream.
pub(super) fn events(stream: EventStream) -> Reply {
    let body = ReplyBody::Events(Box::new(stream));
    Reply::new(StatusCode::OK, Some("text/event-stream"), body)
        .with(header::CACHE_CONTROL, "no-cache")
        .with(HeaderName::from_static("x-accel-buffering"), "no")
}

/// What the admin API or the console answers. Headers that say how the body is framed are
/// the front's own.
pub(super) fn web(answer: WebAnswer) -> Reply {
    let body = match answer.body {
        WebBody::Whole(body) => ReplyBody::Full(body),
        WebBody::Stream(stream) => ReplyBody::Web(stream),
    };
    let mut reply = Reply::new(answer.status, None, body);
    reply.others = Box::new(answer.headers);
    for own in [
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::DATE,
        header::TRANSFER_ENCODING,
    ] {
        reply.others.remove(own);
    }
    reply
        .others
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    reply
}

/// A request that was not even read.
pub(super) fn refuse(status: StatusCode, message: &str) -> Reply {
    let error = ErrorObject::new(
        codes::INVALID_REQUEST,
        &format!("{message}; nothing was done"),
    );
    let reply = json(status, bare_error(&error));
    if status == StatusCode::UNAUTHORIZED {
        return reply.with(header::WWW_AUTHENTICATE, r#"Bearer realm="legation""#);
    }
    reply
}

/// A refusal, with what a client needs to sign in, where it can (RFC 6750 section 3, RFC 9728
/// section 5.1).
pub(super) fn rejected(rejected: &Rejected, resource: Option<&ProtectedResource>) -> Reply {
    let mut reply = refuse(rejected.status, rejected.message);
    let is_challenge = rejected.status == StatusCode::UNAUTHORIZED || rejected.error.is_some();
    let Some(resource) = resource.filter(|_| is_challenge) else {
        return reply;
    };
    let mut challenge = r#"Bearer realm="legation""#.to_owned();
    let scope = Some(&*resource.scope).filter(|scope| !scope.is_empty());
    for (name, value) in [
        ("error", rejected.error),
        ("scope", scope),
        ("resource_metadata", Some(&*resource.metadata_url)),
    ] {
        if let Some(value) = value {
            challenge.push_str(&format!(", {name}=\"{value}\""));
        }
    }
    reply
        .fields
        .retain(|(name, _)| name != header::WWW_AUTHENTICATE);
    reply.with(header::WWW_AUTHENTICATE, challenge)
}

/// A method that this path does not have.
pub(super) fn not_allowed(allow: &'static str) -> Reply {
    let reply = refuse(
        StatusCode::METHOD_NOT_ALLOWED,
        "this path has no such method",
    );
    reply.with(header::ALLOW, allow)
}

impl From<Rejected> for Reply {
    fn from(rejected: Rejected) -> Self {
        refuse(rejected.status, rejected.message)
    }
}

impl From<BadHead> for Reply {
    fn from(bad: BadHead) -> Self {
        refuse(bad.status(), &bad.to_string()).closing()
    }
}
