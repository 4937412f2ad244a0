//! Server-sent events: the text format of `text/event-stream` (WHATWG HTML, section 9.2).

mod decode;
mod encode;

#[cfg(test)]
mod tests;

pub use self::decode::{SseDecoder, SseError};
pub use self::encode::{write_comment, write_retry};

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// The id set by this event; `Some("")` resets the last event id.
    pub id: Option<Box<str>>,
    /// The event's type; `None` means `message`.
    pub event: Option<Box<str>>,
    /// The data, its lines joined by newlines.
    pub data: bytes::Bytes,
    /// Reconnection time asked for along with this event, in milliseconds.
    pub retry_ms: Option<u64>,
}
