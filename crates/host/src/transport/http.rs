//! A server behind a URL (Streamable HTTP, revisions 2025-03-26 to
//! 2026-07-28).
//!
//! A call's request is a POST that the waiting task drives itself. What is
//! nobody's call — the handshake, notifications, answers to questions, the
//! subscription, the legacy listening stream — is carried by tasks of the
//! connection.

mod answer;
mod call;
mod client;
mod listening;
mod outgoing;
mod stream;
mod target;
mod tls;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use http::{Method, Request};
use http_body_util::Full;
use legation_wire::headers::{self, ParamHeaders};
use legation_wire::message::{Id, Message};
use legation_wire::upstream::{Link, Ready};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use self::answer::Answer;
pub(super) use self::call::run_call;
use self::client::Client;
use self::outgoing::Outgoing;
use self::target::Target;
use super::error::HttpError;
use super::shared::{Carrier, Shared};

/// Most notifications and answers that may wait to be sent.
const MAX_OUTGOING: usize = 1_024;
/// How long a notification, an answer to a question or the end of a session
/// may take.
const SHORT: Duration = Duration::from_secs(30);
/// The shortest pause before a stream is opened again, whatever the server says.
const RETRY_MIN: Duration = Duration::from_millis(5);
const FAREWELL: Duration = Duration::from_secs(2);

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("legation/", env!("CARGO_PKG_VERSION")));

/// A URL to speak to.
#[derive(Clone)]
pub struct HttpSpec {
    /// `http://` or `https://`; a fragment is left out.
    pub url: String,
    /// Sent with every request; values may be secrets. They replace what the
    /// transport would send under the same name, except the protocol's own.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// How long reaching the server may take.
    pub connect_timeout: Duration,
}

/// The HTTP side of one connection.
pub(super) struct Http {
    client: Client,
    target: Target,
    headers: HeaderMap,
    /// `Mcp-Session-Id`, from the answer to `initialize`.
    session: Mutex<Option<HeaderValue>>,
    outgoing: mpsc::Sender<Outgoing>,
    /// The connection's own requests under way: a part of the handshake, and
    /// at most two subscriptions.
    requests: Mutex<HashMap<Id, AbortHandle>>,
}

// === impl HttpSpec ===

impl fmt::Debug for HttpSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The query and the headers' values may be secrets.
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("HttpSpec")
            .field("url", &self.url.split(['?', '#']).next())
            .field("headers", &names)
            .field("connect_timeout", &self.connect_timeout)
            .finish()
    }
}

// === impl Http ===

impl Http {
    pub(super) fn start(shared: &Arc<Shared>, spec: HttpSpec) -> Result<Arc<Self>, HttpError> {
        let target = Target::parse(&spec.url)?;
        let (outgoing, queue) = mpsc::channel(MAX_OUTGOING);
        let mut own = HeaderMap::new();
        own.insert(USER_AGENT, AGENT);
        for (name, mut value) in spec.headers {
            value.set_sensitive(true);
            own.insert(name, value);
        }
        let http = Arc::new(Self {
            client: Client::new(spec.connect_timeout, shared.limits.bytes),
            target,
            headers: own,
            session: Mutex::new(None),
            outgoing,
            requests: Mutex::default(),
        });
        shared.set_carrier(Carrier::Http(Arc::clone(&http)));
        let carrying = outgoing::carry(Arc::clone(&http), Arc::clone(shared), queue);
        shared.spawn("http messages", carrying);
        shared.spawn("idle connections", http.client.sweep());
        shared.drive(Link::start);
        Ok(http)
    }

    /// Leaves a message to the connection's own task. Never waits.
    pub(super) fn enqueue(&self, shared: &Arc<Shared>, message: Message) {
        if self.outgoing.try_send(Outgoing::Message(message)).is_err() {
            shared.stray(|| "a message was not sent: the server does not take them".to_owned());
        }
    }

    /// Says that the handshake is done once everything before it has been sent.
    pub(super) fn enqueue_ready(&self, shared: &Arc<Shared>, ready: Ready) {
        if self.outgoing.try_send(Outgoing::Ready(ready)).is_err() {
            shared.stray(|| "the end of the handshake was lost".to_owned());
        }
    }

    /// Drops one of the connection's own requests, with its stream.
    pub(super) fn drop_request(&self, id: &Id) {
        if let Some(request) = self.requests().remove(id) {
            request.abort();
        }
    }

    /// Runs one of the connection's own requests.
    fn run_request(
        self: &Arc<Self>,
        shared: &Shared,
        id: Id,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        let http = Arc::clone(self);
        // Registered under the lock, so that a request which ends at once
        // cannot remove its entry before it is there.
        let mut requests = self.requests();
        let ended = id.clone();
        let handle = shared.spawn("http request", async move {
            work.await;
            http.requests().remove(&ended);
        });
        if let Some(handle) = handle {
            requests.insert(id, handle);
        }
    }

    /// Says good-bye, where there is a session to end.
    pub(super) async fn end_session(&self, shared: &Shared) {
        if lock(&self.session).is_none() {
            return;
        }
        let request = self.request(Method::DELETE, shared, Bytes::new());
        // A server may refuse (405) or be gone: either way nothing is owed.
        let _refused =
            tokio::time::timeout(FAREWELL, self.client.send(&self.target, request)).await;
    }

    /// Sends one message and returns what the server makes of it.
    async fn post(
        &self,
        shared: &Shared,
        message: &Message,
        declared: Option<&ParamHeaders>,
    ) -> Result<Answer, HttpError> {
        let mut request = self.request(Method::POST, shared, message.to_bytes());
        let sent = request.headers_mut();
        sent.insert(ACCEPT, BOTH);
        sent.insert(CONTENT_TYPE, JSON);
        if let Message::Request(call) = message
            && shared
                .revision
                .get()
                .is_none_or(|revision| revision.is_modern())
            && &*call.method != "initialize"
        {
            for (name, value) in headers::build(&call.method, &call.params_object(), declared) {
                sent.insert(name, value);
            }
        }
        let answer = self.client.send(&self.target, request).await?;
        if let Message::Request(call) = message
            && &*call.method == "initialize"
            && let Answer::Json { headers, .. } | Answer::Stream { headers, .. } = &answer
            && let Some(session) = headers.get(headers::SESSION_ID)
        {
            *lock(&self.session) = Some(session.clone());
        }
        Ok(answer)
    }

    /// Opens the legacy listening stream, or resumes a broken one.
    async fn get(&self, shared: &Shared, last_event: &str) -> Result<Answer, HttpError> {
        let mut request = self.request(Method::GET, shared, Bytes::new());
        let sent = request.headers_mut();
        sent.insert(ACCEPT, EVENTS);
        if let Ok(last_event) = HeaderValue::from_str(last_event)
            && !last_event.is_empty()
        {
            sent.insert(headers::LAST_EVENT_ID, last_event);
        }
        self.client.send(&self.target, request).await
    }

    fn request(&self, method: Method, shared: &Shared, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        let mut sent = self.headers.clone();
        if let Some(revision) = shared.revision.get()
            && !revision.is_modern()
        {
            sent.insert(
                headers::PROTOCOL_VERSION,
                HeaderValue::from_static(revision.as_str()),
            );
            if let Some(session) = &*lock(&self.session) {
                sent.insert(headers::SESSION_ID, session.clone());
            }
        }
        *request.headers_mut() = sent;
        request
    }

    /// Whether an answer means that the session is no more. The specification
    /// says 404; servers in the wild also say 400 and name the session.
    fn lost_session(&self, shared: &Shared, status: u16, text: &str) -> bool {
        let legacy = shared.revision.get().is_some_and(|r| !r.is_modern());
        let held = legacy && lock(&self.session).is_some();
        held && (status == 404 || (status == 400 && text.to_ascii_lowercase().contains("session")))
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<Id, AbortHandle>> {
        lock(&self.requests)
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
