//! What came back for a request.

use bytes::{Bytes, BytesMut};
use http::Response;
use http::header::{CONTENT_TYPE, HeaderMap, WWW_AUTHENTICATE};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use legation_wire::json::Limits;
use legation_wire::message::{Message, Response as Answered};
use legation_wire::sse::{Event, SseDecoder};

use super::client::Wire;
use crate::transport::error::HttpError;

/// Most of an error's body that is read.
const MAX_ERROR: usize = 64 * 1024;

/// What came back for a request.
pub(super) enum Answer {
    /// 202: nothing follows.
    Accepted,
    /// A JSON text.
    Json { headers: HeaderMap, text: Bytes },
    /// An event stream.
    Stream {
        headers: HeaderMap,
        stream: Box<EventStream>,
    },
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
    body: Incoming,
    wire: Option<Wire>,
    decoder: SseDecoder,
    /// The last bytes have been read.
    over: bool,
}

// === impl Answer ===

impl Answer {
    pub(super) async fn sort(
        response: Response<Incoming>,
        wire: Wire,
        max_body: usize,
    ) -> Result<Self, HttpError> {
        let (head, body) = response.into_parts();
        let status = head.status;
        if !status.is_success() {
            let challenge = head.headers.get(WWW_AUTHENTICATE);
            let challenge = challenge.and_then(|value| value.to_str().ok());
            let (challenge, status) = (challenge.map(str::to_owned), status.as_u16());
            let text = read(body, wire, MAX_ERROR).await.unwrap_or_default();
            return Ok(Self::Status(Refusal::new(status, challenge, text)));
        }
        let kind = head.headers.get(CONTENT_TYPE);
        let kind = kind.and_then(|value| value.to_str().ok()).unwrap_or("");
        let essence = kind.split(';').next().unwrap_or("").trim();
        if status.as_u16() == 202 || status.as_u16() == 204 {
            read(body, wire, MAX_ERROR).await?;
            Ok(Self::Accepted)
        } else if essence.eq_ignore_ascii_case("application/json") {
            Ok(Self::Json {
                headers: head.headers,
                text: read(body, wire, max_body).await?,
            })
        } else if essence.eq_ignore_ascii_case("text/event-stream") {
            Ok(Self::Stream {
                headers: head.headers,
                stream: Box::new(EventStream {
                    body,
                    wire: Some(wire),
                    decoder: SseDecoder::new(max_body),
                    over: false,
                }),
            })
        } else if body.is_end_stream() {
            wire.put_back();
            Ok(Self::Accepted)
        } else {
            Err(HttpError::ContentType {
                found: kind.chars().take(80).collect(),
            })
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
        let message = Message::parse_one(body, &limits)
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

/// Reads a body to its end and gives the connection back.
async fn read(mut body: Incoming, mut wire: Wire, limit: usize) -> Result<Bytes, HttpError> {
    if body.size_hint().lower() > limit as u64 {
        return Err(HttpError::TooLarge { limit });
    }
    // Most answers are one frame, which then needs no copy.
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = Wire::with(wire.conn(), body.frame()).await {
        let frame = frame.map_err(|source| HttpError::Broken { source })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if first.len() + rest.len() + data.len() > limit {
            return Err(HttpError::TooLarge { limit });
        }
        if first.is_empty() {
            first = data;
        } else {
            if rest.is_empty() {
                rest.extend_from_slice(&first);
                first.clear();
                first = Bytes::new();
            }
            rest.extend_from_slice(&data);
        }
    }
    wire.put_back();
    Ok(if rest.is_empty() {
        first
    } else {
        rest.freeze()
    })
}

// === impl EventStream ===

impl EventStream {
    /// The next event; `None` when the stream has ended.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, HttpError> {
        loop {
            match self.decoder.next() {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) if self.over => return Ok(None),
                Ok(None) => {}
                Err(error) => return Err(HttpError::TooLarge { limit: error.limit }),
            }
            let Some(wire) = &mut self.wire else {
                return Ok(None);
            };
            match Wire::with(wire.conn(), self.body.frame()).await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.decoder.push(&data);
                    }
                }
                Some(Err(source)) => {
                    self.wire = None;
                    return Err(HttpError::Broken { source });
                }
                None => {
                    self.over = true;
                    if let Some(wire) = self.wire.take() {
                        wire.put_back();
                    }
                }
            }
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
