//! Requests that say everything themselves (2026-07-28): no session, no stream
//! but the answer's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::StatusCode;
use legation_core::{Caller, OpContext, SeatId, boxed};
use legation_wire::caps::ClientCapabilities;
use legation_wire::codes;
use legation_wire::headers;
use legation_wire::json::{Object, Raw};
use legation_wire::message::{ErrorObject, Message, Request};
use legation_wire::meta;
use legation_wire::revision::Revision;
use legation_wire::translate;

use super::connection::Declared;
use super::mcp::Posted;
use super::reply::{self, Reply};
use super::route::{Asked, Begun};
use super::stream::{Answer, Exchange, Lost};
use crate::dispatch::{self, Inquiry, Taken, check_task_support, method_not_found};
use crate::facts::ToolFact;
use crate::method::Method;
use crate::outbox::Outbox;
use crate::parking::{Body, digest};
use crate::peer::SeatPeer;
use crate::seats;
use crate::speaker::{Claim, Modern, Speaker};

/// How long it holds that a connection has told that its seat is used, in milliseconds: little
/// beside the minutes after which an unused one is given up.
const TOLD_MS: u64 = 1_000;

/// Longest metadata that is kept whole, in bytes: an idle connection costs little.
const WHOLE_MAX: usize = 2 * 1024;

/// What a request says of its sender.
enum Says {
    /// What the one before said.
    Again(Arc<Declared>),
    Anew(Anew),
}

/// What was not said by the request before.
struct Anew {
    claim: Claim,
    capabilities: Arc<ClientCapabilities>,
    seat: SeatId,
    /// Its capabilities and its name are those that the connection keeps.
    is_kept: bool,
}

/// What is not a request: notifications are taken, answers are not, because
/// nothing is asked that way.
pub(super) fn other(message: &Message) -> Reply {
    match message {
        Message::Notification(_) => reply::empty(StatusCode::ACCEPTED),
        Message::Request(_) | Message::Response(_) => reply::refuse(
            StatusCode::BAD_REQUEST,
            "questions are answered in the retry of the request (2026-07-28, multi-round-trip requests)",
        ),
    }
}

/// Answers a request.
pub(super) fn request(asked: Asked<'_>, posted: Posted, request: Request) -> Begun {
    let id = request.id.clone();
    let (inquiry, taken) = match admit(&asked, &posted, request) {
        Ok(admitted) => admitted,
        Err(error) => {
            let status = status_of(&error, true);
            let message = Message::response(id, Err(error)).to_bytes();
            return Begun::Reply(reply::json(status, message));
        }
    };
    let shared = &asked.connection.shared;
    let outbox = Arc::clone(&inquiry.outbox);
    // A call was let in once; what stands needs somebody to be let in all the time.
    let until = asked.until.filter(|_| inquiry.method.is_held());
    let lost = Lost::CallOff(inquiry.context.cancel.clone());
    let answer = boxed!(async move {
        let body = dispatch::answer(&inquiry, Some(taken)).await;
        let status = status(&body);
        Answer {
            status,
            message: Some(inquiry.answered(body)),
        }
    });
    let exchange = Exchange::new(shared, answer, &outbox, lost);
    Begun::Wait(Box::new(exchange.wait(posted.accepts, None).ending(until)))
}

/// The checks in the order in which their answers matter: what the request
/// says of itself, whether headers agree, whether the revision is spoken here,
/// whether the method exists.
fn admit(
    asked: &Asked<'_>,
    posted: &Posted,
    request: Request,
) -> Result<(Inquiry, Taken), ErrorObject> {
    let shared = &asked.connection.shared;
    let mut params = request.params_object();
    let again = again(asked, &params);
    let whole = match &again {
        Some(_) => params.remove(meta::META),
        None => params.get(meta::META).cloned(),
    };
    let (token, mut left) = translate::take_senders(&request.method, &mut params);
    let whole = whole.filter(|_| token.is_none() && !params.contains(meta::META));
    let said = match again {
        Some(declared) => Says::Again(declared),
        None => Says::Anew(anew(
            asked,
            posted,
            Claim::of(std::mem::take(&mut left.era))?,
        )),
    };
    let caller = Caller {
        principal: asked.principal.clone(),
        seat: said.seat().clone(),
        workspace: None,
    };
    let fact = mirrored(shared, &caller, posted, &request, &params);
    headers::validate(
        asked.head,
        &request.method,
        Some(said.version()),
        &params,
        fact.as_ref().map(|fact| &fact.headers),
    )
    .map_err(|mismatch| mismatch.to_error())?;
    let modern = said.modern(asked, whole.as_ref())?;
    let method = Method::find(&request.method, modern.revision)
        .ok_or_else(|| method_not_found(&request.method))?;
    check_task_support(&modern, fact.as_deref())?;
    if said.is_to_tell(shared.now_ms()) {
        let peer = || -> Arc<dyn legation_gate::Peer> { Arc::new(SeatPeer(Arc::clone(&modern))) };
        shared
            .seats
            .touch(shared.servers(), &caller, peer, shared.clock.now());
    }
    let context = OpContext::new(caller, asked.connection.cancel.child());
    let inquiry = inquiry(shared.clone(), context, posted, modern, method, request);
    let taken = Taken {
        params,
        token,
        left,
    };
    Ok((inquiry, taken))
}

fn inquiry(
    shared: crate::shared::Held,
    context: OpContext,
    posted: &Posted,
    modern: Arc<Modern>,
    method: Method,
    request: Request,
) -> Inquiry {
    Inquiry {
        context,
        endpoint: posted.endpoint.clone(),
        speaker: Speaker::Modern(modern),
        outbox: Arc::new(Outbox::plain()),
        shared,
        method,
        request,
        deliveries: std::sync::Mutex::default(),
    }
}

/// The headers a tool wants its arguments mirrored in.
fn mirrored(
    shared: &crate::shared::Shared,
    caller: &Caller,
    posted: &Posted,
    request: &Request,
    params: &Object,
) -> Option<Arc<ToolFact>> {
    if &*request.method != "tools/call" {
        return None;
    }
    let name = params.get("name")?.to_str()?;
    shared
        .facts
        .tool(shared.servers(), caller, &posted.endpoint, &name)
}

/// What the connection's last request said, if these params say no more and no less of their
/// sender.
fn again(asked: &Asked<'_>, params: &Object) -> Option<Arc<Declared>> {
    let meta = params.get(meta::META)?;
    let client = &asked.principal.client;
    let is_same = |last: &Declared| last.whole.as_ref() == Some(meta);
    asked.connection.declared(client, is_same)
}

/// The seat of a client that has no connection of its own: its credential, what
/// it is and what it declares. A revision without sessions shows no more, so
/// programs that are equal in all of it are one client, with one instance of
/// each server that has them: who wants two gives them a credential each, or
/// has them come by way of the bridge. The same declaration is read once per
/// connection.
fn anew(asked: &Asked<'_>, posted: &Posted, claim: Claim) -> Anew {
    let client = &asked.principal.client;
    let is_same =
        |last: &Declared| last.capabilities == claim.capabilities && last.modern.info == claim.info;
    if let Some(last) = asked.connection.declared(client, is_same) {
        return Anew {
            claim,
            capabilities: Arc::clone(&last.modern.capabilities),
            seat: last.seat.clone(),
            is_kept: true,
        };
    }
    let revision = posted.revision.unwrap_or(Revision::LATEST);
    // In memory of their own: a part of a request keeps all of it.
    let capabilities = claim.capabilities.detached();
    let info = claim.info.as_ref();
    let digest = digest(&[
        client.as_str().as_bytes(),
        claim.capabilities.sha256_input(),
        info.map_or(&[], Raw::sha256_input),
    ]);
    Anew {
        capabilities: Arc::new(ClientCapabilities::from_raw(&capabilities, revision)),
        seat: seats::of(digest.first_chunk().expect("more than that")),
        claim,
        is_kept: false,
    }
}

// === impl Says ===

impl Says {
    fn seat(&self) -> &SeatId {
        match self {
            Self::Again(last) => &last.seat,
            Self::Anew(anew) => &anew.seat,
        }
    }

    fn version(&self) -> &str {
        match self {
            Self::Again(last) => last.modern.revision.as_str(),
            Self::Anew(anew) => &anew.claim.version,
        }
    }

    /// The sender, if its revision is spoken here. What it says is kept for its next request:
    /// the metadata as a whole, where it was `whole`.
    fn modern(&self, asked: &Asked<'_>, whole: Option<&Raw>) -> Result<Arc<Modern>, ErrorObject> {
        let anew = match self {
            Self::Again(last) => return Ok(Arc::clone(&last.modern)),
            Self::Anew(anew) => anew,
        };
        let revision = anew.claim.revision()?;
        let whole = whole.filter(|whole| whole.as_bytes().len() <= WHOLE_MAX);
        let modern = anew.claim.modern(revision, Arc::clone(&anew.capabilities));
        if anew.is_kept && whole.is_none() {
            return Ok(Arc::new(modern));
        }
        // In memory of its own as well.
        let modern = Arc::new(Modern {
            info: modern.info.as_ref().map(Raw::detached),
            ..modern
        });
        asked.connection.set_declared(Declared {
            client: asked.principal.client.clone(),
            whole: whole.map(Raw::detached),
            capabilities: anew.claim.capabilities.detached(),
            modern: Arc::clone(&modern),
            seat: anew.seat.clone(),
            told_until_ms: AtomicU64::new(0),
        });
        Ok(modern)
    }

    /// Whether it has to be told that the seat is used. Where that is told all threads write to
    /// one place, so a connection tells it once in a while, and at first.
    fn is_to_tell(&self, now_ms: u64) -> bool {
        let Self::Again(last) = self else { return true };
        let is_over = now_ms >= last.told_until_ms.load(Ordering::Relaxed);
        if is_over {
            let until = now_ms.saturating_add(TOLD_MS);
            last.told_until_ms.store(until, Ordering::Relaxed);
        }
        is_over
    }
}

fn status(body: &Body) -> StatusCode {
    match body {
        Ok(_) => StatusCode::OK,
        Err(error) => status_of(error, false),
    }
}

/// The HTTP status of an error (2026-07-28, Streamable HTTP); `early` when it
/// is the front's own word on the request.
fn status_of(error: &ErrorObject, early: bool) -> StatusCode {
    match error.code {
        codes::HEADER_MISMATCH | codes::MISSING_CAPABILITY | codes::UNSUPPORTED_VERSION => {
            StatusCode::BAD_REQUEST
        }
        codes::METHOD_NOT_FOUND if early => StatusCode::NOT_FOUND,
        _ if early => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legation_core::ClientId;

    #[test]
    fn that_a_seat_is_used_is_told_at_first_and_once_in_a_while() {
        let modern = Modern {
            revision: Revision::LATEST,
            capabilities: Arc::default(),
            info: None,
            level: None,
        };
        let says = Says::Again(Arc::new(Declared {
            client: ClientId::new("claude"),
            whole: None,
            capabilities: Raw::empty_object(),
            modern: Arc::new(modern),
            seat: SeatId::new("seat"),
            told_until_ms: AtomicU64::new(0),
        }));
        let told = [0, 1, TOLD_MS - 1, TOLD_MS, TOLD_MS + 1, 3 * TOLD_MS];
        let told = told.map(|now_ms| says.is_to_tell(now_ms));
        assert_eq!(told, [true, false, false, true, false, true]);
    }
}
