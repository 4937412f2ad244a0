//! A client on the Unix socket.

use std::time::Duration;

use legation_wire::json::Raw;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::raw;

const HUNG: Duration = Duration::from_secs(20);

pub(crate) struct SocketClient {
    reader: BufReader<OwnedReadHalf>,
    pub(crate) writer: OwnedWriteHalf,
}

impl SocketClient {
    pub(crate) async fn connect(path: &std::path::Path) -> Self {
        let stream = UnixStream::connect(path).await.expect("connected");
        let (reader, writer) = stream.into_split();
        Self {
            reader: BufReader::new(reader),
            writer,
        }
    }

    /// Connects and greets.
    pub(crate) async fn greet(path: &std::path::Path, hello: &str) -> (Self, Raw) {
        let mut client = Self::connect(path).await;
        client
            .send(&format!(r#"{{"legation":1,"hello":{hello}}}"#))
            .await;
        let answer = client.line().await.expect("an answer");
        (client, answer)
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.writer.write_all(line.as_bytes()).await.expect("sent");
        self.writer.write_all(b"\n").await.expect("sent");
    }

    /// The next message; `None` when the other side has closed.
    pub(crate) async fn line(&mut self) -> Option<Raw> {
        let mut line = String::new();
        let read = tokio::time::timeout(HUNG, self.reader.read_line(&mut line))
            .await
            .expect("hung");
        (read.expect("read") > 0).then(|| raw(&line))
    }
}
