//! Somebody who speaks JSON, one message a line, and when each of their lines came.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::sys;

/// Lines that may wait to be looked at; whoever says more is read later, and so seems slow.
const WAITING: usize = 1024;
/// How long anything may take before it counts as broken.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// A line, and when it was read.
#[derive(Debug)]
pub(super) struct Heard {
    /// Before the line was parsed.
    pub(super) at: Instant,
    pub(super) message: Value,
}

/// A program or a socket; a program ends with this.
pub(super) struct Lines {
    out: Box<dyn Write>,
    heard: Receiver<Heard>,
    child: Option<Child>,
    last_id: u64,
}

// === impl Lines ===

impl Lines {
    /// A program's standard input and output.
    pub(super) fn start(mut command: Command) -> Result<Self> {
        let shown = format!("{command:?}");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {shown}"))?;
        let input = child.stdin.take().context("the program has no input")?;
        let output = child.stdout.take().context("the program has no output")?;
        let mut lines = Self::over(output, input);
        lines.child = Some(child);
        Ok(lines)
    }

    /// The hub's socket, as its owner's commands use it.
    pub(super) fn admin(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket);
        let stream = stream.with_context(|| format!("cannot connect to {}", socket.display()))?;
        let mut lines = Self::over(stream.try_clone()?, stream);
        let hello = json!({ "mode": "admin", "seat": "admin", "version": "bench" });
        lines.say(&json!({ "legation": 1, "hello": hello }))?;
        let answer = lines.next(|_| true)?.message;
        ensure!(answer["ok"].is_object(), "the hub refuses: {answer}");
        Ok(lines)
    }

    fn over<R: Read + Send + 'static, W: Write + 'static>(read: R, write: W) -> Self {
        let (sender, heard) = sync_channel(WAITING);
        std::thread::spawn(move || {
            let lines = BufReader::new(read).lines().map_while(Result::ok);
            for line in lines {
                let at = sys::now();
                let message = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if sender.send(Heard { at, message }).is_err() {
                    return;
                }
            }
        });
        Self {
            out: Box::new(write),
            heard,
            child: None,
            last_id: 0,
        }
    }

    /// Sends a message.
    pub(super) fn say(&mut self, message: &Value) -> Result<()> {
        self.out.write_all(format!("{message}\n").as_bytes())?;
        Ok(self.out.flush()?)
    }

    /// Sends a request and returns its id; the answer comes later.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Result<u64> {
        self.last_id += 1;
        let id = self.last_id;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        Ok(id)
    }

    /// A request and its answer, which must be a result.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Result<Heard> {
        let id = self.request(method, params)?;
        let heard = self.next(|message| message["id"] == id)?;
        let result = heard.message.get("result");
        ensure!(result.is_some(), "{method}: {}", heard.message);
        Ok(heard)
    }

    /// The next line that is wanted; those before it are dropped.
    pub(super) fn next(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Heard> {
        let found = self.within(PATIENCE, wanted)?;
        found.context("what was to be said was not said in time")
    }

    /// The same, within some time, and nothing when it is over.
    pub(super) fn within(
        &mut self,
        time: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Option<Heard>> {
        let end = sys::now() + time;
        loop {
            match self
                .heard
                .recv_timeout(end.saturating_duration_since(sys::now()))
            {
                Ok(heard) if wanted(&heard.message) => return Ok(Some(heard)),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => bail!("whoever was listened to has ended"),
            }
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // Whether it was still there does not matter.
            drop(child.kill());
            drop(child.wait());
        }
    }
}
