//! An MCP client as a load generator sees one: bytes made in advance, answers checked by content.
//!
//! Three ways to a server: HTTP, the hub's Unix socket, and a child's standard input and output.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use memchr::memmem;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use crate::http::{Connection, Url};

/// What a client says of itself, and how it speaks.
#[derive(Debug, Clone)]
pub struct Dialect {
    /// Whether it speaks 2026-07-28 instead of 2025-11-25.
    pub modern: bool,
    /// The bearer token, if the server wants one.
    pub token: Option<String>,
}

/// Where the server is.
#[derive(Debug, Clone)]
pub enum Target {
    /// A Streamable HTTP endpoint.
    Http(Url),
    /// The hub's Unix socket.
    Socket(PathBuf),
}

/// An open MCP connection with one request in flight at a time.
#[derive(Debug)]
pub enum Client {
    /// Over HTTP.
    Http(Box<HttpClient>),
    /// One message a line.
    Lines(Box<LineClient>),
}

/// A client over HTTP, with its session in the legacy era.
#[derive(Debug)]
pub struct HttpClient {
    connection: Connection,
    url: Url,
    dialect: Dialect,
    session: Option<String>,
    request: Vec<u8>,
}

/// A client over a byte stream.
#[derive(Debug)]
pub struct LineClient {
    reader: BufReader<tokio::net::unix::OwnedReadHalf>,
    writer: tokio::net::unix::OwnedWriteHalf,
    line: Vec<u8>,
}

/// The `_meta` that a modern request carries, as a member with its comma.
const MODERN_META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench-load","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench-load","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

// === impl Dialect ===

impl Dialect {
    /// A request's body; `members` are the members of `params`.
    #[must_use]
    pub fn body(&self, id: u64, method: &str, members: &str) -> String {
        let meta = match (self.modern, members.is_empty()) {
            (false, _) => "",
            (true, true) => &MODERN_META[1..],
            (true, false) => MODERN_META,
        };
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}{meta}}}}}"#)
    }

    /// A `tools/call`'s body.
    #[must_use]
    pub fn call(&self, id: u64, tool: &str, text: &str) -> String {
        let members = format!(r#""name":"{tool}","arguments":{{"text":"{text}"}}"#);
        self.body(id, "tools/call", &members)
    }
}

// === impl Client ===

impl Client {
    /// Connects and, in the legacy era, opens a session.
    ///
    /// # Errors
    /// The server is not there, or refuses.
    pub async fn open(target: &Target, dialect: &Dialect) -> Result<Self> {
        match target {
            Target::Http(url) => Ok(Self::Http(Box::new(HttpClient::open(url, dialect).await?))),
            Target::Socket(path) => Ok(Self::Lines(Box::new(
                LineClient::open(path, dialect).await?,
            ))),
        }
    }

    /// Sends a request and returns the message that answers it, or the event stream with it.
    ///
    /// # Errors
    /// The transport's, or an HTTP status other than 200.
    pub async fn request(&mut self, method: &str, name: Option<&str>, body: &str) -> Result<&[u8]> {
        match self {
            Self::Http(client) => client.request(method, name, body).await,
            Self::Lines(client) => client.request(body).await,
        }
    }

    /// Ends the session, if there is one. A server that is gone or keeps sessions to itself does
    /// not matter any more.
    pub async fn close(self) {
        if let Self::Http(mut client) = self
            && client.session.is_some()
        {
            client.write_head("DELETE", "", None, 0);
            client.request.extend_from_slice(b"\r\n");
            drop(client.connection.exchange(&client.request).await);
        }
    }
}

// === impl HttpClient ===

impl HttpClient {
    async fn open(url: &Url, dialect: &Dialect) -> Result<Self> {
        let connection = Connection::open(&url.authority)
            .await
            .with_context(|| format!("cannot connect to {}", url.authority))?;
        let mut client = Self {
            connection,
            url: url.clone(),
            dialect: dialect.clone(),
            session: None,
            request: Vec::new(),
        };
        if !dialect.modern {
            client.write("initialize", None, INITIALIZE);
            let (head, body) = client.connection.exchange(&client.request).await?;
            ensure!(
                head.status == 200,
                "initialize: {} {}",
                head.status,
                shorten(body)
            );
            client.session = head.session;
            client.write("notifications/initialized", None, INITIALIZED);
            let (head, body) = client.connection.exchange(&client.request).await?;
            ensure!(
                head.status / 100 == 2,
                "initialized: {} {}",
                head.status,
                shorten(body)
            );
        }
        Ok(client)
    }

    async fn request(&mut self, method: &str, name: Option<&str>, body: &str) -> Result<&[u8]> {
        self.write(method, name, body);
        let (head, body) = self.connection.exchange(&self.request).await?;
        ensure!(
            head.status == 200,
            "{method}: {} {}",
            head.status,
            shorten(body)
        );
        Ok(body)
    }

    /// Puts head and body together; one write then sends both.
    fn write(&mut self, method: &str, name: Option<&str>, body: &str) {
        self.write_head("POST", method, name, body.len());
        self.request.extend_from_slice(b"\r\n");
        self.request.extend_from_slice(body.as_bytes());
    }

    /// Puts the head together, without the line that ends it.
    fn write_head(&mut self, verb: &str, method: &str, name: Option<&str>, length: usize) {
        let Url { authority, path } = &self.url;
        let mut head = format!(
            "{verb} {path} HTTP/1.1\r\nhost: {authority}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {length}\r\n"
        );
        let mut field = |name: &str, value: &str| {
            for part in [name, ": ", value, "\r\n"] {
                head.push_str(part);
            }
        };
        if let Some(token) = &self.dialect.token {
            field("authorization", &format!("Bearer {token}"));
        }
        if self.dialect.modern {
            field("mcp-protocol-version", "2026-07-28");
            field("mcp-method", method);
            if let Some(name) = name {
                field("mcp-name", name);
            }
        } else if method != "initialize" {
            field("mcp-protocol-version", "2025-11-25");
        }
        if let Some(session) = &self.session {
            field("mcp-session-id", session);
        }
        self.request.clear();
        self.request.extend_from_slice(head.as_bytes());
    }
}

// === impl LineClient ===

impl LineClient {
    async fn open(path: &std::path::Path, dialect: &Dialect) -> Result<Self> {
        let stream = tokio::net::UnixStream::connect(path)
            .await
            .with_context(|| format!("cannot connect to {}", path.display()))?;
        let (reader, writer) = stream.into_split();
        let reader = BufReader::with_capacity(8 << 10, reader);
        let mut client = Self {
            reader,
            writer,
            line: Vec::new(),
        };
        let seat = format!("bench{}", crate::load::next_seat());
        let token = dialect
            .token
            .as_deref()
            .map(|t| format!(r#","token":"{t}""#));
        let token = token.unwrap_or_default();
        let hello = format!(
            r#"{{"legation":1,"hello":{{"mode":"mcp","seat":"{seat}","version":"1","client":null{token}}}}}"#
        );
        send(&mut client.writer, &hello).await?;
        receive(&mut client.reader, &mut client.line).await?;
        ensure!(
            memmem::find(&client.line, br#""ok""#).is_some(),
            "the hub refuses: {}",
            shorten(&client.line)
        );
        if !dialect.modern {
            let answer = client.request(INITIALIZE).await?;
            ensure!(
                memmem::find(answer, br#""result""#).is_some(),
                "{}",
                shorten(answer)
            );
            send(&mut client.writer, INITIALIZED).await?;
        }
        Ok(client)
    }

    async fn request(&mut self, body: &str) -> Result<&[u8]> {
        send(&mut self.writer, body).await?;
        loop {
            receive(&mut self.reader, &mut self.line).await?;
            // What has a method is a notification or a question; nobody here declared to answer one.
            if memmem::find(&self.line, br#""method":"#).is_none() {
                return Ok(&self.line);
            }
        }
    }
}

/// Writes one message and its newline at once.
async fn send(writer: &mut (impl AsyncWrite + Unpin), message: &str) -> Result<()> {
    let mut line = String::with_capacity(message.len() + 1);
    line.push_str(message);
    line.push('\n');
    writer.write_all(line.as_bytes()).await?;
    Ok(())
}

/// Reads one line.
async fn receive(reader: &mut BufReader<impl AsyncRead + Unpin>, line: &mut Vec<u8>) -> Result<()> {
    line.clear();
    if reader.read_until(b'\n', line).await? == 0 {
        bail!("the hub hung up");
    }
    Ok(())
}

/// The beginning of an answer, for a message.
#[must_use]
pub fn shorten(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().take(300).collect()
}
