//! One connection, one request, one answer that comes in pieces.
//!
//! hyper's connection is a future like any other, and here it is polled by
//! whoever reads the answer and not by a task of its own. So an answer that
//! nobody wants any more closes its socket by being dropped, in that moment,
//! and a model stops computing. A client that keeps connections for later, as
//! reqwest does, gives them to tasks, is a dozen crates more, and would save a
//! handshake before an answer that takes seconds.

use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::{self, Connection};
use hyper_util::rt::TokioIo;
use legation_core::error::chain;
use legation_net::{Tls, TlsError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::endpoint::Endpoint;
use crate::error::ModelError;

/// A byte stream to a host.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection that nobody polls but its reader.
type Driven = Pin<Box<Connection<TokioIo<Box<dyn Io>>, Full<Bytes>>>>;

/// Reaches hosts.
#[derive(Clone, Default)]
pub(crate) struct Connector {
    /// Made at the first https address: a hub with local models needs none.
    tls: Arc<Tls>,
}

/// A request that was answered, and the rest of its answer.
pub(crate) struct Exchange {
    pub(crate) head: http::response::Parts,
    body: Incoming,
    /// Over when the socket is closed.
    connection: Option<Driven>,
}

// === impl Connector ===

impl Connector {
    /// Opens a connection; how long that may take is the caller's business.
    pub(crate) async fn open(&self, endpoint: &Endpoint) -> Result<Box<dyn Io>, ModelError> {
        let fail = |source| ModelError::Connect {
            origin: endpoint.origin(),
            source,
        };
        let tcp = TcpStream::connect((endpoint.host(), endpoint.port()))
            .await
            .map_err(fail)?;
        tcp.set_nodelay(true).map_err(fail)?;
        if !endpoint.is_tls() {
            return Ok(Box::new(tcp));
        }
        match self.tls.connect(endpoint.host(), tcp).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(TlsError::Handshake(source)) => Err(fail(source)),
            Err(error @ TlsError::Name) => Err(fail(io::Error::other(error))),
            Err(TlsError::Trust(why)) => Err(ModelError::Tls { why: chain(&why) }),
        }
    }
}

// === impl Exchange ===

impl Exchange {
    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn send(
        socket: Box<dyn Io>,
        request: http::Request<Full<Bytes>>,
    ) -> Result<Self, ModelError> {
        let shaken = http1::handshake(TokioIo::new(socket)).await;
        let (mut sender, connection) = shaken.map_err(broken)?;
        let mut connection = Some(Box::pin(connection));
        let mut answer = std::pin::pin!(sender.send_request(request));
        let answer = poll_fn(|cx| {
            if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
                return Poll::Ready(answer);
            }
            drive(&mut connection, cx);
            answer.as_mut().poll(cx)
        });
        let (head, body) = answer.await.map_err(broken)?.into_parts();
        Ok(Self {
            head,
            body,
            connection,
        })
    }

    /// The next piece of the answer; `None` when it is over. May be dropped and
    /// called again.
    pub(crate) async fn piece(&mut self) -> Result<Option<Bytes>, ModelError> {
        poll_fn(|cx| {
            loop {
                if let Poll::Ready(piece) = self.poll_body(cx) {
                    return Poll::Ready(piece);
                }
                let was_open = self.connection.is_some();
                drive(&mut self.connection, cx);
                // What the connection has just read lies in the body now; one that
                // is over has ended the body.
                if let Poll::Ready(piece) = self.poll_body(cx) {
                    return Poll::Ready(piece);
                }
                if self.connection.is_some() || !was_open {
                    return Poll::Pending;
                }
            }
        })
        .await
    }

    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, ModelError>> {
        loop {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(Ok(None)),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(broken(error))),
                Poll::Ready(Some(Ok(frame))) => {
                    // Trailers say nothing that is of use here.
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Ok(Some(data)));
                    }
                }
            }
        }
    }

    /// The whole answer, if it is not larger than `most`.
    pub(crate) async fn whole(&mut self, most: usize) -> Result<Vec<u8>, ModelError> {
        let mut all = Vec::new();
        while let Some(piece) = self.piece().await? {
            if all.len() + piece.len() > most {
                let what = "an answer";
                return Err(ModelError::TooLarge { what, most });
            }
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }

    /// A field of the answer's head, as text.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }
}

/// Lets the connection work. How it ended is told by the answer on it.
fn drive(connection: &mut Option<Driven>, cx: &mut Context<'_>) {
    let Some(open) = connection else { return };
    if let Poll::Ready(ended) = open.as_mut().poll(cx) {
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection to a model server ended");
        }
        *connection = None;
    }
}

fn broken(error: hyper::Error) -> ModelError {
    ModelError::Broken {
        source: Box::new(error),
    }
}
