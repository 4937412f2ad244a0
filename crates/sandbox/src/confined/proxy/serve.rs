//! The proxy itself: tunnels (`CONNECT`) and requests without TLS (RFC 9110, sections 7 and
//! 9.3.6), and connections that are handed on as they are.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Uri, Version};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use legation_core::error::chain;
use legation_core::net::HostName;
use legation_core::task::TaskSet;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::door::{Door, NoWay, Wanted, Way};
use super::watched::Watched;

/// Connections at once; further ones wait.
const CONNECTIONS_MAX: usize = 64;
/// Time for the head of a request, and between two.
const HEAD: Duration = Duration::from_secs(10);
/// Longest head, in bytes.
const HEAD_MAX: usize = 32 << 10;
const FIELDS_MAX: usize = 100;
/// How long nothing may move on a connection.
const SILENCE: Duration = Duration::from_mins(15);
/// After the system had no connection to give.
const PAUSE: Duration = Duration::from_millis(50);

/// Fields that concern one connection and not the next (RFC 9110, section 7.6.1).
static HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("proxy-connection"),
];

type Answer = Response<Either<Full<Bytes>, Incoming>>;

/// One connection to the proxy.
struct Visit {
    door: Arc<Door>,
    /// The tunnel that was opened; nothing but it follows.
    tunnel: Mutex<Option<(OnUpgrade, TcpStream)>>,
    /// Connections to hosts that requests without TLS are sent to.
    connections: TaskSet,
}

/// Answers on the listeners until the runtime ends: on the first as a proxy, on the others by
/// handing on to the same address of the machine.
///
/// # Errors
/// The system's, for a listener that is none.
pub(super) async fn serve(
    proxy: std::net::TcpListener,
    others: Vec<std::net::TcpListener>,
    door: Arc<Door>,
) -> io::Result<()> {
    let tasks = TaskSet::new();
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    for listener in others {
        let address = listener.local_addr()?;
        let listener = listener_of(listener)?;
        let hand_on = move |stream| hand_on(stream, address);
        let accepting = accept(listener, tasks.clone(), Arc::clone(&room), hand_on);
        tasks.spawn("a listener", accepting);
    }
    let converse = move |stream| converse(stream, Arc::clone(&door));
    accept(listener_of(proxy)?, tasks, room, converse).await;
    Ok(())
}

fn listener_of(listener: std::net::TcpListener) -> io::Result<TcpListener> {
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

async fn accept<F>(
    listener: TcpListener,
    tasks: TaskSet,
    room: Arc<Semaphore>,
    answer: impl Fn(Watched) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        let (stream, moved) = Watched::new(stream);
        let work = answer(stream);
        tasks.spawn("a connection", async move {
            let _place = place;
            tokio::select! {
                () = work => {}
                () = moved.stopped(SILENCE) => {}
            }
        });
    }
}

/// Hands a connection on to an address of the machine, as it is.
async fn hand_on(mut here: Watched, to: SocketAddr) {
    if let Ok(mut there) = TcpStream::connect(to).await {
        let _ended = copy_bidirectional(&mut here, &mut there).await;
    }
}

/// Answers on one connection to the proxy.
async fn converse(stream: Watched, door: Arc<Door>) {
    let visit = Arc::new(Visit {
        door,
        tunnel: Mutex::default(),
        connections: TaskSet::new(),
    });
    let asked = Arc::clone(&visit);
    let service = service_fn(move |request| {
        let visit = Arc::clone(&asked);
        async move { Ok::<_, Infallible>(visit.answer(request).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_MAX)
        .max_headers(FIELDS_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    if connection.await.is_err() {
        return;
    }
    let tunnel = visit.tunnel.lock();
    let tunnel = tunnel.unwrap_or_else(PoisonError::into_inner).take();
    if let Some((upgrade, mut there)) = tunnel
        && let Ok(here) = upgrade.await
    {
        let _ended = copy_bidirectional(&mut TokioIo::new(here), &mut there).await;
    }
}

// === impl Visit ===

impl Visit {
    async fn answer(&self, mut request: Request<Incoming>) -> Answer {
        let wanted = match wanted(request.method(), request.uri()) {
            Ok(wanted) => wanted,
            Err(why) => return told(StatusCode::BAD_REQUEST, format!("{why}\n")),
        };
        let way = match self.door.open(&wanted).await {
            Ok(way) => way,
            Err(why) => return told(status(&why), format!("{}\n", chain(&why))),
        };
        if !wanted.is_tunnel {
            let passed = self.pass(request, &wanted, way).await;
            return passed.unwrap_or_else(|error| {
                let why = format!("{wanted} gave no answer: {error}\n");
                told(StatusCode::BAD_GATEWAY, why)
            });
        }
        let upgrade = hyper::upgrade::on(&mut request);
        let mut tunnel = self.tunnel.lock().unwrap_or_else(PoisonError::into_inner);
        *tunnel = Some((upgrade, way.stream));
        Response::new(Either::Left(Full::default()))
    }

    /// Sends a request on, and its answer back.
    async fn pass(
        &self,
        mut request: Request<Incoming>,
        wanted: &Wanted,
        way: Way,
    ) -> hyper::Result<Answer> {
        let stream = TokioIo::new(way.stream);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
        self.connections.spawn("a request", async move {
            let _ended = connection.await;
        });
        *request.version_mut() = Version::HTTP_11;
        strip(request.headers_mut());
        // What the command calls the host might be another one at the same address.
        let host = HeaderValue::try_from(host_field(wanted));
        if let Ok(host) = host {
            request.headers_mut().insert(header::HOST, host);
        }
        let target = request.uri().path_and_query().cloned();
        let target = target.unwrap_or_else(|| PathAndQuery::from_static("/"));
        if let Some(proxy) = way.proxy {
            if let Some(credentials) = proxy.credentials {
                let field = header::PROXY_AUTHORIZATION;
                request.headers_mut().insert(field, credentials);
            }
            // The host as it was read, so that nobody reads it in another way.
            let whole = Uri::builder().scheme("http").authority(wanted.to_string());
            if let Ok(whole) = whole.path_and_query(target).build() {
                *request.uri_mut() = whole;
            }
        } else {
            *request.uri_mut() = Uri::from(target);
        }
        let mut answer = sender.send_request(request).await?;
        strip(answer.headers_mut());
        Ok(answer.map(Either::Right))
    }
}

/// What a request asks for.
fn wanted(method: &Method, uri: &Uri) -> Result<Wanted, &'static str> {
    let is_tunnel = method == Method::CONNECT;
    let authority = uri.authority();
    let authority = authority.ok_or("This is a proxy: a request to it names a host.")?;
    if !is_tunnel && uri.scheme_str() != Some("http") {
        return Err("Addresses of https:// are asked for in a tunnel (CONNECT).");
    }
    if authority.as_str().contains('@') {
        return Err("An address with a user name is not asked for.");
    }
    let host = HostName::parse(authority.host()).ok_or("The request names no host.")?;
    let says_port = authority.as_str().len() > authority.host().len();
    let port = match authority.port_u16() {
        None if !is_tunnel && !says_port => 80,
        None | Some(0) => return Err("The request names no port."),
        Some(port) => port,
    };
    Ok(Wanted {
        host,
        port,
        is_tunnel,
    })
}

/// Takes away what concerns one connection alone, and what its `Connection` names.
fn strip(fields: &mut HeaderMap) {
    let named: Vec<HeaderName> = fields
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        // The end of a body hangs on it.
        if name != header::CONTENT_LENGTH {
            fields.remove(name);
        }
    }
}

fn host_field(wanted: &Wanted) -> String {
    match wanted.port {
        80 => wanted.host.to_string(),
        _ => wanted.to_string(),
    }
}

fn status(why: &NoWay) -> StatusCode {
    match why {
        NoWay::Refused(_) => StatusCode::FORBIDDEN,
        NoWay::Failed { .. } => StatusCode::BAD_GATEWAY,
        NoWay::Late(_) => StatusCode::GATEWAY_TIMEOUT,
    }
}

fn told(status: StatusCode, text: String) -> Answer {
    let mut answer = Response::new(Either::Left(Full::from(text)));
    *answer.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(header::CONTENT_TYPE, plain);
    answer
}
