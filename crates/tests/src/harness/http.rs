//! The HTTP transport of the test client, on a connection per request.

use std::sync::{Arc, Mutex};

use anyhow::{Context, bail};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::peer::{Answer, Peer, PeerEra, Pending, Shared};
use crate::fixture::{LATEST_LEGACY, MODERN, lock};

/// Requests to one address.
#[derive(Debug, Clone)]
pub struct HttpWire {
    target: Arc<Target>,
    era: PeerEra,
    shared: Shared,
    session: Arc<Mutex<Option<String>>>,
}

#[derive(Debug)]
struct Target {
    uri: Uri,
    token: Option<String>,
}

/// A response with its body read to the end.
#[derive(Debug)]
pub struct Whole {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as text.
    pub body: String,
}

/// One request on a new connection; the connection ends with the response.
pub async fn send(uri: &Uri, request: Request<Full<Bytes>>) -> anyhow::Result<Response<Incoming>> {
    let authority = uri.authority().context("the address has no host")?;
    let stream = TcpStream::connect(authority.as_str())
        .await
        .context("cannot connect")?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    Handle::current().spawn(connection);
    sender.send_request(request).await.context("no response")
}

/// Any request, read to the end.
pub async fn whole(uri: &Uri, request: Request<Full<Bytes>>) -> anyhow::Result<Whole> {
    let response = send(uri, request).await?;
    let (parts, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok(Whole {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

// === impl HttpWire ===

impl HttpWire {
    pub(super) fn new(
        url: &str,
        token: Option<&str>,
        era: PeerEra,
        shared: Shared,
    ) -> anyhow::Result<Self> {
        let uri = url
            .parse()
            .with_context(|| format!("{url} is no address"))?;
        let target = Arc::new(Target {
            uri,
            token: token.map(str::to_owned),
        });
        Ok(Self {
            target,
            era,
            shared,
            session: Arc::default(),
        })
    }

    pub(super) fn start(&self, id: i64, message: Value) -> Pending {
        let (sender, answer) = oneshot::channel();
        let wire = self.clone();
        let task = Handle::current().spawn(async move {
            let outcome = wire.exchange(&message, Some(id)).await;
            let answer =
                outcome.and_then(|answer| answer.context("the stream ended without an answer"));
            // The receiver sees a closed channel if there is no answer.
            if let Ok(answer) = answer {
                let _gone = sender.send(answer);
            }
        });
        Pending {
            id,
            answer,
            abort: Some(task.abort_handle()),
        }
    }

    pub(super) async fn post(&self, message: &Value) -> anyhow::Result<()> {
        self.exchange(message, None).await.map(|_none| ())
    }

    /// Posts a message and reads until the answer with this id has come.
    async fn exchange(&self, message: &Value, id: Option<i64>) -> anyhow::Result<Option<Answer>> {
        let response = send(&self.target.uri, self.request(message)?).await?;
        let (parts, mut body) = response.into_parts();
        if let Some(session) = parts.headers.get("mcp-session-id") {
            *lock(&self.session) = Some(session.to_str()?.to_owned());
        }
        let status = parts.status.as_u16();
        let kind = parts
            .headers
            .get("content-type")
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default();
        if !kind.starts_with("text/event-stream") {
            let text = String::from_utf8_lossy(&body.collect().await?.to_bytes()).into_owned();
            if id.is_none() {
                return Ok(None);
            }
            let Ok(value) = serde_json::from_str(&text) else {
                bail!("HTTP {status}: {text}");
            };
            return Ok(Some(Answer {
                text,
                value,
                status,
            }));
        }
        let mut buffer = Vec::new();
        while let Some(frame) = body.frame().await {
            buffer.extend_from_slice(&frame?.into_data().unwrap_or_default());
            while let Some(text) = next_event(&mut buffer) {
                let Ok(value) = serde_json::from_str::<Value>(&text) else {
                    continue;
                };
                if value.get("method").is_some() {
                    if let Some(reply) = self.shared.take(&value) {
                        Box::pin(self.post(&reply)).await?;
                    }
                } else if value["id"].as_i64() == id {
                    return Ok(Some(Answer {
                        text,
                        value,
                        status,
                    }));
                }
            }
        }
        Ok(None)
    }

    fn request(&self, message: &Value) -> anyhow::Result<Request<Full<Bytes>>> {
        let uri = &self.target.uri;
        let host = uri.authority().context("the address has no host")?.as_str();
        let mut request = Request::post(uri.path())
            .header("host", host)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(token) = &self.target.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let method = message["method"].as_str().unwrap_or_default();
        match self.era {
            PeerEra::Modern => {
                request = request
                    .header("mcp-protocol-version", MODERN)
                    .header("mcp-method", method);
                let params = &message["params"];
                let name = ["name", "uri", "taskId"]
                    .iter()
                    .find_map(|field| params[*field].as_str());
                if let Some(name) = name.filter(|_| method != "subscriptions/listen") {
                    request = request.header("mcp-name", name);
                }
            }
            PeerEra::Legacy if method != "initialize" => {
                request = request.header("mcp-protocol-version", LATEST_LEGACY);
                if let Some(session) = &*lock(&self.session) {
                    request = request.header("mcp-session-id", session);
                }
            }
            PeerEra::Legacy => {}
        }
        request
            .body(Full::new(Bytes::from(message.to_string())))
            .context("cannot build the request")
    }
}

/// Takes the data of the next complete event out of a buffer.
fn next_event(buffer: &mut Vec<u8>) -> Option<String> {
    let end = buffer.windows(2).position(|pair| pair == b"\n\n")?;
    let event: Vec<u8> = buffer.drain(..end + 2).collect();
    let event = String::from_utf8_lossy(&event);
    let data: Vec<_> = event
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(str::trim_start)
        .collect();
    Some(data.join("\n"))
}

impl Peer {
    /// The address of a port on this machine.
    #[must_use]
    pub fn local(port: u16) -> String {
        format!("http://127.0.0.1:{port}/mcp")
    }
}
