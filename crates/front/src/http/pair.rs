//! The transport of 2024-11-05: one event stream from the hub, and requests
//! posted beside it.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, StatusCode};
use legation_core::Caller;
use legation_gate::Endpoint;
use legation_wire::json::Limits;
use legation_wire::message::Message;
use legation_wire::sse::Event;

use super::guard;
use super::head::Target;
use super::reply::{self, Reply};
use super::route::{Asked, PostTo};
use super::stream::EventStream;
use crate::intake::{self, Intake};
use crate::outbox::Weight;
use crate::seats;
use crate::session::{Carrier, Session};

const PARAMETER: &str = "sessionId";

/// `GET /sse`: opens a session and says where its requests go.
pub(super) fn stream(asked: &Asked<'_>) -> Reply {
    if asked.head.method != Method::GET {
        return reply::not_allowed("GET");
    }
    let shared = &asked.connection.shared;
    match guard::accept(asked.head) {
        Ok(accepts) if accepts.events => {}
        _ => {
            return reply::refuse(
                StatusCode::NOT_ACCEPTABLE,
                "the client must accept text/event-stream",
            );
        }
    }
    let Ok(seat) = seats::random() else {
        return reply::refuse(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the system gave no random bytes",
        );
    };
    let caller = Caller {
        principal: asked.principal.clone(),
        seat: seat.clone(),
        workspace: None,
    };
    let session = Session::new(seat.as_str().into(), caller, Endpoint::All, Carrier::Pair);
    let session = Arc::new(session);
    session.touch(shared.now_ms());
    if let Err(error) = shared.sessions.insert(shared, &session) {
        return reply::refuse(StatusCode::SERVICE_UNAVAILABLE, &error.to_string());
    }
    let endpoint = Event {
        event: Some("endpoint".into()),
        ..Event::message(Bytes::from(format!("/messages?{PARAMETER}={}", session.id)))
    };
    let mut head = Vec::new();
    endpoint.write_to(&mut head);
    let stream = EventStream::pair(shared, &session, head.into());
    reply::events(stream.ending(asked.until))
}

/// `POST /messages`: one message; what it leads to comes on the stream.
pub(super) fn begin(asked: &Asked<'_>, target: &Target<'_>) -> Result<PostTo, Reply> {
    if asked.head.method != Method::POST {
        return Err(reply::not_allowed("POST"));
    }
    guard::content(asked.head)?;
    let id = target.query.and_then(|query| {
        query
            .split('&')
            .find_map(|pair| pair.strip_prefix(PARAMETER)?.strip_prefix('='))
    });
    let sessions = &asked.connection.shared.sessions;
    id.and_then(|id| sessions.find(id, &asked.principal.client))
        .filter(|session| session.carrier == Carrier::Pair)
        .map(PostTo::Pair)
        .ok_or_else(|| reply::refuse(StatusCode::NOT_FOUND, "there is no such session"))
}

/// Takes in the message.
pub(super) fn finish(asked: &Asked<'_>, session: &Arc<Session>, body: Bytes) -> Reply {
    let shared = &asked.connection.shared;
    session.touch(shared.now_ms());
    if !session.general.has_room() {
        return reply::refuse(
            StatusCode::SERVICE_UNAVAILABLE,
            "the client does not read its event stream",
        );
    }
    let limits = Limits {
        bytes: shared.settings.body_max,
        ..Limits::CLIENT
    };
    let parsed = Message::parse(&body, &limits);
    match intake::parsed(shared, session, &session.general, parsed) {
        Intake::Nothing => {}
        Intake::Reply(message) => {
            session.general.push(message, Weight::Answer);
        }
        Intake::Run(answer) => {
            let outbox = Arc::clone(&session.general);
            shared.tasks.spawn("call of an SSE client", async move {
                if let Some(message) = answer.await {
                    outbox.push(message, Weight::Answer);
                }
            });
        }
    }
    reply::empty(StatusCode::ACCEPTED)
}
