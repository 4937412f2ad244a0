//! An HTTP client that sends exactly the bytes it is told to.

use std::time::Duration;

use legation_wire::json::Raw;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::raw;

/// How long anything may take before a test counts as hung.
const HUNG: Duration = Duration::from_secs(20);

/// One connection.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    pub(crate) port: u16,
    token: Option<String>,
    read: Vec<u8>,
}

/// A response, whole or as far as it was waited for.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn json(&self) -> Raw {
        raw(&self.body)
    }

    pub(crate) fn code(&self) -> i64 {
        let error = self.json().get("error").expect("an error");
        error
            .get("code")
            .expect("a code")
            .to_i64()
            .expect("an integer")
    }

    /// The messages of an event stream.
    pub(crate) fn messages(&self) -> Vec<Raw> {
        self.body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter(|data| data.starts_with('{'))
            .map(raw)
            .collect()
    }

    /// The ids of the events of an event stream.
    pub(crate) fn ids(&self) -> Vec<&str> {
        self.body
            .lines()
            .filter_map(|line| line.strip_prefix("id: "))
            .collect()
    }
}

impl Client {
    pub(crate) async fn connect(port: u16, token: Option<&str>) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port))
            .await
            .expect("connected");
        // Pieces of a request are sent as pieces.
        stream.set_nodelay(true).expect("set");
        Self {
            stream,
            port,
            token: token.map(str::to_owned),
            read: Vec::new(),
        }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("sent");
    }

    /// A request in full, with the headers every client sends.
    pub(crate) fn text(&self, line: &str, headers: &str, body: &str) -> String {
        let token = self
            .token
            .as_ref()
            .map(|token| format!("Authorization: Bearer {token}\r\n"));
        format!(
            "{line} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{}Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            self.port,
            token.unwrap_or_default(),
            body.len(),
        )
    }

    pub(crate) async fn request(&mut self, line: &str, headers: &str, body: &str) -> Response {
        let text = self.text(line, headers, body);
        self.send(text.as_bytes()).await;
        self.response().await
    }

    pub(crate) async fn post(&mut self, headers: &str, body: &str) -> Response {
        self.request("POST /mcp", headers, body).await
    }

    /// A modern request, its headers mirrored from its body.
    pub(crate) async fn modern(&mut self, body: &str) -> Response {
        let headers = mirrored(body);
        self.post(&headers, body).await
    }

    /// The head of a response; the body stays to be read.
    pub(crate) async fn head(&mut self) -> Response {
        let end = loop {
            if let Some(end) = find(&self.read, b"\r\n\r\n") {
                break end;
            }
            assert!(
                self.more().await,
                "closed before a response: {:?}",
                String::from_utf8_lossy(&self.read)
            );
        };
        let head = String::from_utf8(self.read.drain(..end + 4).collect()).expect("text");
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .expect("a status");
        Response {
            status,
            head,
            body: String::new(),
        }
    }

    /// A whole response.
    pub(crate) async fn response(&mut self) -> Response {
        let mut response = self.head().await;
        if response.header("transfer-encoding").is_some() {
            while let Some(chunk) = self.chunk().await {
                response.body.push_str(&chunk);
            }
        } else {
            let length: usize = response
                .header("content-length")
                .map_or(0, |length| length.parse().expect("a length"));
            while self.read.len() < length {
                assert!(self.more().await, "closed in a body");
            }
            response.body = String::from_utf8(self.read.drain(..length).collect()).expect("text");
        }
        response
    }

    /// The next chunk of a chunked body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Option<String> {
        let end = loop {
            if let Some(end) = find(&self.read, b"\r\n") {
                break end;
            }
            if !self.more().await {
                return None;
            }
        };
        let line = String::from_utf8(self.read[..end].to_vec()).expect("text");
        let length = usize::from_str_radix(&line, 16).expect("a chunk length");
        while self.read.len() < end + 2 + length + 2 {
            assert!(self.more().await, "closed in a chunk");
        }
        let chunk = String::from_utf8(self.read[end + 2..end + 2 + length].to_vec()).expect("text");
        self.read.drain(..end + 2 + length + 2);
        (length > 0).then_some(chunk)
    }

    /// Reads chunks until the text so far holds `wanted`.
    pub(crate) async fn until(&mut self, wanted: &str) -> String {
        let mut text = String::new();
        while !text.contains(wanted) {
            let chunk = self.chunk().await;
            text.push_str(&chunk.unwrap_or_else(|| panic!("ended without {wanted:?}: {text}")));
        }
        text
    }

    /// What has come and was not asked for.
    pub(crate) fn unread(&self) -> String {
        String::from_utf8_lossy(&self.read).into_owned()
    }

    /// Whether the other side has closed the connection.
    pub(crate) async fn is_closed(&mut self) -> bool {
        while self.more().await {}
        true
    }

    /// Waits until the front has taken everything that was sent to it out of its
    /// socket, as the kernel's table of connections says.
    pub(crate) async fn is_taken(&self) {
        let own = self.stream.local_addr().expect("an address").port();
        let ends = (format!(":{:04X}", self.port), format!(":{own:04X}"));
        let taken = || {
            let table = std::fs::read_to_string("/proc/net/tcp").expect("Linux has /proc");
            table.lines().any(|line| {
                let fields: Vec<&str> = line.split_whitespace().collect();
                // local_address rem_address st tx_queue:rx_queue, after a number.
                matches!(&fields[..], [_, local, remote, _, queues, ..]
                    if local.ends_with(&ends.0)
                        && remote.ends_with(&ends.1)
                        && queues.ends_with(":00000000"))
            })
        };
        let wait = async {
            while !taken() {
                // tidy: the kernel's table has nobody to tell of its change.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(HUNG, wait).await.expect("taken");
    }

    async fn more(&mut self) -> bool {
        let mut buffer = vec![0; 64 * 1024];
        let read = tokio::time::timeout(HUNG, self.stream.read(&mut buffer))
            .await
            .expect("hung");
        match read {
            Ok(0) | Err(_) => false,
            Ok(length) => {
                self.read.extend_from_slice(&buffer[..length]);
                true
            }
        }
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}

/// The headers that a modern client mirrors.
pub(crate) fn mirrored(body: &str) -> String {
    let body = raw(body);
    let params = body.get("params").unwrap_or_else(Raw::empty_object);
    let text = |raw: Option<Raw>| raw.and_then(|raw| raw.to_str().map(|text| text.into_owned()));
    let mut headers = format!(
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {}\r\n",
        text(body.get("method")).expect("a method")
    );
    for member in ["name", "uri", "taskId"] {
        if let Some(name) = text(params.get(member)) {
            headers.push_str(&format!("Mcp-Name: {name}\r\n"));
        }
    }
    headers
}
