//! A TCP stream as hyper reads and writes it: with a limit on how long a client
//! may leave bytes unread, and bytes put back that were read before.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// See the module.
#[derive(Debug)]
pub(super) struct Io {
    stream: TokioIo<TcpStream>,
    /// Read before, to be read again.
    back: Bytes,
    write_timeout: Duration,
    /// Runs while the client does not read.
    stuck: Option<Pin<Box<Sleep>>>,
    /// Tells whoever looks at the connection that bytes wait to be written.
    blocked: Arc<AtomicBool>,
}

// === impl Io ===

impl Io {
    pub(super) fn new(stream: TcpStream, write_timeout: Duration) -> Self {
        Self {
            stream: TokioIo::new(stream),
            back: Bytes::new(),
            write_timeout,
            stuck: None,
            blocked: Arc::default(),
        }
    }

    /// Whether bytes wait for the client to read; to be asked while the stream
    /// is elsewhere.
    pub(super) fn blocked(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.blocked)
    }

    /// Puts bytes back in front of what will be read.
    pub(super) fn put_back(&mut self, bytes: Bytes) {
        self.back = bytes;
    }

    /// Waits until there is something to read, holding no buffer.
    pub(super) async fn readable(&self) -> io::Result<()> {
        if self.back.is_empty() {
            self.stream.inner().readable().await
        } else {
            Ok(())
        }
    }

    fn watch_write<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if self.stuck.take().is_some() {
                self.blocked.store(false, Ordering::Relaxed);
            }
            return written;
        }
        let limit = self.write_timeout;
        self.blocked.store(true, Ordering::Relaxed);
        let stuck = self
            .stuck
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        match stuck.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Read for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.back.is_empty() {
            let length = self.back.len().min(cursor.remaining());
            cursor.put_slice(&self.back[..length]);
            self.back.advance(length);
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(cx, cursor)
    }
}

impl Write for Io {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.watch_write(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
