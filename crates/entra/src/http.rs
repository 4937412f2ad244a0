//! One HTTP client for the authority, Graph and brokers.
//!
//! It follows no redirect, because a redirect is the way a token leaves for
//! another host; it bounds what it reads; and it repeats only what may be
//! repeated. When a service says to wait, everybody who asks it for the same
//! kind of thing waits.

mod connect;
mod error;
mod limiter;
mod pool;
mod retry;
mod tls;
mod url;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use legation_core::{OpContext, SharedClock, TaskSet, Wall};
use zeroize::Zeroizing;

pub use error::HttpError;
pub use limiter::{WaitMemory, Waits};
pub use retry::Repeat;
pub use url::{Origin, Url, UrlError};

pub(crate) use retry::retry_after;

use connect::Connector;
use limiter::Limiter;
use pool::{Pool, SendError};
use retry::{Attempt, Verdict};

/// How a client reaches the world.
#[derive(Clone, Debug, Default)]
pub struct HttpSettings {
    /// Certificates, PEM, to trust besides the system's.
    pub ca_pem: Option<Vec<u8>>,
    /// An HTTP proxy.
    pub proxy: Option<Url>,
    /// Keeps what services say about waiting beyond this process.
    pub waits: Option<Waits>,
}

/// A client; clones share connections and what services said about waiting.
#[derive(Clone)]
pub struct Http {
    inner: Arc<Inner>,
}

struct Inner {
    pool: Pool,
    limiter: Limiter,
    clock: SharedClock,
    /// The services' time minus ours, in milliseconds.
    skew_ms: AtomicI64,
}

/// A request.
#[derive(Clone)]
pub struct Request {
    /// GET, POST, …
    pub method: Method,
    /// Where.
    pub url: Url,
    /// Header fields, beyond those every request has.
    pub headers: HeaderMap,
    /// What is sent.
    pub body: Bytes,
    /// Whether it may be sent again.
    pub repeat: Repeat,
    /// Requests with the same word at the same host wait together.
    pub bucket: Box<str>,
    /// The largest answer that is read, in bytes.
    pub answer_max: usize,
}

/// An answer, whatever its status.
pub struct Response {
    /// Its status.
    pub status: u16,
    /// Its header fields.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// The service's id of the request.
    pub request_id: Box<str>,
    /// Ours.
    pub client_request_id: Box<str>,
}

/// Time for one attempt, from sending to the last byte.
const ATTEMPT: Duration = Duration::from_secs(60);
/// The usual bound of an answer.
pub(crate) const ANSWER_MAX: usize = 8 << 20;

// === impl Http ===

impl Http {
    /// A client whose connections are driven by tasks of `tasks`.
    ///
    /// # Errors
    /// [`HttpError::Tls`] when the certificates cannot be read, or the system
    /// has none.
    pub fn new(
        settings: &HttpSettings,
        clock: SharedClock,
        tasks: TaskSet,
    ) -> Result<Self, HttpError> {
        let tls = tls::config(settings.ca_pem.as_deref())?;
        let connector = Connector::new(tls, settings.proxy.clone());
        Ok(Self {
            inner: Arc::new(Inner {
                pool: Pool::new(connector, tasks, Arc::clone(&clock)),
                limiter: Limiter::new(Arc::clone(&clock), settings.waits.clone()),
                clock,
                skew_ms: AtomicI64::new(0),
            }),
        })
    }

    /// The services' time: ours, corrected by what their answers say.
    #[must_use]
    pub fn wall(&self) -> Wall {
        Wall(self.inner.clock.wall().0 + self.skew_ms())
    }

    /// The services' time minus ours, in milliseconds.
    #[must_use]
    pub fn skew_ms(&self) -> i64 {
        self.inner.skew_ms.load(Ordering::Relaxed)
    }

    /// The clock it waits by.
    #[must_use]
    pub fn clock(&self) -> &SharedClock {
        &self.inner.clock
    }

    /// Sends a request, again where that is harmless, and reads the answer.
    ///
    /// # Errors
    /// See [`HttpError`]; an answer with a bad status is an answer.
    pub async fn send(&self, ctx: &OpContext, request: &Request) -> Result<Response, HttpError> {
        let work = self.send_all(ctx, request);
        tokio::select! {
            biased;
            reason = ctx.cancel.cancelled() => Err(HttpError::Cancelled { reason }),
            () = self.deadline(ctx) => Err(HttpError::Cancelled {
                reason: legation_core::CancelReason::Deadline,
            }),
            result = work => result,
        }
    }

    async fn deadline(&self, ctx: &OpContext) {
        let Some(deadline) = ctx.deadline else {
            return std::future::pending().await;
        };
        loop {
            let left = deadline.saturating_duration_since(self.inner.clock.now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }

    async fn send_all(&self, ctx: &OpContext, request: &Request) -> Result<Response, HttpError> {
        let origin = request.url.origin();
        let mut attempt = Attempt::first(request.repeat);
        loop {
            self.inner
                .limiter
                .turn(origin, &request.bucket, ctx.deadline)
                .await?;
            let result = self.attempt(request).await;
            let verdict = attempt.judge(&result, self.wall());
            if let Some(wait) = verdict.hold() {
                self.inner.limiter.hold(origin, &request.bucket, wait);
            }
            match verdict {
                Verdict::Done { .. } => return result,
                Verdict::TooLong { wait } => {
                    return Err(HttpError::Throttled { retry_after: wait });
                }
                Verdict::Again { wait, .. } => {
                    tracing::debug!(
                        host = %origin, bucket = &*request.bucket, wait_ms = wait.as_millis(),
                        "a request is sent again"
                    );
                    self.inner.limiter.sleep(wait).await;
                }
            }
        }
    }

    async fn attempt(&self, request: &Request) -> Result<Response, HttpError> {
        let id = crate::base::uuid().map_err(|_| HttpError::Random)?;
        let message = request.message(&id)?;
        let exchange = self.exchange(request, message, &id);
        match tokio::time::timeout(ATTEMPT, exchange).await {
            Ok(result) => result,
            Err(_) => Err(HttpError::Timeout { after: ATTEMPT }),
        }
    }

    async fn exchange(
        &self,
        request: &Request,
        message: http::Request<Full<Bytes>>,
        id: &str,
    ) -> Result<Response, HttpError> {
        let pool = &self.inner.pool;
        let (mut lease, answer) =
            pool.send(&request.url, message)
                .await
                .map_err(|error| match error {
                    SendError::Connect(error) => error,
                    SendError::Broken(source) => HttpError::Broken { source },
                })?;
        let (head, body) = answer.into_parts();
        let body = read(body, request.answer_max).await?;
        lease.finished();
        self.measure(&head.headers);
        let text = |name: &str| {
            let value = head.headers.get(name).and_then(|value| value.to_str().ok());
            crate::base::plain(value.unwrap_or_default(), 80)
        };
        Ok(Response {
            status: head.status.as_u16(),
            request_id: text("request-id").into(),
            client_request_id: id.into(),
            headers: head.headers,
            body,
        })
    }

    /// Notes how the service's clock goes. `Date` has seconds only.
    fn measure(&self, headers: &HeaderMap) {
        let date = headers.get(http::header::DATE);
        let date = date.and_then(|date| date.to_str().ok());
        let Some(at) = date.and_then(|date| httpdate::parse_http_date(date).ok()) else {
            return;
        };
        let Ok(at) = at.duration_since(std::time::UNIX_EPOCH) else {
            return;
        };
        let at = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
        let skew = at.saturating_sub(self.inner.clock.wall().0);
        // Below two seconds it is the way there and the missing milliseconds.
        let skew = if skew.abs() < 2_000 { 0 } else { skew };
        self.inner.skew_ms.store(skew, Ordering::Relaxed);
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("skew_ms", &self.skew_ms())
            .finish_non_exhaustive()
    }
}

/// Reads an answer, which may hold a token: wiped when it was read, copies made
/// on the way included.
async fn read(body: Incoming, most: usize) -> Result<Bytes, HttpError> {
    let mut body = body;
    let told = usize::try_from(body.size_hint().lower()).unwrap_or(0);
    let mut all = Zeroizing::new(Vec::with_capacity(told.min(most)));
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|source| HttpError::Broken {
            source: Box::new(source),
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let needed = all.len() + data.len();
        if needed > most {
            return Err(HttpError::TooLarge { most });
        }
        if all.capacity() < needed {
            let mut wider = Vec::with_capacity(needed.max(2 * all.capacity()));
            wider.extend_from_slice(&all);
            all = Zeroizing::new(wider);
        }
        all.extend_from_slice(&data);
    }
    Ok(Bytes::from_owner(all))
}

// === impl Request ===

impl Request {
    /// A request with nothing in it that may be repeated.
    #[must_use]
    pub fn new(method: Method, url: Url, bucket: &str) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            repeat: Repeat::Safe,
            bucket: bucket.into(),
            answer_max: ANSWER_MAX,
        }
    }

    /// Adds a field whose value is known to be one.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.insert(name, HeaderValue::from_static(value));
        self
    }

    fn message(&self, id: &str) -> Result<http::Request<Full<Bytes>>, HttpError> {
        let mut message = http::Request::builder()
            .method(self.method.clone())
            .uri(self.url.path_and_query())
            .header(http::header::HOST, self.url.authority())
            .header(
                http::header::USER_AGENT,
                concat!("legation/", env!("CARGO_PKG_VERSION")),
            )
            .header("client-request-id", id)
            .header("return-client-request-id", "true");
        if let Some(headers) = message.headers_mut() {
            for (name, value) in &self.headers {
                headers.insert(name, value.clone());
            }
        }
        message
            .body(Full::new(self.body.clone()))
            .map_err(|_| HttpError::BadRequest)
    }
}

/// Neither header fields nor body: they hold tokens.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}{}",
            self.method,
            self.url.origin(),
            self.url.path()
        )
    }
}

// === impl Response ===

impl Response {
    /// Whether it is what was asked for.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// A header field as text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("request_id", &self.request_id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
