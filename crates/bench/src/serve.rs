//! The echo server over Streamable HTTP.
//!
//! Two current-thread runtimes, connections dealt in turn by the accepting thread: cheaper per call
//! than one runtime with two workers, and fairer than letting the kernel deal by hash.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::answer::{Answered, Server};
use crate::sys;

/// The number of threads that answer.
const WORKERS: usize = 2;
/// Connections that wait for a worker; the accepting thread blocks beyond it.
const WAITING: usize = 1024;

static SESSIONS: AtomicU64 = AtomicU64::new(1);

/// Answers on `listen` until the process ends; prints `listening on http://ADDR` first.
///
/// # Errors
/// The address cannot be bound.
pub fn run(server: Server, listen: SocketAddr) -> io::Result<()> {
    let server = Arc::new(server);
    let listener = TcpListener::bind(listen)?;
    sys::say(&format!("listening on http://{}", listener.local_addr()?));
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        let (to, connections) = mpsc::channel(WAITING);
        let server = Arc::clone(&server);
        std::thread::Builder::new().spawn(move || worker(server, connections))?;
        workers.push(to);
    }
    for turn in (0..WORKERS).cycle() {
        let (stream, _) = listener.accept()?;
        if workers[turn].blocking_send(stream).is_err() {
            return Err(io::Error::other("a worker has ended"));
        }
    }
    Ok(())
}

fn worker(server: Arc<Server>, mut connections: mpsc::Receiver<TcpStream>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async move {
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                next = connections.recv() => match next {
                    Some(stream) => { open.spawn(connection(Arc::clone(&server), stream)); }
                    None => return Ok(()),
                },
                Some(_) = open.join_next() => {}
            }
        }
    })
}

/// One connection, to its end; how it ends does not matter to an echo.
async fn connection(server: Arc<Server>, stream: TcpStream) {
    let ready = stream
        .set_nonblocking(true)
        .and_then(|()| stream.set_nodelay(true));
    let Ok(stream) = ready.and_then(|()| tokio::net::TcpStream::from_std(stream)) else {
        return;
    };
    let service = service_fn(|request| exchange(&server, request));
    let served = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
    drop(served);
}

async fn exchange(
    server: &Server,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let status = match *request.method() {
        Method::POST => return Ok(post(server, request).await),
        Method::DELETE => StatusCode::OK,
        _ => StatusCode::METHOD_NOT_ALLOWED,
    };
    Ok(respond(status, Vec::new(), false))
}

async fn post(server: &Server, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let Ok(body) = request.into_body().collect().await else {
        return respond(StatusCode::BAD_REQUEST, Vec::new(), false);
    };
    let mut out = Vec::with_capacity(256);
    match server.answer(&body.to_bytes(), &mut out) {
        Answered::Reply => respond(StatusCode::OK, out, false),
        Answered::Opened => respond(StatusCode::OK, out, true),
        Answered::Silent => respond(StatusCode::ACCEPTED, out, false),
        Answered::Error(status) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
            respond(status, out, false)
        }
    }
}

fn respond(status: StatusCode, body: Vec<u8>, session: bool) -> Response<Full<Bytes>> {
    let typed = !body.is_empty();
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if typed {
        let json = header::HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
    }
    if session {
        let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
        headers.insert("mcp-session-id", header::HeaderValue::from(number));
    }
    response
}
