//! An HTTP/1.1 client whose connections are driven by whoever uses them.
//!
//! A client with tasks or channels of its own costs every request several
//! hand-overs, and a map of headers for what is the same in every request;
//! that was half of what a call cost the hub in the transport. Here a request
//! is one piece of text, the answer is read by the task that waits for it, and
//! an idle connection is polled by nobody; it lies in a pool of the runtime
//! whose reactor it belongs to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legation_core::Parts;
use legation_wire::http1::number;
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::{Handle, Id as RuntimeId};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::head::Head;
use super::reach::Reach;
use super::stream::Stream;
use super::target::Target;
use super::wire::Wire;
use super::{lock, tls};
use crate::transport::error::HttpError;

/// Most idle connections per runtime.
const MAX_IDLE: usize = 64;
/// How long a connection may lie idle. Widespread servers close theirs after
/// five seconds; a request on a connection that is just being closed is lost.
const IDLE: Duration = Duration::from_secs(4);
const MAX_REDIRECTS: usize = 3;
/// A body up to this long leaves in one piece with its head.
const TOGETHER: usize = 4 * 1024;

/// The client of one upstream.
pub(super) struct Client {
    connect_timeout: Duration,
    reach: Reach,
    pool: Arc<Pool>,
}

/// A request; where it goes is said beside it.
pub(super) struct Outbound<'a> {
    pub(super) method: &'static str,
    /// Header lines, each with its end, without those that say how long the
    /// request is and where it goes; in pieces, to be put together once.
    pub(super) headers: &'a [&'a [u8]],
    pub(super) body: &'a [u8],
}

/// An answer whose body is to be read.
pub(super) struct Inbound {
    pub(super) head: Head,
    pub(super) wire: Wire,
}

/// Idle connections by runtime, latest last; whose thread it is has them in its part. There are a handful of runtimes.
#[derive(Default)]
pub(super) struct Pool {
    idle: Parts<Mutex<Vec<OfRuntime>>>,
    /// Somebody looks after the idle connections, or has been told to.
    swept: AtomicBool,
    news: Notify,
}

/// The idle connections of one runtime.
type OfRuntime = (RuntimeId, Vec<Idle>);

struct Idle {
    since: Instant,
    wire: Wire,
}

// === impl Client ===

impl Client {
    pub(super) fn new(connect_timeout: Duration, reach: Reach) -> Self {
        Self {
            connect_timeout,
            reach,
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

    /// Sends a request and follows redirects within the origin.
    pub(super) async fn send(
        &self,
        target: &Target,
        request: Outbound<'_>,
    ) -> Result<Inbound, HttpError> {
        let mut redirected = None;
        for _ in 0..=MAX_REDIRECTS {
            let target = redirected.as_ref().unwrap_or(target);
            let answer = self.exchange(target, &request).await?;
            if !matches!(answer.head.status, 307 | 308) {
                if answer.head.encoded {
                    return Err(HttpError::Encoded);
                }
                return Ok(answer);
            }
            let location = answer.head.location.as_deref();
            redirected = Some(target.redirected(location.ok_or(HttpError::BadRedirect)?)?);
        }
        Err(HttpError::BadRedirect)
    }

    async fn exchange(
        &self,
        target: &Target,
        request: &Outbound<'_>,
    ) -> Result<Inbound, HttpError> {
        let mut head = request.head(target, &self.reach);
        let mut body = request.body;
        if body.len() <= TOGETHER {
            head.extend_from_slice(body);
            body = b"";
        }
        // Each turn takes an idle connection or makes a new one, and a request
        // is sent again only if none of it was sent before.
        loop {
            let (mut wire, was_idle) = match self.pool.take() {
                Some(wire) => (wire, true),
                None => (self.connect(target).await?, false),
            };
            match wire.send(&head, body).await {
                Ok(head) => return Ok(Inbound { head, wire }),
                Err(error) if error.unsent && was_idle => {}
                Err(error) => {
                    let source = error.source;
                    return Err(HttpError::Broken { source });
                }
            }
        }
    }

    async fn connect(&self, target: &Target) -> Result<Wire, HttpError> {
        let stream = timeout(self.connect_timeout, Box::pin(self.stream(target)))
            .await
            .map_err(|_| HttpError::Timeout {
                what: "connecting",
                after: self.connect_timeout,
            })?;
        Ok(Wire::new(stream?, Arc::downgrade(&self.pool)))
    }

    async fn stream(&self, target: &Target) -> Result<Stream, HttpError> {
        let failed = |source| HttpError::Connect {
            origin: target.origin(),
            source,
        };
        if let Some(socket) = &self.reach.socket {
            let connected = UnixStream::connect(socket).await;
            let connected = connected.map_err(|source| HttpError::Connect {
                origin: format!("the socket {}", socket.display()),
                source,
            })?;
            return Ok(Stream::Unix(connected));
        }
        let tcp = match &self.reach.proxy {
            Some(proxy) => {
                let failed = |source| HttpError::Proxy {
                    proxy: proxy.to_string(),
                    source,
                };
                let mut tcp = reach(&proxy.host, proxy.port).await.map_err(failed)?;
                if target.tls {
                    let opened = proxy.open_tunnel(&mut tcp, &target.host, target.port);
                    opened.await.map_err(failed)?;
                }
                tcp
            }
            None => reach(&target.host, target.port).await.map_err(failed)?,
        };
        Ok(if target.tls {
            let own = self.reach.tls.as_ref();
            let tls = tls::connect(own, &target.host, tcp).await;
            Stream::Tls(Box::new(tls.map_err(failed)?))
        } else {
            Stream::Plain(tcp)
        })
    }
}

async fn reach(host: &str, port: u16) -> std::io::Result<TcpStream> {
    let tcp = TcpStream::connect((host, port)).await?;
    // One write per message makes no difference here; a slow TLS handshake does.
    tcp.set_nodelay(true)?;
    Ok(tcp)
}

// === impl Outbound ===

impl Outbound<'_> {
    /// The request's text up to its body, with room for a short one.
    fn head(&self, target: &Target, reach: &Reach) -> Vec<u8> {
        let path = target.path.as_str().as_bytes();
        let authority = target.authority.as_bytes();
        let lines: usize = self.headers.iter().map(|lines| lines.len()).sum();
        let body = Some(self.body.len()).filter(|length| *length <= TOGETHER);
        let size = lines + path.len() + authority.len() + body.unwrap_or_default() + 96;
        let mut head = Vec::with_capacity(size);
        // A proxy is told the whole URL, and who asks; one that only opens a tunnel
        // has been told before.
        let proxy = reach.proxy.as_ref().filter(|_| !target.tls);
        let (before, host): (&[u8], &[u8]) = match proxy {
            Some(_) => (b" http://", authority),
            None => (b" ", b""),
        };
        for part in [
            self.method.as_bytes(),
            before,
            host,
            path,
            b" HTTP/1.1\r\nhost: ",
            authority,
            b"\r\n",
        ]
        .iter()
        .chain(self.headers)
        {
            head.extend_from_slice(part);
        }
        if let Some(proxy) = proxy {
            proxy.write_credentials(&mut head);
        }
        // What has no body by its nature says nothing of one (RFC 9110, 8.6).
        if self.method == "POST" {
            head.extend_from_slice(b"content-length: ");
            number(&mut head, self.body.len());
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        head
    }
}

// === impl Pool ===

impl Pool {
    /// The latest idle connection of this runtime that still lives.
    fn take(&self) -> Option<Wire> {
        loop {
            let wire = {
                let mut idle = lock(self.idle.mine());
                let runtime = Handle::current().id();
                let (_, here) = idle.iter_mut().find(|(of, _)| *of == runtime)?;
                let latest = here.pop()?;
                if latest.since.elapsed() > IDLE {
                    // The ones before it are older still.
                    here.clear();
                    return None;
                }
                latest.wire
            };
            // A close that has arrived meanwhile is seen here.
            if wire.is_quiet() {
                return Some(wire);
            }
        }
    }

    pub(super) fn put(&self, wire: Wire) {
        let mut idle = lock(self.idle.mine());
        let runtime = wire.runtime();
        let at = idle.iter().position(|(of, _)| *of == runtime);
        let at = at.unwrap_or_else(|| {
            idle.push((runtime, Vec::new()));
            idle.len() - 1
        });
        let here = &mut idle[at].1;
        if here.len() >= MAX_IDLE {
            here.remove(0);
        }
        here.push(Idle {
            since: Instant::now(),
            wire,
        });
        drop(idle);
        // Once per busy time, not once per request.
        let is_swept = self.swept.load(Ordering::Relaxed);
        if !is_swept && !self.swept.swap(true, Ordering::Relaxed) {
            self.news.notify_one();
        }
    }

    /// Closes what is old; whether nothing is left to look after.
    fn close_old(&self) -> bool {
        // What is put in from here on tells its news again.
        self.swept.store(false, Ordering::SeqCst);
        let mut is_empty = true;
        for part in self.idle.iter() {
            let mut idle = lock(part);
            idle.retain_mut(|(_, here)| {
                here.retain(|idle| idle.since.elapsed() <= IDLE);
                !here.is_empty()
            });
            is_empty &= idle.is_empty();
        }
        is_empty
    }
}
