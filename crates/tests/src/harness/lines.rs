//! The line transport of the test client: a child's stdio or a Unix socket.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use anyhow::Context;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::peer::{Answer, Pending, Shared};
use crate::fixture::lock;

type Waiting = Arc<Mutex<HashMap<i64, oneshot::Sender<Answer>>>>;

/// One stream of lines.
#[derive(Debug)]
pub struct LineWire {
    out: mpsc::Sender<String>,
    waiting: Waiting,
    tasks: Vec<AbortHandle>,
    /// The child, where there is one; killed on drop.
    child: Option<Child>,
}

// === impl LineWire ===

impl LineWire {
    /// Over the stdio of a program.
    pub fn spawn(mut command: Command, shared: Shared) -> anyhow::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the program")?;
        let input = child.stdin.take().context("the child has no stdin")?;
        let output = child.stdout.take().context("the child has no stdout")?;
        let mut wire = Self::over(output, input, shared);
        wire.child = Some(child);
        Ok(wire)
    }

    /// Over a Unix socket.
    pub fn socket(path: &Path, shared: Shared) -> anyhow::Result<Self> {
        let stream = std::os::unix::net::UnixStream::connect(path)
            .with_context(|| format!("cannot connect to {}", path.display()))?;
        stream.set_nonblocking(true)?;
        let (read, write) = UnixStream::from_std(stream)?.into_split();
        Ok(Self::over(read, write, shared))
    }

    /// Over any pair of streams.
    pub fn over<R, W>(read: R, mut write: W, shared: Shared) -> Self
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (out, mut queue) = mpsc::channel::<String>(256);
        let waiting = Waiting::default();
        let writer = Handle::current().spawn(async move {
            while let Some(mut line) = queue.recv().await {
                line.push('\n');
                if write.write_all(line.as_bytes()).await.is_err() || write.flush().await.is_err() {
                    return;
                }
            }
        });
        let (answers, replies) = (Arc::clone(&waiting), out.clone());
        let reader = Handle::current().spawn(async move {
            let mut lines = BufReader::new(read).lines();
            while let Ok(Some(text)) = lines.next_line().await {
                let Ok(value) = serde_json::from_str::<Value>(&text) else {
                    continue;
                };
                if value.get("method").is_some() {
                    if let Some(reply) = shared.take(&value) {
                        let _gone = replies.send(reply.to_string()).await;
                    }
                } else if let Some(waiting) = value["id"]
                    .as_i64()
                    .and_then(|id| lock(&answers).remove(&id))
                {
                    let _gone = waiting.send(Answer {
                        text,
                        value,
                        status: 0,
                    });
                }
            }
            // Whoever still waits learns that nothing comes any more.
            lock(&answers).clear();
        });
        Self {
            out,
            waiting,
            tasks: vec![writer.abort_handle(), reader.abort_handle()],
            child: None,
        }
    }

    pub(super) async fn start(&self, id: i64, message: &Value) -> anyhow::Result<Pending> {
        let (sender, answer) = oneshot::channel();
        lock(&self.waiting).insert(id, sender);
        self.send(message).await?;
        Ok(Pending {
            id,
            answer,
            abort: None,
        })
    }

    /// Sends any message.
    pub async fn send(&self, message: &Value) -> anyhow::Result<()> {
        self.out
            .send(message.to_string())
            .await
            .context("the stream is closed")
    }
}

impl Drop for LineWire {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}
