//! Streams of what the server does unasked.

use std::sync::Arc;
use std::time::Duration;

use legation_wire::message::{Id, Message, Request};

use super::answer::{Answer, EventStream};
use super::{Http, RETRY_MIN};
use crate::transport::shared::Shared;

/// The pause before a stream is opened again, unless the server names one;
/// doubled while nothing comes, up to the second.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// The legacy listening stream: opened with GET, opened again when it ends,
/// until the server says that it has none.
pub(super) async fn legacy(http: Arc<Http>, shared: Arc<Shared>) {
    let mut last_event = String::new();
    let mut pause = RETRY.0;
    loop {
        match http.get(&shared, &last_event).await {
            Ok(Answer::Stream(mut stream)) => {
                let mut heard = false;
                while let Ok(Some(event)) = stream.next().await {
                    heard = true;
                    if !event.data.is_empty() {
                        shared.feed(event.data, None);
                    }
                }
                if !stream.last_event_id().is_empty() {
                    stream.last_event_id().clone_into(&mut last_event);
                }
                if heard {
                    // Counted anew: the server's own time, or the first pause.
                    pause = stream
                        .retry_ms()
                        .map_or(RETRY.0, Duration::from_millis)
                        .clamp(RETRY_MIN, RETRY.1);
                    tokio::time::sleep(pause).await;
                    continue;
                }
            }
            Ok(Answer::Status(refusal)) => {
                if http.lost_session(&shared, refusal.status, &refusal.text) {
                    shared.session_lost("the server has forgotten the session");
                    return;
                }
                // 405 is how a server says that it has no such stream; what a
                // stream that cannot be resumed says is not fixed.
                if last_event.is_empty() && (400..500).contains(&refusal.status) {
                    return;
                }
                last_event.clear();
            }
            Ok(Answer::Accepted | Answer::Json(_)) => return,
            Err(error) => tracing::debug!(%error, "the listening stream could not be opened"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(RETRY.1);
    }
}

/// The modern subscription: one POST whose answer lasts.
pub(super) async fn modern(http: Arc<Http>, shared: Arc<Shared>, request: Request) {
    let id = request.id.clone();
    match http.post(&shared, &Message::Request(request), None).await {
        Ok(Answer::Stream(mut stream)) => {
            if !answered(&shared, &mut stream, &id).await {
                shared.drive(|link| link.listen_closed(&id));
            }
        }
        Ok(Answer::Json(text)) => {
            if shared.feed(text, None).last.as_ref() != Some(&id) {
                shared.drive(|link| link.listen_closed(&id));
            }
        }
        Ok(Answer::Status(refusal)) => {
            shared.drive(|link| link.http_failed(None, refusal.status, refusal.message));
        }
        Ok(Answer::Accepted) | Err(_) => shared.drive(|link| link.listen_closed(&id)),
    }
}

/// Reads a subscription's stream; whether it ended with an answer.
async fn answered(shared: &Arc<Shared>, stream: &mut EventStream, id: &Id) -> bool {
    while let Ok(Some(event)) = stream.next().await {
        if !event.data.is_empty() && shared.feed(event.data, None).last.as_ref() == Some(id) {
            return true;
        }
    }
    false
}
