//! What happens in the hub, as server-sent events (WHATWG HTML, section 9.2).

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http::StatusCode;
use http::header::{HeaderName, HeaderValue};
use tokio::time::{Instant, Sleep};

use crate::web::{Answer, Body};
use crate::{EventStream, Hub, Since};

/// After how much silence a listener gets a sign of life.
const KEEPALIVE: Duration = Duration::from_secs(15);
/// What a listener is told first: how long to wait before it comes back.
const HELLO: Bytes = Bytes::from_static(b"retry: 1000\n: legation\n\n");
const SIGN: Bytes = Bytes::from_static(b":\n\n");

/// Events with signs of life between them.
struct Frames {
    hello: Option<Bytes>,
    events: EventStream,
    silence: Pin<Box<Sleep>>,
}

/// Answers with everything that happens from a place on.
pub(crate) fn answer(hub: &dyn Hub, since: Since) -> Answer {
    let frames = Frames {
        hello: Some(HELLO),
        events: hub.events(since),
        silence: Box::pin(tokio::time::sleep(KEEPALIVE)),
    };
    let answer = Answer::whole(StatusCode::OK, "text/event-stream", Bytes::new());
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    let answer = answer.with(unbuffered, HeaderValue::from_static("no"));
    Answer {
        body: Body::Stream(frames.boxed()),
        ..answer
    }
}

// === impl Frames ===

impl Stream for Frames {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(hello) = self.hello.take() {
            return Poll::Ready(Some(hello));
        }
        if let Poll::Ready(event) = self.events.poll_next_unpin(cx) {
            let next = Instant::now() + KEEPALIVE;
            self.silence.as_mut().reset(next);
            return Poll::Ready(event.map(|event| event.frame()));
        }
        if self.silence.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        let next = Instant::now() + KEEPALIVE;
        self.silence.as_mut().reset(next);
        Poll::Ready(Some(SIGN))
    }
}
