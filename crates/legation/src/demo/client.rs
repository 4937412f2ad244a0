//! A client of either era on the hub's socket, as small as one can be.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use legation_cli::{CliError, Exit};
use legation_core::Home;
use legation_core::hello::{HELLO_VERSION, Hello, HelloAnswer, HelloLine, Mode};
use legation_core::id::random_hex;
use serde_json::{Value, json};

/// How long one answer may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A connection.
#[derive(Debug)]
pub(crate) struct DemoClient {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    modern: bool,
    next_id: u64,
}

// === impl DemoClient ===

impl DemoClient {
    /// Connects and, in the legacy era, shakes hands; the second value is what
    /// the hub said of itself.
    pub(crate) fn connect(home: &Home, modern: bool) -> Result<(Self, Value), CliError> {
        Self::connect_in(home, modern, None)
    }

    /// The same, as a client that works in a folder.
    pub(crate) fn connect_in(
        home: &Home,
        modern: bool,
        folder: Option<&Path>,
    ) -> Result<(Self, Value), CliError> {
        let io = |error: std::io::Error| CliError::new(Exit::NotReachable, error.to_string());
        let stream = UnixStream::connect(home.socket()).map_err(io)?;
        stream.set_read_timeout(Some(LIMIT)).map_err(io)?;
        let writer = stream.try_clone().map_err(io)?;
        let mut client = Self {
            reader: BufReader::new(stream),
            writer,
            modern,
            next_id: 0,
        };
        let hello = Hello {
            mode: Mode::Mcp,
            endpoint: None,
            cwd: folder.map(|folder| folder.display().to_string()),
            client: Some("demo".to_owned()),
            token: None,
            seat: random_hex().map_err(|error| CliError::new(Exit::Failed, error.to_string()))?,
            version: crate::VERSION.to_owned(),
            channel: false,
            again: false,
        };
        client.send(&json!(HelloLine {
            legation: HELLO_VERSION,
            hello
        }))?;
        let answer: HelloAnswer =
            serde_json::from_value(client.receive()?).map_err(|error| CliError::failed(&error))?;
        if let Some(rejection) = answer.error {
            return Err(CliError::new(Exit::NotReachable, rejection.message));
        }
        let about = if modern {
            client.call("server/discover", json!({}))
        } else {
            let about = client.call(
                "initialize",
                json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": {},
                    "clientInfo": {"name": "legation-demo", "version": crate::VERSION},
                }),
            );
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
            about
        };
        Ok((
            client,
            about?.map_err(|error| CliError::new(Exit::Failed, error.to_string()))?,
        ))
    }

    /// One request; the inner error is the hub's own.
    pub(crate) fn call(
        &mut self,
        method: &str,
        mut params: Value,
    ) -> Result<Result<Value, Value>, CliError> {
        self.next_id += 1;
        let id = self.next_id;
        if self.modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "legation-demo", "version": crate::VERSION},
            });
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut message = self.receive()?;
            if message["id"] != id {
                continue;
            }
            let error = message["error"].take();
            return Ok(if error.is_null() {
                Ok(message["result"].take())
            } else {
                Err(error)
            });
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), CliError> {
        writeln!(self.writer, "{message}")
            .map_err(|error| CliError::new(Exit::NotReachable, error.to_string()))
    }

    fn receive(&mut self) -> Result<Value, CliError> {
        let mut line = String::new();
        let read = self
            .reader
            .read_line(&mut line)
            .map_err(|error| CliError::new(Exit::NotReachable, error.to_string()))?;
        if read == 0 {
            return Err(CliError::new(
                Exit::NotReachable,
                "the hub closed the connection",
            ));
        }
        serde_json::from_str(&line).map_err(|error| CliError::failed(&error))
    }
}
