//! Moves the write-ahead log into the database on a thread of its own, and tells the database what the volume holds.
//!
//! On the committing connection a checkpoint costs milliseconds at the tail.
//! Here passive ones run beside the commits until few pages are left; for those
//! commits are held, after which SQLite starts the log over in place. Writing
//! over blocks that exist is also what makes `fdatasync` quick, so the log is
//! cut off only when a burst has made it very large.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::Files;
use super::connection::{checkpoint_passive, checkpoint_truncate};

/// The log is cut off when it has so many times the pages at which it shall
/// start over.
const HUGE: i64 = 4;

/// So few pages are moved while commits wait.
const FEW_PAGES: i64 = 64;

/// Passive rounds before commits are held whatever is left.
const ROUNDS: usize = 4;

/// The thread and how it is told.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

/// How the thread is told what to do.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default, Clone, Copy)]
struct State {
    log_is_due: bool,
    note_is_due: bool,
    stop: bool,
}

impl Checkpointer {
    /// Starts the thread; it owns `connection`. The log starts over beyond
    /// `log_pages`.
    pub(crate) fn start(
        connection: Connection,
        files: Arc<Files>,
        log_pages: i64,
    ) -> std::io::Result<Self> {
        let signal = Arc::clone(&files.signal);
        let told = Arc::clone(&signal);
        let thread = std::thread::Builder::new()
            .name("checkpoint".to_owned())
            .spawn(move || {
                while let Some(due) = told.wait() {
                    if due.note_is_due
                        && let Err(error) = files.note()
                    {
                        tracing::warn!(
                            path = %files.path.display(),
                            error = %legation_core::error::chain(&error),
                            "the database could not be told what the ledger holds; the next start reads more of it"
                        );
                    }
                    if due.log_is_due
                        && let Err(error) = run(&connection, &files, log_pages)
                    {
                        tracing::warn!(
                            path = %files.path.display(),
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

    /// Ends the thread and waits for it.
    pub(crate) fn stop(&mut self) {
        self.signal.set(|state| state.stop = true);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the checkpoint thread panicked");
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(connection: &Connection, files: &Files, log_pages: i64) -> rusqlite::Result<()> {
    let mut done = checkpoint_passive(connection)?;
    if done.log_pages <= log_pages {
        return Ok(());
    }
    for _ in 0..ROUNDS {
        if done.log_pages - done.moved_pages <= FEW_PAGES {
            break;
        }
        done = checkpoint_passive(connection)?;
    }
    // Holding the writer keeps commits from adding pages, and from meeting
    // SQLite's own lock, for which they would sleep in milliseconds.
    let held = files.writer();
    if done.log_pages > log_pages * HUGE {
        checkpoint_truncate(connection)?;
    } else {
        checkpoint_passive(connection)?;
    }
    drop(held);
    Ok(())
}

// === impl Signal ===

impl Signal {
    /// Says that the log has grown.
    pub(crate) fn log_is_due(&self) {
        self.set(|state| state.log_is_due = true);
    }

    /// Says that the volume has something to be noted.
    pub(crate) fn note_is_due(&self) {
        self.set(|state| state.note_is_due = true);
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_one();
    }

    /// Waits until something is to be done; `None` when the thread shall end.
    fn wait(&self) -> Option<State> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self
            .wake
            .wait_while(state, |state| {
                !state.log_is_due && !state.note_is_due && !state.stop
            })
            .unwrap_or_else(PoisonError::into_inner);
        let due = *state;
        (state.log_is_due, state.note_is_due) = (false, false);
        (!due.stop).then_some(due)
    }
}
