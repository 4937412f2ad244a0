//! Reading event streams piece by piece.

use std::collections::VecDeque;

use super::Event;

const BOM: &[u8] = b"\xef\xbb\xbf";
/// From this many bytes on a line becomes an event's data instead of being copied into it.
const LONG: usize = 64 * 1024;

/// Decodes an event stream. Bounded: an event whose lines together exceed `limit` bytes fails
/// the stream, because what follows it cannot be trusted to be wanted.
#[derive(Debug)]
pub struct SseDecoder {
    limit: usize,
    line: Vec<u8>,
    /// The last byte was a carriage return, so a line feed right behind it ends nothing.
    after_cr: bool,
    /// No line has been read yet, so a byte order mark may stand here.
    at_start: bool,
    event: Event,
    data: Vec<u8>,
    has_data: bool,
    /// Bytes of the lines of the event being read.
    size: usize,
    last_id: Box<str>,
    retry_ms: Option<u64>,
    failed: bool,
    /// Not bounded: holds what one `push` brought and the caller has not taken yet.
    ready: VecDeque<Event>,
}

/// The stream cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {limit} bytes; the stream was given up")]
pub struct SseError {
    /// Largest event, in bytes.
    pub limit: usize,
}

// === impl SseDecoder ===

impl SseDecoder {
    /// A decoder for events of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            event: Event::default(),
            data: Vec::new(),
            has_data: false,
            size: 0,
            last_id: Box::default(),
            retry_ms: None,
            failed: false,
            ready: VecDeque::new(),
        }
    }

    /// Takes what was read from the stream. Lines end in LF, CRLF or CR.
    pub fn push(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while !rest.is_empty() && !self.failed {
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.extend(rest);
                return;
            };
            self.extend(&rest[..end]);
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if !self.failed {
                self.end_line();
            }
        }
    }

    /// The next event; `None` when more bytes are needed.
    ///
    /// # Errors
    /// An event was over the limit. Events before it are delivered first; nothing follows.
    #[expect(
        clippy::should_implement_trait,
        reason = "a decoder that runs dry is not at its end"
    )]
    pub fn next(&mut self) -> Result<Option<Event>, SseError> {
        match self.ready.pop_front() {
            Some(event) => Ok(Some(event)),
            None if self.failed => Err(SseError { limit: self.limit }),
            None => Ok(None),
        }
    }

    /// The last event id, to resume with; empty when none was set.
    pub fn last_event_id(&self) -> &str {
        &self.last_id
    }

    /// The reconnection time last asked for, in milliseconds.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    fn extend(&mut self, part: &[u8]) {
        self.size += part.len();
        if self.size > self.limit {
            self.failed = true;
            self.line = Vec::new();
            self.data = Vec::new();
            return;
        }
        self.line.extend_from_slice(part);
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let mut text: &[u8] = &line;
        if std::mem::take(&mut self.at_start) {
            text = text.strip_prefix(BOM).unwrap_or(text);
        }
        if text.is_empty() {
            self.dispatch();
        } else {
            let (name, value) = match memchr::memchr(b':', text) {
                Some(colon) => (&text[..colon], &text[colon + 1..]),
                None => (text, &text[text.len()..]),
            };
            let value = value.strip_prefix(b" ").unwrap_or(value);
            if line.len() >= LONG {
                if name == b"data" && !self.has_data {
                    self.has_data = true;
                    let before = line.len() - value.len();
                    self.data = line;
                    self.data.drain(..before);
                } else {
                    self.field(name, value);
                }
                return;
            }
            self.field(name, value);
        }
        self.line = line;
        self.line.clear();
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => {
                self.event.event =
                    (!value.is_empty()).then(|| String::from_utf8_lossy(value).into())
            }
            b"id" if !value.contains(&0) => {
                let id: Box<str> = String::from_utf8_lossy(value).into();
                self.event.id = Some(id);
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let text = String::from_utf8_lossy(value);
                self.event.retry_ms = text.parse().ok();
                self.retry_ms = self.event.retry_ms.or(self.retry_ms);
            }
            // The empty name is a comment; a comment must not count against the next event.
            b"" => {}
            _ => {}
        }
        if self.event == Event::default() && !self.has_data {
            self.size = 0;
        }
    }

    /// An empty line: the event is complete if it has data.
    fn dispatch(&mut self) {
        let mut event = std::mem::take(&mut self.event);
        // Not before: an event that was cut short has to be sent again.
        if let Some(id) = &event.id {
            self.last_id.clone_from(id);
        }
        self.size = 0;
        if std::mem::take(&mut self.has_data) {
            event.data = std::mem::take(&mut self.data).into();
            self.ready.push_back(event);
        }
    }
}
