//! Where the data of a body lies in what came (RFC 9112, sections 6 and 7).

#[cfg(test)]
mod tests;

use std::ops::Range;

/// Longest line with a chunk's size, extensions included, and longest trailer.
const LINE_MAX: usize = 4 * 1024;

/// Where a body ends (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// After so many bytes.
    Length(u64),
    /// With the last chunk.
    Chunked,
    /// With the connection; answers only.
    Close,
}

/// The decoder of one body. Without input of its own: it is shown what has
/// come and not been used.
#[derive(Debug)]
pub struct Body {
    state: State,
    /// Bytes of trailers so far, which are read and mean nothing.
    trailers: usize,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// So many bytes are missing.
    Length(u64),
    /// The line with a chunk's size comes next.
    Size,
    /// So many bytes of the chunk are missing.
    Chunk(u64),
    /// The line end behind a chunk comes next.
    ChunkEnd,
    /// Lines up to an empty one.
    Trailers,
    /// Everything up to the end of the connection.
    Close,
}

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Data, by its place in what was shown.
    Data(Range<usize>),
    /// Nothing without more.
    More,
    /// The body is over.
    End,
}

/// The framing of a body is broken, or could be read in more than one way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct BadFraming {
    /// What is wrong.
    pub problem: &'static str,
}

// === impl Body ===

impl Body {
    /// A body of which nothing has been read.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Size,
            Framing::Close => State::Close,
        };
        Self { state, trailers: 0 }
    }

    /// How many bytes there are at least still to come.
    #[must_use]
    pub fn at_least(&self) -> u64 {
        match self.state {
            State::Length(missing) | State::Chunk(missing) => missing,
            State::Size | State::ChunkEnd | State::Trailers | State::Close => 0,
        }
    }

    /// Whether the end of the connection is the end of the body.
    #[must_use]
    pub fn ends_with_connection(&self) -> bool {
        matches!(self.state, State::Close)
    }

    /// The next thing in `text`, and how much of it is used up with that.
    ///
    /// # Errors
    /// The framing is broken.
    pub fn step(&mut self, text: &[u8]) -> Result<(usize, Step), BadFraming> {
        let mut at = 0;
        loop {
            let rest = &text[at..];
            match self.state {
                State::Length(0) => return Ok((at, Step::End)),
                _ if rest.is_empty() => return Ok((at, Step::More)),
                State::Close => return Ok((text.len(), Step::Data(at..text.len()))),
                State::Length(missing) => {
                    let taken = take(rest, missing);
                    self.state = State::Length(missing - taken as u64);
                    return Ok((at + taken, Step::Data(at..at + taken)));
                }
                State::Chunk(missing) => {
                    let taken = take(rest, missing);
                    self.state = match missing - taken as u64 {
                        0 => State::ChunkEnd,
                        missing => State::Chunk(missing),
                    };
                    return Ok((at + taken, Step::Data(at..at + taken)));
                }
                State::Size | State::ChunkEnd | State::Trailers => {
                    let Some(line) = line(rest)? else {
                        return Ok((at, Step::More));
                    };
                    at += line.len() + 2;
                    self.line(line)?;
                }
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), BadFraming> {
        self.state = match self.state {
            State::Size => match chunk_size(line)? {
                0 => State::Trailers,
                size => State::Chunk(size),
            },
            State::ChunkEnd if line.is_empty() => State::Size,
            State::Trailers if line.is_empty() => State::Length(0),
            State::Trailers => {
                self.trailers += line.len();
                if self.trailers > LINE_MAX {
                    return Err(bad("the body's trailers are too long"));
                }
                State::Trailers
            }
            _ => return Err(bad("a chunk is longer than its size")),
        };
        Ok(())
    }
}

/// How much of `missing` bytes is there.
fn take(text: &[u8], missing: u64) -> usize {
    usize::try_from(missing).map_or(text.len(), |missing| missing.min(text.len()))
}

/// The line that begins here, without its end; `None` while it is not whole.
fn line(text: &[u8]) -> Result<Option<&[u8]>, BadFraming> {
    let end = text.iter().take(LINE_MAX).position(|byte| *byte == b'\n');
    match end {
        Some(end) if end > 0 && text[end - 1] == b'\r' => Ok(Some(&text[..end - 1])),
        Some(_) => Err(bad("a line of the body's framing has a bare line feed")),
        None if text.len() >= LINE_MAX => Err(bad("a line of the body's framing is too long")),
        None => Ok(None),
    }
}

/// The size of a chunk; extensions are left out (RFC 9112, section 7.1.1).
fn chunk_size(line: &[u8]) -> Result<u64, BadFraming> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let digits = std::str::from_utf8(digits.trim_ascii_end()).ok();
    digits
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .and_then(|text| u64::from_str_radix(text, 16).ok())
        .ok_or_else(|| bad("the size of a chunk is no number"))
}

fn bad(problem: &'static str) -> BadFraming {
    BadFraming { problem }
}
