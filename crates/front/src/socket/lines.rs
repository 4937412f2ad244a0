//! Lines on the socket, both ways: what both kinds of connection do alike.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use legation_wire::codes;
use legation_wire::framing::{FrameError, LineDecoder, write_line};
use legation_wire::message::{Cut, ErrorObject};
use tokio::io::{AsyncWriteExt as _, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Notify;

use crate::intake::error_bytes;
use crate::outbox::{Next, Outbox};

/// Most bytes of one read, and about as many of one write.
const CHUNK: usize = 16 * 1024;
/// A line up to this many bytes is copied out of its chunk.
const SMALL: usize = 4096;
/// A line that goes on this many times past the limit is not waited for.
const ENDLESS: usize = 16;

/// A connection cut into lines.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) reader: Reader,
    pub(super) writer: OwnedWriteHalf,
}

/// The reading half.
#[derive(Debug)]
pub(super) struct Reader {
    read: OwnedReadHalf,
    decoder: LineDecoder,
    limit: usize,
    /// A line that was read and is to be read again.
    put_back: Option<Bytes>,
}

/// One text as a line.
pub(super) fn encode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 1);
    write_line(&mut out, text);
    out
}

/// What is said to a line that was too long to be read: nothing was done. In place of the answer
/// that it may have been stands the error alone.
pub(super) fn left_out(line: &FrameError) -> (Cut, ErrorObject) {
    let text = format!("{line} (limits.client_message_bytes); nothing was done");
    let error = ErrorObject::new(codes::INVALID_REQUEST, &text);
    (line.excerpt.read(), error)
}

/// The same as an answer, for whoever waits for none.
pub(super) fn left_out_bytes(line: &FrameError) -> Bytes {
    let (cut, error) = left_out(line);
    let id = match cut {
        Cut::Request(id) => Some(id),
        Cut::Response(_) | Cut::Other => None,
    };
    error_bytes(id, error)
}

/// A short line on its own: as a slice it would keep the whole chunk it came
/// in for as long as anything of it is remembered.
fn loose(line: Bytes) -> Bytes {
    if line.len() <= SMALL {
        Bytes::copy_from_slice(&line)
    } else {
        line
    }
}

// === impl Lines ===

impl Lines {
    pub(super) fn new(stream: UnixStream, limit: usize) -> Self {
        let (read, writer) = stream.into_split();
        Self {
            reader: Reader {
                read,
                decoder: LineDecoder::new(limit),
                limit,
                put_back: None,
            },
            writer,
        }
    }

    /// The first line, which may be too long; `None` when there is none.
    pub(super) async fn first(&mut self) -> Option<Result<Bytes, FrameError>> {
        loop {
            if let Some(line) = self.reader.line().transpose() {
                return Some(line);
            }
            if !self.reader.fill().await.ok()? {
                return None;
            }
        }
    }

    pub(super) async fn write(&mut self, bytes: &[u8], limit: Duration) -> io::Result<()> {
        tokio::time::timeout(limit, self.writer.write_all(bytes)).await?
    }
}

// === impl Reader ===

impl Reader {
    /// The next whole line, if one is there.
    pub(super) fn line(&mut self) -> Result<Option<Bytes>, FrameError> {
        match self.put_back.take() {
            Some(line) => Ok(Some(line)),
            None => Ok(self.decoder.next()?.map(loose)),
        }
    }

    /// Has a line read once more.
    pub(super) fn put_back(&mut self, line: Bytes) {
        self.put_back = Some(line);
    }

    /// Reads more; `false` at the end. Waits without holding a buffer.
    pub(super) async fn fill(&mut self) -> io::Result<bool> {
        loop {
            self.read.readable().await?;
            let mut chunk = BytesMut::with_capacity(CHUNK);
            match self.read.try_read_buf(&mut chunk) {
                Ok(0) => return Ok(false),
                Ok(_) => {
                    self.decoder.push(&chunk);
                    let endless = self.limit.saturating_mul(ENDLESS);
                    if self
                        .decoder
                        .dropping()
                        .is_some_and(|dropped| dropped > endless)
                    {
                        return Err(io::ErrorKind::InvalidData.into());
                    }
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Whether the peer is gone for good, rather than done with writing.
pub(super) async fn is_gone(reader: &Reader) -> bool {
    match reader
        .read
        .ready(Interest::READABLE | Interest::WRITABLE)
        .await
    {
        Ok(ready) => ready.is_write_closed(),
        Err(_) => true,
    }
}

/// Writes what is put into an outbox until it is finished, the peer is gone or
/// does not read. `room` is told of every write.
pub(super) async fn write_out(
    writer: &mut OwnedWriteHalf,
    outbox: &Outbox,
    room: &Notify,
    limit: Duration,
) {
    let mut cursor = 0;
    loop {
        let mut chunk = match outbox.next(&mut cursor).await {
            Next::Message(_, message) => encode(&message),
            Next::Finished | Next::Overrun => return,
        };
        while chunk.len() < CHUNK && !outbox.is_empty() {
            let Next::Message(_, message) = outbox.next(&mut cursor).await else {
                break;
            };
            write_line(&mut chunk, &message);
        }
        let leaving = outbox.take_leaving();
        match tokio::time::timeout(limit, writer.write_all(&chunk)).await {
            Ok(Ok(())) => {
                leaving.written();
                room.notify_one();
            }
            Ok(Err(_)) | Err(_) => return,
        }
    }
}
