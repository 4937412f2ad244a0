//! The threads that serve HTTP connections, each with a runtime of its own: a
//! call then runs on one thread from its first byte to its last, and no wake-up
//! crosses threads.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use legation_core::TaskSet;
use tokio::sync::mpsc;

use crate::shared::Held;

/// Connections that wait for a busy worker; past that the listener waits.
const WAITING: usize = 1024;
/// How long connections may take to end when the hub stops.
const STOP_LIMIT: Duration = Duration::from_secs(5);

type Job = (Held, std::net::TcpStream);

/// See the module.
#[derive(Debug)]
pub struct Workers {
    senders: Vec<mpsc::Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    next: AtomicUsize,
}

// === impl Workers ===

impl Workers {
    /// Starts `number` threads (at least one).
    ///
    /// # Errors
    /// When a thread or its runtime cannot be started.
    pub fn start(number: usize) -> io::Result<Self> {
        let mut workers = Self {
            senders: Vec::new(),
            threads: Vec::new(),
            next: AtomicUsize::new(0),
        };
        for index in 0..number.max(1) {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            let (sender, jobs) = mpsc::channel(WAITING);
            let thread = std::thread::Builder::new()
                .name(format!("http-{index}"))
                .spawn(move || runtime.block_on(work(jobs)))?;
            workers.senders.push(sender);
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// Hands a connection to the next worker.
    pub(super) async fn hand(&self, shared: &Held, stream: std::net::TcpStream) {
        let next = self.next.fetch_add(1, Ordering::Relaxed) % self.senders.len();
        // A worker is gone only when the hub is stopping.
        drop(self.senders[next].send((shared.clone(), stream)).await);
    }

    /// Waits until every connection has ended, after the front was shut down,
    /// and joins the threads.
    pub fn join(self) {
        drop(self.senders);
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("a worker thread panicked");
            }
        }
    }
}

async fn work(mut jobs: mpsc::Receiver<Job>) {
    let tasks = TaskSet::new();
    while let Some((shared, stream)) = jobs.recv().await {
        tasks.spawn("http connection", super::serve(shared, stream));
    }
    if tokio::time::timeout(STOP_LIMIT, tasks.join())
        .await
        .is_err()
    {
        tracing::warn!("connections did not end in time and were cut off");
    }
}
