//! A model server on loopback as a task meets it: it speaks OpenAI's chat completions,
//! streaming, and does what the message of the task spells out.
//!
//! `SAY words` answers with the words; `HOLD words` says the first of them, waits until it
//! is let go, and says the rest; `CALL tool {…}` calls a tool and answers with its result, which
//! may spell out a `HOLD` of its own.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::Context;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

use super::hub::Hub;
use crate::fixture::lock;

/// A running model server; stopped when dropped.
#[derive(Debug)]
pub struct Worker {
    /// Its port on 127.0.0.1.
    pub port: u16,
    shared: Arc<Shared>,
    task: AbortHandle,
}

/// Answers the messages of a request in its own words; `None` leaves it to what they spell out.
pub type Writer = fn(&Value) -> Option<String>;

#[derive(Debug)]
struct Shared {
    /// Answers before anything else does.
    writer: Writer,
    /// What is done where no message spells anything out.
    otherwise: Order,
    /// Every request's messages, in order.
    requests: Mutex<Vec<Value>>,
    /// Answers that are held at the moment.
    held: AtomicUsize,
    /// Held answers whose reader went away.
    dropped: AtomicUsize,
    /// Whether held answers go on.
    free: watch::Sender<bool>,
}

/// What a message spells out.
#[derive(Debug, Clone, PartialEq)]
enum Order {
    Say(String),
    Hold(String),
    Call { name: String, arguments: String },
}

/// Counts an answer that is held.
struct Held(Arc<Shared>);

type Body = UnsyncBoxBody<Bytes, Infallible>;

// === impl Worker ===

impl Worker {
    /// One that does what messages spell out.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with("SAY ok").await
    }

    /// One that does `otherwise` where no message spells anything out.
    pub async fn start_with(otherwise: &str) -> anyhow::Result<Self> {
        Self::started(otherwise, |_| None).await
    }

    /// One whose words are somebody else's first.
    pub async fn with(writer: Writer) -> anyhow::Result<Self> {
        Self::started("SAY ok", writer).await
    }

    async fn started(otherwise: &str, writer: Writer) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .context("cannot listen")?;
        let port = listener.local_addr()?.port();
        let otherwise = spelled(otherwise).context("an order is spelled out")?;
        let shared = Arc::new(Shared {
            writer,
            otherwise,
            requests: Mutex::default(),
            held: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
            free: watch::Sender::new(false),
        });
        let served = Arc::clone(&shared);
        let task = Handle::current().spawn(async move {
            while let Ok((stream, _peer)) = listener.accept().await {
                let shared = Arc::clone(&served);
                Handle::current().spawn(async move {
                    let service = service_fn(move |request| {
                        let shared = Arc::clone(&shared);
                        async move { Ok::<_, Infallible>(answer(request, shared).await) }
                    });
                    let connection = hyper::server::conn::http1::Builder::new();
                    let _closed = connection
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Ok(Self {
            port,
            shared,
            task: task.abort_handle(),
        })
    }

    /// Has a hub hand its work to this model.
    pub async fn serve(&self, hub: &Hub) -> anyhow::Result<()> {
        let url = format!("http://127.0.0.1:{}", self.port);
        for arguments in [
            &["models", "set", "enable", "local_model", "--endpoint", &url] as &[&str],
            &["models", "set", "default", "local_model"],
        ] {
            let (code, said, complained) = hub.run(arguments).await?;
            anyhow::ensure!(code == 0, "{said}{complained}");
        }
        Ok(())
    }

    /// Lets every held answer go on, those to come too.
    pub fn let_go(&self) {
        self.shared.free.send_replace(true);
    }

    /// How many answers are held.
    pub fn held(&self) -> usize {
        self.shared.held.load(Ordering::SeqCst)
    }

    /// How many held answers lost their reader.
    pub fn dropped(&self) -> usize {
        self.shared.dropped.load(Ordering::SeqCst)
    }

    /// The messages of every request so far.
    pub fn requests(&self) -> Vec<Value> {
        lock(&self.shared.requests).clone()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

// === impl Held ===

impl Held {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.held.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(shared))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::SeqCst);
        if !*self.0.free.borrow() {
            self.0.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

async fn answer(request: Request<Incoming>, shared: Arc<Shared>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    if !path.ends_with("/chat/completions") {
        let models = json!({"object": "list", "data": [{"id": "worker", "object": "model"}]});
        return whole(&models);
    }
    let messages = body["messages"].clone();
    lock(&shared.requests).push(messages.clone());
    let written = (shared.writer)(&messages).map(Order::Say);
    let order = written.or_else(|| order(&messages));
    let order = order.unwrap_or_else(|| shared.otherwise.clone());
    if body["stream"] != true {
        let (Order::Say(text) | Order::Hold(text)) = order else {
            return whole(&json!({"error": {"message": "calls are streamed"}}));
        };
        let message = json!({"role": "assistant", "content": text});
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
        return whole(&envelope("chat.completion", json!([choice])));
    }
    streamed(order, shared)
}

/// What the last message that spells something out says; after a call, its result.
fn order(messages: &Value) -> Option<Order> {
    let messages = messages.as_array().map(Vec::as_slice).unwrap_or_default();
    messages.iter().rev().find_map(|message| {
        let said = text(&message["content"]);
        match message["role"].as_str() {
            Some("tool") => Some(match said.rsplit_once("HOLD ") {
                Some((_, rest)) => Order::Hold(first_line(rest)),
                None => Order::Say(format!("DONE[{said}]")),
            }),
            Some("user") => spelled(&said),
            _ => None,
        }
    })
}

fn spelled(said: &str) -> Option<Order> {
    if let Some((_, rest)) = said.rsplit_once("SAY ") {
        return Some(Order::Say(first_line(rest)));
    }
    if let Some((_, rest)) = said.rsplit_once("HOLD ") {
        return Some(Order::Hold(first_line(rest)));
    }
    let (_, rest) = said.rsplit_once("CALL ")?;
    let line = first_line(rest);
    let (name, arguments) = line.split_once(' ')?;
    Some(Order::Call {
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    })
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// The words of a message's content.
#[must_use]
pub fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(|part| text(&part["text"])).collect(),
        _ => String::new(),
    }
}

fn streamed(order: Order, shared: Arc<Shared>) -> Response<Body> {
    // Bounded by what one answer says.
    let (sender, receiver) = mpsc::unbounded_channel::<Value>();
    let delta = |delta: Value| json!({"index": 0, "delta": delta, "finish_reason": null});
    let end = |reason: &str| json!({"index": 0, "delta": {}, "finish_reason": reason});
    Handle::current().spawn(async move {
        let send = |choice: Value| {
            sender
                .send(envelope("chat.completion.chunk", json!([choice])))
                .is_ok()
        };
        match order {
            Order::Say(text) => {
                for word in text.split_inclusive(' ') {
                    send(delta(json!({"content": word})));
                }
                send(end("stop"));
            }
            Order::Hold(text) => {
                let (first, rest) = text.split_once(' ').unwrap_or((&text, ""));
                if !send(delta(json!({"content": format!("{first} ")}))) {
                    return;
                }
                let held = Held::new(&shared);
                let mut free = shared.free.subscribe();
                let mut look = tokio::time::interval(std::time::Duration::from_millis(20));
                loop {
                    tokio::select! {
                        gone = free.wait_for(|free| *free) => {
                            if gone.is_err() {
                                return;
                            }
                            break;
                        }
                        () = sender.closed() => return,
                        // Nothing is said by it; it finds out whether anybody reads.
                        _ = look.tick() => drop(send(delta(json!({"content": ""})))),
                    }
                }
                drop(held);
                send(delta(json!({"content": rest})));
                send(end("stop"));
            }
            Order::Call { name, arguments } => {
                let call = json!({
                    "index": 0, "id": "call_1", "type": "function",
                    "function": {"name": name, "arguments": arguments},
                });
                send(delta(json!({"tool_calls": [call]})));
                send(end("tool_calls"));
            }
        }
    });
    let events = stream::unfold((receiver, false), |(mut receiver, over)| async move {
        if over {
            return None;
        }
        let (text, over) = match receiver.recv().await {
            Some(event) => (format!("data: {event}\n\n"), false),
            None => ("data: [DONE]\n\n".to_owned(), true),
        };
        Some((
            Ok::<_, Infallible>(Frame::data(Bytes::from(text))),
            (receiver, over),
        ))
    });
    let mut response = Response::new(StreamBody::new(Box::pin(events)).boxed_unsync());
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert("content-type", kind);
    response
}

fn envelope(object: &str, choices: Value) -> Value {
    json!({
        "id": "chatcmpl_worker", "created": 1, "model": "worker", "object": object,
        "choices": choices,
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    })
}

fn whole(value: &Value) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(value.to_string())).boxed_unsync());
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert("content-type", kind);
    response
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Order, order};

    #[test]
    fn the_last_message_that_spells_something_out_counts() {
        let user = |text: &str| json!({"role": "user", "content": text});
        let said = json!({"role": "assistant", "content": "SAY no"});
        for (messages, expected) in [
            (
                json!([user("SAY one"), user("SAY two words\nmore")]),
                Order::Say("two words".into()),
            ),
            (json!([user("HOLD a b"), said]), Order::Hold("a b".into())),
            (
                json!([user("CALL workspace-read_file {\"path\":\"a\"}")]),
                Order::Call {
                    name: "workspace-read_file".into(),
                    arguments: "{\"path\":\"a\"}".into(),
                },
            ),
            (
                json!([user("CALL x {}"), {"role": "tool", "content": "it"}]),
                Order::Say("DONE[it]".into()),
            ),
            (
                json!([user("CALL x {}"), {"role": "tool", "content": "HOLD it back\n"}]),
                Order::Hold("it back".into()),
            ),
        ] {
            assert_eq!(order(&messages), Some(expected), "{messages}");
        }
        assert_eq!(order(&json!([user("please")])), None);
    }
}
