//! One request being answered: the call behind it, and what is waited for
//! before anything is said.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::StatusCode;
use legation_core::{Cancel, CancelReason, Wall};

use super::{EventStream, Resumable};
use crate::http::guard::Accepts;
use crate::http::reply::{self, Reply};
use crate::outbox::{Outbox, Weight};
use crate::outgoing::Outgoing;
use crate::session::Session;
use crate::shared::Held;

/// How long a call that was called off may take to end.
const CALL_OFF: Duration = Duration::from_secs(5);

/// How a request ends.
#[derive(Debug)]
pub(in crate::http) struct Answer {
    pub(in crate::http) status: StatusCode,
    /// `None` when the client called the request off.
    pub(in crate::http) message: Option<Outgoing>,
}

/// What becomes of a call whose connection is lost.
#[derive(Debug)]
pub(in crate::http) enum Lost {
    /// It is called off.
    CallOff(Cancel),
    /// It goes on for its session.
    Survive,
}

/// A request that is being answered.
pub(in crate::http) struct Exchange {
    pub(super) shared: Held,
    pub(super) answer: Option<BoxFuture<'static, Answer>>,
    pub(super) outbox: Arc<Outbox>,
    pub(super) lost: Lost,
}

/// A request whose answer its connection waits for.
pub(in crate::http) struct Waiting {
    exchange: Exchange,
    accepts: Accepts,
    session: Option<Arc<Session>>,
    until: Option<Wall>,
    answer: Option<Answer>,
}

// === impl Exchange ===

impl Exchange {
    pub(in crate::http) fn new(
        shared: &Held,
        answer: BoxFuture<'static, Answer>,
        outbox: &Arc<Outbox>,
        lost: Lost,
    ) -> Self {
        Self {
            shared: shared.clone(),
            answer: Some(answer),
            outbox: Arc::clone(outbox),
            lost,
        }
    }

    /// To be waited for until there is the answer, or the first thing to be
    /// said before it. `session` makes a stream resumable.
    pub(in crate::http) fn wait(self, accepts: Accepts, session: Option<Arc<Session>>) -> Waiting {
        Waiting {
            exchange: self,
            accepts,
            session,
            until: None,
            answer: None,
        }
    }

    /// Puts the answer behind what was said before it.
    pub(super) fn finish(&mut self, answer: Answer) {
        if let Some(message) = answer.message {
            self.outbox.push(message, Weight::Answer);
        }
        self.outbox.finish();
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let Some(answer) = self.answer.take() else {
            return;
        };
        let limit = match &self.lost {
            Lost::CallOff(cancel) => {
                cancel.cancel(CancelReason::ClientCancelled);
                CALL_OFF
            }
            Lost::Survive => self.shared.settings.survive,
        };
        // Outside a runtime the process is ending, and the call with it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let outbox = Arc::clone(&self.outbox);
        self.shared
            .tasks
            .spawn_on(&runtime, "call without its client", async move {
                if let Ok(answer) = tokio::time::timeout(limit, answer).await
                    && let Some(message) = answer.message
                {
                    outbox.push(message, Weight::Answer);
                }
                outbox.finish();
            });
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("answered", &self.answer.is_none())
            .finish_non_exhaustive()
    }
}

// === impl Waiting ===

impl Waiting {
    /// For something that stands until it is called off: it ends with the credential too.
    pub(in crate::http) fn ending(mut self, until: Option<Wall>) -> Self {
        self.until = until;
        self
    }

    /// Ready when there is something to respond with.
    pub(in crate::http) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.accepts.events && !self.accepts.json {
            return Poll::Ready(());
        }
        if let Some(answer) = self.exchange.answer.as_mut()
            && let Poll::Ready(answer) = answer.as_mut().poll(cx)
        {
            self.exchange.answer = None;
            self.answer = Some(answer);
            return Poll::Ready(());
        }
        if self.accepts.events {
            self.exchange.outbox.poll_ready(cx, 0)
        } else {
            Poll::Pending
        }
    }

    /// Whether the client can be shown a sign of life before the answer.
    pub(in crate::http) fn shows_life(&self) -> bool {
        self.accepts.events
    }

    /// What there is to respond with.
    pub(in crate::http) fn into_reply(mut self) -> Reply {
        let has_more = !self.exchange.outbox.is_empty();
        if let Some(answer) = self.answer.take() {
            let plain = answer.status != StatusCode::OK || !has_more;
            if (plain && self.accepts.json) || !self.accepts.events {
                return match answer.message {
                    Some(message) => {
                        reply::json(answer.status, message.bytes).delivering(message.deliveries)
                    }
                    None => reply::empty(StatusCode::ACCEPTED),
                };
            }
            self.exchange.finish(answer);
        }
        let outbox = &self.exchange.outbox;
        let resumable = self.session.map(|session| Resumable {
            number: session.stream_opened(outbox),
            session,
            reader: None,
        });
        let stream = EventStream::new(self.exchange, 0, resumable, true);
        reply::events(stream.ending(self.until))
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting")
            .field("exchange", &self.exchange)
            .finish_non_exhaustive()
    }
}
