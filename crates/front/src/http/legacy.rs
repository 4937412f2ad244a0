//! Sessions over Streamable HTTP (2025-03-26 to 2025-11-25).

use std::sync::Arc;

use futures_util::FutureExt as _;
use http::StatusCode;
use legation_core::{Caller, CancelReason};
use legation_gate::Endpoint;
use legation_wire::headers;
use legation_wire::message::{Message, Parsed, Request};
use legation_wire::revision::Revision;

use super::guard::{self, sole};
use super::known::LastSession;
use super::mcp::Posted;
use super::reply::{self, Reply};
use super::route::{Asked, Begun};
use super::stream::{Answer, EventStream, Exchange, Lost, Resumable};
use crate::intake::{self, Intake};
use crate::outbox::Outbox;
use crate::seats;
use crate::session::{Carrier, Session};

/// `POST`: a message of a session's, or the one that begins it.
pub(super) fn post(asked: &Asked<'_>, posted: &Posted, parsed: Parsed) -> Begun {
    if let Parsed::One(Message::Request(request)) = &parsed
        && &*request.method == "initialize"
    {
        return Begun::Reply(initialize(asked, posted, request));
    }
    let shared = &asked.connection.shared;
    let session = match session(asked, &posted.endpoint) {
        Ok(session) => session,
        Err(reply) => return Begun::Reply(*reply),
    };
    let outbox = Arc::new(Outbox::kept());
    match intake::parsed(shared, &session, &outbox, Ok(parsed)) {
        Intake::Nothing => Begun::Reply(reply::empty(StatusCode::ACCEPTED)),
        Intake::Reply(message) => Begun::Reply(reply::json(StatusCode::OK, message)),
        Intake::Run(run) => {
            let answer = run.map(|message| Answer {
                status: StatusCode::OK,
                message,
            });
            let exchange = Exchange::new(shared, answer.boxed(), &outbox, Lost::Survive);
            Begun::Wait(Box::new(exchange.wait(posted.accepts, Some(session))))
        }
    }
}

/// `initialize`: a session begins if it succeeds.
fn initialize(asked: &Asked<'_>, posted: &Posted, request: &Request) -> Reply {
    let shared = &asked.connection.shared;
    let (Ok(id), Ok(seat)) = (legation_core::id::random_hex(), seats::random()) else {
        return reply::refuse(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the system gave no random bytes",
        );
    };
    let caller = Caller {
        principal: asked.principal.clone(),
        seat,
        workspace: None,
    };
    let session = Session::new(id.into(), caller, posted.endpoint.clone(), Carrier::Http);
    let session = Arc::new(session);
    session.touch(shared.now_ms());
    let body = intake::initialize(shared, &session, request);
    let begun = body.is_ok();
    if begun && let Err(error) = shared.sessions.insert(shared, &session) {
        return reply::refuse(StatusCode::SERVICE_UNAVAILABLE, &error.to_string());
    }
    let message = Message::response(request.id.clone(), body).to_bytes();
    let reply = reply::json(StatusCode::OK, message);
    if begun {
        return reply.with(headers::SESSION_ID, session.id.to_string());
    }
    reply
}

/// `GET`: what is said outside every call, or the rest of a stream that broke.
pub(super) fn listen(asked: &Asked<'_>, endpoint: &Endpoint) -> Reply {
    match guard::accept(asked.head) {
        Ok(accepts) if accepts.events => {}
        _ => {
            return reply::refuse(
                StatusCode::NOT_ACCEPTABLE,
                "the client must accept text/event-stream",
            );
        }
    }
    // Clients of 2026-07-28 have no such stream, and no session.
    if sole(asked.head, &headers::SESSION_ID) == Ok(None) {
        return reply::not_allowed("POST");
    }
    let session = match session(asked, endpoint) {
        Ok(session) => session,
        Err(reply) => return *reply,
    };
    let shared = &asked.connection.shared;
    let last = match sole(asked.head, &headers::LAST_EVENT_ID) {
        Ok(last) => last.filter(|id| !id.is_empty()),
        Err(()) => {
            return reply::refuse(
                StatusCode::BAD_REQUEST,
                "the Last-Event-ID header is doubled or unreadable",
            );
        }
    };
    let (number, outbox, cursor) = match last {
        None => (
            0,
            Arc::clone(&session.general),
            session.general.unread_from(),
        ),
        Some(id) => {
            let found = Resumable::parse(id)
                .and_then(|(number, next)| Some((number, session.stream(number)?, next)));
            match found {
                Some(found) => found,
                None => {
                    return reply::refuse(
                        StatusCode::BAD_REQUEST,
                        "no stream of this session has that event",
                    );
                }
            }
        }
    };
    let stream = EventStream::over(shared, &session, number, &outbox, cursor, last.is_none());
    reply::events(stream.ending(asked.until))
}

/// `DELETE`: the session ends.
pub(super) fn end(asked: &Asked<'_>, endpoint: &Endpoint) -> Reply {
    if sole(asked.head, &headers::SESSION_ID) == Ok(None) {
        return reply::not_allowed("POST");
    }
    let session = match session(asked, endpoint) {
        Ok(session) => session,
        Err(reply) => return *reply,
    };
    let shared = &asked.connection.shared;
    shared
        .sessions
        .close(shared, &session.id, CancelReason::ClientCancelled);
    reply::empty(StatusCode::NO_CONTENT)
}

/// The session a request names: this client's, at this path. Another's is as
/// unknown as none.
fn session(asked: &Asked<'_>, endpoint: &Endpoint) -> Result<Arc<Session>, Box<Reply>> {
    let shared = &asked.connection.shared;
    if let Some(session) = asked.session.and_then(LastSession::find) {
        session.touch(shared.now_ms());
        return Ok(session);
    }
    let headers = asked.head;
    let bad = |message| Box::new(reply::refuse(StatusCode::BAD_REQUEST, message));
    let id = sole(headers, &headers::SESSION_ID)
        .map_err(|()| bad("the Mcp-Session-Id header is doubled or unreadable"))?
        .ok_or_else(|| {
            bad("no Mcp-Session-Id: send initialize first, or every request with its _meta (2026-07-28)")
        })?;
    let session = shared
        .sessions
        .find(id, &asked.principal.client)
        .filter(|session| session.carrier == Carrier::Http && session.endpoint == *endpoint)
        .ok_or_else(|| {
            Box::new(reply::refuse(
                StatusCode::NOT_FOUND,
                "there is no such session; send initialize again",
            ))
        })?;
    // Some clients leave the header out; what stands there must make sense.
    let version = sole(headers, &headers::PROTOCOL_VERSION)
        .map_err(|()| bad("the MCP-Protocol-Version header is doubled or unreadable"))?;
    if version.is_some_and(|version| Revision::parse(version).is_none_or(Revision::is_modern)) {
        return Err(bad(
            "the MCP-Protocol-Version header names no revision of this session",
        ));
    }
    session.touch(shared.now_ms());
    if let Some(last) = asked.session {
        last.keep(&session);
    }
    Ok(session)
}
