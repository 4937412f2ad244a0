//! Messages of the Language Server Protocol (3.17, base protocol).

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Longest message, and longest header.
const MESSAGE_MAX: usize = 16 << 20;
const HEADER_MAX: usize = 4096;

/// A conversation with a server.
pub(super) struct Talk<I, O> {
    input: I,
    output: O,
    buffer: Vec<u8>,
    next: u64,
    /// What it told of files, the newest for each.
    published: Vec<(String, Vec<Value>)>,
}

// === impl Talk ===

impl<I: AsyncWrite + Unpin, O: AsyncRead + Unpin> Talk<I, O> {
    pub(super) fn new(input: I, output: O) -> Self {
        Self {
            input,
            output,
            buffer: Vec::new(),
            next: 1,
            published: Vec::new(),
        }
    }

    /// Asks, and waits for the answer.
    pub(super) async fn ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let id = self.next;
        self.next += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&request).await?;
        loop {
            let message = self.read().await?;
            if message.get("method").is_some() {
                self.hear(&message).await?;
            } else if message["id"] == json!(id) {
                let refused = message.get("error").map(|error| error["message"].clone());
                return match refused {
                    None => Ok(message["result"].clone()),
                    Some(why) => Err(format!("refused {method}: {why}")),
                };
            }
        }
    }

    /// Tells something that has no answer.
    pub(super) async fn tell(&mut self, method: &str, params: Value) -> Result<(), String> {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.write(&message).await
    }

    /// What the server tells of a file, once nothing followed for a while.
    pub(super) async fn published(
        &mut self,
        uri: &str,
        settled: Duration,
    ) -> Result<Vec<Value>, String> {
        loop {
            let known = self.published.iter().find(|(of, _)| of == uri);
            let known = known.map(|(_, found)| found.clone());
            // Nothing is lost of a message that was read in part: it is in the buffer.
            let message = match known {
                None => self.read().await?,
                Some(found) => match tokio::time::timeout(settled, self.read()).await {
                    Err(_) => return Ok(found),
                    Ok(message) => message?,
                },
            };
            self.hear(&message).await?;
        }
    }

    /// Hears what the server says by itself, and answers what it asks.
    async fn hear(&mut self, message: &Value) -> Result<(), String> {
        let params = &message["params"];
        let method = message["method"].as_str().unwrap_or_default();
        if method == "textDocument/publishDiagnostics"
            && let (Some(uri), Value::Array(found)) =
                (params["uri"].as_str(), &params["diagnostics"])
        {
            self.published.retain(|(of, _)| of != uri);
            self.published.push((uri.to_owned(), found.clone()));
        }
        let Some(id) = message.get("id") else {
            return Ok(());
        };
        let mut answer = json!({"jsonrpc": "2.0", "id": id});
        match method {
            "workspace/configuration" => {
                let asked = params["items"].as_array().map_or(0, Vec::len);
                answer["result"] = json!(vec![Value::Null; asked]);
            }
            "client/registerCapability"
            | "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest" => answer["result"] = Value::Null,
            _ => answer["error"] = json!({"code": -32601, "message": "this client cannot do that"}),
        }
        self.write(&answer).await
    }

    async fn write(&mut self, message: &Value) -> Result<(), String> {
        let text = message.to_string();
        let framed = format!("Content-Length: {}\r\n\r\n{text}", text.len());
        let written = self.input.write_all(framed.as_bytes()).await;
        written.map_err(|error| format!("ended ({error})"))
    }

    /// The next message. May be dropped and called again.
    async fn read(&mut self) -> Result<Value, String> {
        loop {
            if let Some((from, to)) = framed(&self.buffer)? {
                let message = serde_json::from_slice(&self.buffer[from..to]);
                self.buffer.drain(..to);
                return message.map_err(|error| format!("wrote no JSON ({error})"));
            }
            let mut chunk = [0; 8192];
            let read = self.output.read(&mut chunk).await;
            match read.map_err(|error| format!("ended ({error})"))? {
                0 => return Err("ended before it said anything about the file".to_owned()),
                read => self.buffer.extend_from_slice(&chunk[..read]),
            }
        }
    }
}

/// Where the first whole message begins and ends.
fn framed(buffer: &[u8]) -> Result<Option<(usize, usize)>, String> {
    let end = buffer.windows(4).position(|window| window == b"\r\n\r\n");
    let Some(end) = end else {
        if buffer.len() > HEADER_MAX {
            return Err("does not speak the protocol".to_owned());
        }
        return Ok(None);
    };
    let header = String::from_utf8_lossy(&buffer[..end]);
    let length = header.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.trim().eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    let Some(length) = length.filter(|length| *length <= MESSAGE_MAX) else {
        return Err("does not speak the protocol".to_owned());
    };
    let to = end + 4 + length;
    Ok((buffer.len() >= to).then_some((end + 4, to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_whole_or_waited_for() {
        let message = b"Content-Type: x\r\ncontent-length: 2\r\n\r\n{}rest";
        assert_eq!(framed(message), Ok(Some((38, 40))));
        for end in 0..40 {
            assert_eq!(framed(&message[..end]), Ok(None), "cut at {end}");
        }
        for bad in [
            b"Content-Length: x\r\n\r\n".as_slice(),
            b"Nothing: 1\r\n\r\n",
            &[b'x'; 5000],
        ] {
            assert!(framed(bad).is_err());
        }
    }

    #[tokio::test]
    async fn a_server_is_answered_while_it_is_waited_for() {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (output, input) = tokio::io::split(ours);
        let (server_output, server_input) = tokio::io::split(theirs);
        let server = async {
            let mut server = Talk::new(server_input, server_output);
            let request = server.read().await.unwrap();
            assert_eq!(request["method"], "initialize");
            let wants = json!({"items": [{}, {}]});
            let asked = server.ask("workspace/configuration", wants).await.unwrap();
            assert_eq!(asked, json!([null, null]));
            assert!(server.ask("strange/thing", json!({})).await.is_err());
            let answer =
                json!({"jsonrpc": "2.0", "id": request["id"], "result": {"capabilities": {}}});
            server.write(&answer).await.unwrap();
            for found in [json!([]), json!([{"message": "wrong"}])] {
                let params = json!({"uri": "file:///a", "diagnostics": found});
                server
                    .tell("textDocument/publishDiagnostics", params)
                    .await
                    .unwrap();
            }
            server
        };
        let client = async {
            let mut talk = Talk::new(input, output);
            let opened = talk.ask("initialize", json!({})).await.unwrap();
            assert_eq!(opened, json!({"capabilities": {}}));
            talk.published("file:///a", Duration::from_millis(200))
                .await
                .unwrap()
        };
        let (_server, found) = tokio::join!(server, client);
        assert_eq!(found, [json!({"message": "wrong"})]);
    }
}
