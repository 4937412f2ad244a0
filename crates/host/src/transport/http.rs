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
mod head;
mod helper;
mod listening;
mod outgoing;
mod reach;
mod road;
mod sse;
mod stream;
mod target;
mod tls;
mod wire;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use http::header::{HeaderName, HeaderValue};
use legation_oauth::Upstream;
use legation_wire::headers;
use legation_wire::message::{Id, Message};
use legation_wire::upstream::{Link, Ready};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use self::answer::Answer;
pub(super) use self::call::run_call;
use self::client::Inbound;
pub use self::helper::{HeadersHelper, HelperError};
use self::outgoing::Outgoing;
pub use self::reach::Reach;
use self::road::Road;
pub(super) use self::sse::Sse;
pub use self::tls::{BadTls, client_config};
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
/// Room for the lines of a session, in bytes.
const LINES: usize = 128;

/// What a POST and a GET of the protocol say of the bodies they have and want.
const POST: &[u8] =
    b"accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n";
const GET: &[u8] = b"accept: text/event-stream\r\n";

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
    /// The hub's sign-in at the server, where the owner configured no credential.
    pub auth: Option<Arc<Upstream>>,
    /// What prints further headers, in the place of a sign-in. Clones share what it said.
    pub helper: Option<Arc<HeadersHelper>>,
    /// What stands between here and the URL's host.
    pub reach: Reach,
}

/// The HTTP side of one connection.
pub(super) struct Http {
    road: Road,
    max_body: usize,
    /// `Mcp-Session-Id`, from the answer to `initialize`.
    session: ArcSwapOption<HeaderValue>,
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
            .field("reach", &self.reach)
            .finish()
    }
}

// === impl Http ===

impl Http {
    pub(super) fn start(shared: &Arc<Shared>, spec: HttpSpec) -> Result<Arc<Self>, HttpError> {
        let road = Road::new(spec)?;
        let (outgoing, queue) = mpsc::channel(MAX_OUTGOING);
        let http = Arc::new(Self {
            road,
            max_body: shared.limits.bytes,
            session: ArcSwapOption::empty(),
            outgoing,
            requests: Mutex::default(),
        });
        shared.set_carrier(Carrier::Http(Arc::clone(&http)));
        let carrying = outgoing::carry(Arc::clone(&http), Arc::clone(shared), queue);
        shared.spawn("http messages", carrying);
        shared.spawn("idle connections", http.road.sweep());
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
        if self.session.load().is_none() {
            return;
        }
        let lines = self.session_lines(shared);
        // A server may refuse (405) or be gone: either way nothing is owed.
        let headers: [&[u8]; 2] = [self.road.headers(), &lines];
        let farewell = self.road.send("DELETE", &headers, b"");
        let _refused = tokio::time::timeout(FAREWELL, farewell).await;
    }

    /// Sends one message and returns what the server makes of it. `mirrored`
    /// are the headers that repeat a request's body, where it is a call.
    async fn post(
        &self,
        shared: &Shared,
        message: &Message,
        mirrored: Option<Vec<u8>>,
    ) -> Result<Answer, HttpError> {
        let mut lines = self.session_lines(shared);
        if let Message::Request(call) = message
            && mirrored.is_none()
            && shared
                .revision
                .get()
                .is_none_or(|revision| revision.is_modern())
            && &*call.method != "initialize"
        {
            headers::write(&mut lines, &call.method, &call.params_object(), None, None);
        }
        let mirrored = mirrored.as_deref().unwrap_or_default();
        let headers: [&[u8]; 4] = [self.road.headers(), POST, &lines, mirrored];
        let body = message.to_vec();
        let inbound: Inbound = self.road.send("POST", &headers, &body).await?;
        if let Message::Request(call) = message
            && &*call.method == "initialize"
            && (200..300).contains(&inbound.head.status)
            && let Some(session) = &inbound.head.session
        {
            self.session.store(Some(Arc::new(session.clone())));
        }
        Answer::sort(inbound, self.max_body).await
    }

    /// Opens the legacy listening stream, or resumes a broken one.
    async fn get(&self, shared: &Shared, last_event: &str) -> Result<Answer, HttpError> {
        let mut lines = self.session_lines(shared);
        // What the server gave goes back, unless it is no header's value.
        if let Ok(last_event) = HeaderValue::from_str(last_event)
            && !last_event.is_empty()
        {
            line(&mut lines, &headers::LAST_EVENT_ID, &last_event);
        }
        let headers: [&[u8]; 3] = [self.road.headers(), GET, &lines];
        let inbound = self.road.send("GET", &headers, b"").await?;
        Answer::sort(inbound, self.max_body).await
    }

    /// The header lines of a session, which the modern era has none of.
    fn session_lines(&self, shared: &Shared) -> Vec<u8> {
        let mut lines = Vec::new();
        if let Some(revision) = shared.revision.get()
            && !revision.is_modern()
        {
            lines.reserve(LINES);
            let spoken = HeaderValue::from_static(revision.as_str());
            line(&mut lines, &headers::PROTOCOL_VERSION, &spoken);
            if let Some(session) = &*self.session.load() {
                line(&mut lines, &headers::SESSION_ID, session);
            }
        }
        lines
    }

    /// Whether an answer means that the session is no more. The specification
    /// says 404; servers in the wild also say 400 and name the session.
    fn lost_session(&self, shared: &Shared, status: u16, text: &str) -> bool {
        let legacy = shared.revision.get().is_some_and(|r| !r.is_modern());
        let held = legacy && self.session.load().is_some();
        held && (status == 404 || (status == 400 && text.to_ascii_lowercase().contains("session")))
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<Id, AbortHandle>> {
        lock(&self.requests)
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("road", &self.road)
            .finish_non_exhaustive()
    }
}

fn line(lines: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) {
    lines.extend_from_slice(name.as_str().as_bytes());
    lines.extend_from_slice(b": ");
    lines.extend_from_slice(value.as_bytes());
    lines.extend_from_slice(b"\r\n");
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
