//! Connections that lie ready.
//!
//! Each is driven by a task of its own. One that the service closed meanwhile
//! gives the request back unsent, and another is taken.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use legation_core::{SharedClock, TaskSet};

use super::connect::Connector;
use super::{HttpError, Origin, Url};

/// Most idle connections to one host.
const IDLE_MAX: usize = 8;
/// How long one may lie idle.
const IDLE_FOR: Duration = Duration::from_secs(60);

type Message = http::Request<Full<Bytes>>;
type Sender = SendRequest<Full<Bytes>>;

pub(super) struct Pool {
    connector: Connector,
    tasks: TaskSet,
    clock: SharedClock,
    idle: Arc<Mutex<HashMap<Origin, Vec<Idle>>>>,
}

struct Idle {
    sender: Sender,
    since: Instant,
}

/// A connection in use. It goes back when its answer was read to the end.
pub(super) struct Lease {
    sender: Option<Sender>,
    origin: Origin,
    idle: Weak<Mutex<HashMap<Origin, Vec<Idle>>>>,
    clock: SharedClock,
}

pub(super) enum SendError {
    /// Nothing was sent.
    Connect(HttpError),
    /// Some of it may have been sent.
    Broken(Box<dyn Error + Send + Sync>),
}

// === impl Pool ===

impl Pool {
    pub(super) fn new(connector: Connector, tasks: TaskSet, clock: SharedClock) -> Self {
        Self {
            connector,
            tasks,
            clock,
            idle: Arc::default(),
        }
    }

    /// Sends a message and waits for the head of its answer.
    pub(super) async fn send(
        &self,
        url: &Url,
        message: Message,
    ) -> Result<(Lease, http::Response<Incoming>), SendError> {
        let mut message = message;
        loop {
            let (mut sender, was_idle) = match self.take(url.origin()) {
                Some(sender) => (sender, true),
                None => (self.open(url.origin()).await?, false),
            };
            match sender.try_send_request(message).await {
                Ok(answer) => {
                    let lease = Lease {
                        sender: Some(sender),
                        origin: url.origin().clone(),
                        idle: Arc::downgrade(&self.idle),
                        clock: Arc::clone(&self.clock),
                    };
                    return Ok((lease, answer));
                }
                Err(mut failed) => match failed.take_message() {
                    Some(unsent) if was_idle => message = unsent,
                    _ => return Err(SendError::Broken(Box::new(failed.into_error()))),
                },
            }
        }
    }

    fn take(&self, origin: &Origin) -> Option<Sender> {
        let now = self.clock.now();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle.get_mut(origin)?;
        waiting.retain(|one| {
            !one.sender.is_closed() && now.saturating_duration_since(one.since) < IDLE_FOR
        });
        waiting.pop().map(|one| one.sender)
    }

    async fn open(&self, origin: &Origin) -> Result<Sender, SendError> {
        let stream = self.connector.connect(origin).await;
        let stream = stream.map_err(SendError::Connect)?;
        let shaken = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(|error| SendError::Broken(Box::new(error)))?;
        self.tasks.spawn("entra connection", async move {
            // Whoever waits for an answer on it hears of its end as well.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended");
            }
        });
        Ok(sender)
    }
}

// === impl Lease ===

impl Lease {
    /// The answer was read: the next request may use the connection.
    pub(super) fn finished(&mut self) {
        let (Some(sender), Some(idle)) = (self.sender.take(), self.idle.upgrade()) else {
            return;
        };
        if sender.is_closed() {
            return;
        }
        let since = self.clock.now();
        let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle.entry(self.origin.clone()).or_default();
        if waiting.len() < IDLE_MAX {
            waiting.push(Idle { sender, since });
        }
    }
}
