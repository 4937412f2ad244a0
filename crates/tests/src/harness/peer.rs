//! A client for tests: one interface over two eras and three transports.
//!
//! It answers what the server asks (live in the legacy era, by a second round
//! in the modern one) with the function it was given.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::http::HttpWire;
use super::lines::LineWire;
use crate::fixture::dispatch::{META_CAPABILITIES, META_VERSION};
use crate::fixture::{LATEST_LEGACY, MODERN, lock};

/// The two eras.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerEra {
    /// `initialize`, revision 2025-11-25.
    Legacy,
    /// Revision 2026-07-28.
    Modern,
}

/// Answers a request of the server: (method, parameters) to result.
pub type Answerer = Arc<dyn Fn(&str, &Value) -> Value + Send + Sync>;

/// What both transports share.
#[derive(Clone)]
pub struct Shared {
    /// Answers the server's requests.
    pub answerer: Answerer,
    /// Every notification and server request, in order of arrival.
    pub heard: Arc<Mutex<Vec<Value>>>,
}

/// One message that answers a request.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The message as it came.
    pub text: String,
    /// The same, parsed.
    pub value: Value,
    /// The HTTP status; 0 elsewhere.
    pub status: u16,
}

/// A request under way.
#[derive(Debug)]
pub struct Pending {
    /// Its JSON-RPC id.
    pub id: i64,
    /// Gets the answer.
    pub answer: oneshot::Receiver<Answer>,
    /// Ends the exchange, where ending it means something (HTTP).
    pub abort: Option<AbortHandle>,
}

#[derive(Debug)]
enum Wire {
    Http(HttpWire),
    Lines(LineWire),
}

/// A connected client.
#[derive(Debug)]
pub struct Peer {
    era: PeerEra,
    wire: Wire,
    shared: Shared,
    capabilities: Value,
    next_id: AtomicI64,
    /// The answer to `initialize` or `server/discover`.
    pub greeting: Value,
}

/// What a client declares when it can answer everything.
#[must_use]
pub fn everything() -> Value {
    json!({"roots": {"listChanged": true}, "sampling": {}, "elicitation": {"form": {}, "url": {}}})
}

/// Answers as a friendly client would.
#[must_use]
pub fn friendly() -> Answerer {
    Arc::new(|method, params| match method {
        "sampling/createMessage" => json!({
            "role": "assistant", "model": "scripted", "stopReason": "endTurn",
            "content": {"type": "text", "text": "sampled"},
        }),
        "roots/list" => json!({"roots": [{"uri": "file:///workspace", "name": "workspace"}]}),
        "ping" => json!({}),
        _ => {
            let reply = format!("re:{}", params["message"].as_str().unwrap_or_default());
            json!({"action": "accept", "content": {"reply": reply, "name": "Alice", "ok": true, "confirm": true}})
        }
    })
}

// === impl Shared ===

impl Shared {
    /// With nothing heard yet.
    #[must_use]
    pub fn new(answerer: Answerer) -> Self {
        Self {
            answerer,
            heard: Arc::default(),
        }
    }

    /// Takes a message that is no response; what a request is answered with.
    #[must_use]
    pub fn take(&self, message: &Value) -> Option<Value> {
        lock(&self.heard).push(message.clone());
        let id = message.get("id")?;
        let method = message["method"].as_str()?;
        let result = (self.answerer)(method, &message["params"]);
        Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Shared")
            .field("heard", &self.heard)
            .finish_non_exhaustive()
    }
}

// === impl Answer ===

impl Answer {
    /// The result, or an error that quotes the message.
    pub fn result(&self) -> anyhow::Result<&Value> {
        match self.value.get("result") {
            Some(result) => Ok(result),
            None => bail!("not a result (HTTP {}): {}", self.status, self.text),
        }
    }

    /// The code of the error, if it is one.
    #[must_use]
    pub fn code(&self) -> Option<i64> {
        self.value["error"]["code"].as_i64()
    }

    /// The text of the first content block.
    #[must_use]
    pub fn first_text(&self) -> &str {
        self.value["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
    }
}

// === impl Peer ===

impl Peer {
    /// Connects over Streamable HTTP.
    pub async fn http(
        url: &str,
        token: Option<&str>,
        era: PeerEra,
        capabilities: Value,
        answerer: Answerer,
    ) -> anyhow::Result<Self> {
        let shared = Shared::new(answerer);
        let wire = Wire::Http(HttpWire::new(url, token, era, shared.clone())?);
        Self::greet(wire, era, capabilities, shared).await
    }

    /// Connects over a line stream: a child's stdio or a socket.
    pub async fn lines<S>(
        stream: S,
        era: PeerEra,
        capabilities: Value,
        answerer: Answerer,
    ) -> anyhow::Result<Self>
    where
        S: FnOnce(Shared) -> anyhow::Result<LineWire>,
    {
        let shared = Shared::new(answerer);
        let wire = Wire::Lines(stream(shared.clone())?);
        Self::greet(wire, era, capabilities, shared).await
    }

    async fn greet(
        wire: Wire,
        era: PeerEra,
        capabilities: Value,
        shared: Shared,
    ) -> anyhow::Result<Self> {
        let mut peer = Self {
            era,
            wire,
            shared,
            capabilities,
            next_id: AtomicI64::new(1),
            greeting: Value::Null,
        };
        match era {
            PeerEra::Modern => {
                peer.greeting = peer
                    .once("server/discover", json!({}))
                    .await?
                    .result()?
                    .clone();
            }
            PeerEra::Legacy => {
                let params = json!({
                    "protocolVersion": LATEST_LEGACY,
                    "capabilities": peer.capabilities,
                    "clientInfo": {"name": "legation-tests", "version": "0.1.0"},
                });
                peer.greeting = peer.once("initialize", params).await?.result()?.clone();
                peer.notify("notifications/initialized", json!({})).await?;
            }
        }
        Ok(peer)
    }

    /// The era it speaks.
    #[must_use]
    pub fn era(&self) -> PeerEra {
        self.era
    }

    /// What was heard besides answers.
    #[must_use]
    pub fn heard(&self) -> Vec<Value> {
        lock(&self.shared.heard).clone()
    }

    /// Heard messages of one method.
    #[must_use]
    pub fn heard_of(&self, method: &str) -> Vec<Value> {
        self.heard()
            .into_iter()
            .filter(|message| message["method"] == method)
            .collect()
    }

    /// A request and its answer, questions in between answered.
    pub async fn request(&self, method: &str, params: Value) -> anyhow::Result<Answer> {
        let mut again = params.clone();
        for _round in 0..8 {
            let answer = self.once(method, again).await?;
            let result = &answer.value["result"];
            if result["resultType"] != "input_required" {
                return Ok(answer);
            }
            let mut responses = json!({});
            for (key, asked) in result["inputRequests"].as_object().into_iter().flatten() {
                let method = asked["method"].as_str().unwrap_or_default();
                responses[key] = (self.shared.answerer)(method, &asked["params"]);
            }
            again = params.clone();
            again["inputResponses"] = responses;
            if let Some(state) = result.get("requestState") {
                again["requestState"] = state.clone();
            }
        }
        bail!("{method} asked more than eight times")
    }

    /// A tool call.
    pub async fn call(&self, tool: &str, arguments: Value) -> anyhow::Result<Answer> {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
            .await
    }

    /// All pages of a list, joined.
    pub async fn list(&self, method: &str, field: &str) -> anyhow::Result<Vec<Value>> {
        let mut all = Vec::new();
        let mut params = json!({});
        loop {
            let answer = self.once(method, params).await?;
            let result = answer.result()?;
            all.extend(result[field].as_array().cloned().unwrap_or_default());
            match result.get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return Ok(all),
            }
        }
    }

    /// One request, whatever the answer.
    pub async fn once(&self, method: &str, params: Value) -> anyhow::Result<Answer> {
        let pending = self.start(method, params).await?;
        pending
            .answer
            .await
            .with_context(|| format!("{method} was never answered"))
    }

    /// Sends a request and does not wait.
    pub async fn start(&self, method: &str, mut params: Value) -> anyhow::Result<Pending> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        if self.era == PeerEra::Modern {
            let meta = &mut params["_meta"];
            meta[META_VERSION] = MODERN.into();
            meta["io.modelcontextprotocol/clientInfo"] =
                json!({"name": "legation-tests", "version": "0.1.0"});
            if meta.get(META_CAPABILITIES).is_none() {
                meta[META_CAPABILITIES] = self.capabilities.clone();
            }
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        match &self.wire {
            Wire::Http(wire) => Ok(wire.start(id, message)),
            Wire::Lines(wire) => wire.start(id, &message).await,
        }
    }

    /// Cancels a request as the era and the transport want it.
    pub async fn cancel(&self, pending: &Pending) -> anyhow::Result<()> {
        match (&self.wire, self.era) {
            (Wire::Http(_), PeerEra::Modern) => {
                if let Some(abort) = &pending.abort {
                    abort.abort();
                }
                Ok(())
            }
            _ => {
                self.notify(
                    "notifications/cancelled",
                    json!({"requestId": pending.id, "reason": "test"}),
                )
                .await
            }
        }
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Value) -> anyhow::Result<()> {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        match &self.wire {
            Wire::Http(wire) => wire.post(&message).await,
            Wire::Lines(wire) => wire.send(&message).await,
        }
    }
}
