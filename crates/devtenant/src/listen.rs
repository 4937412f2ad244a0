//! TLS connections, and the requests on them.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use legation_core::{TaskSet, Wall};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::certs::REAL_HOSTS;
use crate::graph;
use crate::say::say;
use crate::server::Shared;
use crate::web::{Answer, Ask};

/// Graph's own limit on a request, and a little so that exceeding it can be answered.
const BODY_MAX: usize = 4 * 1024 * 1024 + 64 * 1024;

/// Accepts connections until it is ended.
pub(crate) async fn run(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    shared: Arc<Shared>,
    tasks: TaskSet,
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                drop(stream.set_nodelay(true));
                tasks.spawn(
                    "connection",
                    connection(stream, acceptor.clone(), Arc::clone(&shared)),
                );
            }
            Err(error) => {
                say(&format!("cannot accept a connection: {error}"));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Serves one connection to its end.
pub(crate) async fn connection<S>(stream: S, acceptor: TlsAcceptor, shared: Arc<Shared>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // A client that does not trust the authority ends here; that is its own to report.
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
    let service = service_fn(|request| {
        let shared = Arc::clone(&shared);
        async move { respond(&shared, request).await }
    });
    // An error is a connection cut by either side.
    drop(
        hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .await,
    );
}

/// The error only tells the server to end the connection.
#[derive(Debug)]
struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection is cut as ordered")
    }
}

impl std::error::Error for Cut {}

async fn respond(
    shared: &Shared,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Cut> {
    let (parts, body) = request.into_parts();
    let host = parts
        .headers
        .get("host")
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    if !own_host(&host) {
        let answer = Answer::text(421, "text/plain", "This host is not served here.\n");
        return Ok(response(shared.now(), answer));
    }
    let body = match Limited::new(body, BODY_MAX).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => {
            let answer = Answer::text(413, "text/plain", "The request is too large.\n");
            return Ok(response(shared.now(), answer));
        }
    };
    let target = parts
        .uri
        .path_and_query()
        .map_or("/", |target| target.as_str());
    let ask = Ask::new(
        parts.method,
        format!("https://{host}"),
        target,
        parts.headers,
        body,
    );
    let answer = match graph::notices::validation(shared, &ask) {
        Some(url) => match graph::notices::validate(&url).await {
            Ok(()) => shared.answer(&ask),
            Err(why) => graph::notices::not_validated(shared, &ask, &why),
        },
        None => shared.answer(&ask),
    };
    if answer.cut {
        return Err(Cut);
    }
    let skewed = shared.skewed_now(&ask);
    Ok(response(skewed, answer))
}

/// Only names that lead here on purpose: a page elsewhere could give its own name this address.
fn own_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost"
        || name.ends_with(".localhost")
        || REAL_HOSTS.contains(&name)
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn response(now: Wall, answer: Answer) -> Response<Full<Bytes>> {
    let mut built = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        built = built.header(*name, value);
    }
    let built = built.header("date", http_date(now));
    built
        .body(Full::new(answer.body.clone()))
        .or_else(|_| {
            // A value that no header can hold came from a request; the answer goes without it.
            Response::builder()
                .status(answer.status)
                .body(Full::new(answer.body))
        })
        .unwrap_or_default()
}

/// A time as HTTP writes it, RFC 9110 section 5.6.7.
pub(crate) fn http_date(now: Wall) -> String {
    let stamp = jiff::Timestamp::from_millisecond(now.0).unwrap_or_default();
    stamp.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
