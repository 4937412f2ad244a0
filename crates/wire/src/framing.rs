//! Newline framing of byte streams: one message per line (stdio, Unix socket). Sans-IO.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use crate::message::Excerpt;

#[cfg(test)]
mod tests;

/// From this many bytes on a line gets a buffer of its own.
const LONG: usize = 64 * 1024;
/// How much is kept of either end of a line that is over the limit, in bytes.
const EXCERPT: usize = 1024;

/// Cuts a byte stream into lines. Holds at most `limit` bytes of an unfinished line: what is
/// longer is dropped up to its newline and reported once, so that the caller may skip it (a
/// server that printed something huge) or give the stream up (a client).
#[derive(Debug)]
pub struct LineDecoder {
    limit: usize,
    partial: BytesMut,
    /// The line that is over the limit, while it lasts.
    dropped: Option<Dropped>,
    /// Not bounded: holds what one `push` brought and the caller has not taken yet.
    ready: VecDeque<Result<Bytes, FrameError>>,
}

/// A line that was left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a line of {dropped} bytes was left out: no more than {limit} bytes are taken")]
pub struct FrameError {
    /// Longest line that is accepted, in bytes, without its line ending.
    pub limit: usize,
    /// How long the line was.
    pub dropped: usize,
    /// Its two ends.
    pub excerpt: Excerpt,
}

/// What is known of a line that is being dropped.
#[derive(Debug)]
struct Dropped {
    length: usize,
    head: Bytes,
    /// The last bytes, and perhaps some before them.
    tail: BytesMut,
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
        self.dropped.as_ref().map(|dropped| dropped.length)
    }

    fn extend(&mut self, part: &[u8]) {
        if let Some(dropped) = &mut self.dropped {
            dropped.extend(part);
            return;
        }
        // One byte more, because the carriage return of CRLF does not count.
        if self.partial.len() + part.len() > self.limit + 1 {
            let mut dropped = Dropped::new(&std::mem::take(&mut self.partial), part);
            dropped.extend(part);
            self.dropped = Some(dropped);
            return;
        }
        self.partial.extend_from_slice(part);
    }

    fn finish(&mut self) {
        if let Some(dropped) = self.dropped.take() {
            self.ready.push_back(Err(dropped.into_error(self.limit)));
            return;
        }
        // What is split off keeps the whole buffer alive, of which a long line is to be the last.
        let mut line = match self.partial.len() {
            ..LONG => self.partial.split(),
            _ => std::mem::take(&mut self.partial),
        };
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        if line.len() > self.limit {
            let dropped = Dropped::new(&line, &[]);
            self.ready.push_back(Err(dropped.into_error(self.limit)));
        } else if !line.iter().all(u8::is_ascii_whitespace) {
            self.ready.push_back(Ok(line.freeze()));
        }
    }
}

// === impl Dropped ===

impl Dropped {
    /// A line that begins with `start`, and goes on with `part` perhaps.
    fn new(start: &[u8], part: &[u8]) -> Self {
        let first = start.iter().chain(part).take(EXCERPT);
        Self {
            length: start.len(),
            head: first.copied().collect(),
            tail: start[start.len().saturating_sub(EXCERPT)..].into(),
        }
    }

    fn extend(&mut self, part: &[u8]) {
        self.length = self.length.saturating_add(part.len());
        self.tail
            .extend_from_slice(&part[part.len().saturating_sub(EXCERPT)..]);
        let surplus = self.tail.len().saturating_sub(EXCERPT);
        drop(self.tail.split_to(surplus));
    }

    fn into_error(self, limit: usize) -> FrameError {
        FrameError {
            limit,
            dropped: self.length,
            excerpt: Excerpt {
                head: self.head,
                tail: self.tail.freeze(),
            },
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
