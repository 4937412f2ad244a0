//! Clients of the hub, one request at a time, that notice its death.
//!
//! Every request ends in an answer, in `None` when the hub is gone, or in an error, which fails the
//! campaign. A hub that is alive and says nothing is an error.

use std::io::{self, BufRead as _, BufReader, Read as _, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::bench::hub::Home;

/// How long an answer may take before the hub counts as hung.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection to the hub's socket.
#[derive(Debug)]
pub(super) struct Line {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    requests: u64,
}

/// A connection over HTTP, in the modern era.
#[derive(Debug)]
pub(super) struct Http {
    reader: BufReader<TcpStream>,
    authority: String,
    token: String,
    requests: u64,
}

/// What a call was answered with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// The server's own result.
    Done,
    /// It waits for a person, under this id.
    Pending(String),
    /// A person has said no.
    Denied,
    /// It was not done, for another reason.
    NotDone(String),
}

// === impl Line ===

impl Line {
    /// An agent's connection, its handshake done.
    pub(super) fn agent(home: &Home) -> Result<Option<Self>> {
        let Some(mut line) = Self::open(home, "mcp")? else {
            return Ok(None);
        };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "soak", "version": "1" },
        });
        if line.request("initialize", &hello)?.is_none() {
            return Ok(None);
        }
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        Ok(alive(write_line(&mut line.writer, &ready))?.map(|()| line))
    }

    /// The owner's connection.
    pub(super) fn owner(home: &Home) -> Result<Option<Self>> {
        Self::open(home, "admin")
    }

    fn open(home: &Home, mode: &str) -> Result<Option<Self>> {
        let Some(stream) = alive(UnixStream::connect(home.socket()))? else {
            return Ok(None);
        };
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut line = Self {
            reader: BufReader::new(stream.try_clone()?),
            writer: stream,
            requests: 0,
        };
        let hello =
            json!({ "legation": 1, "hello": { "mode": mode, "seat": "soak", "version": "0" } });
        if alive(write_line(&mut line.writer, &hello))?.is_none() {
            return Ok(None);
        }
        let Some(welcome) = line.message()? else {
            return Ok(None);
        };
        ensure!(welcome.get("ok").is_some(), "the hub says {welcome}");
        Ok(Some(line))
    }

    /// Sends a request and waits for its answer; what comes in between is not for it.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Result<Option<Value>> {
        self.requests += 1;
        let id = self.requests;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        if alive(write_line(&mut self.writer, &message))?.is_none() {
            return Ok(None);
        }
        loop {
            let answer = self.message()?;
            if answer.as_ref().is_none_or(|answer| answer["id"] == id) {
                return Ok(answer);
            }
        }
    }

    /// Calls a tool with a text.
    pub(super) fn call(&mut self, tool: &str, text: &str) -> Result<Option<Said>> {
        let params = json!({ "name": tool, "arguments": { "text": text } });
        let answer = self.request("tools/call", &params)?;
        answer.map(|answer| read(&answer, text)).transpose()
    }

    /// Answers an approval; whether the answer was taken.
    pub(super) fn answer(&mut self, id: &str, answer: &str) -> Result<Option<bool>> {
        let params = json!({ "id": id, "answer": answer });
        let said = self.request("approvals.answer", &params)?;
        Ok(said.map(|said| said.get("result").is_some()))
    }

    fn message(&mut self) -> Result<Option<Value>> {
        let mut line = Vec::new();
        match alive(self.reader.read_until(b'\n', &mut line))? {
            // A line without its end was cut off by the kill.
            Some(_) if line.ends_with(b"\n") => {
                let value = serde_json::from_slice(&line);
                Ok(Some(value.context("the hub sent what is no JSON")?))
            }
            Some(_) | None => Ok(None),
        }
    }
}

// === impl Http ===

impl Http {
    /// A connection with the owner's token.
    pub(super) fn open(home: &Home, authority: &str) -> Result<Option<Self>> {
        let token = std::fs::read_to_string(home.token())?.trim().to_owned();
        let Some(stream) = alive(TcpStream::connect(authority))? else {
            return Ok(None);
        };
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Some(Self {
            reader: BufReader::new(stream),
            authority: authority.to_owned(),
            token,
            requests: 0,
        }))
    }

    /// Calls a tool with a text.
    pub(super) fn call(&mut self, tool: &str, text: &str) -> Result<Option<Said>> {
        self.requests += 1;
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "soak", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": tool, "arguments": { "text": text }, "_meta": meta });
        let (id, method) = (self.requests, "tools/call");
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let body = body.to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\nmcp-name: {tool}\r\n\
             content-length: {}\r\n\r\n",
            self.authority,
            self.token,
            body.len()
        );
        let sent = self.reader.get_mut().write_all((head + &body).as_bytes());
        if alive(sent)?.is_none() {
            return Ok(None);
        }
        let Some(body) = self.body()? else {
            return Ok(None);
        };
        let answer = serde_json::from_slice(&body).context("the hub sent what is no JSON")?;
        read(&answer, text).map(Some)
    }

    fn body(&mut self) -> Result<Option<Vec<u8>>> {
        let mut length = None;
        loop {
            let mut line = String::new();
            if alive(self.reader.read_line(&mut line))?.is_none_or(|read| read == 0) {
                return Ok(None);
            }
            if line.trim().is_empty() {
                break;
            }
            let header = line.to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = Some(value.trim().parse()?);
            }
        }
        let mut body = vec![0; length.context("the answer has no length")?];
        Ok(alive(self.reader.read_exact(&mut body))?.map(|()| body))
    }
}

/// What an answer says; a wrong one fails the campaign.
fn read(answer: &Value, text: &str) -> Result<Said> {
    let result = &answer["result"];
    let data = &result["structuredContent"];
    if result["isError"] == false {
        ensure!(
            result["content"][0]["text"] == text,
            "{text} was answered with {answer}"
        );
        return Ok(Said::Done);
    }
    Ok(match data["reason_code"].as_str() {
        Some("APPROVAL_PENDING") => match data["approval_id"].as_str() {
            Some(id) => Said::Pending(id.to_owned()),
            None => bail!("a call waits under no id: {answer}"),
        },
        Some("APPROVAL_DENIED") => Said::Denied,
        _ => Said::NotDone(answer.to_string()),
    })
}

fn write_line(to: &mut impl Write, message: &Value) -> io::Result<()> {
    to.write_all(format!("{message}\n").as_bytes())
}

/// `None` for what a connection says whose other end was killed.
fn alive<T>(outcome: io::Result<T>) -> Result<Option<T>> {
    use io::ErrorKind as Kind;
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(error) => match error.kind() {
            Kind::BrokenPipe
            | Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::ConnectionRefused
            | Kind::NotConnected
            | Kind::NotFound
            | Kind::UnexpectedEof => Ok(None),
            Kind::WouldBlock | Kind::TimedOut => bail!("the hub did not answer in {PATIENCE:?}"),
            _ => Err(error).context("the connection to the hub failed"),
        },
    }
}
