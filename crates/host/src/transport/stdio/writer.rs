//! Writing to a process that may not read.
//!
//! Messages are put in order where they are made, under the connection's lock,
//! and written outside it: a write wakes the process, which takes longer than
//! everything else that is done under the lock. Who finds nobody writing writes
//! for all whose messages wait by then, with one call to the system.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use legation_wire::framing::write_line;
use legation_wire::message::Message;
use tokio::net::unix::pipe;
use tokio::sync::Notify;

/// Most bytes that may wait for a process that does not read. More than one
/// message of a client's may be larger than the pipe.
const MAX_WAITING: usize = 64 << 20;
/// How long a process may take nothing at all while something waits.
const STALL: Duration = Duration::from_secs(30);
/// Room that is kept for the next messages.
const KEPT: usize = 16 * 1024;

/// The pipe to a process, and what it has not taken yet.
#[derive(Debug)]
pub(in crate::transport) struct Writer {
    state: Mutex<State>,
    /// The pipe is full, or there is nothing to wait for any more.
    news: Notify,
}

#[derive(Debug)]
struct State {
    pipe: Option<Arc<pipe::Sender>>,
    /// Lines that nobody writes yet.
    waiting: Vec<u8>,
    /// Room for more of them, while others are being written.
    spare: Vec<u8>,
    /// Somebody writes, and will come back for what waits.
    is_writing: bool,
    fault: Option<Fault>,
}

/// Why there is no writing on.
#[derive(Debug)]
pub(super) enum Fault {
    /// The process has closed its input.
    Closed,
    /// The process does not read.
    Stuck(String),
}

/// How a write ended.
enum Written {
    All,
    /// The pipe has no room behind this many bytes.
    Full(usize),
    Closed,
}

// === impl Writer ===

impl Writer {
    pub(super) fn new(pipe: pipe::Sender) -> Self {
        Self {
            state: Mutex::new(State {
                pipe: Some(Arc::new(pipe)),
                waiting: Vec::new(),
                spare: Vec::new(),
                is_writing: false,
                fault: None,
            }),
            news: Notify::new(),
        }
    }

    /// Puts a message behind those that wait, for [`pump`](Self::pump) to write.
    pub(in crate::transport) fn queue(&self, message: &Message) {
        let line = message.to_bytes();
        let mut state = self.lock();
        if state.pipe.is_none() || state.fault.is_some() {
            return;
        }
        if state.waiting.len() + line.len() > MAX_WAITING {
            state.fault = Some(Fault::Stuck(format!(
                "the server does not read its input: {} bytes wait",
                state.waiting.len()
            )));
            drop(state);
            self.news.notify_one();
            return;
        }
        write_line(&mut state.waiting, &line);
    }

    /// Writes what waits as far as the pipe takes it; the rest is left for
    /// [`flush`](Self::flush). Never waits.
    pub(in crate::transport) fn pump(&self) {
        let mut state = self.lock();
        if state.is_writing {
            return;
        }
        state.is_writing = true;
        while !state.waiting.is_empty() && state.fault.is_none() {
            let Some(pipe) = state.pipe.clone() else {
                break;
            };
            let room = std::mem::take(&mut state.spare);
            let mut lines = std::mem::replace(&mut state.waiting, room);
            drop(state);
            let written = write(&pipe, &lines);
            state = self.lock();
            match written {
                Written::All => {
                    lines.clear();
                    lines.shrink_to(KEPT);
                    state.spare = lines;
                }
                Written::Full(length) => {
                    lines.drain(..length);
                    lines.append(&mut state.waiting);
                    state.waiting = lines;
                    self.news.notify_one();
                    break;
                }
                Written::Closed => {
                    state.end();
                    state.fault = Some(Fault::Closed);
                    self.news.notify_one();
                }
            }
        }
        state.is_writing = false;
    }

    /// Writes what waits for room, for ever. Returns why there is no going on.
    pub(super) async fn flush(&self) -> Fault {
        loop {
            let news = self.news.notified();
            self.pump();
            let pipe = {
                let mut state = self.lock();
                if let Some(fault) = state.fault.take() {
                    return fault;
                }
                // Whoever writes says so when the pipe is full.
                let is_left = !state.waiting.is_empty() && !state.is_writing;
                state.pipe.clone().filter(|_| is_left)
            };
            let Some(pipe) = pipe else {
                news.await;
                continue;
            };
            if tokio::time::timeout(STALL, pipe.writable()).await.is_err() {
                return Fault::Stuck(format!(
                    "the server has not read its input for {} s",
                    STALL.as_secs()
                ));
            }
        }
    }

    /// Closes the pipe, which tells the process that nothing follows.
    pub(super) fn close(&self) {
        self.lock().end();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    fn end(&mut self) {
        self.pipe = None;
        self.waiting = Vec::new();
        self.spare = Vec::new();
    }
}

fn write(pipe: &pipe::Sender, lines: &[u8]) -> Written {
    let mut at = 0;
    while at < lines.len() {
        match pipe.try_write(&lines[at..]) {
            Ok(length) => at += length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Written::Full(at),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Written::Closed,
        }
    }
    Written::All
}
