//! As much of an HTTP/1.1 client as a load generator needs: one connection, one request at a time,
//! the request's bytes made in advance.

#[cfg(test)]
mod tests;

use std::io;

use bytes::{Buf as _, BytesMut};
use memchr::memmem;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Header fields that a response may have.
const MAX_HEADERS: usize = 64;

/// One kept-alive connection.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    buffer: BytesMut,
    body: Vec<u8>,
}

/// What a response's head says, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The status code.
    pub status: u16,
    /// The session a server opened.
    pub session: Option<String>,
    framing: Framing,
    /// Bytes of the head, the empty line included.
    length: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
}

/// Where an HTTP server's endpoint is: `http://HOST:PORT/PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// `HOST:PORT`, which is the `Host` header too.
    pub authority: String,
    /// The path, with its slash.
    pub path: String,
}

// === impl Url ===

impl std::str::FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text
            .strip_prefix("http://")
            .ok_or("only http:// is measured")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Self {
            authority: authority.to_owned(),
            path: format!("/{path}"),
        })
    }
}

// === impl Connection ===

impl Connection {
    /// Connects to `HOST:PORT`.
    ///
    /// # Errors
    /// The socket's.
    pub async fn open(authority: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(authority).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: BytesMut::with_capacity(8 << 10),
            body: Vec::new(),
        })
    }

    /// Sends a request and reads the whole response.
    ///
    /// # Errors
    /// The socket's, or the response is not HTTP.
    pub async fn exchange(&mut self, request: &[u8]) -> io::Result<(Head, &[u8])> {
        self.stream.write_all(request).await?;
        let head = loop {
            if !self.buffer.is_empty()
                && let Some(head) = parse_head(&self.buffer)?
            {
                break head;
            }
            self.fill().await?;
        };
        self.buffer.advance(head.length);
        self.body.clear();
        match head.framing {
            Framing::Length(length) => {
                while self.buffer.len() < length {
                    self.fill().await?;
                }
                self.body.extend_from_slice(&self.buffer[..length]);
                self.buffer.advance(length);
            }
            Framing::Chunked => while self.chunk().await? {},
        }
        Ok((head, &self.body))
    }

    /// Reads one chunk (RFC 9112, 7.1); false after the last.
    async fn chunk(&mut self) -> io::Result<bool> {
        let line = loop {
            if let Some(at) = memmem::find(&self.buffer, b"\r\n") {
                break at;
            }
            self.fill().await?;
        };
        let size = std::str::from_utf8(&self.buffer[..line]).ok();
        let size = size.and_then(|text| text.split(';').next());
        let size = size.and_then(|text| usize::from_str_radix(text.trim(), 16).ok());
        let size = size.ok_or_else(|| bad("a chunk has no size"))?;
        while self.buffer.len() < line + 2 + size + 2 {
            self.fill().await?;
        }
        self.buffer.advance(line + 2);
        self.body.extend_from_slice(&self.buffer[..size]);
        self.buffer.advance(size + 2);
        Ok(size > 0)
    }

    async fn fill(&mut self) -> io::Result<()> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server hung up",
            ));
        }
        Ok(())
    }
}

/// The head, once all of it is here.
fn parse_head(bytes: &[u8]) -> io::Result<Option<Head>> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut fields);
    let parsed = response
        .parse(bytes)
        .map_err(|_| bad("the response is not HTTP/1.1"))?;
    let httparse::Status::Complete(length) = parsed else {
        return Ok(None);
    };
    let status = response.code.unwrap_or_default();
    let (mut framing, mut session) = (Framing::Length(0), None);
    for field in response.headers.iter() {
        let text = std::str::from_utf8(field.value).unwrap_or_default();
        if field.name.eq_ignore_ascii_case("content-length") {
            let length = text.parse().map_err(|_| bad("the length is no number"))?;
            framing = Framing::Length(length);
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            framing = Framing::Chunked;
        } else if field.name.eq_ignore_ascii_case("mcp-session-id") {
            session = Some(text.to_owned());
        }
    }
    Ok(Some(Head {
        status,
        session,
        framing,
        length,
    }))
}

fn bad(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
