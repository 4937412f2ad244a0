//! The listener: TLS and bounds in front of everything else.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use legation_core::{Cancel, CancelReason, SharedClock, TaskSet};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;

use crate::http1::Serving;
use crate::hub::Hub;
use crate::request::Door;
use crate::settings::CopilotSettings;
use crate::tls::{Certificate, TlsError};

/// How long to wait when no further connection can be taken for want of files.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// What a listener is made of.
#[derive(Debug)]
pub struct ListenerParts {
    /// Where, and its bounds.
    pub settings: CopilotSettings,
    /// The hub.
    pub hub: Arc<dyn Hub>,
    /// The time.
    pub clock: SharedClock,
    /// What runs its connections.
    pub tasks: TaskSet,
}

/// The webhook does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenerError {
    /// The certificate cannot be used.
    #[error("the certificate of the Copilot webhook cannot be used; it does not listen")]
    Tls(#[source] TlsError),
    /// The address cannot be listened on.
    #[error("the Copilot webhook cannot listen on {address}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// A listener that answers nobody yet.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    certificate: Arc<Certificate>,
    serving: Serving,
    tasks: TaskSet,
    connections: Arc<Semaphore>,
    read_timeout: Duration,
    closing: Cancel,
}

// === impl ListenerError ===

impl ListenerError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Tls(error) => error.hint(),
            Self::Listen { .. } => {
                "another program may use the port: choose another in `copilot.listen`"
            }
        }
    }
}

// === impl Listener ===

impl Listener {
    /// Reads the certificate and binds the address.
    ///
    /// # Errors
    /// [`ListenerError`]; nothing listens then.
    pub async fn open(parts: ListenerParts) -> Result<Self, ListenerError> {
        let ListenerParts {
            settings,
            hub,
            clock,
            tasks,
        } = parts;
        let certificate =
            Certificate::open(&settings.certificate, &settings.key, Arc::clone(&clock))
                .map_err(ListenerError::Tls)?;
        let address = settings.listen;
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| ListenerError::Listen { address, source })?;
        let closing = Cancel::new();
        let serving = Serving {
            door: Arc::new(Door::new(&settings, hub, clock)),
            tasks: tasks.clone(),
            cancel: closing.child(),
            body_max: settings.body_max,
            body_timeout: settings.read_timeout,
        };
        Ok(Self {
            listener,
            certificate: Arc::new(certificate),
            serving,
            tasks,
            connections: Arc::new(Semaphore::new(settings.connections_max)),
            read_timeout: settings.read_timeout,
            closing,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system cannot say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What ends it: cancelled, it takes nobody any more and calls off what is under way.
    #[must_use]
    pub fn closing(&self) -> Cancel {
        self.closing.clone()
    }

    /// Answers until it is ended.
    pub async fn run(self) {
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                _ = self.closing.cancelled() => return,
            };
            match accepted {
                Ok((stream, _)) => match Arc::clone(&self.connections).try_acquire_owned() {
                    Ok(place) => self.serve(stream, place),
                    Err(_) => tracing::debug!("a connection to the webhook was one too many"),
                },
                Err(error) => {
                    tracing::debug!(%error, "a connection to the webhook was not taken");
                    tokio::time::sleep(EXHAUSTED).await;
                }
            }
        }
    }

    fn serve(&self, stream: TcpStream, place: OwnedSemaphorePermit) {
        let (certificate, serving) = (Arc::clone(&self.certificate), self.serving.clone());
        let (limit, closing) = (self.read_timeout, self.closing.clone());
        self.tasks.spawn("copilot connection", async move {
            let _place = place;
            let served = connection(stream, &certificate, serving, limit);
            tokio::select! {
                () = served => {}
                _ = closing.cancelled() => {}
            }
        });
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.closing.cancel(CancelReason::Shutdown);
    }
}

/// Serves one connection to its end.
async fn connection(
    stream: TcpStream,
    certificate: &Arc<Certificate>,
    serving: Serving,
    limit: Duration,
) {
    // An event is one write; waiting for more would only delay it.
    drop(stream.set_nodelay(true));
    let shown = Arc::clone(certificate);
    let Ok(config) = tokio::task::spawn_blocking(move || shown.now()).await else {
        return;
    };
    let accepted = TlsAcceptor::from(config).accept(stream);
    let stream = match tokio::time::timeout(limit, accepted).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return tracing::debug!(%error, "no TLS with a client of the webhook"),
        Err(_) => return tracing::debug!("a client of the webhook shook no hands"),
    };
    let service = service_fn(move |request| serving.clone().answer(request));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limit)
        .max_headers(64)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection to the webhook ended");
    }
}
