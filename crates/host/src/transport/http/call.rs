//! The exchange of one call.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use legation_core::boxed;
use legation_core::error::chain;
use legation_wire::codes;
use legation_wire::message::Message;
use legation_wire::upstream::CallKey;

use super::answer::{Answer, EventStream, Refusal};
use super::{Http, RETRY_MIN};
use crate::transport::call::{CallEvent, Slot};
use crate::transport::error::{HttpError, too_large};
use crate::transport::shared::Shared;

/// The pause before a broken stream is resumed, unless the server names one.
const RETRY: Duration = Duration::from_secs(1);
/// A server may not hold a call up for longer than this between two polls.
const MAX_RETRY: Duration = Duration::from_secs(60);
/// How often in a row a stream may be resumed without bringing anything.
const MAX_RESUMES: u32 = 10;
/// How long the end of a stream that has brought its answer is waited for.
const TAIL: Duration = Duration::from_secs(1);

/// Sends a call's request and feeds the link with what comes back, up to the
/// answer. Polled by the call's own stream.
pub(in crate::transport) fn run_call(
    http: Arc<Http>,
    shared: Arc<Shared>,
    key: CallKey,
    slot: Arc<Slot>,
    message: Box<Message>,
    mirrored: Option<Vec<u8>>,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    boxed!(async move {
        match http.post(&shared, &message, mirrored).await {
            Ok(Answer::Json(text)) => {
                shared.feed(text, Some(key));
                if !slot.has_ended() {
                    let why = "the server answered a different request";
                    shared.fail_call(key, codes::BAD_UPSTREAM, why);
                }
            }
            Ok(Answer::Stream(stream)) => {
                follow(&http, &shared, key, &slot, stream).await;
            }
            Ok(Answer::Accepted) => {
                let why = "the server accepted the request without an answer";
                shared.fail_call(key, codes::BAD_UPSTREAM, why);
            }
            Ok(Answer::Status(refusal)) => refused(&http, &shared, key, refusal),
            Err(error) => broken(&shared, key, &error),
        }
    })
}

/// Reads a call's stream to its answer, across interruptions that the legacy
/// era allows (2025-11-25, Streamable HTTP, "Resumability").
async fn follow(
    http: &Arc<Http>,
    shared: &Arc<Shared>,
    key: CallKey,
    slot: &Slot,
    mut stream: Box<EventStream>,
) {
    let mut resumes = 0;
    let mut last_event = String::new();
    loop {
        let interrupted = loop {
            slot.drained().await;
            match stream.next().await {
                Ok(Some(event)) => {
                    resumes = 0;
                    if event.data.is_empty() {
                        continue;
                    }
                    shared.feed(event.data, Some(key));
                    if slot.has_ended() {
                        return finish(shared, stream).await;
                    }
                }
                Ok(None) => break None,
                Err(error @ HttpError::TooLarge { .. }) => return broken(shared, key, &error),
                Err(error) => break Some(error),
            }
        };
        if !stream.last_event_id().is_empty() {
            stream.last_event_id().clone_into(&mut last_event);
        }
        let legacy = shared.revision.get().is_some_and(|r| !r.is_modern());
        if !legacy || last_event.is_empty() || resumes >= MAX_RESUMES {
            return match interrupted {
                Some(error) => broken(shared, key, &error),
                None => {
                    let why = "the server's stream ended without an answer";
                    shared.fail_call(key, codes::BAD_UPSTREAM, why);
                }
            };
        }
        let pause = stream.retry_ms().map_or(RETRY, Duration::from_millis);
        drop(stream);
        stream = loop {
            resumes += 1;
            tokio::time::sleep(pause.clamp(RETRY_MIN, MAX_RETRY)).await;
            match http.get(shared, &last_event).await {
                Ok(Answer::Stream(stream)) => break stream,
                Ok(Answer::Status(refusal)) => return refused(http, shared, key, refusal),
                Err(error) if resumes >= MAX_RESUMES => return broken(shared, key, &error),
                Err(_) => {}
                Ok(Answer::Accepted | Answer::Json(_)) => {
                    let why = "the server's stream could not be resumed";
                    return shared.fail_call(key, codes::BAD_UPSTREAM, why);
                }
            }
        };
    }
}

/// The answer is there: its end is on the way, and the connection is worth
/// keeping, but nobody should wait for it.
async fn finish(shared: &Arc<Shared>, mut stream: Box<EventStream>) {
    stream.look();
    let ended = {
        let mut next = std::pin::pin!(stream.next());
        std::future::poll_fn(|cx| Poll::Ready(next.as_mut().poll(cx).is_ready())).await
    };
    if !ended {
        shared.spawn_here("end of a stream", async move {
            let _late = tokio::time::timeout(TAIL, stream.next()).await;
        });
    }
}

fn refused(http: &Http, shared: &Arc<Shared>, key: CallKey, refusal: Refusal) {
    if refusal.needs_auth() {
        let end = CallEvent::NeedsAuth {
            status: refusal.status,
            challenge: refusal.challenge,
        };
        return shared.end_call(key, end);
    }
    if http.lost_session(shared, refusal.status, &refusal.text) {
        let why = "the server has forgotten the session";
        // It looks for the session before it does anything.
        shared.end_call(key, CallEvent::NotMade(why.to_owned()));
        shared.session_lost(why);
        return;
    }
    shared.drive(|link| link.http_failed(Some(key), refusal.status, refusal.message));
}

fn broken(shared: &Arc<Shared>, key: CallKey, error: &HttpError) {
    let why = chain(error);
    if error.is_refused() {
        shared.closed(&why);
        return;
    }
    let code = match error {
        HttpError::TooLarge { limit } => {
            return shared.fail_call_with(key, too_large(*limit, None));
        }
        HttpError::ContentType { .. } | HttpError::Encoded => codes::BAD_UPSTREAM,
        _ => codes::SERVER_UNAVAILABLE,
    };
    shared.fail_call(key, code, &why);
}
