//! What comes in of a client, message by message, whatever carried it.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use legation_core::{OpContext, boxed};
use legation_wire::caps::ClientCapabilities;
use legation_wire::codes;
use legation_wire::json::Raw;
use legation_wire::message::{
    ErrorObject, Id, Message, MessageError, MessageFault, Notification, Parsed, Request, Response,
};
use legation_wire::meta;

use crate::dispatch::{self, Inquiry, check_task_support, initialize_result, method_not_found};
use crate::facts::ToolFact;
use crate::method::Method;
use crate::outbox::Outbox;
use crate::outgoing::{Deliveries, Outgoing};
use crate::parking::Body;
use crate::peer::{LegacyPeer, SeatPeer};
use crate::session::{Carrier, PERMISSION_REQUEST, Session};
use crate::shared::{Held, Shared};
use crate::speaker::{Claim, Modern, Speaker};
use crate::watch::{Interest, WatchGuard, Watcher};

/// Most messages of one batch (2025-03-26).
const BATCH_MAX: usize = 100;

/// What a message leads to.
pub(crate) enum Intake {
    /// Nothing is said.
    Nothing,
    /// An answer is at hand.
    Reply(Bytes),
    /// An answer will come; `None` when the client has called it off.
    Run(BoxFuture<'static, Option<Outgoing>>),
}

/// Takes in what one text held.
pub(crate) fn parsed(
    shared: &Held,
    session: &Arc<Session>,
    outbox: &Arc<Outbox>,
    parsed: Result<Parsed, MessageError>,
) -> Intake {
    match parsed {
        Ok(Parsed::One(message)) => one(shared, session, outbox, message),
        Ok(Parsed::Batch(messages)) => batch(shared, session, outbox, messages),
        Err(error) => malformed(&error),
    }
}

fn malformed(error: &MessageError) -> Intake {
    if error.is_response {
        return Intake::Nothing;
    }
    Intake::Reply(error.to_response().to_bytes())
}

fn batch(
    shared: &Held,
    session: &Arc<Session>,
    outbox: &Arc<Outbox>,
    messages: Vec<Result<Message, MessageError>>,
) -> Intake {
    let refused = |fault| {
        malformed(&MessageError {
            id: None,
            is_response: false,
            fault,
        })
    };
    if !(session.is_greeted() && session.revision().has_batches()) {
        return refused(MessageFault::BatchNotAllowed);
    }
    if messages.len() > BATCH_MAX {
        let message = format!("a batch has at most {BATCH_MAX} messages; nothing was done");
        return Intake::Reply(error_bytes(
            None,
            ErrorObject::new(codes::INVALID_REQUEST, &message),
        ));
    }
    let mut running = Vec::new();
    for message in messages {
        let intake = match message {
            Ok(message) => one(shared, session, outbox, message),
            Err(error) => malformed(&error),
        };
        match intake {
            Intake::Nothing => {}
            Intake::Reply(reply) => {
                running.push(futures_util::future::ready(Some(reply.into())).boxed());
            }
            Intake::Run(run) => running.push(run),
        }
    }
    if running.is_empty() {
        return Intake::Nothing;
    }
    Intake::Run(
        async move {
            let mut deliveries = Deliveries::default();
            let answers: Vec<Outgoing> = join_all(running).await.into_iter().flatten().collect();
            let answers: Vec<Bytes> = answers
                .into_iter()
                .map(|answer| {
                    deliveries.join(answer.deliveries);
                    answer.bytes
                })
                .collect();
            (!answers.is_empty()).then(|| Outgoing {
                bytes: [b"[", answers.join(&b","[..]).as_slice(), b"]"]
                    .concat()
                    .into(),
                deliveries,
            })
        }
        .boxed(),
    )
}

/// Takes in one message.
pub(crate) fn one(
    shared: &Held,
    session: &Arc<Session>,
    outbox: &Arc<Outbox>,
    message: Message,
) -> Intake {
    match message {
        Message::Response(response) => {
            session.answered(response);
            Intake::Nothing
        }
        Message::Notification(notification) => {
            notified(shared, session, &notification);
            Intake::Nothing
        }
        Message::Request(request) => {
            session.is_alive();
            let id = request.id.clone();
            match requested(shared, session, outbox, request) {
                Ok(intake) => intake,
                Err(error) => Intake::Reply(error_bytes(Some(id), error)),
            }
        }
    }
}

fn requested(
    shared: &Held,
    session: &Arc<Session>,
    outbox: &Arc<Outbox>,
    request: Request,
) -> Result<Intake, ErrorObject> {
    let speaker = if session.carrier == Carrier::Socket && claims_modern(&request) {
        Speaker::Modern(modern(shared, session, &request)?)
    } else {
        Speaker::Legacy(Arc::clone(session))
    };
    let method = Method::find(&request.method, speaker.revision())
        .ok_or_else(|| method_not_found(&request.method))?;
    if let Speaker::Modern(modern) = &speaker
        && method == Method::CallTool
        && !modern.capabilities.tasks_ext
    {
        check_task_support(modern, fact(shared, session, &request).as_deref())?;
    }
    if let Speaker::Legacy(session) = &speaker {
        if method == Method::Initialize {
            let id = request.id.clone();
            let body = initialize(shared, session, &request);
            return Ok(Intake::Reply(Message::response(id, body).to_bytes()));
        }
        if !session.is_greeted() && !method.before_handshake() {
            return Err(ErrorObject::new(
                codes::INVALID_REQUEST,
                "the session is not initialized; send initialize first, or every request with its _meta (2026-07-28)",
            ));
        }
    }
    let cancel = session.calls_cancel(shared).child();
    session.begin(&request.id, &cancel, method.is_held())?;
    let inquiry = Inquiry {
        shared: shared.clone(),
        context: OpContext::new(session.caller.clone(), cancel),
        endpoint: session.endpoint.clone(),
        speaker,
        outbox: Arc::clone(outbox),
        method,
        request,
        deliveries: std::sync::Mutex::default(),
    };
    let session = Arc::clone(session);
    Ok(Intake::Run(boxed!(async move {
        let flight = Flight {
            session,
            id: inquiry.request.id.clone(),
            is_over: false,
        };
        let body = dispatch::answer(&inquiry, None).await;
        let wanted = flight.end();
        wanted.then(|| inquiry.answered(body))
    })))
}

/// What is special about the tool a request calls.
fn fact(shared: &Shared, session: &Session, request: &Request) -> Option<Arc<ToolFact>> {
    let name = request.params.as_ref()?.get("name")?;
    let (caller, endpoint) = (&session.caller, &session.endpoint);
    shared
        .facts
        .tool(shared.servers(), caller, endpoint, &name.to_str()?)
}

/// Frees a request's id, also when the request is dropped.
struct Flight {
    session: Arc<Session>,
    id: Id,
    is_over: bool,
}

impl Flight {
    /// Whether the request was to be answered still.
    fn end(mut self) -> bool {
        self.is_over = true;
        self.session.end(&self.id)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.is_over {
            self.session.end(&self.id);
        }
    }
}

/// The hub's part of the handshake.
pub(crate) fn initialize(shared: &Held, session: &Arc<Session>, request: &Request) -> Body {
    // The endpoint is looked at first: a session for none is not begun.
    let context = OpContext::new(session.caller.clone(), shared.cancel.clone());
    let newest = legation_wire::revision::Revision::LATEST_LEGACY;
    initialize_result(shared, &context, &session.endpoint, newest)?;
    let revision = session.greet(&request.params_object())?;
    let result = initialize_result(shared, &context, &session.endpoint, revision)?;
    session.log_channel();
    Ok(session.declare_channel(&result).unwrap_or(result))
}

/// Whether a request on a stream is of the modern era.
pub(crate) fn claims_modern(request: &Request) -> bool {
    &*request.method == "server/discover"
        || request
            .params
            .as_ref()
            .and_then(|params| params.get(meta::META))
            .is_some_and(|meta| meta.get(meta::PROTOCOL_VERSION).is_some())
}

fn modern(
    shared: &Shared,
    session: &Arc<Session>,
    request: &Request,
) -> Result<Arc<Modern>, ErrorObject> {
    let claim = Claim::read(&request.params_object())?;
    let revision = claim.revision()?;
    let capabilities = Arc::new(ClientCapabilities::from_raw(&claim.capabilities, revision));
    let modern = Arc::new(claim.modern(revision, capabilities));
    if !session.is_seated() {
        sit(shared, session, Arc::new(SeatPeer(Arc::clone(&modern))));
    }
    Ok(modern)
}

/// Makes the servers know who sits in a session's seat.
fn sit(shared: &Shared, session: &Session, peer: Arc<dyn legation_gate::Peer>) {
    if session.seat_taken() {
        shared.servers().seat_opened(&session.caller, peer);
    } else {
        shared
            .seats
            .hold(shared.servers(), &session.caller, peer, shared.clock.now());
    }
}

fn notified(shared: &Held, session: &Arc<Session>, notification: &Notification) {
    match &*notification.method {
        "notifications/initialized" if session.ready() => {
            let peer = LegacyPeer::new(session, &session.general, None);
            sit(shared, session, Arc::new(peer));
            watch(shared, session);
            session.feed(shared);
        }
        "notifications/cancelled" => {
            let id = notification
                .params
                .as_ref()
                .and_then(|params| params.get("requestId"));
            if let Some(id) = id.as_ref().and_then(Id::from_raw) {
                session.cancel(&id);
            }
        }
        PERMISSION_REQUEST => session.asks_permission(shared, notification.params.as_ref()),
        "notifications/roots/list_changed" if session.is_ready() => {
            shared.servers().roots_changed(&session.caller);
        }
        // Notifications nobody knows are ignored (JSON-RPC 2.0, section 4.1).
        _ => {}
    }
}

fn watch(shared: &Held, session: &Arc<Session>) {
    let guard: WatchGuard = shared.watchers.add(Watcher {
        caller: session.caller.clone(),
        endpoint: session.endpoint.clone(),
        outbox: Arc::clone(&session.general),
        interest: Interest::Session(Arc::clone(session)),
    });
    session.watched(guard);
}

/// An error as an answer.
pub(crate) fn error_bytes(id: Option<Id>, error: ErrorObject) -> Bytes {
    Message::Response(Response {
        id,
        body: Err(error),
    })
    .to_bytes()
}

/// An error as an answer to something that has no id, which the newest
/// revision wants without one.
pub(crate) fn bare_error(error: &ErrorObject) -> Bytes {
    let object = legation_wire::json::Object::new()
        .with("jsonrpc", Raw::from_static(r#""2.0""#))
        .with("error", error.to_object().to_raw());
    object.to_raw().as_bytes().clone()
}
