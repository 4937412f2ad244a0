//! The thread that talks to the server, and waiting for it from any other.
//!
//! The store's methods block, and they are called on threads that drive a
//! runtime of their own. So the connections live on one thread with a runtime
//! that does nothing else, and a caller waits for an answer with its thread
//! parked, which needs no runtime and forbids none.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

use legation_core::TaskSet;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_postgres::Client;

use super::tls::Tls;
use super::url::DatabaseUrl;
use crate::DatabaseError;

/// How long the connections have to say goodbye when the store is dropped.
const GOODBYE: Duration = Duration::from_secs(1);

/// How long a server may take to let the hub in.
const WELCOME: Duration = Duration::from_secs(30);

/// The thread. Dropping it ends the connections.
#[derive(Debug)]
pub(crate) struct Driver {
    /// Unbounded, because each message has somebody who waits for its answer.
    wanted: Option<UnboundedSender<Wanted>>,
    thread: Option<JoinHandle<()>>,
}

struct Wanted {
    url: DatabaseUrl,
    answer: SyncSender<Result<Client, tokio_postgres::Error>>,
}

struct Bell {
    rung: Mutex<bool>,
    heard: Condvar,
}

/// Waits for a future that another thread drives; `None` after so long without
/// any sign of it.
pub(super) fn wait<F: Future>(future: F, silence: Duration) -> Option<F::Output> {
    let bell = Arc::new(Bell {
        rung: Mutex::new(false),
        heard: Condvar::new(),
    });
    let waker = Waker::from(Arc::clone(&bell));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return Some(value);
        }
        if !bell.hear(silence) {
            return None;
        }
    }
}

// === impl Driver ===

impl Driver {
    pub(crate) fn start() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let (wanted, asked) = unbounded_channel();
        let thread = std::thread::Builder::new()
            .name("postgres".to_owned())
            .spawn(move || runtime.block_on(serve(asked)))?;
        Ok(Self {
            wanted: Some(wanted),
            thread: Some(thread),
        })
    }

    /// A new connection, driven by this thread until its client is dropped.
    pub(super) fn connect(&self, url: &DatabaseUrl) -> Result<Client, DatabaseError> {
        let (answer, answered) = sync_channel(1);
        let wanted = Wanted {
            url: url.clone(),
            answer,
        };
        let sent = self.wanted.as_ref().map(|to| to.send(wanted));
        let Some(Ok(())) = sent else {
            return Err(DatabaseError::lost("the thread for it has ended"));
        };
        match answered.recv() {
            Ok(client) => Ok(client?),
            Err(_) => Err(DatabaseError::lost("the server does not answer")),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.wanted = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the database's connections panicked");
        }
    }
}

async fn serve(mut asked: UnboundedReceiver<Wanted>) {
    let connections = TaskSet::new();
    while let Some(Wanted { url, answer }) = asked.recv().await {
        let tls = Tls::wanted(url.config.get_ssl_mode());
        connections.spawn("connection to the database", async move {
            // The configuration bounds how long each address is tried, but not
            // how long a server takes to let somebody in.
            let Ok(connected) = tokio::time::timeout(WELCOME, url.config.connect(tls)).await else {
                return;
            };
            match connected {
                Ok((client, connection)) => {
                    if answer.send(Ok(client)).is_err() {
                        return;
                    }
                    if let Err(error) = connection.await {
                        tracing::warn!(
                            database = %url,
                            error = %DatabaseError::from(error),
                            "a connection to the database was lost"
                        );
                    }
                }
                // One who has gone need not be told.
                Err(error) => drop(answer.send(Err(error))),
            }
        });
    }
    drop(tokio::time::timeout(GOODBYE, connections.join()).await);
}

// === impl Bell ===

impl Bell {
    fn hear(&self, silence: Duration) -> bool {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut rung, _) = self
            .heard
            .wait_timeout_while(rung, silence, |rung| !*rung)
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *rung)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.heard.notify_one();
    }
}
