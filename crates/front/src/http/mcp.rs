//! `/mcp` and its kin: Streamable HTTP of every revision at one path.

use bytes::Bytes;
use http::{Method, StatusCode};
use legation_core::{Caller, SeatId};
use legation_gate::Endpoint;
use legation_wire::headers::{self, trace};
use legation_wire::http1::Fields as _;
use legation_wire::json::{Limits, Raw};
use legation_wire::message::{ErrorObject, Message, MessageError, Parsed, Request};
use legation_wire::meta;
use legation_wire::revision::Revision;

use super::guard::Accepts;
use super::head::Head;
use super::reply::{self, Reply};
use super::route::{Asked, Begun, PostTo};
use super::{guard, legacy, modern};
use crate::dispatch::refused;
use crate::intake::{bare_error, error_bytes};

/// What a message's head says of it and its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said {
    accepts: Accepts,
    version: Version,
    /// It names a trace.
    is_traced: bool,
}

/// What `MCP-Protocol-Version` says.
#[derive(Debug, Clone, Copy)]
enum Version {
    /// Nothing, or what is not known here.
    Unknown,
    Known(Revision),
    /// More than one thing, or no text.
    Unclear,
}

/// A message that was read, with what its answer must look like.
#[derive(Debug)]
pub(super) struct Posted {
    pub(super) endpoint: Endpoint,
    pub(super) accepts: Accepts,
    /// What `MCP-Protocol-Version` names, if it is known here.
    pub(super) revision: Option<Revision>,
}

/// Looks at a request's head; the answer where that is enough for one.
pub(super) fn begin(asked: &Asked<'_>, endpoint: Endpoint) -> Result<PostTo, Reply> {
    match asked.head.method {
        Method::POST => {}
        Method::GET | Method::DELETE => {
            if let Err(error) = known(asked, &endpoint) {
                return Err(reply::json(StatusCode::NOT_FOUND, bare_error(&error)));
            }
            return Err(match asked.head.method {
                Method::GET => legacy::listen(asked, &endpoint),
                _ => legacy::end(asked, &endpoint),
            });
        }
        _ => return Err(reply::not_allowed("GET, POST, DELETE")),
    }
    let accepts = guard::accept(asked.head)?;
    guard::content(asked.head)?;
    Ok(PostTo::Mcp(endpoint, Said::by(asked.head, accepts)))
}

/// Takes in a message.
pub(super) fn finish(asked: Asked<'_>, endpoint: Endpoint, said: Said, body: Bytes) -> Begun {
    let revision = match said.version {
        Version::Unknown => None,
        Version::Known(revision) => Some(revision),
        Version::Unclear => {
            return Begun::Reply(reply::refuse(
                StatusCode::BAD_REQUEST,
                "the MCP-Protocol-Version header is doubled or unreadable",
            ));
        }
    };
    let posted = Posted {
        endpoint,
        accepts: said.accepts,
        revision,
    };
    let limits = Limits {
        bytes: asked.connection.shared.settings.body_max,
        ..Limits::CLIENT
    };
    let mut parsed = Message::parse(&body, &limits);
    if said.is_traced
        && let Ok(Parsed::One(Message::Request(request))) = &mut parsed
    {
        traced(asked.head, request);
    }
    if let Err(error) = known(&asked, &posted.endpoint) {
        let answer = match parsed {
            Ok(Parsed::One(Message::Request(request))) => error_bytes(Some(request.id), error),
            _ => bare_error(&error),
        };
        return Begun::Reply(reply::json(StatusCode::NOT_FOUND, answer));
    }
    match parsed {
        Ok(Parsed::One(Message::Request(request)))
            if is_modern(&posted, &request.method, request.params.as_ref()) =>
        {
            modern::request(asked, posted, request)
        }
        Ok(Parsed::One(message)) if posted.is_modern() => Begun::Reply(modern::other(&message)),
        Ok(parsed) => legacy::post(&asked, &posted, parsed),
        Err(error) => Begun::Reply(malformed(&error)),
    }
}

/// Where a client says by headers of which trace its request is, and not in the request itself, puts
/// it there: that is where servers that are no HTTP servers look.
fn traced(head: &Head, request: &mut Request) {
    let mut params = request.params_object();
    if trace::take_in(&mut params, head) {
        request.params = Some(params.to_raw());
    }
}

/// Whether the path leads anywhere for this client. A server or a view that does not exist is no
/// MCP endpoint, so the answer is HTTP's (RFC 9110, section 15.5.5), whatever the revision.
fn known(asked: &Asked<'_>, endpoint: &Endpoint) -> Result<(), ErrorObject> {
    if *endpoint == Endpoint::All {
        return Ok(());
    }
    let caller = Caller {
        principal: asked.principal.clone(),
        seat: SeatId::new(""),
        workspace: None,
    };
    let gate = &asked.connection.shared.gate;
    gate.endpoint(&caller, endpoint)
        .map_err(|refusal| refused(&refusal))
}

/// The answer to a text that is no message.
pub(super) fn malformed(error: &MessageError) -> Reply {
    let body: Bytes = match &error.id {
        Some(_) => error.to_response().to_bytes(),
        None => bare_error(&error.to_error()),
    };
    reply::json(StatusCode::BAD_REQUEST, body)
}

// === impl Said ===

impl Said {
    fn by(head: &Head, accepts: Accepts) -> Self {
        let version = match guard::sole(head, &headers::PROTOCOL_VERSION) {
            Ok(version) => version
                .and_then(Revision::parse)
                .map_or(Version::Unknown, Version::Known),
            Err(()) => Version::Unclear,
        };
        Self {
            accepts,
            version,
            is_traced: matches!(head.sole(&trace::TRACEPARENT), Ok(Some(_))),
        }
    }
}

// === impl Posted ===

impl Posted {
    /// Whether the header names a revision without a handshake.
    fn is_modern(&self) -> bool {
        self.revision.is_some_and(Revision::is_modern)
    }
}

/// Whether a request is of the modern era: its body says so, or its header
/// does. `initialize` without metadata is the handshake whatever the header
/// says, because some clients send the newest version they know with it.
fn is_modern(posted: &Posted, method: &str, params: Option<&Raw>) -> bool {
    let claims = || {
        params
            .and_then(|params| params.get(meta::META))
            .is_some_and(|meta| meta.get(meta::PROTOCOL_VERSION).is_some())
    };
    // The body is looked into last, for that costs the most.
    method == "server/discover" || (posted.is_modern() && method != "initialize") || claims()
}
