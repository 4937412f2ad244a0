//! Servers that ask for a model, answered by the hub's own where a client has none to offer.
//!
//! Such a request is one of the hub's like any other, under the job `sampling`: its labels choose who
//! may have it, it is redacted and recorded, and it costs nothing unless the owner's rules say so.
//! Which model a server would like is read by nobody: it would choose whose machine the data goes to.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_core::{EntityLabels, OpContext};
use legation_gate::{Sampler, conversation};
use legation_wire::codes;
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;
use serde_json::{Value, json};

use crate::ask::{AskError, ModelAsk, Models};
use crate::delta::{Delta, Finish};
use crate::request::{ChatRequest, Message, Turn};

/// The job, as `per_job_overrides` names it.
const JOB: &str = "sampling";
/// The longest answer, whatever a server wants, in tokens.
const TOKENS_MAX: u32 = 16 * 1024;
/// The longest answer that is waited for, in bytes.
const BYTES_MAX: usize = 256 * 1024;
/// Most messages of one request.
const MESSAGES_MAX: usize = 1_000;

/// Answers servers with the hub's models.
#[derive(Debug)]
pub struct Sampling {
    models: Arc<Models>,
}

/// A request that cannot be put to a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; no model was asked")]
struct Unsaid {
    what: &'static str,
}

// === impl Sampling ===

impl Sampling {
    /// Answers through these.
    #[must_use]
    pub fn new(models: Arc<Models>) -> Self {
        Self { models }
    }

    async fn answer(
        models: &Models,
        context: &OpContext,
        labels: EntityLabels,
        params: &Raw,
    ) -> Result<Raw, ErrorObject> {
        let params: Value = params
            .deserialize()
            .map_err(|_| invalid("its params cannot be read; no model was asked"))?;
        let request = request(&params).map_err(|error| invalid(&error.to_string()))?;
        // Tokens of personal data are good in the whole conversation of the client that called.
        let of = conversation::holder(&context.caller).to_owned();
        let ask = ModelAsk {
            labels,
            ..ModelAsk::new(JOB, of, request)
        };
        let mut stream = models
            .ask(context, ask)
            .await
            .map_err(|error| unanswered(&error))?;
        let (mut text, mut finish) = (String::new(), Finish::Stop);
        while let Some(delta) = stream.next().await {
            match delta.map_err(|error| unanswered(&error))? {
                Delta::Text(more) => text.push_str(&more),
                Delta::Done(why) => finish = why,
                _ => {}
            }
            if text.len() > BYTES_MAX {
                let message = format!("the model's answer did not end within {BYTES_MAX} bytes");
                return Err(ErrorObject::new(codes::REFUSED, &message));
            }
        }
        let reason = match finish {
            Finish::Length => "maxTokens",
            _ => "endTurn",
        };
        let answer = json!({
            "role": "assistant",
            "content": { "type": "text", "text": text },
            "model": stream.model(),
            "stopReason": reason,
        });
        Ok(Raw::from_serialize(&answer))
    }
}

impl Sampler for Sampling {
    fn sample(
        &self,
        context: OpContext,
        labels: EntityLabels,
        params: Raw,
    ) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        let models = Arc::clone(&self.models);
        Box::pin(async move { Self::answer(&models, &context, labels, &params).await })
    }
}

fn invalid(message: &str) -> ErrorObject {
    ErrorObject::new(codes::INVALID_PARAMS, message)
}

/// What the server is told. Which providers there are, where they are and whose data one of them may
/// not have is the owner's business, and stands in his records.
fn unanswered(error: &AskError) -> ErrorObject {
    let message = format!("no model of the hub's answered ({})", error.reason_code());
    ErrorObject::new(codes::REFUSED, &message)
}

/// A model's request of `sampling/createMessage` (revision 2025-11-25), of text alone: that is all
/// that is offered to servers.
fn request(params: &Value) -> Result<ChatRequest, Unsaid> {
    let unsaid = |what| Err(Unsaid { what });
    let has = |name: &str| params.get(name).is_some_and(|value| !value.is_null());
    if has("tools") {
        return unsaid("it brings tools, which are not offered");
    }
    let Some(said) = params.get("messages").and_then(Value::as_array) else {
        return unsaid("it has no messages");
    };
    if said.is_empty() || said.len() > MESSAGES_MAX {
        return unsaid("it has no messages, or too many");
    }
    let mut messages = Vec::with_capacity(said.len() + 1);
    if let Some(system) = params.get("systemPrompt").and_then(Value::as_str) {
        messages.push(Message::System(system.to_owned()));
    }
    for one in said {
        let Some(text) = one.get("content").and_then(text_of) else {
            return unsaid("a message of it is not text alone");
        };
        messages.push(match one.get("role").and_then(Value::as_str) {
            Some("user") => Message::User(text),
            Some("assistant") => Message::Assistant(Turn {
                text,
                ..Turn::default()
            }),
            _ => return unsaid("a message of it is nobody's"),
        });
    }
    // An assistant's words at the end would be gone on with, which only some servers can do.
    if !matches!(messages.last(), Some(Message::User(_))) {
        return unsaid("its last message is not the user's");
    }
    let most = params.get("maxTokens").and_then(Value::as_u64);
    let most = most.and_then(|most| u32::try_from(most).ok());
    Ok(ChatRequest {
        messages,
        tokens_max: Some(most.unwrap_or(TOKENS_MAX).clamp(1, TOKENS_MAX)),
        temperature: params.get("temperature").and_then(Value::as_f64),
        ..ChatRequest::default()
    })
}

/// The text of one block or of several, if it is all text.
fn text_of(content: &Value) -> Option<String> {
    let block = |block: &Value| {
        let is_text = block.get("type").and_then(Value::as_str) == Some("text");
        let text = block.get("text").and_then(Value::as_str);
        text.filter(|_| is_text).map(str::to_owned)
    };
    match content {
        Value::Array(blocks) => {
            let all: Option<Vec<String>> = blocks.iter().map(block).collect();
            Some(all?.join("\n"))
        }
        one => block(one),
    }
}

#[cfg(test)]
mod tests;
