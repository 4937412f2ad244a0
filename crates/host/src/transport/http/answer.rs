//! What came back for a request.

use bytes::Bytes;
use legation_wire::json::Limits;
use legation_wire::message::{Message, Response as Answered};
use legation_wire::sse::{Event, SseDecoder};

use super::client::Inbound;
use super::head::Kind;
use super::wire::Wire;
use crate::transport::error::HttpError;

/// Most of an error's body that is read.
pub(super) const MAX_ERROR: usize = 64 * 1024;

/// What came back for a request.
pub(super) enum Answer {
    /// 202: nothing follows.
    Accepted,
    /// A JSON text.
    Json(Bytes),
    /// An event stream.
    Stream(Box<EventStream>),
    /// An error status.
    Status(Refusal),
}

/// An error status and what came with it.
pub(super) struct Refusal {
    pub(super) status: u16,
    /// `WWW-Authenticate`.
    pub(super) challenge: Option<String>,
    /// The body, if it was a JSON-RPC message.
    pub(super) message: Option<Message>,
    /// The beginning of the body.
    pub(super) text: String,
}

/// An event stream together with its connection.
pub(super) struct EventStream {
    /// `None` once it has ended.
    wire: Option<Wire>,
    decoder: SseDecoder,
}

// === impl Answer ===

impl Answer {
    pub(super) async fn sort(inbound: Inbound, max_body: usize) -> Result<Self, HttpError> {
        let Inbound { head, mut wire } = inbound;
        if !(200..300).contains(&head.status) {
            let text = wire.whole(MAX_ERROR).await.unwrap_or_default();
            return Ok(Self::Status(Refusal::new(
                head.status,
                head.challenge,
                text,
            )));
        }
        if matches!(head.status, 202 | 204) {
            wire.whole(MAX_ERROR).await?;
            return Ok(Self::Accepted);
        }
        match head.kind {
            Kind::Json => Ok(Self::Json(wire.whole(max_body).await?)),
            Kind::Events => Ok(Self::Stream(Box::new(EventStream {
                wire: Some(wire),
                decoder: SseDecoder::new(max_body),
            }))),
            Kind::Other(_) if wire.is_over() => {
                wire.put_back();
                Ok(Self::Accepted)
            }
            Kind::Other(kind) => Err(HttpError::ContentType {
                found: kind.chars().take(80).collect(),
            }),
        }
    }
}

// === impl Refusal ===

impl Refusal {
    fn new(status: u16, challenge: Option<String>, body: Bytes) -> Self {
        let text = String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
        let limits = Limits {
            bytes: MAX_ERROR,
            depth: 64,
        };
        let message = Message::parse_one(&body, &limits)
            .ok()
            .filter(|message| matches!(message, Message::Response(Answered { body: Err(_), .. })));
        Self {
            status,
            challenge,
            message,
            text,
        }
    }

    pub(super) fn needs_auth(&self) -> bool {
        matches!(self.status, 401 | 403)
    }
}

// === impl EventStream ===

impl EventStream {
    /// The next event; `None` when the stream has ended.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, HttpError> {
        loop {
            match self.decoder.next() {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) => {}
                Err(error) => return Err(HttpError::TooLarge { limit: error.limit }),
            }
            let Some(wire) = &mut self.wire else {
                return Ok(None);
            };
            match wire.piece().await {
                Ok(Some(piece)) => self.decoder.push(piece),
                Ok(None) => {
                    if let Some(wire) = self.wire.take() {
                        wire.put_back();
                    }
                }
                Err(error) => {
                    self.wire = None;
                    return Err(error);
                }
            }
        }
    }

    /// Takes in what has arrived of the stream, so that [`next`](Self::next)
    /// sees an end that came right behind the last event.
    pub(super) fn look(&mut self) {
        if let Some(wire) = &mut self.wire {
            wire.fill_arrived();
        }
    }

    /// The id to resume after; empty when the server gave none.
    pub(super) fn last_event_id(&self) -> &str {
        self.decoder.last_event_id()
    }

    pub(super) fn retry_ms(&self) -> Option<u64> {
        self.decoder.retry_ms()
    }
}
