//! A connection that says whether anything moved on it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A connection whose bytes are counted.
#[derive(Debug)]
pub(super) struct Watched {
    stream: TcpStream,
    moved: Moved,
}

/// How many bytes have moved.
#[derive(Debug, Clone, Default)]
pub(super) struct Moved(Arc<AtomicU64>);

// === impl Watched ===

impl Watched {
    pub(super) fn new(stream: TcpStream) -> (Self, Moved) {
        let moved = Moved::default();
        let watched = Self {
            stream,
            moved: moved.clone(),
        };
        (watched, moved)
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, into))?;
        self.moved.add(into.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        self.moved.add(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, slices))?;
        self.moved.add(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

// === impl Moved ===

impl Moved {
    fn add(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns once nothing has moved for as long as that, and before twice as long.
    pub(super) async fn stopped(&self, silence: Duration) {
        let mut before = None;
        loop {
            let now = self.0.load(Ordering::Relaxed);
            if before == Some(now) {
                return;
            }
            before = Some(now);
            tokio::time::sleep(silence).await;
        }
    }
}
