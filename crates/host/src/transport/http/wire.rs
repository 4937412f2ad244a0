//! One connection to an upstream, in the hands of one task.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Weak;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use legation_wire::http1::{BadFraming, Body, Framing, Step};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::runtime::{Handle, Id as RuntimeId};

use super::client::Pool;
use super::head::{Head, Last, bad};
use super::stream::Stream;
use crate::transport::error::HttpError;

/// What is read at once at first, and from answers that fill it.
const READ: (usize, usize) = (4 * 1024, 64 * 1024);
/// From so many uses on a server counts as one that keeps its connections. One
/// that closes each without saying so is found out before.
const PROVEN: u32 = 3;
/// How many interim answers may come before the real one.
const INTERIM_MAX: usize = 8;

/// One connection and the answer that is being read from it.
pub(super) struct Wire {
    stream: Stream,
    /// Whose reactor its stream belongs to.
    runtime: RuntimeId,
    /// What came; before `at` it has been used.
    came: Vec<u8>,
    at: usize,
    body: Body,
    last: Box<Last>,
    /// It may serve another request when this answer is over.
    keep: bool,
    /// How often it has gone back to its pool.
    uses: u32,
    /// Not an owner: idle connections end with their client.
    pool: Weak<Pool>,
}

/// A request that brought no head.
pub(super) struct Unanswered {
    pub(super) source: io::Error,
    /// Nothing of it has left.
    pub(super) unsent: bool,
}

// === impl Wire ===

impl Wire {
    pub(super) fn new(stream: Stream, pool: Weak<Pool>) -> Self {
        Self {
            stream,
            runtime: Handle::current().id(),
            came: Vec::new(),
            at: 0,
            body: Body::new(Framing::Length(0)),
            last: Box::default(),
            keep: true,
            uses: 0,
            pool,
        }
    }

    pub(super) fn runtime(&self) -> RuntimeId {
        self.runtime
    }

    /// Whether an idle connection can take a request: nothing has been heard
    /// on it since.
    pub(super) fn is_quiet(&self) -> bool {
        self.stream.is_quiet(self.uses >= PROVEN)
    }

    /// Sends a request and reads the head of its answer. The body is read with
    /// [`piece`](Self::piece).
    pub(super) async fn send(&mut self, head: &[u8], body: &[u8]) -> Result<Head, Unanswered> {
        let mut sent = 0;
        let written = self.write(head, body, &mut sent).await;
        if let Err(source) = written {
            // A server may refuse a request, and close, before it has read it.
            self.keep = false;
            if sent == 0 {
                let unsent = true;
                return Err(Unanswered { source, unsent });
            }
            return self.head().await.map_err(|_| Unanswered {
                source,
                unsent: false,
            });
        }
        self.head().await.map_err(|source| Unanswered {
            source,
            unsent: false,
        })
    }

    /// Writes a request; ends early, as if it were done, when the answer comes
    /// before the request has left, because who answers may not read on.
    async fn write(&mut self, head: &[u8], body: &[u8], sent: &mut usize) -> io::Result<()> {
        let whole = head.len() + body.len();
        self.came.clear();
        self.at = 0;
        poll_fn(|cx| {
            while *sent < whole {
                let stream = Pin::new(&mut self.stream);
                let left = &body[sent.saturating_sub(head.len())..];
                let step = match head.get(*sent..) {
                    Some(start) if body.is_empty() => stream.poll_write(cx, start),
                    Some(start) if !start.is_empty() => {
                        let parts = [IoSlice::new(start), IoSlice::new(left)];
                        stream.poll_write_vectored(cx, &parts)
                    }
                    _ => stream.poll_write(cx, left),
                };
                match step {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(written)) => *sent += written,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => {
                        ready!(self.poll_fill(cx))?;
                        self.keep = false;
                        return Poll::Ready(Ok(()));
                    }
                }
            }
            Pin::new(&mut self.stream).poll_flush(cx)
        })
        .await
    }

    async fn head(&mut self) -> io::Result<Head> {
        let mut interim = 0;
        loop {
            // A head comes in one piece, or it would be read again with each.
            let came = &self.came[self.at..];
            if !came.is_empty()
                && let Some((head, length)) = self.last.parse(came)?
            {
                self.at += length;
                if !head.is_interim() {
                    self.keep &= head.keep;
                    self.body = Body::new(head.framing);
                    return Ok(head);
                }
                interim += 1;
                if interim > INTERIM_MAX {
                    return Err(bad("too many interim answers"));
                }
                continue;
            }
            if self.fill().await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// The next piece of the answer's body; `None` when it is over. May be
    /// dropped and called again.
    pub(super) async fn piece(&mut self) -> Result<Option<&[u8]>, HttpError> {
        let broken = |source| HttpError::Broken { source };
        loop {
            let from = self.at;
            let stepped = self.body.step(&self.came[from..]);
            let (used, step) = stepped.map_err(|BadFraming { problem }| broken(bad(problem)))?;
            self.at += used;
            match step {
                Step::Data(range) => {
                    return Ok(Some(&self.came[from + range.start..from + range.end]));
                }
                Step::End => return Ok(None),
                Step::More if self.fill().await.map_err(broken)? > 0 => {}
                Step::More if self.body.ends_with_connection() => return Ok(None),
                Step::More => return Err(broken(io::ErrorKind::UnexpectedEof.into())),
            }
        }
    }

    /// The whole body; the connection goes back to its pool.
    pub(super) async fn whole(mut self, limit: usize) -> Result<Bytes, HttpError> {
        let too_large = || HttpError::TooLarge { limit };
        let said = usize::try_from(self.body.at_least()).map_err(|_| too_large())?;
        if said > limit {
            return Err(too_large());
        }
        // What is said to come is not yet there.
        let mut text = Vec::with_capacity(said.min(READ.1));
        while let Some(piece) = self.piece().await? {
            if text.len() + piece.len() > limit {
                return Err(too_large());
            }
            text.extend_from_slice(piece);
        }
        self.put_back();
        Ok(text.into())
    }

    /// Whether the body is over without anything in it.
    pub(super) fn is_over(&mut self) -> bool {
        matches!(self.body.step(&self.came[self.at..]), Ok((_, Step::End)))
    }

    /// Takes in what has arrived, without waiting.
    pub(super) fn fill_arrived(&mut self) {
        self.make_room();
        self.stream.read_arrived(&mut self.came);
    }

    /// Back to the pool, once a body has been read to its end.
    pub(super) fn put_back(mut self) {
        // What follows an answer was not asked for.
        if !self.keep || self.at < self.came.len() {
            return;
        }
        if let Some(pool) = self.pool.upgrade() {
            self.at = 0;
            self.uses = self.uses.saturating_add(1);
            self.came.clear();
            self.came.shrink_to(READ.0);
            pool.put(self);
        }
    }

    async fn fill(&mut self) -> io::Result<usize> {
        self.make_room();
        self.stream.read_buf(&mut self.came).await
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.make_room();
        let mut some = [0_u8; 1024];
        let mut buffer = ReadBuf::new(&mut some);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer))?;
        self.came.extend_from_slice(buffer.filled());
        Poll::Ready(Ok(()))
    }

    /// Moves what has not been used to the front, and grows what was filled.
    fn make_room(&mut self) {
        let was_full = self.came.len() == self.came.capacity();
        if self.at > 0 {
            self.came.drain(..self.at);
            self.at = 0;
        }
        if self.came.capacity() == 0 {
            self.came.reserve(READ.0);
        } else if was_full {
            self.came.reserve(READ.1);
        }
    }
}
