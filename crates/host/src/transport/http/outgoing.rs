//! What the connection sends on its own behalf, in order.

use std::sync::Arc;

use legation_core::error::chain;
use legation_wire::message::{Message, Request};
use legation_wire::upstream::Ready;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::answer::{Answer, EventStream};
use super::{Http, SHORT, listening};
use crate::transport::error::{HttpError, StartError};
use crate::transport::shared::Shared;

/// Something to send.
pub(super) enum Outgoing {
    /// A message that is no call's.
    Message(Message),
    /// Everything before it has been sent: whoever waits for the connection
    /// may have it.
    Ready(Ready),
}

/// The connection's sending task. Requests get tasks of their own, because
/// their answers may take long; notifications and answers keep their order.
pub(super) async fn carry(
    http: Arc<Http>,
    shared: Arc<Shared>,
    mut queue: mpsc::Receiver<Outgoing>,
) {
    while let Some(outgoing) = queue.recv().await {
        match outgoing {
            Outgoing::Ready(ready) => {
                if !ready.revision.is_modern() {
                    let listening = listening::legacy(Arc::clone(&http), Arc::clone(&shared));
                    shared.spawn("listening stream", listening);
                }
                shared.started(ready);
            }
            Outgoing::Message(Message::Request(request)) => {
                let id = request.id.clone();
                let (own, with) = (Arc::clone(&http), Arc::clone(&shared));
                if &*request.method == "subscriptions/listen" {
                    http.run_request(&shared, id, listening::modern(own, with, request));
                } else {
                    http.run_request(&shared, id, handshake(own, with, request));
                }
            }
            Outgoing::Message(message) => short(&http, &shared, &message).await,
        }
    }
}

/// A notification or an answer: the server says no more than that it has it.
async fn short(http: &Http, shared: &Arc<Shared>, message: &Message) {
    let what = match message {
        Message::Notification(notification) => &*notification.method,
        Message::Response(_) => "the answer to a question",
        Message::Request(request) => &*request.method,
    };
    let problem = match timeout(SHORT, http.post(shared, message, None)).await {
        Ok(Ok(Answer::Accepted)) => return,
        // Some servers answer with a body; it is read but means nothing.
        Ok(Ok(Answer::Json(text))) => {
            if !text.is_empty() {
                shared.feed(text, None);
            }
            return;
        }
        Ok(Ok(Answer::Stream(_))) => return,
        Ok(Ok(Answer::Status(refusal))) => {
            if http.lost_session(shared, refusal.status, &refusal.text) {
                shared.session_lost("the server has forgotten the session");
                return;
            }
            format!("HTTP status {}", refusal.status)
        }
        Ok(Err(error)) => chain(&error),
        Err(_) => format!("no answer within {} s", SHORT.as_secs()),
    };
    shared.note(&format!("{what} did not arrive at the server: {problem}"));
}

/// `server/discover` or `initialize`.
async fn handshake(http: Arc<Http>, shared: Arc<Shared>, request: Request) {
    let message = Message::Request(request);
    match http.post(&shared, &message, None).await {
        Ok(Answer::Json(text)) => {
            if shared.feed(text, None).count == 0 {
                unanswered(&shared, 200);
            }
        }
        Ok(Answer::Stream(stream)) => match feed_all(&shared, stream).await {
            Ok(0) => unanswered(&shared, 200),
            Ok(_) => {}
            Err(source) => shared.start_failed(StartError::Http { source }),
        },
        Ok(Answer::Status(refusal)) if refusal.needs_auth() => {
            shared.start_failed(StartError::NeedsAuth {
                status: refusal.status,
                challenge: refusal.challenge,
            });
        }
        Ok(Answer::Status(refusal)) => {
            shared.drive(|link| link.http_failed(None, refusal.status, refusal.message));
        }
        Ok(Answer::Accepted) => unanswered(&shared, 202),
        // A page for people in answer to a request that is not known.
        Err(HttpError::ContentType { .. }) => unanswered(&shared, 200),
        Err(source) => shared.start_failed(StartError::Http { source }),
    }
}

/// Something came, but no answer: the server may speak another era.
fn unanswered(shared: &Arc<Shared>, status: u16) {
    shared.drive(|link| link.http_failed(None, status, None));
}

/// Feeds the link with everything on a stream; how many answers there were.
async fn feed_all(shared: &Arc<Shared>, mut stream: Box<EventStream>) -> Result<usize, HttpError> {
    let mut answers = 0;
    loop {
        match stream.next().await {
            Ok(Some(event)) if event.data.is_empty() => {}
            Ok(Some(event)) => answers += shared.feed(event.data, None).count,
            Ok(None) => return Ok(answers),
            // What has been said stands.
            Err(_) if answers > 0 => return Ok(answers),
            Err(error) => return Err(error),
        }
    }
}
