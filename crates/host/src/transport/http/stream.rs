//! A connection: TCP with or without TLS, or a Unix socket.

use std::io::{self, IoSlice};
use std::os::fd::AsFd as _;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use rustix::net::RecvFlags;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;

pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    Unix(UnixStream),
}

// === impl Stream ===

impl Stream {
    /// Whether nothing has arrived on an idle connection: neither its end nor
    /// words that nobody asked for. Where a request on a closed connection would
    /// be likely, the system is asked, because the reactor may not have heard
    /// yet; else what the reactor knows is enough.
    pub(super) fn is_quiet(&self, is_proven: bool) -> bool {
        // Nobody is to be woken: whoever reads next says so anew.
        let mut nobody = Context::from_waker(Waker::noop());
        let (socket, known) = match self {
            Self::Plain(tcp) => (tcp.as_fd(), tcp.poll_read_ready(&mut nobody)),
            Self::Tls(tls) => {
                let tcp = tls.get_ref().0;
                (tcp.as_fd(), tcp.poll_read_ready(&mut nobody))
            }
            Self::Unix(unix) => (unix.as_fd(), unix.poll_read_ready(&mut nobody)),
        };
        if is_proven && known.is_pending() {
            return true;
        }
        let mut byte = [0_u8; 1];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let found = rustix::net::recv(socket, &mut byte, flags);
        matches!(found, Err(rustix::io::Errno::AGAIN))
    }

    /// Reads what has arrived already, of which the reactor may not have heard
    /// yet; how much that was. Through TLS there is no such look.
    pub(super) fn read_arrived(&self, into: &mut Vec<u8>) -> usize {
        let socket = match self {
            Self::Plain(tcp) => tcp.as_fd(),
            Self::Unix(unix) => unix.as_fd(),
            Self::Tls(_) => return 0,
        };
        let spare = rustix::buffer::spare_capacity(into);
        // An error is found again by whoever waits for more.
        rustix::net::recv(socket, spare, RecvFlags::DONTWAIT).map_or(0, |(read, _)| read)
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, buf),
            Self::Unix(socket) => Pin::new(socket).poll_read(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write(cx, buf),
            Self::Unix(socket) => Pin::new(socket).poll_write(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, bufs),
            Self::Unix(socket) => Pin::new(socket).poll_write_vectored(cx, bufs),
            Self::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(socket) => socket.is_write_vectored(),
            Self::Unix(socket) => socket.is_write_vectored(),
            Self::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Self::Unix(socket) => Pin::new(socket).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Unix(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
