//! The events extension (SEP-3415): what is asked, and the stream that is held
//! open.

use legation_core::{Caller, CancelReason, ServerName};
use legation_events::{Events, EventsError, Frame, Stream};
use legation_gate::Endpoint;
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::{ErrorObject, Message};
use legation_wire::meta;

use super::Inquiry;
use super::errors::{method_not_found, refused};
use crate::method::Act;
use crate::outbox::Weight;
use crate::parking::Body;
use crate::shared::Shared;

/// Events are the inbox's and of what surrounds it, so they are there where its
/// tools are.
const SERVER: &str = "inbox";

/// The events that an endpoint offers.
pub(crate) fn offered<'a>(
    shared: &'a Shared,
    caller: &Caller,
    endpoint: &Endpoint,
) -> Option<&'a Events> {
    let server = ServerName::parse(SERVER).ok()?;
    let events = shared.events.as_ref()?;
    shared
        .servers()
        .covers(caller, endpoint, &server)
        .then_some(events)
}

/// Answers a request of the extension.
pub(super) async fn answer(inquiry: &Inquiry, act: Act) -> Body {
    let who = &inquiry.context.caller;
    let Some(events) = offered(&inquiry.shared, who, &inquiry.endpoint) else {
        return Err(method_not_found(&inquiry.request.method));
    };
    let admitted = inquiry.shared.gate.admit(&inquiry.context);
    admitted.map_err(|refusal| refused(&refusal))?;
    let params = inquiry.request.params_object();
    let failed = |error: EventsError| events.error(&error);
    let result = match act {
        Act::List => events.list(who, &params),
        Act::Poll => events.poll(who, &params).await,
        Act::Subscribe => events.subscribe(who, &params).await,
        Act::Unsubscribe => events.unsubscribe(who, &params).await,
        Act::Stream => {
            let stream = events.stream(who, &params).await.map_err(failed)?;
            return hold(inquiry, stream).await;
        }
    };
    result.map(|result| result.to_raw()).map_err(failed)
}

/// Tells what happens until somebody ends it.
async fn hold(inquiry: &Inquiry, mut stream: Stream) -> Body {
    let id = inquiry.request.id.to_raw();
    let cancel = &inquiry.context.cancel;
    loop {
        let frame = tokio::select! {
            reason = cancel.cancelled() => return ended(reason, id),
            frame = stream.next() => frame,
        };
        let over = matches!(frame, Frame::Terminated(_));
        let method = frame.method();
        let mut params = frame.into_params();
        meta::set(&mut params, meta::SUBSCRIPTION_ID, id.clone());
        // Who does not read gets no more queued; what is not told waits where it is kept.
        tokio::select! {
            reason = cancel.cancelled() => return ended(reason, id),
            () = inquiry.outbox.until(|| inquiry.outbox.has_room()) => {}
        }
        let message = Message::notification(method, Some(params.to_raw()));
        inquiry.outbox.push(message.to_bytes(), Weight::Needed);
        if over {
            return Ok(end(id));
        }
    }
}

fn ended(reason: CancelReason, id: Raw) -> Body {
    match reason {
        CancelReason::Shutdown => Ok(end(id)),
        reason => Err(ErrorObject::new(codes::CANCELLED, reason.as_str())),
    }
}

fn end(id: Raw) -> Raw {
    let mut result = Object::new().with("resultType", Raw::from_static(r#""complete""#));
    meta::set(&mut result, meta::SUBSCRIPTION_ID, id);
    result.to_raw()
}
