//! One connection to one server, whatever carries it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use legation_wire::headers;
use legation_wire::json::Raw;
use legation_wire::listen::ListenFilter;
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;
use legation_wire::upstream::{AskKey, EraChoice, LinkConfig, Ready};
use tokio::sync::oneshot;

use super::LineSink;
use super::call::{CallOrder, CallStream};
use super::error::StartError;
use super::events::Events;
use super::http::{self, HttpSpec};
use super::shared::Shared;
use super::stdio::{self, StdioSpec};

/// How to connect.
#[derive(Clone)]
pub struct StartSpec {
    /// How to speak. Its `http` is set by the transport.
    pub link: LinkConfig,
    /// What to start or reach.
    pub transport: TransportSpec,
    /// Largest message accepted from the server, in bytes.
    pub max_message: usize,
    /// Where remarks about the server go, such as garbage it printed.
    pub note: LineSink,
}

/// What carries the messages.
#[derive(Debug, Clone)]
pub enum TransportSpec {
    /// A child process.
    Stdio(StdioSpec),
    /// A URL that speaks Streamable HTTP, or else the transport that came before it.
    Http(HttpSpec),
    /// A URL that speaks HTTP with SSE.
    Sse(HttpSpec),
}

/// A connection that has shaken hands.
#[derive(Debug)]
pub struct Started {
    /// The connection.
    pub connection: Connection,
    /// What the handshake found out.
    pub ready: Ready,
    /// What the server does outside every call.
    pub events: Events,
    /// The server's process id, where it is a child whose guard has named it.
    pub pid: Option<u32>,
}

/// A connection; clones share it. When the last one is dropped, the server's
/// process is killed and its sockets are closed; [`stop`](Self::stop) is the
/// polite way.
#[derive(Debug, Clone)]
pub struct Connection {
    owner: Arc<Owner>,
}

#[derive(Debug)]
struct Owner {
    shared: Arc<Shared>,
    carrier: Carried,
}

#[derive(Debug)]
enum Carried {
    Stdio(Arc<stdio::Process>),
    Http(Arc<http::Http>),
    Sse,
}

// === impl StartSpec ===

impl fmt::Debug for StartSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartSpec")
            .field("link", &self.link)
            .field("transport", &self.transport)
            .field("max_message", &self.max_message)
            .finish_non_exhaustive()
    }
}

// === impl Connection ===

impl Connection {
    /// Starts the process or reaches the URL, and shakes hands. There is no
    /// time limit here: drop the future, and nothing is left behind.
    pub async fn start(spec: StartSpec) -> Result<Started, StartError> {
        let older = match &spec.transport {
            // The transport of revision 2024-11-05 knows no other era.
            TransportSpec::Http(http) if spec.link.era != EraChoice::Modern => Some(StartSpec {
                transport: TransportSpec::Sse(http.clone()),
                ..spec.clone()
            }),
            TransportSpec::Http(_) | TransportSpec::Sse(_) | TransportSpec::Stdio(_) => None,
        };
        let error = match Box::pin(Self::start_as(spec)).await {
            Err(error) => error,
            started => return started,
        };
        match older.filter(|_| error.may_be_older()) {
            Some(older) => match Box::pin(Self::start_as(older)).await {
                // Should that fail too, the first answer says more.
                Err(again) if !matches!(again, StartError::NeedsAuth { .. }) => Err(error),
                started => started,
            },
            None => Err(error),
        }
    }

    async fn start_as(mut spec: StartSpec) -> Result<Started, StartError> {
        let (starting, started) = oneshot::channel();
        spec.link.http = matches!(spec.transport, TransportSpec::Http(_));
        if matches!(spec.transport, TransportSpec::Sse(_)) {
            spec.link.era = EraChoice::Legacy;
        }
        let shared = Shared::new(spec.link, spec.max_message, spec.note, starting);
        let carrier = match spec.transport {
            TransportSpec::Stdio(stdio) => Carried::Stdio(stdio::Process::start(&shared, stdio)),
            TransportSpec::Http(spec) => Carried::Http(
                http::Http::start(&shared, spec).map_err(|source| StartError::Http { source })?,
            ),
            TransportSpec::Sse(spec) => {
                http::Sse::start(&shared, spec).map_err(|source| StartError::Http { source })?;
                Carried::Sse
            }
        };
        let owner = Arc::new(Owner {
            shared: Arc::clone(&shared),
            carrier,
        });
        let ready = started.await.unwrap_or_else(|_| {
            Err(StartError::Closed {
                reason: "the connection ended before it was ready".to_owned(),
            })
        })?;
        let pid = match &owner.carrier {
            Carried::Stdio(process) => process.pid(),
            Carried::Http(_) | Carried::Sse => None,
        };
        Ok(Started {
            events: Events::new(Arc::clone(&shared.events)),
            connection: Self { owner },
            ready,
            pid,
        })
    }

    /// Makes a call. Over stdio its request is on its way when this returns;
    /// over HTTP it leaves with the first [`CallStream::next`].
    pub fn call(&self, order: CallOrder) -> CallStream {
        let shared = &self.owner.shared;
        // Written while the parameters are at hand, taken apart as they are.
        let mirrored = match (&self.owner.carrier, shared.revision.get()) {
            (Carried::Http(_), Some(revision)) => {
                let (request, declared) = (&order.request, order.declared.as_deref());
                let mut lines = Vec::new();
                if revision.is_modern() {
                    lines.reserve(128);
                    headers::write(
                        &mut lines,
                        &request.method,
                        &request.params,
                        Some(*revision),
                        declared,
                    );
                }
                headers::trace::write(&mut lines, &request.params);
                Some(lines)
            }
            _ => None,
        };
        let (key, slot, message) = shared.call(order);
        let driver = match (&self.owner.carrier, message) {
            (Carried::Http(http), Some(message)) => Some(http::run_call(
                Arc::clone(http),
                Arc::clone(shared),
                key,
                Arc::clone(&slot),
                message,
                mirrored,
            )),
            (Carried::Stdio(_) | Carried::Http(_) | Carried::Sse, _) => None,
        };
        CallStream::new(Arc::clone(shared), key, slot, driver)
    }

    /// Answers a question of the server's. One that was withdrawn is dropped.
    pub fn answer(&self, key: AskKey, body: Result<Raw, ErrorObject>) {
        self.owner.shared.drive(|link| link.answer(key, body));
    }

    /// Tells the server something, where its revision has a place for it.
    pub fn notify(&self, method: &str, params: Option<Raw>) {
        self.owner.shared.drive(|link| link.notify(method, params));
    }

    /// Asks a modern server to report these changes in place of those asked
    /// for before; a legacy server needs no asking. Asked again by itself when
    /// the server ends the subscription.
    pub fn listen(&self, wish: ListenFilter) {
        self.owner.shared.listen(wish);
    }

    /// The revision spoken.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        self.owner.shared.revision.get().copied()
    }

    /// Messages of the server's that did not belong, so far.
    #[must_use]
    pub fn strays(&self) -> u64 {
        self.owner.shared.strays()
    }

    /// Ends the connection: a process as MCP asks on stdio (its input closed,
    /// then SIGTERM, then SIGKILL), a session with DELETE. Calls under way are
    /// lost. Nothing is left when it returns.
    pub async fn stop(&self) {
        let shared = &self.owner.shared;
        shared.let_calls_end().await;
        shared.stopping.cancel();
        let limit = match &self.owner.carrier {
            Carried::Stdio(process) => process.stop_grace() + Duration::from_secs(10),
            Carried::Http(http) => {
                http.end_session(shared).await;
                shared.closed("the hub closed the connection");
                shared.stopped.cancel();
                Duration::from_secs(1)
            }
            // Closing the stream is the good-bye.
            Carried::Sse => Duration::from_secs(1),
        };
        // A process that even SIGKILL does not end is the kernel's to keep.
        let _late = tokio::time::timeout(limit, shared.stopped.cancelled()).await;
        if let Some(tasks) = shared.take_tasks() {
            tasks.shutdown().await;
        }
    }
}

// === impl Owner ===

impl Drop for Owner {
    fn drop(&mut self) {
        drop(self.shared.take_tasks());
        // Streams of calls may outlive the connection.
        self.shared.closed("the connection was dropped");
    }
}
