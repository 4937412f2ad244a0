//! Newline framing of byte streams: one message per line (stdio, Unix socket). Sans-IO.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

#[cfg(test)]
mod tests;

/// Cuts a byte stream into lines. Holds at most `limit` bytes of an unfinished line: what is
/// longer is dropped up to its newline and reported once, so that the caller may skip it (a
/// server that printed something huge) or give the stream up (a client).
#[derive(Debug)]
pub struct LineDecoder {
    limit: usize,
    partial: BytesMut,
    /// Bytes dropped of a line that is over the limit, while it lasts.
    dropped: Option<usize>,
    /// Not bounded: holds what one `push` brought and the caller has not taken yet.
    ready: VecDeque<Result<Bytes, FrameError>>,
}

/// A line that was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line of more than {limit} bytes was left out ({dropped} bytes)")]
pub struct FrameError {
    /// Longest line that is accepted, in bytes, without its line ending.
    pub limit: usize,
    /// How long the line was.
    pub dropped: usize,
}

// === impl LineDecoder ===

impl LineDecoder {
    /// A decoder for lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            partial: BytesMut::new(),
            dropped: None,
            ready: VecDeque::new(),
        }
    }

    /// Takes what was read from the stream.
    pub fn push(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.extend(&rest[..end]);
            self.finish();
            rest = &rest[end + 1..];
        }
        self.extend(rest);
    }

    /// The next whole line without its ending (LF or CRLF), empty lines left out; `None` when
    /// more bytes are needed.
    ///
    /// # Errors
    /// A line was over the limit; the lines behind it are intact.
    #[expect(
        clippy::should_implement_trait,
        reason = "a decoder that runs dry is not at its end"
    )]
    pub fn next(&mut self) -> Result<Option<Bytes>, FrameError> {
        self.ready.pop_front().transpose()
    }

    /// The stream ended: what stands without a newline. Half a line is no message, so this is
    /// for a log.
    pub fn finish_stream(&mut self) -> Option<Bytes> {
        self.dropped = None;
        let partial = std::mem::take(&mut self.partial);
        (!partial.is_empty()).then(|| partial.freeze())
    }

    /// Whether an over-long line is being dropped right now, and how much of it so far. Lets a
    /// caller give up on a line that never ends.
    pub fn dropping(&self) -> Option<usize> {
        self.dropped
    }

    fn extend(&mut self, part: &[u8]) {
        if let Some(dropped) = &mut self.dropped {
            *dropped = dropped.saturating_add(part.len());
            return;
        }
        let length = self.partial.len() + part.len();
        // One byte more, because the carriage return of CRLF does not count.
        if length > self.limit + 1 {
            self.dropped = Some(length);
            self.partial = BytesMut::new();
            return;
        }
        self.partial.extend_from_slice(part);
    }

    fn finish(&mut self) {
        if let Some(dropped) = self.dropped.take() {
            self.ready.push_back(Err(FrameError {
                limit: self.limit,
                dropped,
            }));
            return;
        }
        let mut line = self.partial.split();
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        if line.len() > self.limit {
            self.ready.push_back(Err(FrameError {
                limit: self.limit,
                dropped: line.len(),
            }));
        } else if !line.iter().all(u8::is_ascii_whitespace) {
            self.ready.push_back(Ok(line.freeze()));
        }
    }
}

/// One message as a line. Line breaks inside JSON text can only be white space between its
/// parts, so they become spaces.
pub fn encode_line(text: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(text.len() + 1);
    write_line(&mut out, text);
    out.into()
}

/// Appends one message as a line.
pub fn write_line(out: &mut Vec<u8>, text: &[u8]) {
    let start = out.len();
    out.extend_from_slice(text);
    let mut at = start;
    while let Some(found) = memchr::memchr2(b'\n', b'\r', &out[at..]) {
        out[at + found] = b' ';
        at += found + 1;
    }
    out.push(b'\n');
}
