//! Writing to a process that may not read.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use legation_wire::framing::encode_line;
use legation_wire::message::Message;
use tokio::net::unix::pipe;
use tokio::sync::Notify;

/// Most bytes that may wait for a process that does not read. More than one
/// message of a client's may be larger than the pipe.
const MAX_WAITING: usize = 64 << 20;
/// How long a process may take nothing at all while something waits.
const STALL: Duration = Duration::from_secs(30);

/// The pipe to a process, and what it has not taken yet.
#[derive(Debug)]
pub(in crate::transport) struct Writer {
    state: Mutex<State>,
    /// Something waits, or there is nothing to wait for any more.
    news: Notify,
}

#[derive(Debug)]
struct State {
    pipe: Option<Arc<pipe::Sender>>,
    waiting: VecDeque<Bytes>,
    bytes: usize,
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

// === impl Writer ===

impl Writer {
    pub(super) fn new(pipe: pipe::Sender) -> Self {
        Self {
            state: Mutex::new(State {
                pipe: Some(Arc::new(pipe)),
                waiting: VecDeque::new(),
                bytes: 0,
                fault: None,
            }),
            news: Notify::new(),
        }
    }

    /// Writes a message at once if the pipe takes it, else leaves it for
    /// [`flush`](Self::flush). Never waits.
    pub(in crate::transport) fn send(&self, message: &Message) {
        let line = encode_line(&message.to_bytes());
        let mut state = self.lock();
        if state.pipe.is_none() || state.fault.is_some() {
            return;
        }
        if state.bytes + line.len() > MAX_WAITING {
            state.fault = Some(Fault::Stuck(format!(
                "the server does not read its input: {} bytes wait",
                state.bytes
            )));
        } else {
            state.bytes += line.len();
            state.waiting.push_back(line);
            // Behind earlier messages there is nothing to try.
            if state.waiting.len() == 1 {
                state.write();
            }
        }
        if state.bytes > 0 || state.fault.is_some() {
            drop(state);
            self.news.notify_one();
        }
    }

    /// Writes what waits, for ever. Returns why there is no going on.
    pub(super) async fn flush(&self) -> Fault {
        loop {
            let news = self.news.notified();
            let (pipe, before) = {
                let mut state = self.lock();
                state.write();
                if let Some(fault) = state.fault.take() {
                    return fault;
                }
                (state.pipe.clone(), state.bytes)
            };
            let Some(pipe) = pipe.filter(|_| before > 0) else {
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
        let mut state = self.lock();
        state.pipe = None;
        state.waiting.clear();
        state.bytes = 0;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    fn write(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        while let Some(first) = self.waiting.front_mut() {
            match pipe.try_write(first) {
                Ok(written) => {
                    self.bytes -= written;
                    first.advance(written);
                    if first.is_empty() {
                        self.waiting.pop_front();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.pipe = None;
                    self.fault = Some(Fault::Closed);
                    self.waiting.clear();
                    self.bytes = 0;
                    return;
                }
            }
        }
    }
}
