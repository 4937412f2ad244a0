//! What stands in for a model where none runs: it speaks OpenAI's chat completions on
//! loopback as far as one task needs them.

use std::io;

use legation_core::TaskSet;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The task it knows.
pub(super) const TASK: &str = "Write the sentence `Work was handed on.` into the file handed-on.txt, and say when it is done.";
/// The file that the task writes.
pub(super) const FILE: &str = "handed-on.txt";
/// What goes into it.
const CONTENT: &str = "Work was handed on.\n";
/// Most bytes of a request.
const REQUEST_MAX: usize = 4 * 1024 * 1024;

/// A running one; it ends with its tasks.
pub(super) struct StandIn {
    port: u16,
    _tasks: TaskSet,
}

// === impl StandIn ===

impl StandIn {
    pub(super) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let tasks = TaskSet::new();
        tasks.spawn("stand-in for a model", async move {
            let served = TaskSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                served.spawn("request to the stand-in", async move {
                    // Whoever asked has gone; there is nobody to tell.
                    drop(serve(stream).await);
                });
            }
        });
        Ok(Self {
            port,
            _tasks: tasks,
        })
    }

    pub(super) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}/v1/chat/completions", self.port)
    }
}

/// One request a connection.
async fn serve(mut stream: TcpStream) -> io::Result<()> {
    let mut bytes = Vec::new();
    let (path, body) = loop {
        if let Some(request) = request(&bytes) {
            break request;
        }
        if bytes.len() > REQUEST_MAX || stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    };
    let (kind, answer) = match path.ends_with("/chat/completions") {
        true => ("text/event-stream", streamed(&body)),
        false => {
            let models = json!({"object": "list", "data": [{"id": "stand-in", "object": "model"}]});
            ("application/json", models.to_string())
        }
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        answer.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

/// The path and the body of a request that is all there.
fn request(bytes: &[u8]) -> Option<(String, Value)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    let body = bytes.get(end + 4..end + 4 + length.unwrap_or(0))?;
    Some((path, serde_json::from_slice(body).unwrap_or_default()))
}

/// The next step of the task: the call, or after it the answer.
fn streamed(body: &Value) -> String {
    let messages = body["messages"].as_array().map(Vec::as_slice);
    let is_done = messages
        .unwrap_or_default()
        .iter()
        .any(|message| message["role"] == "tool");
    let (delta, finish) = match (is_done, writer(body)) {
        (false, Some(name)) => {
            let arguments = json!({"path": FILE, "content": CONTENT}).to_string();
            let function = json!({"name": name, "arguments": arguments});
            let call =
                json!({"index": 0, "id": "call_1", "type": "function", "function": function});
            (json!({"tool_calls": [call]}), "tool_calls")
        }
        (false, None) => (
            json!({"content": "There is no tool to write a file with."}),
            "stop",
        ),
        (true, _) => (
            json!({"content": format!("It is done: {FILE} holds the sentence.")}),
            "stop",
        ),
    };
    let usage = json!({"prompt_tokens": 40, "completion_tokens": 12, "total_tokens": 52});
    let chunk = |choice: Value| {
        let chunk = json!({
            "id": "stand-in", "object": "chat.completion.chunk", "created": 0, "model": "stand-in",
            "choices": [choice], "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let said = chunk(json!({"index": 0, "delta": delta, "finish_reason": null}));
    let end = chunk(json!({"index": 0, "delta": {}, "finish_reason": finish}));
    format!("{said}{end}data: [DONE]\n\n")
}

/// The tool that writes files, among those that were offered.
fn writer(body: &Value) -> Option<&str> {
    let tools = body["tools"].as_array()?;
    let mut names = tools
        .iter()
        .filter_map(|tool| tool["function"]["name"].as_str());
    names.find(|name| name.ends_with("write_file") && !name.starts_with("files"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_writes_the_file_and_then_says_so() {
        let tools = json!([
            {"function": {"name": "files-write_file"}},
            {"function": {"name": "write_file"}},
        ]);
        let first = json!({"messages": [{"role": "user", "content": TASK}], "tools": tools});
        let said = streamed(&first);
        assert!(
            said.contains(r#""name":"write_file""#) && said.contains("Work was handed on."),
            "{said}"
        );
        let second = json!({"messages": [{"role": "tool", "content": "ok"}], "tools": tools});
        assert!(streamed(&second).contains("It is done"));
        let nothing = json!({"messages": [], "tools": []});
        assert!(streamed(&nothing).contains("no tool"));
    }

    #[test]
    fn a_request_is_read_when_it_is_whole() {
        let text = "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 7\r\n\r\n{\"a\":1}";
        assert!(request(&text.as_bytes()[..text.len() - 1]).is_none());
        let (path, body) = request(text.as_bytes()).unwrap();
        assert_eq!(
            (path.as_str(), &body["a"]),
            ("/v1/chat/completions", &json!(1))
        );
    }
}
