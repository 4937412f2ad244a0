//! Moves the write-ahead log into the database on a thread of its own.
//!
//! On the committing connection a checkpoint costs milliseconds at the tail.
//! Here a passive one runs beside the commits; only when the log has grown
//! large in spite of that are commits held for the few pages that are left,
//! so that the log can start over.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;

use crate::connection::{checkpoint_passive, checkpoint_truncate};
use crate::store::Writer;

/// Pages in the log beyond which it is emptied: 64 MiB.
const LARGE_PAGES: i64 = 16 * 1024;

/// The thread and how it is told.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Signal {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    due: bool,
    stop: bool,
}

impl Checkpointer {
    /// Starts the thread; it owns `connection`.
    pub(crate) fn start(
        connection: Connection,
        writer: Arc<Mutex<Writer>>,
        path: PathBuf,
    ) -> std::io::Result<Self> {
        let signal = Arc::new(Signal::default());
        let told = Arc::clone(&signal);
        let thread = std::thread::Builder::new()
            .name("checkpoint".to_owned())
            .spawn(move || {
                while told.wait() {
                    if let Err(error) = run(&connection, &writer) {
                        tracing::warn!(
                            path = %path.display(),
                            error = %error,
                            "the write-ahead log could not be moved into the database; it grows until this works again"
                        );
                    }
                }
            })?;
        Ok(Self {
            signal,
            thread: Some(thread),
        })
    }

    /// Says that the log has grown.
    pub(crate) fn nudge(&self) {
        self.signal.set(|state| state.due = true);
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.signal.set(|state| state.stop = true);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the checkpoint thread panicked");
        }
    }
}

fn run(connection: &Connection, writer: &Mutex<Writer>) -> rusqlite::Result<()> {
    let done = checkpoint_passive(connection)?;
    if done.log_pages > LARGE_PAGES {
        // Holding the writer keeps commits from adding pages, and from meeting
        // SQLite's own lock, for which they would sleep in milliseconds.
        let held = writer.lock().unwrap_or_else(PoisonError::into_inner);
        checkpoint_truncate(connection)?;
        drop(held);
    }
    Ok(())
}

// === impl Signal ===

impl Signal {
    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_one();
    }

    /// Waits for a nudge; `false` when the thread shall end.
    fn wait(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self
            .wake
            .wait_while(state, |state| !state.due && !state.stop)
            .unwrap_or_else(PoisonError::into_inner);
        state.due = false;
        !state.stop
    }
}
