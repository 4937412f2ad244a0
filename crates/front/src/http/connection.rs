//! One TCP connection, from its first byte to its last.
//!
//! A connection without a request is kept without any buffer, so that ten
//! thousand of them cost little: when nothing was asked for a moment, hyper's
//! connection is taken apart and only the socket is watched. The same look tells
//! a client that sends its headers too slowly.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use legation_core::{ClientId, SeatId};
use legation_wire::caps::ClientCapabilities;
use legation_wire::json::Raw;
use tokio::net::TcpStream;

use super::io::Io;
use super::reply::{Never, Reply};
use super::route;
use crate::shared::{Gauge, Shared};

/// How soon after a request a connection is looked at for being idle, and how
/// seldom while one is under way.
const FIRST_LOOK: Duration = Duration::from_millis(4);
const LAST_LOOK: Duration = Duration::from_secs(1);
/// Longest head of a request, in bytes. More than a hundred headers hyper does
/// not take by itself; told so, it would set room for them aside with each request.
const HEAD_MAX: usize = 64 * 1024;

/// What requests of one connection share.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) shared: Arc<Shared>,
    /// The port it came in at, which `Host` has to name.
    pub(super) port: u16,
    busy: AtomicUsize,
    served: AtomicU64,
    recent: Mutex<Option<Recent>>,
}

/// The last modern client's declaration, which the next request repeats.
#[derive(Debug, Clone)]
pub(super) struct Recent {
    pub(super) client: ClientId,
    pub(super) declared: Raw,
    pub(super) capabilities: Arc<ClientCapabilities>,
    pub(super) seat: SeatId,
}

/// Why hyper's connection was left.
enum Left {
    /// It is over.
    Over,
    /// It is idle.
    Idle(Io),
}

// === impl Connection ===

impl Connection {
    pub(super) fn recent(&self) -> Option<Recent> {
        self.recent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn set_recent(&self, recent: Recent) {
        *self.recent.lock().unwrap_or_else(PoisonError::into_inner) = Some(recent);
    }
}

/// Serves a connection until either side ends it.
pub(crate) async fn serve(shared: Arc<Shared>, stream: std::net::TcpStream) {
    let _gauge = Gauge::new(&shared, |shared| &shared.counters.connections);
    let Ok(stream) = TcpStream::from_std(stream) else {
        return;
    };
    let Ok(address) = stream.local_addr() else {
        return;
    };
    // An answer is one write; waiting for more would only delay it.
    drop(stream.set_nodelay(true));
    let connection = Arc::new(Connection {
        shared: Arc::clone(&shared),
        port: address.port(),
        busy: AtomicUsize::new(0),
        served: AtomicU64::new(0),
        recent: Mutex::new(None),
    });
    let mut io = Io::new(stream, shared.settings.write_timeout);
    loop {
        tokio::select! {
            ready = io.readable() => if ready.is_err() { return },
            () = tokio::time::sleep(shared.settings.connection_idle) => return,
            _ = shared.cancel.cancelled() => return,
        }
        match Box::pin(serve_busy(&connection, io)).await {
            Left::Idle(idle) => io = idle,
            Left::Over => return,
        }
    }
}

async fn serve_busy(connection: &Arc<Connection>, mut io: Io) -> Left {
    let shared = &connection.shared;
    let mut builder = http1::Builder::new();
    builder
        .max_buf_size(HEAD_MAX)
        .header_read_timeout(None)
        .half_close(false);
    let blocked = io.blocked();
    let mut slow = Duration::ZERO;
    loop {
        let service = Handler(Arc::clone(connection));
        let mut http = builder.serve_connection(io, service);
        let mut served = connection.served.load(Ordering::Relaxed);
        // A head that comes slowly is looked at more and more seldom.
        let mut look = slow.clamp(FIRST_LOOK, LAST_LOOK);
        loop {
            tokio::select! {
                _ = &mut http => return Left::Over,
                () = tokio::time::sleep(look) => {}
                _ = shared.cancel.cancelled() => {
                    Pin::new(&mut http).graceful_shutdown();
                    drop(http.await);
                    return Left::Over;
                }
            }
            let now = connection.served.load(Ordering::Relaxed);
            // A response may be handed over whole and still wait to be written.
            let quiet =
                connection.busy.load(Ordering::Relaxed) == 0 && !blocked.load(Ordering::Relaxed);
            if quiet && now == served {
                break;
            }
            look = if now == served {
                (look * 2).min(LAST_LOOK)
            } else {
                FIRST_LOOK
            };
            served = now;
            slow = Duration::ZERO;
        }
        let parts = http.into_parts();
        io = parts.io;
        if parts.read_buf.is_empty() {
            return Left::Idle(io);
        }
        // Half a head: the client has only so long for the rest.
        slow += look;
        if slow >= shared.settings.header_timeout {
            return Left::Over;
        }
        io.put_back(parts.read_buf);
    }
}

/// Answers the requests of a connection.
#[derive(Debug)]
struct Handler(Arc<Connection>);

/// Counts a request as under way until its response is written.
#[derive(Debug)]
pub(super) struct Busy(Arc<Connection>);

impl Service<Request<Incoming>> for Handler {
    type Response = http::Response<super::reply::Counted>;
    type Error = Never;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Never>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let connection = Arc::clone(&self.0);
        connection.busy.fetch_add(1, Ordering::Relaxed);
        let busy = Busy(Arc::clone(&connection));
        Box::pin(async move {
            let reply: Reply = route::answer(&connection, request).await;
            Ok(reply.map(|body| super::reply::Counted { body, _busy: busy }))
        })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.served.fetch_add(1, Ordering::Relaxed);
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}
