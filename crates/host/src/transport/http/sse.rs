//! A server of the older transport, HTTP with SSE (revision 2024-11-05, "HTTP with SSE"):
//! everything that it says comes on one event stream, whose first event names
//! the URL to which everything that it is told is posted.
//!
//! To the rest of the connection it is like a pipe. The stream does not say which
//! call a message is about, an answer to a POST says no more than that it was
//! taken, and the end of the stream is the end of the session: what had no answer
//! by then is lost, and nothing is ever posted twice.

use std::fmt;
use std::sync::{Arc, OnceLock};

use http::HeaderValue;
use legation_core::error::chain;
use legation_wire::codes;
use legation_wire::headers;
use legation_wire::message::Message;
use legation_wire::upstream::{CallKey, Link, Ready};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use super::answer::{Answer, EventStream, Refusal};
use super::road::Road;
use super::target::Target;
use super::{GET, HttpSpec, MAX_OUTGOING, POST, SHORT, line};
use crate::transport::call::CallEvent;
use crate::transport::error::{HttpError, StartError};
use crate::transport::shared::{Carrier, Shared};

/// Most requests that are being posted at once: a server may take its time to say
/// that it has one.
const MAX_POSTS: usize = 64;
/// Most events that may come before the one that says where messages go to.
const MAX_BEFORE: usize = 16;

/// The HTTP side of one connection.
pub(in crate::transport) struct Sse {
    road: Road,
    max_body: usize,
    /// Where messages go to, once the server has said it.
    endpoint: OnceLock<Target>,
    outgoing: mpsc::Sender<Outgoing>,
}

/// Something to post.
enum Outgoing {
    /// A message, of a call or of nobody's.
    Message(Message, Option<CallKey>),
    /// Everything before it has been sent: whoever waits for the connection
    /// may have it.
    Ready(Ready),
}

// === impl Sse ===

impl Sse {
    pub(in crate::transport) fn start(
        shared: &Arc<Shared>,
        spec: HttpSpec,
    ) -> Result<Arc<Self>, HttpError> {
        let (outgoing, queue) = mpsc::channel(MAX_OUTGOING);
        let sse = Arc::new(Self {
            road: Road::new(spec)?,
            max_body: shared.limits.bytes,
            endpoint: OnceLock::new(),
            outgoing,
        });
        shared.set_carrier(Carrier::Sse(Arc::clone(&sse)));
        shared.spawn("idle connections", sse.road.sweep());
        let run = run(Arc::clone(&sse), Arc::clone(shared), queue);
        shared.spawn("event stream", run);
        Ok(sse)
    }

    /// Leaves a message to the connection's own task. Never waits.
    pub(in crate::transport) fn enqueue(
        &self,
        shared: &Arc<Shared>,
        message: Message,
        call: Option<CallKey>,
    ) {
        if self
            .outgoing
            .try_send(Outgoing::Message(message, call))
            .is_ok()
        {
            return;
        }
        let why = "a message was not sent: the server does not take them";
        shared.stray(|| why.to_owned());
        if let Some(call) = call {
            // Whoever enqueues holds the lock that ending a call takes.
            let ending = Arc::clone(shared);
            shared.spawn("end of a call", async move {
                ending.fail_call(call, codes::SERVER_UNAVAILABLE, why);
            });
        }
    }

    /// Says that the handshake is done once everything before it has been sent.
    pub(in crate::transport) fn enqueue_ready(&self, shared: &Arc<Shared>, ready: Ready) {
        if self.outgoing.try_send(Outgoing::Ready(ready)).is_err() {
            shared.stray(|| "the end of the handshake was lost".to_owned());
        }
    }

    async fn open(&self) -> Result<Box<EventStream>, StartError> {
        let http = |source| StartError::Http { source };
        let headers = [self.road.headers(), GET];
        let answered = timeout(SHORT, self.road.send("GET", &headers, b"")).await;
        let inbound = answered
            .map_err(|_| HttpError::Timeout {
                what: "the event stream",
                after: SHORT,
            })
            .and_then(|answered| answered)
            .map_err(http)?;
        let status = inbound.head.status;
        if !(200..300).contains(&status) {
            let sorted = Answer::sort(inbound, self.max_body).await.map_err(http)?;
            return Err(match sorted {
                Answer::Status(refusal) if refusal.needs_auth() => StartError::NeedsAuth {
                    status,
                    challenge: refusal.challenge,
                },
                _ => http(HttpError::NoStream { status }),
            });
        }
        match Answer::sort(inbound, self.max_body).await {
            Ok(Answer::Stream(stream)) => Ok(stream),
            Ok(_) => Err(http(HttpError::NoStream { status })),
            Err(source) => Err(http(source)),
        }
    }

    /// Where the server's first event says that messages go to.
    async fn endpoint(&self, stream: &mut EventStream) -> Result<Target, HttpError> {
        for _ in 0..MAX_BEFORE {
            let Some(event) = stream.next().await? else {
                break;
            };
            if event.event.as_deref() != Some("endpoint") {
                continue;
            }
            let named = std::str::from_utf8(&event.data).map_err(|_| HttpError::NoEndpoint)?;
            return match self.road.target().redirected(named.trim()) {
                Ok(target) => Ok(target),
                Err(HttpError::Redirect { target }) => Err(HttpError::ForeignEndpoint { target }),
                Err(_) => Err(HttpError::NoEndpoint),
            };
        }
        Err(HttpError::NoEndpoint)
    }

    /// Posts a message; what the server has against it, if anything.
    async fn post(&self, shared: &Shared, message: &Message) -> Result<Option<Refusal>, HttpError> {
        let Some(target) = self.endpoint.get() else {
            return Err(HttpError::NoEndpoint);
        };
        let mut lines = Vec::new();
        if let Some(revision) = shared.revision.get() {
            let spoken = HeaderValue::from_static(revision.as_str());
            line(&mut lines, &headers::PROTOCOL_VERSION, &spoken);
        }
        let headers = [self.road.headers(), POST, &lines];
        let body = message.to_vec();
        let inbound = self.road.send_to(target, "POST", &headers, &body).await?;
        match Answer::sort(inbound, self.max_body).await {
            Ok(Answer::Status(refusal)) => Ok(Some(refusal)),
            // The answer itself comes on the stream; what is said here is for people.
            Ok(_) | Err(HttpError::ContentType { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Debug for Sse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sse")
            .field("road", &self.road)
            .finish_non_exhaustive()
    }
}

/// The connection's task.
async fn run(sse: Arc<Sse>, shared: Arc<Shared>, queue: mpsc::Receiver<Outgoing>) {
    let why = tokio::select! {
        why = Box::pin(serve(&sse, &shared, queue)) => why,
        () = shared.stopping.cancelled() => "the hub closed the connection".to_owned(),
    };
    shared.closed(&why);
    shared.stopped.cancel();
}

/// One session. Returns why it ended.
async fn serve(sse: &Arc<Sse>, shared: &Arc<Shared>, queue: mpsc::Receiver<Outgoing>) -> String {
    let gone = "the event stream was not opened".to_owned();
    let mut stream = match sse.open().await {
        Ok(stream) => stream,
        Err(error) => {
            shared.start_failed(error);
            return gone;
        }
    };
    let named = timeout(SHORT, sse.endpoint(&mut stream)).await;
    let named = named.unwrap_or(Err(HttpError::Timeout {
        what: "the first event",
        after: SHORT,
    }));
    match named {
        Ok(target) => {
            let _first = sse.endpoint.set(target);
        }
        Err(source) => {
            shared.start_failed(StartError::Http { source });
            return gone;
        }
    }
    shared.drive(Link::start);
    tokio::select! {
        why = read(shared, &mut stream) => why,
        why = carry(sse, shared, queue) => why,
    }
}

/// Hands on what comes, until nothing does.
async fn read(shared: &Arc<Shared>, stream: &mut EventStream) -> String {
    loop {
        match stream.next().await {
            Ok(Some(event)) => match event.event.as_deref() {
                None | Some("message") if event.data.is_empty() => {}
                None | Some("message") => {
                    shared.feed(event.data, None);
                }
                Some("endpoint") => {
                    shared.stray(|| "a second event that says where messages go to".to_owned());
                }
                // Keepalives and the like.
                Some(_) => {}
            },
            Ok(None) => return "the server ended its event stream".to_owned(),
            Err(error) => return chain(&error),
        }
    }
}

/// Posts what is to be said. Requests are on their way side by side, the rest in
/// order.
async fn carry(
    sse: &Arc<Sse>,
    shared: &Arc<Shared>,
    mut queue: mpsc::Receiver<Outgoing>,
) -> String {
    let posts = Arc::new(Semaphore::new(MAX_POSTS));
    while let Some(outgoing) = queue.recv().await {
        match outgoing {
            Outgoing::Ready(ready) => shared.started(ready),
            Outgoing::Message(message @ Message::Request(_), call) => {
                let Ok(permit) = Arc::clone(&posts).acquire_owned().await else {
                    break;
                };
                let (sse, own) = (Arc::clone(sse), Arc::clone(shared));
                shared.spawn("post of a request", async move {
                    request(&sse, &own, &message, call).await;
                    drop(permit);
                });
            }
            Outgoing::Message(message, _) => {
                if let Err(problem) = short(sse, shared, &message).await {
                    shared.note(&format!(
                        "a message did not arrive at the server: {problem}"
                    ));
                }
            }
        }
    }
    "nothing more is to be sent".to_owned()
}

/// Posts a notification or an answer.
async fn short(sse: &Sse, shared: &Arc<Shared>, message: &Message) -> Result<(), String> {
    match timeout(SHORT, sse.post(shared, message)).await {
        Ok(Ok(None)) => Ok(()),
        Ok(Ok(Some(refusal))) => {
            if is_forgotten(&refusal) {
                shared.session_lost("the server has forgotten the session");
            }
            Err(format!("HTTP status {}", refusal.status))
        }
        Ok(Err(error)) => Err(chain(&error)),
        Err(_) => Err(format!("no answer within {} s", SHORT.as_secs())),
    }
}

/// Posts a request, and ends its call where it was not taken.
async fn request(sse: &Sse, shared: &Arc<Shared>, message: &Message, call: Option<CallKey>) {
    let posted = sse.post(shared, message).await;
    let Some(call) = call else {
        // The handshake's.
        match posted {
            Ok(None) => {}
            Ok(Some(refusal)) if refusal.needs_auth() => {
                shared.start_failed(StartError::NeedsAuth {
                    status: refusal.status,
                    challenge: refusal.challenge,
                });
            }
            Ok(Some(refusal)) => {
                shared.drive(|link| link.http_failed(None, refusal.status, refusal.message));
            }
            Err(source) => shared.start_failed(StartError::Http { source }),
        }
        return;
    };
    match posted {
        Ok(None) => {}
        Ok(Some(refusal)) if refusal.needs_auth() => {
            let end = CallEvent::NeedsAuth {
                status: refusal.status,
                challenge: refusal.challenge,
            };
            shared.end_call(call, end);
        }
        Ok(Some(refusal)) if is_forgotten(&refusal) => {
            let why = "the server has forgotten the session";
            shared.end_call(call, CallEvent::NotMade(why.to_owned()));
            shared.session_lost(why);
        }
        Ok(Some(refusal)) => {
            shared.drive(|link| link.http_failed(Some(call), refusal.status, refusal.message));
        }
        // It may have been taken all the same: the answer would come on the stream,
        // but nobody can tell whether one will.
        Err(error) => shared.fail_call(call, codes::SERVER_UNAVAILABLE, &chain(&error)),
    }
}

/// Whether an answer means that the session is no more: there is no other reason
/// for an URL that the server itself named to be unknown.
fn is_forgotten(refusal: &Refusal) -> bool {
    refusal.status == 404
        || (refusal.status == 400 && refusal.text.to_ascii_lowercase().contains("session"))
}
