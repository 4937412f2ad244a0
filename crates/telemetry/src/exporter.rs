//! Spans on their way to a collector, over OTLP/HTTP.
//!
//! Calls never wait for it: a span is put into a queue with room for so many, and thrown away where
//! there is none. What a collector does not take is sent a few times and then thrown away too. That a
//! collector is gone is said once, and once that it is back; in between it is counted.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{StatusCode, Uri};
use http_body_util::Full;
use legation_core::error::chain;
use legation_core::observe::Ended;
use legation_core::{Cancel, CancelReason, Secret};
use legation_net::{ExchangeError, Tls, TlsError};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::Metrics;
use crate::otlp;

/// Spans that wait to be sent.
const QUEUE_MAX: usize = 4_096;
/// Most spans of one request.
const BATCH_MAX: usize = 512;
/// How long spans wait for others.
const GATHER: Duration = Duration::from_secs(2);
/// How long one request may take.
const LIMIT: Duration = Duration::from_secs(10);
/// How often a request is sent, and how long is waited before the second time; before the third it
/// is twice as long.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);
/// How long a hub that stops waits for a collector to take what is left.
const FAREWELL: Duration = Duration::from_secs(3);
/// How much of an answer is read: only its status counts.
const ANSWER_MAX: usize = 64 * 1024;
/// Most headers of the owner's.
const HEADERS_MAX: usize = 16;
/// Where a collector takes spans when its address names no path.
const PATH: &str = "/v1/traces";

/// Where spans go. `Debug` hides what the headers say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExporterSettings {
    endpoint: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    version: String,
}

/// An address that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address of the collector is no http or https address without user name")]
pub struct EndpointError;

/// A header that is not sent. Nothing of its value is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// It is no header, or one of the request's own.
    #[error("{name:?} is no header that can be sent to a collector")]
    Name {
        /// Which.
        name: String,
    },
    /// Its value cannot be one.
    #[error("the value of the header {name} holds what no header's value can")]
    Value {
        /// Which.
        name: String,
    },
    /// There are too many.
    #[error("more than {HEADERS_MAX} headers for the collector")]
    TooMany,
    /// It would be read on the way.
    #[error("the header {name} would be sent without TLS to another machine")]
    Plain {
        /// Which.
        name: String,
    },
}

/// Where spans are put.
#[derive(Debug)]
pub struct Exporter {
    queue: mpsc::Sender<Ended>,
}

/// What sends them; to be run.
#[derive(Debug)]
pub struct Exporting {
    queue: mpsc::Receiver<Ended>,
    settings: ExporterSettings,
    tls: Tls,
    stop: Cancel,
}

/// Ends the sending.
#[derive(Clone, Debug)]
pub struct Farewell {
    stop: Cancel,
}

/// What came of sending so far.
#[derive(Debug, Default)]
struct Sent {
    /// Spans that were lost since the collector was last heard of; `None` while it takes them.
    lost: Option<u64>,
}

/// A request that a collector did not take.
#[derive(Debug, thiserror::Error)]
enum SendError {
    #[error("the collector was not reached")]
    Unreached(#[source] io::Error),
    #[error("the collector was not reached safely")]
    Tls(#[source] TlsError),
    #[error("the collector went away")]
    Gone(#[source] ExchangeError),
    #[error("the request to the collector cannot be made")]
    Request(#[source] http::Error),
    #[error("the collector did not answer in time")]
    Late,
    #[error("the collector answered with status {0}")]
    Status(StatusCode),
}

// === impl ExporterSettings ===

impl ExporterSettings {
    /// A collector at `endpoint`: `http://127.0.0.1:4318`, or with a path of its own.
    ///
    /// # Errors
    /// [`EndpointError`].
    pub fn new(endpoint: &str, version: &str) -> Result<Self, EndpointError> {
        let given: Uri = endpoint.parse().map_err(|_| EndpointError)?;
        let authority = given.authority().ok_or(EndpointError)?;
        let is_http = matches!(given.scheme_str(), Some("http" | "https"));
        if !is_http || authority.as_str().contains('@') {
            return Err(EndpointError);
        }
        let has_path = given.path() != "/" || given.query().is_some();
        let endpoint = match has_path {
            true => given,
            false => format!("{}{PATH}", endpoint.trim_end_matches('/'))
                .parse()
                .map_err(|_| EndpointError)?,
        };
        Ok(Self {
            endpoint,
            headers: Vec::new(),
            version: version.to_owned(),
        })
    }

    /// Sends a header along, such as the credential that a collector wants.
    ///
    /// # Errors
    /// [`HeaderError`].
    pub fn with_header(mut self, name: &str, value: &Secret) -> Result<Self, HeaderError> {
        let bad = || HeaderError::Name {
            name: name.chars().take(80).collect(),
        };
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let own = [
            header::HOST,
            header::CONTENT_TYPE,
            header::CONTENT_LENGTH,
            header::CONTENT_ENCODING,
            header::TRANSFER_ENCODING,
            header::CONNECTION,
            header::USER_AGENT,
        ];
        if own.contains(&key) || self.headers.iter().any(|(other, _)| *other == key) {
            return Err(bad());
        }
        if self.headers.len() >= HEADERS_MAX {
            return Err(HeaderError::TooMany);
        }
        let name = key.as_str().to_owned();
        let is_tls = self.endpoint.scheme_str() == Some("https");
        if !is_tls && !is_here(self.host()) {
            return Err(HeaderError::Plain { name });
        }
        let value = HeaderValue::from_str(value.reveal());
        let mut value = value.map_err(|_| HeaderError::Value { name })?;
        value.set_sensitive(true);
        self.headers.push((key, value));
        Ok(self)
    }

    fn host(&self) -> &str {
        let host = self.endpoint.host().unwrap_or_default();
        host.trim_matches(['[', ']'])
    }
}

/// Whether a host is this machine.
fn is_here(host: &str) -> bool {
    let address = host.parse::<std::net::IpAddr>();
    address.map_or(host == "localhost", |address| address.is_loopback())
}

// === impl HeaderError ===

impl HeaderError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Name { .. } | Self::Value { .. } | Self::TooMany => {
                "Correct `traces.headers`, and the variables it names."
            }
            Self::Plain { .. } => {
                "Name an https address in `traces.endpoint`, or a collector on this machine."
            }
        }
    }
}

// === impl Exporter ===

impl Exporter {
    /// A queue, and what empties it.
    #[must_use]
    pub fn new(settings: ExporterSettings) -> (Self, Exporting) {
        let (sender, queue) = mpsc::channel(QUEUE_MAX);
        let exporting = Exporting {
            queue,
            settings,
            tls: Tls::default(),
            stop: Cancel::new(),
        };
        (Self { queue: sender }, exporting)
    }

    pub(crate) fn add(&self, mut span: Ended, metrics: &Metrics) {
        otlp::shorten(&mut span);
        if self.queue.try_send(span).is_err() {
            metrics.spans_lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

// === impl Farewell ===

impl Farewell {
    /// Has what waits sent, and the sending end. Whoever runs it waits a few seconds for that at most.
    pub fn say(&self) {
        self.stop.cancel(CancelReason::Shutdown);
    }
}

// === impl Exporting ===

impl Exporting {
    /// What ends it.
    #[must_use]
    pub fn farewell(&self) -> Farewell {
        Farewell {
            stop: self.stop.clone(),
        }
    }

    /// Sends what comes, until it is told to stop; then what is left, as far as that is taken in time.
    pub async fn run(mut self, metrics: Arc<Metrics>) {
        let (mut sent, mut batch) = (Sent::default(), Vec::new());
        let stop = self.stop.clone();
        loop {
            tokio::select! {
                biased;
                // First: with spans left there is always something to gather, and each request
                // would have its own time to the end.
                _reason = stop.cancelled() => break,
                gathered = self.gather(&mut batch) => if !gathered { return },
            }
            let spans = std::mem::take(&mut batch);
            let ended = {
                let mut sending = Box::pin(self.send(&spans, TRIES));
                tokio::select! {
                    ended = &mut sending => ended,
                    // A request that is on its way gets its time, and is not sent twice.
                    _reason = stop.cancelled() => tokio::time::timeout(FAREWELL, sending)
                        .await
                        .unwrap_or(Err(SendError::Late)),
                }
            };
            sent.note(&ended, spans.len() as u64, &metrics);
        }
        self.finish(batch, sent, &metrics).await;
    }

    /// Waits for spans, and a moment for others to go with them. Whether there can be any.
    async fn gather(&mut self, batch: &mut Vec<Ended>) -> bool {
        if self.queue.recv_many(batch, BATCH_MAX).await == 0 {
            return false;
        }
        let more = async {
            while batch.len() < BATCH_MAX {
                let room = BATCH_MAX - batch.len();
                if self.queue.recv_many(batch, room).await == 0 {
                    return;
                }
            }
        };
        // Whether it is full or has waited, it goes.
        drop(tokio::time::timeout(GATHER, more).await);
        true
    }

    /// Sends what is left, each request once. What is not taken by then is lost.
    async fn finish(&mut self, mut batch: Vec<Ended>, mut sent: Sent, metrics: &Metrics) {
        self.queue.close();
        let until = tokio::time::Instant::now() + FAREWELL;
        loop {
            while batch.len() < BATCH_MAX
                && let Ok(span) = self.queue.try_recv()
            {
                batch.push(span);
            }
            if batch.is_empty() {
                return;
            }
            let spans = std::mem::take(&mut batch);
            let sending = Box::pin(self.send(&spans, 1));
            let ended = tokio::time::timeout_at(until, sending).await;
            let ended = ended.unwrap_or(Err(SendError::Late));
            sent.note(&ended, spans.len() as u64, metrics);
            if ended.is_err() {
                let mut left = 0;
                while self.queue.try_recv().is_ok() {
                    left += 1;
                }
                metrics.spans_lost.fetch_add(left, Ordering::Relaxed);
                return;
            }
        }
    }

    async fn send(&self, spans: &[Ended], tries: u32) -> Result<(), SendError> {
        let body = Bytes::from(otlp::request(spans, &self.settings.version));
        let mut pause = PAUSE;
        for left in (0..tries).rev() {
            let sent = tokio::time::timeout(LIMIT, Box::pin(self.post(body.clone()))).await;
            match sent.unwrap_or(Err(SendError::Late)) {
                Ok(()) => return Ok(()),
                Err(error) if left == 0 || !error.is_passing() => return Err(error),
                Err(_) => tokio::time::sleep(pause).await,
            }
            pause *= 2;
        }
        Err(SendError::Late)
    }

    async fn post(&self, body: Bytes) -> Result<(), SendError> {
        let endpoint = &self.settings.endpoint;
        let is_tls = endpoint.scheme_str() == Some("https");
        let host = self.settings.host();
        let port = endpoint.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let tcp = TcpStream::connect((host, port)).await;
        let tcp = tcp.map_err(SendError::Unreached)?;
        let request = self.request(body).map_err(SendError::Request)?;
        let answer = match is_tls {
            false => legation_net::exchange(tcp, request, ANSWER_MAX).await,
            true => {
                let stream = self.tls.connect(host, tcp).await;
                let stream = stream.map_err(SendError::Tls)?;
                legation_net::exchange(stream, request, ANSWER_MAX).await
            }
        };
        let status = answer.map_err(SendError::Gone)?.status;
        match status.is_success() {
            true => Ok(()),
            false => Err(SendError::Status(status)),
        }
    }

    fn request(&self, body: Bytes) -> Result<http::Request<Full<Bytes>>, http::Error> {
        let endpoint = &self.settings.endpoint;
        let authority = endpoint
            .authority()
            .map_or("", |authority| authority.as_str());
        let target = endpoint
            .path_and_query()
            .map_or(PATH, |target| target.as_str());
        let mut request = http::Request::post(target)
            .header(header::HOST, authority)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, legation_net::USER_AGENT);
        for (name, value) in &self.settings.headers {
            request = request.header(name, value);
        }
        request.body(Full::new(body))
    }
}

// === impl Sent ===

impl Sent {
    /// Counts a request, and says what is new.
    fn note(&mut self, ended: &Result<(), SendError>, spans: u64, metrics: &Metrics) {
        match ended {
            Ok(()) => {
                metrics.spans_sent.fetch_add(spans, Ordering::Relaxed);
                if let Some(lost) = self.lost.take() {
                    tracing::info!(lost, "the collector takes spans again");
                }
            }
            Err(error) => {
                metrics.spans_lost.fetch_add(spans, Ordering::Relaxed);
                if self.lost.is_none() {
                    tracing::warn!(
                        error = %chain(error),
                        "the collector does not take spans; until it does, they are counted as lost"
                    );
                }
                *self.lost.get_or_insert(0) += spans;
            }
        }
    }
}

// === impl SendError ===

impl SendError {
    /// Whether it may be otherwise in a moment (OTLP/HTTP, "Retryable Response Codes").
    fn is_passing(&self) -> bool {
        match self {
            Self::Unreached(_) | Self::Gone(_) | Self::Late => true,
            Self::Tls(error) => matches!(error, TlsError::Handshake(_)),
            Self::Request(_) => false,
            Self::Status(status) => matches!(status.as_u16(), 429 | 502 | 503 | 504),
        }
    }
}
