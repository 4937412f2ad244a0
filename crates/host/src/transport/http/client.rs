//! An HTTP/1.1 client whose connections are driven by whoever uses them.
//!
//! A pooled client with a task per connection costs every request two
//! hand-overs between tasks. Here the connection's future is polled by the
//! task that waits for the answer, and an idle connection is polled by nobody;
//! it lies in a pool of the runtime whose reactor it belongs to.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, HOST, HeaderMap, LOCATION};
use http::uri::Uri;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::{Handle, Id as RuntimeId};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::answer::Answer;
use super::stream::{Socket, Stream};
use super::target::Target;
use super::{lock, tls};
use crate::transport::error::HttpError;

/// Most idle connections per runtime.
const MAX_IDLE: usize = 64;
/// How long a connection may lie idle. Widespread servers close theirs after
/// five seconds; a request on a connection that is just being closed is lost.
const IDLE: Duration = Duration::from_secs(4);
const MAX_REDIRECTS: usize = 3;

type Conn = Pin<Box<http1::Connection<TokioIo<Stream>, Full<Bytes>>>>;

/// The client of one upstream.
pub(super) struct Client {
    connect_timeout: Duration,
    max_body: usize,
    pool: Arc<Pool>,
}

/// Idle connections by runtime, latest last.
#[derive(Default)]
struct Pool {
    idle: Mutex<HashMap<RuntimeId, Vec<Idle>>>,
    /// Somebody looks after the idle connections, or has been told to.
    swept: AtomicBool,
    news: Notify,
}

struct Idle {
    since: Instant,
    wire: Wire,
}

/// One connection, in the hands of one task.
pub(super) struct Wire {
    sender: http1::SendRequest<Full<Bytes>>,
    /// `None` once it has ended.
    conn: Option<Conn>,
    socket: Socket,
    /// Not an owner: idle connections end with their client.
    pool: Weak<Pool>,
}

// === impl Client ===

impl Client {
    pub(super) fn new(connect_timeout: Duration, max_body: usize) -> Self {
        Self {
            connect_timeout,
            max_body,
            pool: Arc::default(),
        }
    }

    /// Closes connections that have been idle for too long, for ever.
    pub(super) fn sweep(&self) -> impl Future<Output = ()> + Send + 'static {
        let pool = Arc::clone(&self.pool);
        async move {
            loop {
                pool.news.notified().await;
                while !pool.close_old() {
                    tokio::time::sleep(IDLE).await;
                }
            }
        }
    }

    /// Sends a request, follows redirects within the origin, and sorts the
    /// answer. The request's URI and Host are set here.
    pub(super) async fn send(
        &self,
        target: &Target,
        request: Request<Full<Bytes>>,
    ) -> Result<Answer, HttpError> {
        let mut redirected = None;
        for _ in 0..=MAX_REDIRECTS {
            let target = redirected.as_ref().unwrap_or(target);
            let (response, wire) = self.exchange(target, &request).await?;
            if !matches!(response.status().as_u16(), 307 | 308) {
                if is_encoded(response.headers()) {
                    return Err(HttpError::Encoded);
                }
                return Answer::sort(response, wire, self.max_body).await;
            }
            let location = response.headers().get(LOCATION);
            let location = location
                .and_then(|value| value.to_str().ok())
                .ok_or(HttpError::BadRedirect)?;
            redirected = Some(target.redirected(location)?);
        }
        Err(HttpError::BadRedirect)
    }

    async fn exchange(
        &self,
        target: &Target,
        request: &Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, Wire), HttpError> {
        let mut request = request.clone();
        *request.uri_mut() = Uri::from(target.path.clone());
        request.headers_mut().insert(HOST, target.authority.clone());
        // Each turn takes an idle connection or makes a new one, and a request
        // comes back only if none of it was sent.
        loop {
            let (mut wire, was_idle) = match self.pool.take().await {
                Some(wire) => (wire, true),
                None => (self.connect(target).await?, false),
            };
            match wire.send(request).await {
                Ok(response) => return Ok((response, wire)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) if was_idle => request = unsent,
                    _ => {
                        return Err(HttpError::Broken {
                            source: error.into_error(),
                        });
                    }
                },
            }
        }
    }

    async fn connect(&self, target: &Target) -> Result<Wire, HttpError> {
        let reach = async {
            let tcp = TcpStream::connect((&*target.host, target.port)).await?;
            // One write per message makes no difference here; a slow TLS
            // handshake does.
            tcp.set_nodelay(true)?;
            let socket = Socket::new(tcp);
            let stream = if target.tls {
                Stream::Tls(Box::new(tls::connect(&target.host, socket.clone()).await?))
            } else {
                Stream::Plain(socket.clone())
            };
            Ok((socket, stream))
        };
        let (socket, stream) = timeout(self.connect_timeout, Box::pin(reach))
            .await
            .map_err(|_| HttpError::Timeout {
                what: "connecting",
                after: self.connect_timeout,
            })?
            .map_err(|source| HttpError::Connect {
                origin: target.origin(),
                source,
            })?;
        let (sender, conn) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|source| HttpError::Broken { source })?;
        Ok(Wire {
            sender,
            conn: Some(Box::pin(conn)),
            socket,
            pool: Arc::downgrade(&self.pool),
        })
    }
}

// === impl Pool ===

impl Pool {
    /// The latest idle connection of this runtime that still lives.
    async fn take(self: &Arc<Self>) -> Option<Wire> {
        loop {
            let mut wire = {
                let mut idle = lock(&self.idle);
                let here = idle.get_mut(&Handle::current().id())?;
                let latest = here.pop()?;
                if latest.since.elapsed() > IDLE {
                    // The ones before it are older still.
                    here.clear();
                    return None;
                }
                latest.wire
            };
            // A close that has arrived meanwhile is seen here.
            if wire.is_ready().await {
                return Some(wire);
            }
        }
    }

    fn put(&self, wire: Wire) {
        let mut idle = lock(&self.idle);
        let here = idle.entry(Handle::current().id()).or_default();
        if here.len() >= MAX_IDLE {
            here.remove(0);
        }
        here.push(Idle {
            since: Instant::now(),
            wire,
        });
        drop(idle);
        // Once per busy time, not once per request.
        if !self.swept.swap(true, Ordering::Relaxed) {
            self.news.notify_one();
        }
    }

    /// Closes what is old; whether nothing is left to look after.
    fn close_old(&self) -> bool {
        let mut idle = lock(&self.idle);
        idle.retain(|_, here| {
            here.retain(|idle| idle.since.elapsed() <= IDLE);
            !here.is_empty()
        });
        if idle.is_empty() {
            self.swept.store(false, Ordering::Relaxed);
        }
        idle.is_empty()
    }
}

// === impl Wire ===

impl Wire {
    /// Polls something that only this connection can bring forward, together
    /// with the connection.
    pub(super) async fn with<F: Future>(conn: &mut Option<Conn>, work: F) -> F::Output {
        let mut work = pin!(work);
        // Whatever the work waits for happens while the connection is polled,
        // by this very task: its wake-ups would only poll it once more for
        // nothing.
        poll_fn(|cx| {
            let mut silent = Context::from_waker(Waker::noop());
            if let Poll::Ready(output) = work.as_mut().poll(&mut silent) {
                return Poll::Ready(output);
            }
            if let Some(alive) = conn
                && alive.as_mut().poll(cx).is_ready()
            {
                *conn = None;
            }
            work.as_mut().poll(&mut silent)
        })
        .await
    }

    pub(super) fn conn(&mut self) -> &mut Option<Conn> {
        &mut self.conn
    }

    /// Back to the pool, once a body has been read to its end.
    pub(super) fn put_back(self) {
        if self.conn.is_some()
            && !self.sender.is_closed()
            && let Some(pool) = self.pool.upgrade()
        {
            pool.put(self);
        }
    }

    /// Whether it can take a request now. The connection is polled first: what
    /// has been heard of while it lay idle belongs to the last exchange. One
    /// that still has to become ready is not worth the wait.
    async fn is_ready(&mut self) -> bool {
        poll_fn(|cx| {
            let ended = self
                .conn
                .as_mut()
                .is_none_or(|conn| conn.as_mut().poll(cx).is_ready());
            if ended {
                self.conn = None;
                return Poll::Ready(false);
            }
            let ready = self.sender.poll_ready(cx);
            Poll::Ready(matches!(ready, Poll::Ready(Ok(()))) && self.socket.is_quiet())
        })
        .await
    }

    async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, hyper::client::conn::TrySendError<Request<Full<Bytes>>>> {
        let response = self.sender.try_send_request(request);
        Self::with(&mut self.conn, response).await
    }
}

fn is_encoded(headers: &HeaderMap) -> bool {
    headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .any(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity"))
}
