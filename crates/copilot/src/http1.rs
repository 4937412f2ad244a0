//! One request over HTTP/1.1: its path, its body within bounds, and the stream that answers it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Either, Full, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming};
use legation_core::{Cancel, CancelReason, TaskSet};
use serde_json::json;
use tokio::sync::mpsc;

use crate::answer::{self, Out};
use crate::request::{Door, LetIn, Shut};

/// The one path there is.
const PATH: &str = "/copilot/webhook";
/// Events that wait for a client that reads slowly; then the answer waits too.
const WAITING: usize = 16;
/// How long an answer may take, all in all: GitHub gives up on it then.
const ANSWER: Duration = Duration::from_secs(120);

/// What every request needs.
#[derive(Clone, Debug)]
pub(crate) struct Serving {
    pub(crate) door: Arc<Door>,
    pub(crate) tasks: TaskSet,
    pub(crate) cancel: Cancel,
    pub(crate) body_max: usize,
    pub(crate) body_timeout: Duration,
}

/// Events as they come. Dropping it calls off what is done for them.
pub(crate) struct Events {
    events: mpsc::Receiver<Bytes>,
    cancel: Cancel,
}

type Answer = Response<Either<Full<Bytes>, Events>>;

// === impl Serving ===

impl Serving {
    pub(crate) async fn answer(self, request: Request<Incoming>) -> Result<Answer, Infallible> {
        Ok(match self.admit(request).await {
            Ok(let_in) => self.stream(let_in),
            Err(shut) => refusal(&shut),
        })
    }

    async fn admit(&self, request: Request<Incoming>) -> Result<(LetIn, Cancel), Shut> {
        if request.uri().path() != PATH {
            return Err(Shut::of(
                StatusCode::NOT_FOUND,
                "NOT_FOUND",
                "there is nothing here",
            ));
        }
        if request.method() != Method::POST {
            let message = "only POST is answered here";
            return Err(Shut::of(
                StatusCode::METHOD_NOT_ALLOWED,
                "BAD_REQUEST",
                message,
            ));
        }
        let (head, body) = request.into_parts();
        let too_large = || {
            let message = format!("the body has more than {} bytes", self.body_max);
            Shut::of(StatusCode::PAYLOAD_TOO_LARGE, "BAD_REQUEST", &message)
        };
        if body.size_hint().lower() > self.body_max as u64 {
            return Err(too_large());
        }
        let collected = Limited::new(body, self.body_max).collect();
        let body = match tokio::time::timeout(self.body_timeout, collected).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(too_large()),
            Ok(Err(_)) => {
                let message = "the body could not be read";
                return Err(Shut::of(StatusCode::BAD_REQUEST, "BAD_REQUEST", message));
            }
            Err(_) => {
                let message = "the body did not come in time";
                return Err(Shut::of(
                    StatusCode::REQUEST_TIMEOUT,
                    "BAD_REQUEST",
                    message,
                ));
            }
        };
        let cancel = self.cancel.child();
        let let_in = self.door.open(&head.headers, &body, cancel.clone()).await?;
        Ok((let_in, cancel))
    }

    fn stream(self, (let_in, cancel): (LetIn, Cancel)) -> Answer {
        let (sender, events) = mpsc::channel(WAITING);
        let door = Arc::clone(&self.door);
        let limit = cancel.clone();
        self.tasks.spawn("copilot answer", async move {
            let out = Out(sender);
            let answered = Box::pin(answer::answer(&*door.hub, let_in, &out));
            if tokio::time::timeout(ANSWER, answered).await.is_err() {
                limit.cancel(CancelReason::Deadline);
            }
        });
        let mut answer = Response::new(Either::Right(Events { events, cancel }));
        let fields = answer.headers_mut();
        fields.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/event-stream"),
        );
        fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer
    }
}

fn refusal(shut: &Shut) -> Answer {
    let body = json!({ "error": shut.message, "reason_code": shut.code }).to_string();
    let mut answer = Response::new(Either::Left(Full::new(Bytes::from(body))));
    *answer.status_mut() = shut.status;
    let fields = answer.headers_mut();
    fields.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if shut.status == StatusCode::METHOD_NOT_ALLOWED {
        fields.insert(header::ALLOW, HeaderValue::from_static("POST"));
    }
    // What was not read of a body must not be taken for the next request.
    fields.insert(header::CONNECTION, HeaderValue::from_static("close"));
    answer
}

// === impl Events ===

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.events.poll_recv(cx);
        next.map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.cancel.cancel(CancelReason::Disconnected);
    }
}
