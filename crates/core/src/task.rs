//! Tasks that are always joined.
//!
//! A detached task outlives what it works for and loses its panic; a
//! [`TaskSet`] owns its tasks, reports a panic in the log, and ends them when
//! it is shut down or dropped.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::{AbortHandle, JoinHandle};

/// The tasks of one owner. Clones share the set.
#[derive(Debug, Clone, Default)]
pub struct TaskSet {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    tasks: Mutex<Tasks>,
}

#[derive(Debug, Default)]
struct Tasks {
    closed: bool,
    /// The running tasks; finished ones are swept when the list has doubled.
    running: Vec<(&'static str, JoinHandle<()>)>,
    sweep_at: usize,
}

// === impl TaskSet ===

impl TaskSet {
    /// An empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs a future on the current runtime. After shutdown it is dropped unrun.
    pub fn spawn<F>(&self, name: &'static str, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.spawn_on(&tokio::runtime::Handle::current(), name, future);
    }

    /// Runs a future on a given runtime, and returns a handle that ends it early.
    pub fn spawn_on<F>(
        &self,
        runtime: &tokio::runtime::Handle,
        name: &'static str,
        future: F,
    ) -> Option<AbortHandle>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut tasks = self
            .shared
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if tasks.closed {
            return None;
        }
        tasks.sweep();
        let handle = runtime.spawn(future);
        let abort = handle.abort_handle();
        tasks.running.push((name, handle));
        Some(abort)
    }

    /// How many tasks have not been seen to finish.
    #[must_use]
    pub fn len(&self) -> usize {
        let tasks = self
            .shared
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        tasks
            .running
            .iter()
            .filter(|(_, handle)| !handle.is_finished())
            .count()
    }

    /// Whether nothing runs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until every task has ended by itself; new ones are refused.
    pub async fn join(&self) {
        for (name, handle) in self.close() {
            report(name, handle.await);
        }
    }

    /// Ends every task and waits for it; new ones are refused.
    pub async fn shutdown(&self) {
        let running = self.close();
        for (_, handle) in &running {
            handle.abort();
        }
        for (name, handle) in running {
            report(name, handle.await);
        }
    }

    fn close(&self) -> Vec<(&'static str, JoinHandle<()>)> {
        let mut tasks = self
            .shared
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        tasks.closed = true;
        std::mem::take(&mut tasks.running)
    }
}

// === impl Shared ===

impl Drop for Shared {
    fn drop(&mut self) {
        let tasks = self.tasks.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (_, handle) in tasks.running.drain(..) {
            handle.abort();
        }
    }
}

// === impl Tasks ===

impl Tasks {
    fn sweep(&mut self) {
        if self.running.len() < self.sweep_at {
            return;
        }
        self.running.retain(|(_, handle)| !handle.is_finished());
        self.sweep_at = (self.running.len() * 2).max(32);
    }
}

fn report(name: &'static str, end: Result<(), tokio::task::JoinError>) {
    if let Err(error) = end
        && error.is_panic()
    {
        tracing::error!(task = name, %error, "a task panicked");
    }
}

#[cfg(test)]
mod tests {
    use super::TaskSet;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime")
    }

    #[test]
    fn shutdown_ends_what_never_ends_and_refuses_more() {
        runtime().block_on(async {
            let set = TaskSet::new();
            set.spawn("forever", std::future::pending());
            assert_eq!(set.len(), 1);
            set.shutdown().await;
            assert!(set.is_empty());
            set.spawn("late", std::future::pending());
            assert!(set.is_empty());
        });
    }

    #[test]
    fn a_dropped_set_ends_its_tasks() {
        runtime().block_on(async {
            let (alive, mut gone) = tokio::sync::oneshot::channel::<()>();
            let set = TaskSet::new();
            set.spawn("holder", async move {
                std::future::pending::<()>().await;
                drop(alive);
            });
            tokio::task::yield_now().await;
            assert!(gone.try_recv().is_err());
            drop(set);
            assert!(gone.await.is_err(), "the sender was dropped with its task");
        });
    }
}
