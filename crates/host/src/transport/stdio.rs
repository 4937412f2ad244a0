//! A server that is a child process.
//!
//! One task per server reads its output and hands every message to the link;
//! writing is done by whoever has something to say, and only what the pipe
//! does not take at once waits for that task.

mod stderr;
mod writer;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use legation_core::process::{Child, ChildSpec};
use legation_wire::framing::LineDecoder;
use legation_wire::upstream::Link;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::ChildStdout;
use tokio::sync::oneshot;

use self::writer::Fault;
pub(super) use self::writer::Writer;
use super::LineSink;
use super::error::StartError;
use super::shared::{After, Carrier, Shared};

/// What is read at once at first, and from a server that fills it: most never do.
const CHUNK: (usize, usize) = (8 * 1024, 64 * 1024);
/// How long a server whose output has ended may take to end as well.
const EOF_GRACE: Duration = Duration::from_secs(2);
/// A line that goes on this many times past the limit is not waited for.
const ENDLESS: usize = 16;
/// Nor one of which nothing more comes for so long.
const STALL: Duration = Duration::from_secs(10);
/// How long the rest of stderr is waited for once the process is gone.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A process to speak to.
#[derive(Clone)]
pub struct StdioSpec {
    /// What to start.
    pub child: ChildSpec,
    /// Written before the first message: what a program that confines itself, and
    /// then starts the server, has to know.
    pub preamble: Vec<u8>,
    /// Takes the lines the process writes to stderr.
    pub stderr: LineSink,
    /// Where they are kept as well.
    pub log_file: Option<PathBuf>,
    /// How long a stop may take before it is forced.
    pub stop_grace: Duration,
}

/// A process under way.
#[derive(Debug)]
pub(super) struct Process {
    pid: AtomicU32,
    stop_grace: Duration,
}

/// Why reading ended.
enum End {
    /// The server's output ended, or it closed its input.
    Eof,
    /// The hub wants the end.
    Stopping,
    /// The server did something that cannot be continued.
    Fault(String),
}

// === impl StdioSpec ===

impl std::fmt::Debug for StdioSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StdioSpec")
            .field("child", &self.child)
            .field("log_file", &self.log_file)
            .field("stop_grace", &self.stop_grace)
            .finish_non_exhaustive()
    }
}

// === impl Process ===

impl Process {
    pub(super) fn start(shared: &Arc<Shared>, spec: StdioSpec) -> Arc<Self> {
        let process = Arc::new(Self {
            pid: AtomicU32::new(0),
            stop_grace: spec.stop_grace,
        });
        let task = run(Arc::clone(shared), Arc::clone(&process), spec);
        shared.spawn("stdio server", task);
        process
    }

    pub(super) fn pid(&self) -> Option<u32> {
        Some(self.pid.load(Ordering::Relaxed)).filter(|pid| *pid != 0)
    }

    pub(super) fn stop_grace(&self) -> Duration {
        self.stop_grace
    }
}

/// The server's task: once, or twice where the probe has broken the first.
async fn run(shared: Arc<Shared>, process: Arc<Process>, spec: StdioSpec) {
    loop {
        let child = match Child::spawn(&spec.child) {
            Ok(child) => child,
            Err(source) => {
                shared.start_failed(StartError::Spawn { source });
                shared.closed("the server's process was not started");
                break;
            }
        };
        let why = Box::pin(serve(&shared, &process, &spec, child)).await;
        if shared.closed(&why) == After::Over {
            break;
        }
    }
    shared.stopped.cancel();
}

/// One life of the process. Returns why it ended, when all of it is gone.
async fn serve(
    shared: &Arc<Shared>,
    process: &Process,
    spec: &StdioSpec,
    mut child: Child,
) -> String {
    let (Some(mut stdin), Some(mut stdout), Some(stderr)) =
        (child.take_stdin(), child.take_stdout(), child.take_stderr())
    else {
        return "the server's pipes are missing".to_owned();
    };
    let (heard, last_words) = oneshot::channel::<()>();
    let copy = stderr::copy(stderr, spec);
    shared.spawn("stderr of a server", async move {
        copy.await;
        drop(heard);
    });
    if !spec.preamble.is_empty() {
        // One that is gone already says why by its exit.
        let told = stdin.write_all(&spec.preamble);
        let _gone = tokio::time::timeout(STALL, told).await;
    }
    let writer = Arc::new(Writer::new(stdin));
    shared.set_carrier(Carrier::Stdio(Arc::clone(&writer)));
    shared.drive(Link::start);
    let end = {
        let mut read = pin!(read(shared, process, &mut child, &mut stdout));
        let mut flush = pin!(writer.flush());
        tokio::select! {
            end = &mut read => end,
            fault = &mut flush => match fault {
                // Its exit says more than a broken pipe.
                Fault::Closed => End::Eof,
                Fault::Stuck(why) => End::Fault(why),
            },
            () = shared.stopping.cancelled() => End::Stopping,
        }
    };
    shared.set_carrier(Carrier::None);
    writer.close();
    // A server that is being ended may still write; nobody reads it, but it
    // must not wait for somebody to.
    let drain = async {
        let mut sink = tokio::io::sink();
        let _broken = tokio::io::copy(&mut stdout, &mut sink).await;
        std::future::pending().await
    };
    let grace = match end {
        End::Stopping => spec.stop_grace,
        End::Eof => EOF_GRACE,
        End::Fault(_) => Duration::ZERO,
    };
    let exit = tokio::select! {
        exit = child.stop(grace) => exit,
        never = drain => never,
    };
    // The reason for the end is often the last line, and whoever hears of the
    // end looks for it in the log.
    let _said_all = tokio::time::timeout(LAST_WORDS, last_words).await;
    match end {
        End::Stopping => "the hub stopped the server".to_owned(),
        End::Eof => format!("the server {exit}"),
        End::Fault(fault) => fault,
    }
}

async fn read(
    shared: &Arc<Shared>,
    process: &Process,
    child: &mut Child,
    stdout: &mut ChildStdout,
) -> End {
    let limit = shared.limits.bytes;
    let mut lines = LineDecoder::new(limit);
    let mut chunk = BytesMut::with_capacity(CHUNK.0);
    loop {
        chunk.clear();
        // A line that is left out hides everything behind it until it ends.
        let patience = lines.dropping().map(|_| STALL);
        let read = async { stdout.read_buf(&mut chunk).await };
        let read = match patience {
            Some(patience) => match tokio::time::timeout(patience, read).await {
                Ok(read) => read,
                Err(_) => return End::Fault(too_long(limit)),
            },
            None => read.await,
        };
        match read {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => return End::Fault(format!("the server's output broke: {error}")),
        }
        if process.pid().is_none() {
            process
                .pid
                .store(child.pid().unwrap_or(0), Ordering::Relaxed);
        }
        lines.push(&chunk);
        if chunk.len() == CHUNK.0 {
            chunk = BytesMut::with_capacity(CHUNK.1);
        }
        loop {
            match lines.next() {
                Ok(Some(line)) => {
                    shared.feed(line, None);
                }
                Ok(None) => break,
                Err(line) => shared.overlong(&line),
            }
        }
        let endless = limit.saturating_mul(ENDLESS);
        if lines.dropping().is_some_and(|dropped| dropped > endless) {
            return End::Fault(too_long(limit));
        }
    }
    if let Some(rest) = lines.finish_stream() {
        shared.stray(|| {
            let start = String::from_utf8_lossy(&rest[..rest.len().min(120)]);
            format!("the server's output ended inside a line: {start}")
        });
    }
    End::Eof
}

fn too_long(limit: usize) -> String {
    format!(
        "the server sent a line without end, of which no more than {limit} bytes are taken (limits.upstream_message_bytes), and was stopped"
    )
}
