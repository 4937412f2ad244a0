//! The one way out to a model.
//!
//! It sends a request once: whether to try again, and where, is decided by who
//! knows what has been shown of an answer. It follows no redirect, holds no key
//! beyond the call it was given for, and starts no task.

mod stream;

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method};
use http_body_util::Full;
use legation_core::{CancelReason, OpContext, Secret, SharedClock};
use serde_json::Value;

use crate::dialect::{self, Decoder};
use crate::endpoint::Endpoint;
use crate::error::{ModelError, Wait};
use crate::limits::{Limits, Timeouts};
use crate::net::{Connector, Exchange};
use crate::proxied;
use crate::refusal;
use crate::request::ChatRequest;
use crate::target::Target;

pub use stream::ModelStream;

/// Asks models; clones share nothing but the certificates they trust.
#[derive(Clone)]
pub struct ModelClient {
    connector: Connector,
    clock: SharedClock,
    limits: Limits,
}

/// A short answer of a server about itself.
#[derive(Debug)]
pub(crate) struct Plain {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// Null where it is no JSON.
    pub(crate) value: Value,
}

// === impl ModelClient ===

impl ModelClient {
    /// A client.
    #[must_use]
    pub fn new(clock: SharedClock, limits: Limits) -> Self {
        Self {
            connector: Connector::default(),
            clock,
            limits,
        }
    }

    /// The same with other bounds.
    #[must_use]
    pub(crate) fn with_limits(&self, limits: Limits) -> Self {
        Self {
            limits,
            ..self.clone()
        }
    }

    /// The clock it waits by.
    #[must_use]
    pub fn clock(&self) -> &SharedClock {
        &self.clock
    }

    /// Sends a request and waits for the head of the answer. The socket is
    /// closed when the future, or later the stream, is dropped.
    ///
    /// # Errors
    /// See [`ModelError`]; nothing has been answered then.
    pub async fn stream(
        &self,
        ctx: &OpContext,
        target: &Target,
        key: Option<&Secret>,
        request: &ChatRequest,
    ) -> Result<ModelStream, ModelError> {
        let body = self.body(target, request)?;
        self.send(ctx, target, key, body).await
    }

    /// What a request is to this provider, to the letter.
    ///
    /// # Errors
    /// [`ModelError::Unsayable`] and [`ModelError::TooLarge`].
    pub(crate) fn body(&self, target: &Target, request: &ChatRequest) -> Result<Bytes, ModelError> {
        dialect::body(target, request, &self.limits)
    }

    /// As [`ModelClient::stream`], with what [`ModelClient::body`] made.
    pub(crate) async fn send(
        &self,
        ctx: &OpContext,
        target: &Target,
        key: Option<&Secret>,
        body: Bytes,
    ) -> Result<ModelStream, ModelError> {
        let mut headers = dialect::credential(&target.dialect, key)?;
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let path = target
            .path_and_query()
            .map_err(|source| ModelError::Endpoint { source })?;
        let message = message(Method::POST, &target.endpoint, path.as_str(), headers, body);
        let timeouts = target.timeouts;
        let mut exchange = self
            .exchange(ctx, &target.endpoint, message?, &timeouts)
            .await?;
        let status = exchange.head.status.as_u16();
        if status != 200 {
            let body = self.refused(ctx, &mut exchange, &timeouts).await;
            let headers = &exchange.head.headers;
            return Err(refusal::of_answer(
                status,
                headers,
                &body,
                self.clock.wall(),
            ));
        }
        if target.is_local
            && let Some(evidence) = proxied::in_headers(&exchange.head.headers)
        {
            return Err(ModelError::Proxied { evidence });
        }
        if let Some(content_type) = not_a_stream(&exchange) {
            return Err(ModelError::NotAStream { content_type });
        }
        Ok(ModelStream::new(
            exchange,
            Decoder::new(&target.dialect, self.limits),
            ctx.clone(),
            self.clock.clone(),
            timeouts,
            self.limits,
        ))
    }

    /// Asks for an answer that comes whole: a server about itself, say.
    pub(crate) async fn plain(
        &self,
        ctx: &OpContext,
        endpoint: &Endpoint,
        path: &str,
        key: Option<&Secret>,
        question: Option<Bytes>,
        timeouts: &Timeouts,
    ) -> Result<Plain, ModelError> {
        let mut headers = dialect::credential(&crate::target::Dialect::Compatible, key)?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let (method, body) = match question {
            Some(question) => (Method::POST, question),
            None => (Method::GET, Bytes::new()),
        };
        let message = message(method, endpoint, path, headers, body)?;
        let mut exchange = self.exchange(ctx, endpoint, message, timeouts).await?;
        let whole = exchange.whole(self.limits.plain);
        let body = within(ctx, &self.clock, timeouts.first, Wait::First, whole).await?;
        Ok(Plain {
            status: exchange.head.status.as_u16(),
            value: serde_json::from_slice(&body).unwrap_or_default(),
            headers: exchange.head.headers,
        })
    }

    async fn exchange(
        &self,
        ctx: &OpContext,
        endpoint: &Endpoint,
        message: http::Request<Full<Bytes>>,
        timeouts: &Timeouts,
    ) -> Result<Exchange, ModelError> {
        let open = self.connector.open(endpoint);
        let wait = Wait::Connection;
        let socket = within(ctx, &self.clock, timeouts.connect, wait, open).await?;
        let send = Exchange::send(socket, message);
        within(ctx, &self.clock, timeouts.first, Wait::First, send).await
    }

    /// What stands in a refusal; nothing where that cannot be read either.
    async fn refused(
        &self,
        ctx: &OpContext,
        exchange: &mut Exchange,
        timeouts: &Timeouts,
    ) -> Vec<u8> {
        let whole = exchange.whole(self.limits.plain);
        let patience = timeouts.first.min(Duration::from_secs(10));
        let read = within(ctx, &self.clock, patience, Wait::Next, whole).await;
        read.unwrap_or_default()
    }
}

impl std::fmt::Debug for ModelClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelClient")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Waits for something as long as the call lasts, and no longer than `most`.
async fn within<T>(
    ctx: &OpContext,
    clock: &SharedClock,
    most: Duration,
    wait: Wait,
    work: impl Future<Output = Result<T, ModelError>>,
) -> Result<T, ModelError> {
    let (left, is_call) = patience(ctx, clock.now(), most);
    // A timer of no time still waits for its next tick.
    if left.is_zero() {
        return Err(too_late(is_call, wait, most));
    }
    tokio::select! {
        biased;
        reason = ctx.cancel.cancelled() => Err(ModelError::Cancelled { reason }),
        done = work => done,
        () = tokio::time::sleep(left) => Err(too_late(is_call, wait, most)),
    }
}

/// How long to wait, and whether that is because the call ends then.
fn patience(ctx: &OpContext, now: Instant, most: Duration) -> (Duration, bool) {
    let left = ctx
        .deadline
        .map(|deadline| deadline.saturating_duration_since(now));
    match left {
        Some(left) if left < most => (left, true),
        _ => (most, false),
    }
}

fn too_late(is_call: bool, wait: Wait, after: Duration) -> ModelError {
    match is_call {
        true => ModelError::Cancelled {
            reason: CancelReason::Deadline,
        },
        false => ModelError::Timeout { wait, after },
    }
}

fn message(
    method: Method,
    endpoint: &Endpoint,
    path: &str,
    headers: HeaderMap,
    body: Bytes,
) -> Result<http::Request<Full<Bytes>>, ModelError> {
    let unsayable = |_| ModelError::Unsayable {
        what: "the endpoint's address cannot stand in a request",
    };
    let mut message = http::Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, endpoint.authority())
        .header(USER_AGENT, concat!("legation/", env!("CARGO_PKG_VERSION")))
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT_ENCODING, "identity")
        .header(CONNECTION, "close")
        .body(Full::new(body))
        .map_err(unsayable)?;
    message.headers_mut().extend(headers);
    Ok(message)
}

/// What an answer says it is, where that is no event stream.
fn not_a_stream(exchange: &Exchange) -> Option<String> {
    let said = exchange.field("content-type").unwrap_or_default();
    let kind = said.split(';').next().unwrap_or_default().trim();
    let encoding = exchange.field("content-encoding").unwrap_or("identity");
    if kind.eq_ignore_ascii_case("text/event-stream") && encoding.eq_ignore_ascii_case("identity") {
        return None;
    }
    let said = match encoding.eq_ignore_ascii_case("identity") {
        true => kind,
        false => encoding,
    };
    let plain = said.chars().filter(|letter| !letter.is_control());
    Some(plain.take(80).collect())
}

#[cfg(test)]
mod tests;
