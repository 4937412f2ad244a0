//! What is neither MCP nor a sign of life, on its way to whoever answers it.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Method, StatusCode, header};
use legation_core::Via;
use legation_wire::http1::Fields as _;
use legation_wire::json::{Object, Raw};

use super::connection::Connection;
use super::guard::{self, Rejected};
use super::head::{Head, Target};
use super::reply::{self, Reply};
use super::route::Begun;
use crate::shared::{Held, Shared};
use crate::web::{WebAnswer, WebCaller, WebRequest};

/// A request that is being answered.
pub(super) struct Answering {
    shared: Held,
    answer: Option<BoxFuture<'static, WebAnswer>>,
    /// Whether it may change something, so that it is not broken off.
    changes: bool,
}

/// Whose request it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// One that may be answered.
    Caller(WebCaller),
    /// A client's, whose credential is none here.
    Client,
}

/// Who asks.
///
/// # Errors
/// 401 when the credential is not good.
pub(super) fn asker(headers: &Head, shared: &Shared) -> Result<Asker, Rejected> {
    if matches!(headers.sole(&header::AUTHORIZATION), Ok(None)) {
        return Ok(Asker::Caller(WebCaller::Nobody));
    }
    let authenticator = shared.authenticator.as_ref();
    // Who lets everybody in to MCP has still only one owner.
    let principal = guard::bearer(headers, Via::Web, authenticator)?;
    Ok(if authenticator.is_owner(&principal.client) {
        Asker::Caller(WebCaller::Owner(principal))
    } else {
        Asker::Client
    })
}

/// Has a request answered whose body has come.
pub(super) fn finish(
    connection: &Arc<Connection>,
    (head, target): (&Head, Target<'_>),
    asker: Asker,
    body: Bytes,
) -> Begun {
    let shared = &connection.shared;
    let is_nobody = asker == Asker::Caller(WebCaller::Nobody);
    let (caller, is_client) = match asker {
        Asker::Caller(caller) => (caller, false),
        // Only to find out whether there is anything: what is not polled does nothing.
        Asker::Client => (WebCaller::Nobody, true),
    };
    let method = head.method.clone();
    let changes = !matches!(method, Method::GET | Method::HEAD | Method::OPTIONS);
    let request = WebRequest {
        method,
        path: target.path.to_owned(),
        query: target.query.map(str::to_owned),
        headers: head.to_map(),
        body,
        caller,
    };
    match shared.web.web(request) {
        Some(_) if is_client => Begun::Reply(refused(&Rejected::new(
            StatusCode::FORBIDDEN,
            "only the owner's own token is taken here",
        ))),
        Some(answer) => Begun::Web(Answering {
            shared: shared.clone(),
            answer: Some(answer),
            changes,
        }),
        // A stranger is not told which paths there are.
        None if is_nobody => Begun::Reply(refused(&Rejected::new(
            StatusCode::UNAUTHORIZED,
            guard::NO_TOKEN,
        ))),
        None => Begun::Reply(refused(&Rejected::new(
            StatusCode::NOT_FOUND,
            "there is nothing at this path",
        ))),
    }
}

/// A refusal as the admin API has them; JSON-RPC is not spoken here.
pub(super) fn refused(rejected: &Rejected) -> Reply {
    let error = format!("{}; nothing was done", rejected.message);
    let body = Object::new().with("error", Raw::str(&error));
    let reply = reply::json(rejected.status, body.to_raw().as_bytes().clone());
    if rejected.status == StatusCode::UNAUTHORIZED {
        return reply.with(header::WWW_AUTHENTICATE, r#"Bearer realm="legation""#);
    }
    reply
}

// === impl Answering ===

impl Answering {
    /// Ready when it is answered.
    pub(super) fn poll(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<WebAnswer> {
        let Some(answer) = self.answer.as_mut() else {
            return std::task::Poll::Pending;
        };
        let answer = std::task::ready!(answer.as_mut().poll(cx));
        self.answer = None;
        std::task::Poll::Ready(answer)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let Some(answer) = self.answer.take().filter(|_| self.changes) else {
            return;
        };
        // Outside a runtime the process is ending, and the request with it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let limit = self.shared.settings.survive;
        self.shared
            .tasks
            .spawn_on(&runtime, "request without its client", async move {
                drop(tokio::time::timeout(limit, answer).await);
            });
    }
}

impl std::fmt::Debug for Answering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answering")
            .field("answered", &self.answer.is_none())
            .field("changes", &self.changes)
            .finish_non_exhaustive()
    }
}
